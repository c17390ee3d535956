package store

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"
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
	if l.host == me.host && l.boot == me.boot {
		start, gone := began(l.pid)
		switch {
		case gone:
			return true
		case start != "" && l.start != "":
			return start != l.start
		}
	} else if l.host == me.host && l.boot != "" && me.boot != "" {
		return true
	}
	// A beat of the future is as old: the clock was set back since.
	return now.Sub(l.heartbeat).Abs() > heartbeatTimeout
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
