package client

import (
	"time"

	"parley/tools/mcp"
)

// A stderrWriter stores a program's standard error. During the first start, when the program may be
// downloading, it also calls OnChange.
type stderrWriter struct {
	s    *server
	last time.Time
}

// noticeInterval is the shortest time between two calls of OnChange.
const noticeInterval = time.Second

func (p *stderrWriter) Write(data []byte) (int, error) {
	n, err := p.s.stderr.Write(data)
	if now := time.Now(); now.Sub(p.last) >= noticeInterval && p.s.isStartingFirst() {
		p.last = now
		p.s.notifyChange()
	}
	return n, err
}

// isStartingFirst reports whether the server is starting for the first time.
func (s *server) isStartingFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == mcp.StatusStarting && s.isFirstStartLocked()
}

// setSandboxed records whether the program is sandboxed.
func (s *server) setSandboxed(sandboxed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxed = sandboxed
}
