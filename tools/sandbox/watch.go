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
	at     Policy // with what is there
	states map[string]map[string]fileState
	began  time.Time
}

// NewWatch is a watch that takes what is there as it is.
func NewWatch(workspace string) *Watch {
	w := &Watch{at: Policy{Workspace: workspace}}
	w.accept()
	return w
}

// Accept takes what is there as it is: somebody who may do so has made it.
func (w *Watch) Accept() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accept()
}

func (w *Watch) accept() {
	w.at = Policy{Workspace: w.at.Workspace, Protected: Protected()}
	w.at.findRepositories()
	w.states, w.began = nil, time.Now()
	if root, err := os.OpenRoot(w.at.Workspace); err == nil {
		defer root.Close()
		s := w.at.snapshot(root)
		s.rememberStates()
		w.states = s.states
	}
}

// Look sets aside what configures repositories that have appeared, unless it runs
// nothing, and says so; "" if there is none.
func (w *Watch) Look() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, err := os.OpenRoot(w.at.Workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	s := w.at.snapshot(root)
	s.states, s.began = w.states, w.began
	var c changes
	s.appeared(&c)
	s.shelf.clear()
	w.accept()
	return sentence(c, s.shelf.kept)
}
