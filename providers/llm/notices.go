package llm

import "sync"

// Notices remembers the notices that a user has seen, so that each is sent once. The zero value is
// ready to use. It is safe for concurrent use.
type Notices struct {
	mu   sync.Mutex
	seen map[string]bool
}

// SendOnce sends each text that was not sent before as a Notice.
func (n *Notices) SendOnce(out *Out, texts ...string) { n.send(out, false, texts) }

// SendUrgentOnce is like SendOnce, with urgent notices.
func (n *Notices) SendUrgentOnce(out *Out, texts ...string) { n.send(out, true, texts) }

func (n *Notices) send(out *Out, urgent bool, texts []string) {
	for _, text := range texts {
		if n.markSeen(text) {
			out.Send(Notice{Text: text, Urgent: urgent})
		}
	}
}

// MarkSeen marks texts as sent.
func (n *Notices) MarkSeen(texts ...string) {
	for _, text := range texts {
		n.markSeen(text)
	}
}

// markSeen marks text as seen. It reports whether text is new and not empty.
func (n *Notices) markSeen(text string) bool {
	if text == "" {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen[text] {
		return false
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[text] = true
	return true
}
