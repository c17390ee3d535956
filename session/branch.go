package session

import (
	"errors"

	"parley/providers/llm"
)

var errRunning = errors.New("a turn is running: stop it first")

// Edit makes the conversation end before the message seq of the user's and
// returns it, to be changed and sent anew. What came after stays as a branch.
func (s *Session) Edit(seq int) (llm.Message, error) {
	var message llm.Message
	err := s.move(func(t *Tree) (int, error) {
		n, err := t.At(seq)
		if err != nil {
			return 0, err
		}
		if n.Role != llm.RoleUser || n.Summary {
			return 0, errors.New("only your own messages can be edited")
		}
		message = n.Message
		return n.Parent, nil
	})
	return message, err
}

// Rewrite grows a branch in which the answer seq says text. Answers that call
// tools stay as they are: their results belong to what was called.
func (s *Session) Rewrite(seq int, text string) error {
	if !s.turn.TryLock() {
		return errRunning
	}
	defer s.turn.Unlock()
	s.mu.Lock()
	n, err := s.tree.At(seq)
	if err == nil && (n.Role != llm.RoleAssistant || len(n.Calls()) > 0) {
		err = errors.New("only answers without tool calls can be rewritten")
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.tree.head = n.Parent
	own := s.tree.NewNode(llm.Message{Role: llm.RoleAssistant, Origin: n.Origin, Model: n.Model, Parts: []llm.Part{{Kind: llm.Text, Text: text}}})
	own.At = s.now()
	s.tree.Put(own)
	s.mu.Unlock()
	s.persist(own)
	return nil
}

// Regenerate makes the conversation end with the prompt that the message seq answers,
// so that Turn without parts gives another answer. What was answered stays as a
// branch.
func (s *Session) Regenerate(seq int) error {
	return s.move(func(t *Tree) (int, error) {
		if _, err := t.At(seq); err != nil {
			return 0, err
		}
		path := t.PathTo(seq)
		for i := len(path) - 1; i >= 0; i-- {
			if path[i].Role == llm.RoleUser && !path[i].Summary {
				return path[i].Seq, nil
			}
		}
		return 0, errors.New("no prompt before this message")
	})
}

// SwitchBranch makes the conversation go on at the end of the branch that the message
// seq is on.
func (s *Session) SwitchBranch(seq int) error {
	return s.move(func(t *Tree) (int, error) {
		if _, err := t.At(seq); err != nil {
			return 0, err
		}
		return t.Tip(seq), nil
	})
}

func (s *Session) move(to func(*Tree) (int, error)) error {
	if !s.turn.TryLock() {
		return errRunning
	}
	defer s.turn.Unlock()
	s.mu.Lock()
	head, err := to(&s.tree)
	if err == nil {
		s.tree.head = head
		s.last = s.tree.lastUsage()
	}
	s.mu.Unlock()
	if err == nil {
		s.persistHead(head)
	}
	return err
}
