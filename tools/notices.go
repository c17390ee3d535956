package tools

import (
	"strings"
	"sync"
)

// sandboxNotices collects the sandbox's reports of undone changes and warnings, until take is
// called. It is safe for concurrent use.
type sandboxNotices struct {
	divert func(text string) bool // if it returns true, the text is not collected; nil: all is

	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (n *sandboxNotices) Write(p []byte) (int, error) {
	if n.divert != nil && n.divert(string(p)) {
		return len(p), nil
	}
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

// noticesOf collects the notices about a command that has ended, and returns them for the model.
func (w *workspace) noticesOf(r *runningCommand) string {
	r.ReleaseHelper() // ends the watch
	text := r.undone.take()
	if r.policy != nil && r.HelperFailed() {
		text = strings.TrimSpace(note("CAUTION: the process that ends all processes of a command was killed: check what still runs") + "\n" + text)
	}
	_, _ = w.notices.Write([]byte(text + "\n"))
	return truncate(text, maxNotices)
}
