package store

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"parley/providers/llm"
)

// A lease reports which process may write a session. It is stale when that process
// is gone, its id belongs to another one by now, or the machine was started
// anew. Where that cannot be told, on another machine, in another container, or
// on a system without /proc, it is stale once its beat stopped.
type lease struct {
	owner string // of one Log
	process
	heartbeat time.Time
}

// A process is who holds a lease, as another process can find out about it.
type process struct {
	pid   int
	start string // tells it from another process of the same id; "" if unknown
	boot  string // start of the machine; "" if unknown
	host  string // with what process ids count in
}

const (
	heartbeatInterval = 20 * time.Second
	heartbeatTimeout  = 60 * time.Second
)

func currentProcess() process {
	host, _ := os.Hostname()
	start, _ := began(os.Getpid())
	return process{pid: os.Getpid(), start: start, boot: bootID(), host: host + " " + pidNamespace()}
}

// isStale reports whether the holder of l is no more.
func (l lease) isStale(me process, now time.Time) bool {
	return l.isGone(me, now.Sub(l.heartbeat), heartbeatTimeout)
}

// isGone reports whether p is no more: so it is taken to be, where that cannot be told, if it
// was heard of longer ago than timeout.
func (p process) isGone(me process, ago, timeout time.Duration) bool {
	if p.host == me.host && p.boot == me.boot {
		start, gone := began(p.pid)
		switch {
		case gone:
			return true
		case start != "" && p.start != "":
			return start != p.start
		}
	} else if p.host == me.host && p.boot != "" && me.boot != "" {
		return true
	}
	// What is of the future is as old: the clock was set back since.
	return ago.Abs() > timeout
}

// describe returns the holder of l in words for a user.
func (l lease) describe(me process) string {
	switch {
	case l.process == me:
		return "this parley"
	case l.host == me.host:
		return fmt.Sprintf("another parley (process %d)", l.pid)
	}
	var host string
	_, _ = fmt.Sscan(l.host, &host)
	return fmt.Sprintf("a parley on %s (process %d)", host, l.pid)
}

func leaseOf(q querier, id string) (lease, bool, error) {
	var l lease
	var c columns // one that is damaged is nobody's, and stale
	err := q.one(`SELECT owner, pid, start, boot, host, beat FROM leases WHERE session = ?`, id).
		Scan(textOf(&c, "owner", &l.owner), numberOf(&c, "pid", &l.pid), textOf(&c, "start", &l.start),
			textOf(&c, "boot", &l.boot), textOf(&c, "host", &l.host), timeOf(&c, "beat", &l.heartbeat))
	if errors.Is(err, sql.ErrNoRows) {
		return l, false, nil
	}
	return l, err == nil, err
}

