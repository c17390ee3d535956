package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/tools/mcp"
)

// approval is the user's approval of a server.
type approval struct {
	approved fingerprint // nil: nothing
	stored   storedState
	salt     string // of its fingerprints
}

// isFirstStart reports whether a program is starting that has never been ready.
func (s *server) isFirstStart() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFirstStartLocked()
}

func (s *server) isFirstStartLocked() bool { return !s.config.Command.IsZero() && !s.stored.Started }

// effectiveConfig returns the configuration with the access that the user allowed.
func (s *server) effectiveConfig() mcp.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return withAccess(s.config, s.stored.Access)
}

// accessNow returns what the user allowed the program of the server, and whether that runs.
func (s *server) accessNow() (a mcp.Access, runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a = s.stored.Access.Union(mcp.Access{}) // as a later one is built
	a.Calls = false
	return a, s.conn.session != nil
}

// updateStored changes the stored state. Changes are serialized, so that a later one is not
// overwritten by an earlier one.
func (s *server) updateStored(change func(*storedState)) error {
	s.storeMu.Lock()
	defer s.storeMu.Unlock()
	s.mu.Lock()
	before, err := json.Marshal(s.stored)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	change(&s.stored)
	after, err := json.Marshal(s.stored)
	s.mu.Unlock()
	if err != nil || s.opts.SaveState == nil || string(before) == string(after) {
		return err
	}
	return s.opts.SaveState(s.name, string(after))
}

// grant is Servers.Allow without the restart. Allowing more access includes approving
// the configuration and the tools, which need no further approval.
func (s *server) grant(more mcp.Access) error {
	seal, agreed := "", false
	var sealErr error
	err := s.updateStored(func(m *storedState) {
		old := s.approved.coversStart(withAccess(s.config, m.Access))
		all := mcp.Access{}
		if !more.IsZero() {
			all = m.Access.Union(more)
		}
		sealErr = m.allow(all, all.Calls && (m.Enable != nil || more.Calls && s.conn.session == nil && !old), s.config)
		m.Stopped = false
		if old && s.approved.addStart(withAccess(s.config, m.Access), s.approved[saltKey]) == nil {
			seal, agreed = s.approved.String(), true
		}
	})
	err = errors.Join(err, sealErr)
	if !agreed || s.opts.Approve == nil {
		return err
	}
	return errors.Join(err, s.opts.Approve(s.name, seal))
}

// updateStatus sets the status according to the approval. Removed tools need no approval. The
// caller holds the lock.
func (s *server) updateStatus() {
	now := mcp.StatusReady
	s.reason, s.down = "", false
	switch {
	case s.config.Trusted || len(s.tools.tools) == 0:
	case s.approved == nil:
		now = mcp.StatusNew
	case !s.approved.covers(s.tools.fingerprint):
		now = mcp.StatusChanged
		if s.approved[startKey] != s.tools.fingerprint[startKey] {
			s.reason = "what it is started by, given or allowed is not what it was: see its command, address, environment, headers and access"
		}
	}
	if s.status != now {
		s.status, s.since = now, time.Now()
	}
}

// approve implements Servers.Approve. Calls that were allowed for other tools ask again.
func (s *server) approve(given string) error {
	refused := fmt.Errorf("%s: its tools have changed since they were shown", s.name)
	err := s.updateStored(func(m *storedState) {
		if s.conn.session == nil || given != s.tools.fingerprint.String() {
			return
		}
		refused, m.Access.Calls = nil, m.Access.Calls && s.status == mcp.StatusReady
		s.approved = s.tools.fingerprint
		s.updateStatus()
	})
	if refused != nil {
		return refused
	}
	s.notifyChange()
	if err != nil || s.opts.Approve == nil {
		return err
	}
	return s.opts.Approve(s.name, given)
}
