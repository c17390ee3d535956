// Package archive exports conversations, and imports those of other programs.
//
//	Conversation ──► Markdown, HTML   the current branch, for people
//	Conversation ──► JSONL            everything, byte for byte
//	path         ──► ReadFile         JSONL, Claude Code, Codex, Gemini CLI, Qwen Code, pi, ChatGPT, Claude, crush, opencode, llm
//
// Exports are written for hostile content: no text of a model or a tool can
// end the block it is in, run, load anything, or hide itself. An import
// is a valid tree even if the file is not: each message follows one before it,
// each call has its result, and anything that could not be imported is counted. Files are
// read line by line, or conversation by conversation: of a large file, only the
// conversations that are returned stay in memory.
package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"

	"parley/providers/llm"
	"parley/session/store"
	"parley/session/transfer"
)

// A Conversation is a session with all its messages, on all branches.
type Conversation = transfer.Conversation

// New returns the writers and readers of conversations.
func New() transfer.Archive {
	return transfer.Archive{Formats: formats, Read: ReadFile}
}

// formats are the formats for writing a conversation.
var formats = transfer.Formats{{Name: "md", Write: Markdown}, {Name: "html", Write: HTML}, {Name: "jsonl", Write: JSONL}}

// branchOf yields the current branch from its first message to its last. It stops at a
// cycle or a missing parent.
func branchOf(c Conversation) iter.Seq[*store.Node] {
	if c.Pages != nil {
		return func(yield func(*store.Node) bool) {
			for page := range c.Pages {
				for i := range page {
					if !yield(&page[i]) {
						return
					}
				}
			}
		}
	}
	at := make(map[int]int, len(c.Nodes))
	for i := range c.Nodes {
		at[c.Nodes[i].Seq] = i
	}
	var path []*store.Node
	for seq := c.Session.Head; len(path) < len(c.Nodes); {
		i, ok := at[seq]
		if !ok {
			break
		}
		delete(at, seq)
		path = append(path, &c.Nodes[i])
		seq = c.Nodes[i].Parent
	}
	slices.Reverse(path)
	return slices.Values(path)
}

// countBranches returns the number of branches, which is that of messages
// without a successor.
func countBranches(c Conversation) int {
	followed := make(map[int]bool, len(c.Nodes))
	for _, n := range c.Nodes {
		followed[n.Parent] = true
	}
	leaves := 0
	for _, n := range c.Nodes {
		if !followed[n.Seq] {
			leaves++
		}
	}
	return leaves
}

// usage returns the usage of all responses on all branches.
func usageOf(c Conversation) llm.Usage {
	if c.Session.Usage != (llm.Usage{}) {
		return c.Session.Usage
	}
	return totalUsage(c.Nodes)
}

func totalUsage(nodes []store.Node) llm.Usage {
	var u llm.Usage
	for _, n := range nodes {
		if n.Usage != nil {
			u = u.Add(*n.Usage)
		}
	}
	return u
}

// A message is a stored message for an export: calls are combined with their results.
type message struct {
	store.Node
	switched string                 // "Model changed from … to …"; "" if it did not
	answers  map[string]*callResult // by id of the call
	endings  []string               // why a prompt has no response
	sources  int                    // number of sources written
}

// A callResult is the result of a call, with its media and outcome.
type callResult struct {
	result  llm.Part
	media   []llm.Part
	outcome store.Outcome
}

// messagesOf yields the current branch, with the results of calls folded into the
// messages that made them. Results of unknown calls stay messages of their own.
func messagesOf(c Conversation) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		var last *message // not yielded yet: results may follow
		model := ""
		end := func(next *store.Node) bool {
			if last == nil {
				return true
			}
			if last.Role == llm.RoleUser && (next == nil || next.Role == llm.RoleUser) {
				last.endings = turnEndings(c, last.Seq)
			}
			return yield(last)
		}
		for n := range branchOf(c) {
			m := &message{Node: *n, answers: map[string]*callResult{}}
			if c.Session.LockedBy == "" { // not open for writing
				m.Node = store.CloseInterrupted(m.Node, last.calls())
			}
			switch n.Role {
			case llm.RoleTool:
				var caller *message
				if last != nil && last.Role == llm.RoleAssistant {
					caller = last
				}
				if m.Parts = caller.foldResults(m.Parts, m.Results); len(m.Parts) == 0 {
					continue
				}
			case llm.RoleAssistant:
				drawn := n.Origin == llm.OriginImages // an image model wrote it, not the conversation's model
				if model != "" && m.Model != "" && m.Model != model && !drawn {
					m.switched = "Model changed from " + oneLine(model) + " to " + oneLine(m.Model)
				}
				if !drawn {
					model = cmp.Or(m.Model, model)
				}
				m.Parts = m.foldResults(m.Parts, m.Results)
			}
			if !end(n) {
				return
			}
			last = m
		}
		end(nil)
	}
}

// calls returns the calls of s; nil if s is nil.
func (s *message) calls() []llm.Part {
	if s == nil {
		return nil
	}
	return s.Calls()
}

// turnEndings returns why the turns of message seq ended: "stopped", or errors and
// refusals, from the annotations of kind "done" and "notice".
func turnEndings(c Conversation, seq int) (all []string) {
	for _, a := range c.Annotations {
		var e struct {
			Text   string
			Urgent bool
			Is     string
		}
		switch {
		case a.After != seq || json.Unmarshal(a.Data, &e) != nil:
		case a.Kind == "done" && e.Is == context.Canceled.Error():
			all = append(all, "stopped")
		case a.Kind == "done", a.Kind == "notice" && e.Urgent:
			all = append(all, oneLine(e.Text))
		}
	}
	return all
}

// foldResults removes the results of s's own calls, with their media, from parts,
// and returns the rest.
func (s *message) foldResults(parts []llm.Part, outcomes map[string]store.Outcome) (rest []llm.Part) {
	if s == nil {
		return parts
	}
	called := map[string]bool{}
	for _, p := range s.Parts {
		called[p.ID] = called[p.ID] || p.Kind == llm.Call
	}
	var last *callResult // the result that following media belong to
	for _, p := range parts {
		switch {
		case p.Kind == llm.Result && called[p.ID] && s.answers[p.ID] == nil:
			last = &callResult{result: p, outcome: outcomes[p.ID]}
			s.answers[p.ID] = last
		case last != nil && p.Kind == llm.Media && !last.result.Remote:
			last.media = append(last.media, p)
		default:
			last = nil
			rest = append(rest, p)
		}
	}
	return rest
}
