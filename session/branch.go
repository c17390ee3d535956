package session

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/session/store"
)

var errRunning = errors.New("a turn is running: stop it first")

// A currentBranch changes the branch on which the conversation continues. Nothing is lost:
// replaced messages stay on a branch of their own. While a turn runs its methods return an
// error.
type currentBranch struct {
	session *Session

	edited    edit       // the last edit, until the turn that sends it has ended; guarded by the session's mutex
	givenBack bool       // a message was given back, and this is not stored yet; guarded by the session's mutex
	unsaid    []llm.Part // notes for the model from a message that was given back; owned by the running turn
	settling  sync.Mutex // held while StoreGivenBack runs
}

// An edit replaces a message. The conversation ends before that message until the new one is sent.
type edit struct {
	seq  int // message; 0: none
	head int // Seq where the conversation continues if nothing is sent
}

// Edit is Rewind for a message to be edited. If the new message does not enter the conversation, or is
// given back, or the session is closed before one is sent, the conversation continues where it did before
// the edit; see Unsent.
func (b *currentBranch) Edit(seq int) error {
	head := b.session.Head()
	_, err := b.Rewind(seq)
	if err == nil {
		set(&b.session.mu, &b.edited, edit{seq, head})
	}
	return err
}

// undoEdit restores the branch from before an edit if nothing was sent, and returns the edited message; 0 if
// there is none. The caller locks the session.
func (b *currentBranch) undoEdit(e edit) int {
	t := &b.session.tree
	if e.seq == 0 || t.head != t.at(e.seq).Parent {
		return 0
	}
	b.setHead(e.head)
	return e.seq
}

// leaveEdit undoes an edit that sent nothing, when the session ends.
func (b *currentBranch) leaveEdit() {
	s := b.session
	s.mu.Lock()
	undone, head := b.undoEdit(b.edited), s.tree.head
	s.mu.Unlock()
	if undone > 0 {
		s.persistHead(head)
	}
}

// Rewind makes the conversation end before the user's message seq and returns
// that message, to be changed and sent again. Later messages stay as a branch.
func (b *currentBranch) Rewind(seq int) (llm.Message, error) {
	var message llm.Message
	err := b.move(func(t *tree) (int, error) {
		n, err := t.At(seq)
		if err != nil {
			return 0, err
		}
		if !isPrompt(n) {
			return 0, errors.New("only your own messages can be edited")
		}
		message = n.Message
		return n.Parent, nil
	})
	return message, err
}

// Rewrite adds a branch in which the answer seq has this text. Answers with
// tool calls cannot be rewritten, because results belong to the calls.
func (b *currentBranch) Rewrite(seq int, text string) error {
	return b.change(func(t *tree) ([]store.Node, error) {
		n, err := t.At(seq)
		if err == nil && (n.Role != llm.RoleAssistant || len(n.Calls()) > 0) {
			err = errors.New("only answers without tool calls can be rewritten")
		}
		if err != nil {
			return nil, err
		}
		b.setHead(n.Parent)
		own := t.newNode(llm.Message{Role: llm.RoleAssistant, Origin: n.Origin, Model: n.Model, Parts: []llm.Part{{Kind: llm.Text, Text: text}}})
		own.At = b.session.now()
		t.Put(own)
		return []store.Node{own}, nil
	})
}

// Regenerate makes the conversation end with the prompt of the turn that includes the
// message seq, so that Turn without parts gives another answer. The old answer stays as a
// branch.
func (b *currentBranch) Regenerate(seq int) error {
	return b.move(func(t *tree) (int, error) {
		if _, err := t.At(seq); err != nil {
			return 0, err
		}
		for n := range t.back(seq) {
			if beginsTurn(n) {
				return n.Seq, nil
			}
		}
		return 0, errors.New("no prompt before this message")
	})
}

