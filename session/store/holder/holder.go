// Package holder identifies the processes that hold leases of stored conversations, so that another
// process can tell whether a holder has ended:
//
//	Current() ──► stored with the lease ──► Process.IsGone, asked by another process
package holder

import (
	"os"
	"time"
)

// A Process identifies the holder of a lease. It is comparable.
type Process struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // when it started, as another process may have the same id later; "" if unknown
	Boot  string `json:"boot"`  // ID of the machine's boot; "" if unknown
	Host  string `json:"host"`  // name of the machine and PID namespace
}

// Current returns this process.
func Current() Process {
	host, _ := os.Hostname()
	start, _ := processStart(os.Getpid())
	return Process{PID: os.Getpid(), Start: start, Boot: bootID(), Host: host + " " + pidNamespace()}
}

// IsRunning reports whether p is known to run; false for a process on another machine, in another
// container, or on a system that cannot tell.
func (p Process) IsRunning(me Process) bool {
	if p.Host != me.Host || p.Boot != me.Boot {
		return false
	}
	start, gone := processStart(p.PID)
	return !gone && tellsProcesses && (start == "" || p.Start == "" || start == p.Start)
}

// IsGone reports whether p has ended. If that is unknown, it reports whether its last
// heartbeat is older than timeout.
func (p Process) IsGone(me Process, ago, timeout time.Duration) bool {
	if p.Host == me.Host && p.Boot == me.Boot {
		start, gone := processStart(p.PID)
		switch {
		case gone:
			return true
		case start != "" && p.Start != "":
			return start != p.Start
		}
	} else if p.Host == me.Host && p.Boot != "" && me.Boot != "" {
		return true
	}
	// A time in the future counts too: the clock was set back since.
	return ago.Abs() > timeout
}
