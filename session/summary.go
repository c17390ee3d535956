package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// ErrNoSummary says that there is no summary to edit or to undo.
var ErrNoSummary = errors.New("there is no summary in this conversation yet")

// LastSummary returns the summary that requests begin with, and the number of its message;
// not ok if there is none.
func (s *Session) LastSummary() (seq int, text string, ok bool) {
	path := s.Path()
	i := lastSummary(path)
	if i < 0 {
		return 0, "", false
	}
	return path[i].Seq, strings.TrimPrefix(path[i].Text(), summaryPreface), true
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

// EditSummary grows a branch in which the last summary says text. A prompt that waits for
// its answer stands behind it again. Once something was answered behind a summary, it stays
// as it was.
func (s *Session) EditSummary(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("a summary cannot be empty: /compact undo goes back in front of it")
	}
	if !s.turn.TryLock() {
		return errRunning
	}
	defer s.turn.Unlock()
	s.mu.Lock()
	path := s.tree.PathTo(s.tree.head)
	i := lastSummary(path)
	switch {
	case i < 0:
		s.mu.Unlock()
		return ErrNoSummary
	case slices.ContainsFunc(path[i+1:], func(n store.Node) bool { return n.Role != llm.RoleUser }):
		s.mu.Unlock()
		return errors.New("the conversation went on after the summary: /compact undo goes back in front of it")
	}
	s.tree.head = path[i].Parent
	var own []store.Node
	for _, n := range path[i:] {
		message := n.Message
		if n.Summary {
			message = llm.Message{Role: llm.RoleUser, Model: n.Model, Parts: []llm.Part{{Kind: llm.Text, Text: summaryPreface + text}}}
		}
		copied := s.tree.NewNode(message)
		copied.At, copied.Summary = s.now(), n.Summary
		s.tree.Put(copied)
		own = append(own, copied)
	}
	s.last = s.tree.lastUsage()
	s.mu.Unlock()
	for _, n := range own {
		s.persist(n)
	}
	return nil
}

// UndoSummary makes the conversation end in front of its last summary, so that requests
// have the messages themselves again. The summary, and what came behind it, stay as a
// branch. A prompt that waited while it was made waits again.
func (s *Session) UndoSummary() error {
	return s.move(func(t *Tree) (int, error) {
		path := t.PathTo(t.head)
		i := lastSummary(path)
		if i < 0 {
			return 0, ErrNoSummary
		}
		if rest := path[i+1:]; len(rest) == 1 && rest[0].Role == llm.RoleUser {
			for _, n := range t.nodes {
				if n.Parent == path[i].Parent && n.Role == llm.RoleUser && !n.Summary && n.Text() == rest[0].Text() {
					return n.Seq, nil
				}
			}
		}
		return path[i].Parent, nil
	})
}

// Bounds for the paths that a summarizer is told.
const (
	maxPaths    = 200
	maxPathSize = 400 // bytes of one
)

// pathFields are the arguments in which the tools of parley and of others take files.
var pathFields = []string{"path", "file", "file_path", "filename", "paths", "files", "from", "to", "source", "destination", "notebook_path"}

// pathsOfCalls returns the files that tools were called with on a path, each once, the
// newest last.
func pathsOfCalls(path []store.Node) (paths []string) {
	for _, n := range path {
		for _, p := range n.Parts {
			if p.Kind != llm.Call {
				continue
			}
			var input map[string]json.RawMessage
			if json.Unmarshal([]byte(p.Input), &input) != nil {
				continue
			}
			for _, field := range pathFields {
				for _, file := range filesIn(input[field]) {
					paths = append(slices.DeleteFunc(paths, func(known string) bool { return known == file }), file)
				}
			}
		}
	}
	return paths[max(0, len(paths)-maxPaths):]
}

// filesIn returns the paths in an argument: a string, or a list of them. Text of several
// lines is none, and neither is an address.
func filesIn(argument json.RawMessage) (files []string) {
	var one string
	var list []string
	if json.Unmarshal(argument, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(argument, &list) != nil {
		return nil
	}
	for _, file := range list {
		if file != "" && file != "." && len(file) <= maxPathSize && !strings.ContainsAny(file, "\n\r<>") && !strings.Contains(file, "://") {
			files = append(files, file)
		}
	}
	return files
}

// keepPaths adds to a summary the paths that it does not have.
func keepPaths(summary string, paths []string) string {
	var lost []string
	for _, path := range paths {
		if !strings.Contains(summary, path) {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return summary
	}
	return fmt.Sprintf("%s\n\n## Also touched\n%s", summary, strings.Join(lost, "\n"))
}
