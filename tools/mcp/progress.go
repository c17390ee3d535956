package mcp

import "time"

// A progress takes what a program writes to standard error, and tells of it while
// the program starts for the first time: it may be downloading.
type progress struct {
	s    *server
	last time.Time
}

// between is the time between two pieces of news.
const between = time.Second

func (p *progress) Write(data []byte) (int, error) {
	n, err := p.s.stderr.Write(data)
	if now := time.Now(); now.Sub(p.last) >= between && p.s.starting() {
		p.last = now
		p.s.tell()
	}
	return n, err
}

// starting reports whether the server starts for the first time.
func (s *server) starting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status == Starting && s.isFirst()
}

// hold notes whether the sandbox holds the program.
func (s *server) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}
