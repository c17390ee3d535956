package tools

import (
	"slices"
	"strings"
	"sync"
)

// sandboxNotices collects the sandbox's reports of undone changes and warnings, until take is
// called. It is safe for concurrent use.
type sandboxNotices struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (n *sandboxNotices) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// take returns the collected text without escape sequences.
func (n *sandboxNotices) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	plain, _ := Sanitize(n.text.String())
	n.text.Reset()
	return strings.TrimSpace(plain)
}

// TakeSandboxNotices returns the complete sandbox notices since the last call, for the user; "" for
// none.
func (s *Set) TakeSandboxNotices() string {
	if s == nil {
		return ""
	}
	return strings.Trim(strings.ReplaceAll(s.notices.take(), "]\n[", "\n"), "[]")
}

// maxNotices is how many characters of notices about one command are sent to the model.
const maxNotices = 4000

// noticesOf collects the notices about a command that has ended, and others, and returns them for
// the model.
func (w *workspace) noticesOf(r *runningCommand, others ...string) string {
	r.ReleaseHelper() // flushes its reports
	if r.policy != nil && r.HelperFailed() {
		others = append(others, note("CAUTION: the sandbox could not look at what is protected"))
	}
	all := slices.DeleteFunc(append(others, r.undone.take()), func(text string) bool { return text == "" })
	text := strings.Join(all, "\n")
	_, _ = w.notices.Write([]byte(text + "\n"))
	return truncate(text, maxNotices)
}
