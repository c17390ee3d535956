package client

import (
	"time"

	"parley/tools/mcp"
)

// A stderrWriter stores the standard error of a program, and calls OnChange on it while the program
// starts for the first time: it may be downloading.
type stderrWriter struct {
	s    *server
	last time.Time
}

// noticeInterval is the shortest time between two such calls.
const noticeInterval = time.Second

func (p *stderrWriter) Write(data []byte) (int, error) {
	n, err := p.s.stderr.Write(data)
	if now := time.Now(); now.Sub(p.last) >= noticeInterval && p.s.isStartingFirst() {
		p.last = now
		p.s.notifyChange()
	}
	return n, err
}

// isStartingFirst reports whether the server starts for the first time.
func (s *server) isStartingFirst() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == mcp.StatusStarting && s.isFirstStartLocked()
}

// setSandboxed notes whether the sandbox holds the program.
func (s *server) setSandboxed(sandboxed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxed = sandboxed
}
