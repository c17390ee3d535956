package sandbox

import (
	"os"
	"sync"
	"time"
)

// A Watch keeps in mind which repositories a workspace has, while a program runs
// that lasts. Its zero value is not of use.
type Watch struct {
	mu     sync.Mutex
	policy     Policy // with what is there
	states map[string]map[string]fileState
	began  time.Time
}

// NewWatch is a watch that takes what is there as it is.
func NewWatch(workspace string) *Watch {
	w := &Watch{policy: Policy{Workspace: workspace}}
	w.acceptLocked()
	return w
}

// Accept takes what is there as it is: somebody who may do so has made it.
func (w *Watch) Accept() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acceptLocked()
}

func (w *Watch) acceptLocked() {
	w.policy = Policy{Workspace: w.policy.Workspace, Protected: Protected()}
	w.policy.protectRepositories()
	w.states, w.began = nil, time.Now()
	if root, err := os.OpenRoot(w.policy.Workspace); err == nil {
		defer root.Close()
		s := w.policy.newSnapshot(root)
		s.saveStates()
		w.states = s.states
	}
}

// QuarantineNew sets aside what configures repositories that have appeared, unless it runs
// nothing, and says so; "" if there is none.
func (w *Watch) QuarantineNew() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, err := os.OpenRoot(w.policy.Workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	s := w.policy.newSnapshot(root)
	s.states, s.began = w.states, w.began
	var c changes
	s.restoreNewRepositories(&c)
	s.quarantine.flush()
	w.acceptLocked()
	return describeChanges(c, s.quarantine.locations)
}
