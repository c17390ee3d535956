package store

import (
	"cmp"
	"crypto/rand"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store/holder"
)

// A lease says which process may write a session. It is stale when that process has
// ended, another one has its id, or the machine was restarted. If that is unknown,
// because the process is on another machine or in another container, or there is no
// /proc, the lease is stale heartbeatTimeout after its last heartbeat.
type lease struct {
	owner string // of one Log
	holder.Process
	heartbeat time.Time
}

const (
	heartbeatInterval = 20 * time.Second
	heartbeatTimeout  = 60 * time.Second
)

// isStale reports whether the holder of l has ended, or is presumed to have.
func (l lease) isStale(me holder.Process, now time.Time) bool {
	return l.IsGone(me, now.Sub(l.heartbeat), heartbeatTimeout)
}

// describe returns a description of l's holder for a user.
func (l lease) describe(me holder.Process) string {
	switch {
	case l.Process == me:
		return "this parley"
	case l.Host == me.Host:
		return fmt.Sprintf("another parley (process %d)", l.PID)
	}
	var host string
	_, _ = fmt.Sscan(l.Host, &host)
	return fmt.Sprintf("a parley on %s (process %d)", host, l.PID)
}

// places returns Scan destinations for the columns of a lease.
func (l *lease) places(c *columns) []any {
	return c.places("owner pid start boot host beat", &l.owner, &l.PID, &l.Start, &l.Boot, &l.Host, &l.heartbeat)
}

func leaseOf(q Tx, id string) (lease, bool, error) {
	held, err := leases(q, `WHERE session = ?`, id)
	l, ok := held[id]
	return l, ok, err
}