// DropEmptyAnswer makes the conversation end before its last answer if that is complete and empty,
// so that Turn without parts asks again. It reports whether it did. The answer stays as a branch.
func (b *currentBranch) DropEmptyAnswer() bool {
	return b.move(func(t *tree) (int, error) {
		last, _ := t.Last()
		if last.Role != llm.RoleAssistant || last.Interrupted || !last.Message.Empty() {
			return 0, errNotEmpty
		}
		return last.Parent, nil
	}) == nil
}

var errNotEmpty = errors.New("the last answer says something, or was interrupted")

// abandonInterrupted makes the conversation end before its last message if that is an
// interrupted response, and reports whether it did. The response stays visible on its own
// branch.
func (c *conversation) abandonInterrupted() bool {
	c.mu.Lock()
	last, ok := c.tree.Last()
	if ok = ok && last.Role == llm.RoleAssistant && last.Interrupted; ok {
		c.tree.head = last.Parent
		c.putAnnotation(c.tree.newAnnotation(c.now()), Abandoned{Seq: last.Seq})
	}
	c.mu.Unlock()
	if ok {
		c.persistHead(last.Parent) // nothing may follow an interrupted response
	}
	return ok
}

// Switch makes the conversation continue at the end of the branch that contains
// the message seq.
func (b *currentBranch) Switch(seq int) error {
	return b.move(func(t *tree) (int, error) {
		if _, err := t.At(seq); err != nil {
			return 0, err
		}
		return t.Tip(seq), nil
	})
}

func (b *currentBranch) move(to func(*tree) (int, error)) error {
	return b.change(func(t *tree) ([]store.Node, error) {
		head, err := to(t)
		if err == nil {
			b.setHead(head)
		}
		return nil, err
	})
}

// change calls f, which moves the end of the conversation and may return new messages, and stores the
// result. It fails while a turn runs.
func (b *currentBranch) change(f func(*tree) (added []store.Node, err error)) error {
	s := b.session
	if !s.turn.TryLock() {
		return errRunning
	}
	defer s.Beside.keepAll()
	defer s.turn.Unlock()
	return b.changeLocked(f)
}

// changeLocked is change with the session's turn locked.
func (b *currentBranch) changeLocked(f func(*tree) (added []store.Node, err error)) error {
	s := b.session
	s.mu.Lock()
	added, err := f(&s.tree)
	head := s.tree.head
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.persistHead(head, added...)
	s.Personas.follow()
	return nil
}

// setHead makes the conversation continue after the message seq; 0 is its beginning. The caller
// locks the session.
func (b *currentBranch) setHead(seq int) {
	s := b.session
	if s.files != nil {
		s.files.MarkBranch(s.tree.head)
	}
	s.tree.head, b.edited = seq, edit{}
	s.Spending.last = s.tree.lastUsage()
}

// ErrNoSummary says that there is no summary to edit or to undo.
var ErrNoSummary = errors.New("there is no summary in this conversation yet")

// LastSummary returns the current summary without the skills in it, and the number of its message;
// ok is false if there is none.
func (b *currentBranch) LastSummary() (seq int, text string, ok bool) {
	path := b.session.Path()
	i := lastSummary(path)
	if i < 0 {
		return 0, "", false
	}
	words := path[i].Message
	words.Parts = slices.DeleteFunc(slices.Clone(words.Parts), isSkill)
	return path[i].Seq, strings.TrimPrefix(words.Text(), summaryPreface), true
}

// lastSummary returns the index of the last summary on a path; -1 if there is none.
func lastSummary(path []store.Node) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Summary {
			return i
		}
	}
	return -1
}