// saveLease writes a lease of the session, whoever had it before.
func (w *writer) saveLease(id string, l lease) error {
	return w.exec(`INSERT OR REPLACE INTO leases (session, owner, pid, start, boot, host, beat) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, l.owner, l.pid, l.start, l.boot, l.host, nanos(l.heartbeat))
}

// newSessionID makes the ID of a session: seven letters and digits of its second, six by
// chance. IDs sort by time, and a few letters of one are enough to name it.
func newSessionID(now time.Time) string {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32
	var random [6]byte
	_, _ = rand.Read(random[:])
	id := make([]byte, 0, 13)
	seconds := max(now.Unix(), 0)
	for shift := 30; shift >= 0; shift -= 5 {
		id = append(id, digits[seconds>>shift&31])
	}
	for _, b := range random {
		id = append(id, digits[b&31])
	}
	return string(id)
}

// A Cap is what may be spent.
type Cap struct {
	Since    time.Time // from when: this day, or this month; zero: ever
	Provider string    // at which provider; "": at all of them
	Cost     float64   // US dollars; 0: no cap
	Tokens   int       // of input and output; 0: no cap
}

// A CapError reports that a cap is reached.
type CapError struct {
	Cap      Cap
	Spent    UsageSum  // since then
	Reserved llm.Usage // what requests that are under way are estimated to use
}

func (e *CapError) Error() string {
	if e.Cap.Cost > 0 && e.Spent.Usage.Cost+e.Reserved.Cost >= e.Cap.Cost {
		return fmt.Sprintf("$%.2f of $%.2f are spent", e.Spent.Usage.Cost+e.Reserved.Cost, e.Cap.Cost)
	}
	used := e.Spent.Usage.Input + e.Spent.Usage.Output + e.Reserved.Input + e.Reserved.Output
	return fmt.Sprintf("%d of %d tokens are used", used, e.Cap.Tokens)
}

// A Reservation is room in caps for a request that is under way. The zero value holds none.
type Reservation struct {
	ledger Ledger
	num    int64
}

// reservationTimeout is how long a reservation counts whose process cannot be asked for: it is
// of another machine or container.
const reservationTimeout = 15 * time.Minute

// Reserve checks that no cap of those that hold for a model is reached, and keeps an estimate of
// what a request will use until it is settled, all in one transaction: however many processes
// do so at once, what they spend above a cap is at most what the requests under way cost above
// their estimates, and the last one that fits. A reached cap is a *CapError. Other errors say
// that nothing can be written.
func (l Ledger) Reserve(model string, estimate llm.Usage, caps ...Cap) (Reservation, error) {
	r, provider := Reservation{ledger: l}, ProviderOf(model)
	err := l.db.write(func(w *writer) error {
		if err := l.db.expireReservations(w); err != nil {
			return err
		}
		for _, c := range caps {
			if c.Provider == "" || c.Provider == provider {
				if err := c.check(w); err != nil {
					return err
				}
			}
		}
		me, cost := l.db.process, estimate.Cost
		if !(cost >= 0) || math.IsInf(cost, 0) {
			cost = 0
		}
		return w.one(`INSERT INTO reservations (at, provider, cost, tokens, pid, start, boot, host) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`,
			nanos(l.db.now()), provider, cost, tokens64(estimate.Input+estimate.Output), me.pid, me.start, me.boot, me.host).Scan(&r.num)
	})
	if err != nil {
		return Reservation{}, err
	}
	return r, nil
}

// Settle ends a reservation, and enters what was really used in the same transaction. Without
// entries, which is for an answer that [Log.Put] entered, it only ends.
func (r Reservation) Settle(entries ...LedgerEntry) error {
	if r.num == 0 {
		return nil
	}
	return r.ledger.db.write(func(w *writer) error {
		if err := w.exec(`DELETE FROM reservations WHERE num = ?`, r.num); err != nil {
			return err
		}
		return r.ledger.db.enter(w, entries)
	})
}

// check returns a *CapError if c is reached, open reservations included.
func (c Cap) check(q querier) error {
	sum, err := spent(q, c.Since, time.Time{}, c.Provider)
	if err != nil {
		return err
	}
	var cost, tokens float64
	err = q.one(`SELECT total(cost), total(tokens) FROM reservations WHERE ?1 = '' OR provider = ?1`, c.Provider).Scan(&cost, &tokens)
	if err != nil {
		return err
	}
	used := count(tokens) + sum.Usage.Input + sum.Usage.Output
	if c.Cost > 0 && sum.Usage.Cost+cost >= c.Cost || c.Tokens > 0 && used >= c.Tokens {
		return &CapError{Cap: c, Spent: sum, Reserved: llm.Usage{Input: count(tokens), Cost: cost}}
	}
	return nil
}

// expireReservations ends those of processes that are no more.
func (db *database) expireReservations(w *writer) error {
	var gone []int64
	err := each(w, func(rows *sql.Rows) error {
		var num int64
		var c columns // one that is damaged is nobody's, and of long ago
		var p process
		var at time.Time
		err := rows.Scan(&num, numberOf(&c, "pid", &p.pid), textOf(&c, "start", &p.start), textOf(&c, "boot", &p.boot),
			textOf(&c, "host", &p.host), timeOf(&c, "at", &at))
		if err == nil && p.isGone(db.process, db.now().Sub(at), reservationTimeout) {
			gone = append(gone, num)
		}
		return err
	}, `SELECT num, pid, start, boot, host, at FROM reservations`)
	for _, num := range gone {
		err = cmp.Or(err, w.exec(`DELETE FROM reservations WHERE num = ?`, num))
	}
	return err
}