// saveLease writes the lease of a session and replaces any other.
func (w *writer) saveLease(id string, l lease) error {
	return w.Exec(`INSERT OR REPLACE INTO leases (session, owner, pid, start, boot, host, beat) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		id, l.owner, l.PID, l.Start, l.Boot, l.Host, nanos(l.heartbeat))
}

// newSessionID returns an ID: seven characters for the time in seconds, six random ones. IDs
// sort by time, and a prefix is enough to name a session.
func newSessionID(now time.Time) string {
	var random [6]byte
	_, _ = rand.Read(random[:])
	id := make([]byte, 0, 13)
	seconds := max(now.Unix(), 0)
	for shift := 30; shift >= 0; shift -= 5 {
		id = append(id, idDigits[seconds>>shift&31])
	}
	for _, b := range random {
		id = append(id, idDigits[b&31])
	}
	return string(id)
}

const idDigits = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32

// IsUnused reports whether id may be an ID from Create for a session that was closed before its
// first Put: it has the form and an earlier time, and neither a session nor the ledger has it.
func (db *DB) IsUnused(id string) bool {
	if now := newSessionID(db.now()); len(id) != len(now) || strings.Trim(id, idDigits) != "" || id[:7] > now[:7] {
		return false
	}
	used := true
	err := db.value(&used, `SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 UNION ALL SELECT 1 FROM ledger WHERE session = ?1 AND seq > 0)`, id)
	return err == nil && !used
}

// A Cap is a limit on spending.
type Cap struct {
	Since    time.Time // beginning of its day or month; zero: no beginning
	Provider string    // provider that it applies to; "": all
	Cost     float64   // US dollars; 0: no cap
	Tokens   int       // of input and output; 0: no cap
}

// A CapError reports that a cap is reached.
type CapError struct {
	Cap      Cap
	Spent    UsageSum  // since Cap.Since
	Reserved llm.Usage // estimate for running requests
}

func (e *CapError) Error() string {
	if e.Cap.Cost > 0 && e.Spent.Usage.Cost+e.Reserved.Cost >= e.Cap.Cost {
		return fmt.Sprintf("$%.2f of $%.2f are spent", e.Spent.Usage.Cost+e.Reserved.Cost, e.Cap.Cost)
	}
	used := e.Spent.Usage.Input + e.Spent.Usage.Output + e.Reserved.Input + e.Reserved.Output
	return fmt.Sprintf("%d of %d tokens are used", used, e.Cap.Tokens)
}

// A Reservation is the estimated usage of a running request, which counts towards caps. The
// zero value reserves nothing.
type Reservation struct {
	ledger Ledger
	num    int64
}

// reservationTimeout is how long a reservation counts if its process is on another machine or in
// another container, so that its end cannot be detected.
const reservationTimeout = 15 * time.Minute

// Reserve checks that none of the caps for model (provider/model) is reached, and stores the
// estimate of a request until it is settled, in one transaction. Concurrent processes together
// exceed a cap by at most the last request, plus the cost of running requests above their
// estimates. If a cap is reached, the error is a *CapError. Other errors mean that the store
// cannot be written.
func (l Ledger) Reserve(model string, estimate llm.Usage, caps ...Cap) (Reservation, error) {
	r, provider := Reservation{ledger: l}, ProviderOf(model)
	err := l.db.write(func(w *writer) error {
		if err := l.expireReservations(w); err != nil {
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
		return w.QueryRow(`INSERT INTO reservations (at, provider, cost, tokens, pid, start, boot, host) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING num`,
			nanos(l.db.now()), provider, cost, tokens64(estimate.Input+estimate.Output), me.PID, me.Start, me.Boot, me.Host).Scan(&r.num)
	})
	if err != nil {
		return Reservation{}, err
	}
	return r, nil
}

// Settle deletes a reservation, and adds entries with the actual usage to the ledger, in one
// transaction. A response needs no entry, because [Log.Put] adds it.
func (r Reservation) Settle(entries ...LedgerEntry) error {
	if r.num == 0 {
		return nil
	}
	return r.ledger.db.write(func(w *writer) error {
		if err := w.Exec(`DELETE FROM reservations WHERE num = ?`, r.num); err != nil {
			return err
		}
		return r.ledger.enter(w, entries)
	})
}

// check returns a *CapError if c is reached, counting open reservations.
func (c Cap) check(q Tx) error {
	sum, err := spent(q, c.Since, time.Time{}, c.Provider)
	if err != nil {
		return err
	}
	var cost, tokens float64
	err = q.QueryRow(`SELECT total(cost), total(tokens) FROM reservations WHERE ?1 = '' OR provider = ?1`, c.Provider).Scan(&cost, &tokens)
	if err != nil {
		return err
	}
	used := tokenCount(tokens) + sum.Usage.Input + sum.Usage.Output
	if c.Cost > 0 && sum.Usage.Cost+cost >= c.Cost || c.Tokens > 0 && used >= c.Tokens {
		return &CapError{Cap: c, Spent: sum, Reserved: llm.Usage{Input: tokenCount(tokens), Cost: cost}}
	}
	return nil
}

// expireReservations deletes the reservations of processes that have ended.
func (l Ledger) expireReservations(w *writer) error {
	var gone []int64
	err := EachRow(w, func(rows *sql.Rows) error {
		var num int64
		var c columns // a damaged row has no process and is old
		var held lease
		err := rows.Scan(append(c.places("num", &num), held.places(&c)...)...)
		if err == nil && held.IsGone(l.db.process, l.db.now().Sub(held.heartbeat), reservationTimeout) {
			gone = append(gone, num)
		}
		return err
	}, `SELECT num, '', pid, start, boot, host, at FROM reservations`)
	for _, num := range gone {
		err = cmp.Or(err, w.Exec(`DELETE FROM reservations WHERE num = ?`, num))
	}
	return err
}

// leases reads the leases that where selects, by the ID of the session.
func leases(q Tx, where string, args ...any) (map[string]lease, error) {
	held := map[string]lease{}
	err := EachRow(q, func(rows *sql.Rows) error {
		var id string
		var l lease
		var c columns // a damaged lease has no holder, and is stale
		err := rows.Scan(append(c.places("session", &id), l.places(&c)...)...)
		held[id] = l
		return err
	}, `SELECT session, owner, pid, start, boot, host, beat FROM leases `+where, args...)
	return held, err
}

// lockedBy returns a description of the other process that holds l; "" if none does.
func (q sessionReader) lockedBy(l lease) string {
	if l.owner == "" || l.Process == q.db.process || l.isStale(q.db.process, q.db.now()) {
		return ""
	}
	return l.describe(q.db.process)
}