// EditSummary adds a branch on which the last summary has this text and the same skills. A prompt
// waiting for its answer is appended again. A summary followed by an answer cannot be edited.
func (b *currentBranch) EditSummary(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("a summary cannot be empty: /compact undo goes back in front of it")
	}
	return b.change(func(t *tree) (own []store.Node, err error) {
		path := t.Path()
		i := lastSummary(path)
		switch {
		case i < 0:
			return nil, ErrNoSummary
		case slices.ContainsFunc(path[i+1:], func(n store.Node) bool { return n.Role != llm.RoleUser }):
			return nil, errors.New("the conversation went on after the summary: /compact undo goes back in front of it")
		}
		b.setHead(path[i].Parent)
		for _, n := range path[i:] {
			message := n.Message
			if n.Summary {
				skills := slices.DeleteFunc(slices.Clone(n.Parts), func(p llm.Part) bool { return !isSkill(p) })
				message = llm.Message{Role: llm.RoleUser, Model: n.Model, Parts: append([]llm.Part{{Kind: llm.Text, Text: summaryPreface + text}}, skills...)}
			}
			copied := t.newNode(message)
			copied.At, copied.Summary, copied.Steers = b.session.now(), n.Summary, n.Steers
			t.Put(copied)
			own = append(own, copied)
		}
		return own, nil
	})
}

// UndoSummary makes the conversation end before its last summary, so that requests
// contain the original messages again. The summary and later messages stay as a branch.
// Prompts that waited while the summary was made wait again.
func (b *currentBranch) UndoSummary() error {
	return b.move(func(t *tree) (int, error) {
		path := t.pathTo(t.head)
		i := lastSummary(path)
		if i < 0 {
			return 0, ErrNoSummary
		}
		rest := path[i+1:]
		if slices.ContainsFunc(rest, func(n store.Node) bool { return n.Role != llm.RoleUser }) {
			return 0, errAfterSummary
		}
		for ; len(rest) > 0; rest = rest[:len(rest)-1] { // prompts that waited are stored after the summary again, with the same parts
			for seq := path[i].Seq - 1; seq > path[i].Parent; seq-- {
				if t.endsWith(seq, path[i].Parent, rest) {
					return seq, nil
				}
			}
		}
		return path[i].Parent, nil
	})
}

// endsWith reports whether the branch ending with the message seq consists, after the
// message parent, of the same prompts and nothing else.
func (t *tree) endsWith(seq, parent int, prompts []store.Node) bool {
	for _, p := range slices.Backward(prompts) {
		if seq <= parent {
			return false
		}
		n := t.at(seq)
		if n.Role != llm.RoleUser || n.Summary || !reflect.DeepEqual(n.Parts, p.Parts) {
			return false
		}
		seq = n.Parent
	}
	return seq == parent
}

// errAfterSummary refuses an undo that would hide messages added after the
// summary.
var errAfterSummary = errors.New("not undone: there are answers after the summary; /rewind to before them first")

// giveBack returns the last message to the user if they stopped at a question about its request, which was
// not sent. The message stays as a branch, and its notes for the model go with the next message. It reports
// whether it gave the message back.
func (g *givenPrompt) giveBack() bool {
	t := g.turn
	s := t.session
	t.mu.Lock()
	last, ok := t.tree.Last()
	if ok = ok && last.Seq == g.Seq; ok {
		edited := s.Branch.edited
		s.Branch.setHead(last.Parent)
		g.Edits, g.Ends = s.Branch.undoEdit(edited), true
		s.Branch.unsaid, s.hooks.unsaid, s.Branch.givenBack = g.notes, g.starts, true
	}
	t.mu.Unlock()
	if !ok {
		return false
	}
	s.Personas.follow()
	t.emit(g.Unsent)
	return true
}

// StoreGivenBack stores that the conversation ends before the message that was given back, if any. A front end
// calls it once the message is a stored draft. Until then, or until the conversation continues, is forked or
// closed, the stored conversation still includes the message, so that a crash cannot lose it.
func (b *currentBranch) StoreGivenBack() {
	b.settling.Lock() // the next message waits for this
	defer b.settling.Unlock()
	s := b.session
	s.mu.Lock()
	given, head := b.givenBack, s.tree.head
	b.givenBack = false
	s.mu.Unlock()
	if !given {
		return
	}
	s.persistHead(head)
	if head == 0 && s.log != nil { // the title came from the message given back
		_ = s.log.Update(func(i *store.Session) {
			if !i.Named {
				i.Title = ""
			}
		})
	}
}
