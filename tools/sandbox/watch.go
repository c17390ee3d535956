package sandbox

import (
	"os"
	"sync"
	"time"
)

// Watch detects new repositories in a workspace while a long-running program runs. Create it
// by [NewWatch].
type Watch struct {
	mu     sync.Mutex
	policy Policy // with the baseline's repositories
	states map[string]map[string]fileState
	began  time.Time
}

// NewWatch returns a watch with the current repositories as its baseline.
func NewWatch(workspace string) *Watch {
	w := &Watch{policy: Policy{Workspace: workspace}}
	w.acceptLocked()
	return w
}

// Accept makes the current repositories the new baseline (the user or an unsandboxed command
// created them).
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

// QuarantineNew moves the configuration of new repositories to quarantine, unless it runs
// nothing, and returns a notice about it; "" without any.
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
