package plain

import (
	"runtime/debug"
	"sync"
)

// A mailbox holds what others want the front to do, and why it has to end.
type mailbox struct {
	news chan struct{} // something was posted

	mu     sync.Mutex // guards what follows
	posted []func()
	panic  any
	stack  []byte
}

func newMailbox() mailbox { return mailbox{news: make(chan struct{}, 1)} }

// post has f run by the goroutine that owns the front. It never waits.
func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.posted = append(m.posted, f)
	m.mu.Unlock()
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// deliver runs what was posted.
func (m *mailbox) deliver() {
	m.mu.Lock()
	posted := m.posted
	m.posted = nil
	m.mu.Unlock()
	for _, f := range posted {
		f()
	}
}

// crashed keeps the first panic, with the stack of the goroutine that calls.
func (m *mailbox) crashed(p any) {
	stack := debug.Stack()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.panic == nil {
		m.panic, m.stack = p, stack
	}
}
