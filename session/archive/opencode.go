package archive

import (
	"context"
	"encoding/json"
	"fmt"

	"parley/providers/llm"
	"parley/session/store"
)

// opencode keeps sessions, messages and their parts as JSON: since 2026 in rows of
// ~/.local/share/opencode/opencode.db, before that in files below "storage" there. A
// message of the assistant holds one step or several, with calls and their results.
// Sessions with a parent are those of subagents. (What opencode 1.18 writes.)

// An opencodeSession is a session in either form.
type opencodeSession struct {
	ID     string `json:"id"`
	Parent string `json:"parentID"`
	Title  string `json:"title"`
	Dir    string `json:"directory"`
	Time   struct {
		Created float64 `json:"created"` // ms
		Updated float64 `json:"updated"`
	} `json:"time"`
	Revert struct {
		Message string `json:"messageID"`
	} `json:"revert"`
	stamp string
}

type opencodeMessage struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	Model    string          `json:"modelID"`
	Provider string          `json:"providerID"`
	Summary  json.RawMessage `json:"summary"` // true of what a compaction wrote
	Finish   string          `json:"finish"`
	Cost     float64         `json:"cost"`
	Tokens   opencodeTokens  `json:"tokens"`
	Time     struct {
		Created   float64 `json:"created"` // ms
		Completed float64 `json:"completed"`
	} `json:"time"`
	Error *struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
		} `json:"data"`
	} `json:"error"`
}

type opencodeTokens struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	Reasoning float64 `json:"reasoning"`
	Cache     struct {
		Read  float64 `json:"read"`
		Write float64 `json:"write"`
	} `json:"cache"`
}

func (t opencodeTokens) usage(cost float64) *llm.Usage {
	return consumption{t.Input, t.Cache.Read, t.Cache.Write, t.Output + t.Reasoning, t.Reasoning, cost}.usage()
}

type opencodePart struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Prompt   string         `json:"prompt"`
	MIME     string         `json:"mime"`
	File     string         `json:"filename"`
	URL      string         `json:"url"`
	Tool     string         `json:"tool"`
	CallID   string         `json:"callID"`
	Cost     float64        `json:"cost"`
	Tokens   opencodeTokens `json:"tokens"`
	Metadata struct {
		Anthropic struct {
			Signature string `json:"signature"`
			Redacted  string `json:"redactedData"`
		} `json:"anthropic"`
		OpenAI struct {
			ID        string `json:"itemId"`
			Encrypted string `json:"reasoningEncryptedContent"`
		} `json:"openai"`
	} `json:"metadata"`
	State struct {
		Status   string          `json:"status"`
		Input    json.RawMessage `json:"input"`
		Output   string          `json:"output"`
		Error    string          `json:"error"`
		Files    []opencodePart  `json:"attachments"`
		Metadata struct {
			Diff string `json:"diff"`
		} `json:"metadata"`
		Time struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"time"`
	} `json:"state"`
}

var opencodeReasons = map[string]llm.Reason{
	"stop": llm.Stop, "length": llm.Length, "tool-calls": llm.Calls, "content-filter": llm.Refused, "other": llm.Other,
}

// An opencodeStore is one of the two forms: opencodeDatabase or opencodeDirectory.
type opencodeStore interface {
	sessions(ctx context.Context, r *sourceReader) ([]opencodeSession, error)
	// messages returns the ids of a session's messages in order, and by id the message (one
	// value) and its parts.
	messages(ctx context.Context, r *sourceReader, session string) (ids []string, messages, parts map[string][]json.RawMessage, err error)
}

func (r *sourceReader) opencode(ctx context.Context, from opencodeStore) error {
	all, err := from.sessions(ctx, r)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Parent != "" {
			r.found++
			r.skipped.at("session "+truncateLine(s.ID), 0)
			r.skipped.add(subsessions, 1)
			continue
		}
		if !r.isWanted("opencode", s.ID, s.stamp) {
			continue
		}
		ids, messages, parts, err := from.messages(ctx, r, s.ID)
		if err != nil {
			return err
		}
		t := &opencodeBuilder{builder: newBuilder("opencode", r.skipped)}
		t.session.ID, t.session.Title, t.session.Dir = s.ID, s.Title, directory(s.Dir)
		t.session.Created, t.session.Updated = millis(s.Time.Created), millis(s.Time.Updated)
		head, revertedTo := 0, -1 // Seq of the head after a revert; -1: there was none
		for _, id := range ids {
			r.skipped.at("message "+truncateLine(id), 0)
			var m opencodeMessage
			if len(messages[id]) == 0 || !r.skipped.decode(messages[id][0], &m, badRows) {
				continue
			}
			if id == s.Revert.Message && id != "" {
				revertedTo = head
			}
			head = t.message(&m, parts[id], head)
		}
		if revertedTo >= 0 {
			head = revertedTo
		}
		if err := r.add(t.builder, head, s.stamp); err != nil {
			return err
		}
	}
	return nil
}

type opencodeBuilder struct {
	*builder
	items map[string][]string // summaries of reasoning items of the message, by their id
}

// message adds a message behind head, and returns the Seq the next one follows.
func (t *opencodeBuilder) message(m *opencodeMessage, list []json.RawMessage, head int) int {
	parts := make([]opencodePart, 0, len(list))
	t.items = map[string][]string{}
	for _, raw := range list {
		var p opencodePart
		if !t.skipped.decode(raw, &p, badRows) {
			continue
		}
		parts = append(parts, p)
		if id := p.Metadata.OpenAI.ID; p.Type == "reasoning" && id != "" && p.Text != "" {
			t.items[id] = append(t.items[id], p.Text)
		}
	}
	at := millis(m.Time.Created)
	switch {
	case m.Role == "user", string(m.Summary) == "true" && m.Role == "assistant":
		n := store.Node{Parent: head, At: at, Summary: m.Role == "assistant", Message: llm.Message{Role: llm.RoleUser}}
		for _, p := range parts {
			n.Parts = t.appendPart(n.Parts, p)
		}
		if len(n.Parts) == 0 {
			return head
		}
		return t.add("", n)
	case m.Role == "assistant":
		return t.answer(m, parts, head)
	}
	t.skipped.add(badMessages, 1)
	return head
}

// appendPart adds a part that is text or a file; others are skipped, unknown ones counted.
func (t *opencodeBuilder) appendPart(parts []llm.Part, p opencodePart) []llm.Part {
	switch p.Type {
	case "text":
		return appendText(parts, p.Text)
	case "subtask":
		return appendText(parts, p.Prompt)
	case "file":
		if f, ok := imagePart(p.URL); ok {
			f.Name = truncateLine(p.File)
			if p.MIME != "" {
				f.MIME = p.MIME
			}
			return append(parts, f)
		}
		t.skipped.add(noFiles, 1)
	case "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "reasoning", "tool":
	default:
		t.skipped.add(unknownBlocks, 1)
	}
	return parts
}

// answer adds a response, and returns the Seq of its last message: a step that follows calls
// is a message of its own, as their results stand between.
func (t *opencodeBuilder) answer(m *opencodeMessage, parts []opencodePart, head int) int {
	origin := responsesOrigin(m.Provider, m.Model)
	if m.Provider == "anthropic" {
		origin = claudeOrigin(m.Model)
	}
	begin := func(parent int) int {
		return t.add("", store.Node{Parent: parent, At: millis(m.Time.Created), Message: llm.Message{
			Role: llm.RoleAssistant, Model: foreignModel(m.Provider, m.Model), Origin: origin,
		}})
	}
	first := begin(head)
	seq := first
	for _, p := range parts {
		if n := t.node(seq); p.Type == "step-start" && len(n.Calls()) > 0 {
			seq = begin(seq)
		}
		t.part(seq, p, m.Provider)
	}
	n := t.node(seq)
	if len(n.Parts) == 0 {
		t.nodes = t.nodes[:seq-1]
		if seq == first {
			if m.Error != nil {
				t.skipped.add(failedAnswers, 1)
			}
			return head
		}
		seq--
		n = t.node(seq)
	}
	if n.Usage == nil && seq == first {
		n.Usage = m.Tokens.usage(m.Cost)
	}
	if seq == first {
		n.Duration = elapsed(millis(m.Time.Created), millis(m.Time.Completed))
	}
	why := ""
	if m.Error != nil && m.Error.Name != "MessageAbortedError" {
		why = join(m.Error.Name, m.Error.Data.Message)
	}
	t.setEnding(seq, opencodeReasons[m.Finish], m.Error != nil, why)
	return seq
}

func (t *opencodeBuilder) part(seq int, p opencodePart, provider string) {
	n := t.node(seq)
	switch p.Type {
	case "reasoning":
		if q, ok := t.thinkingPart(n.Origin, p, provider); ok {
			n.Parts = append(n.Parts, q)
		}
	case "tool":
		t.addToolCall(seq, p)
	case "step-finish":
		n.Usage = p.Tokens.usage(p.Cost)
	default:
		n.Parts = t.appendPart(n.Parts, p)
	}
}

// thinkingPart returns the thinking of a part. A reasoning item of the Responses API has a part
// for each of its summaries: the first gets all of them, the others are false.
func (t *opencodeBuilder) thinkingPart(origin string, p opencodePart, provider string) (llm.Part, bool) {
	q := llm.Part{Kind: llm.Thinking, Text: p.Text}
	a, o := p.Metadata.Anthropic, p.Metadata.OpenAI
	switch {
	case origin == "":
	case provider == "anthropic" && a.Redacted != "":
		q = llm.Part{Kind: llm.Opaque, State: encodeJSON(map[string]string{"type": "redacted_thinking", "data": a.Redacted})}
	case provider == "anthropic":
		q = signedThinking(origin, p.Text, a.Signature)
	case o.ID != "":
		summary, ok := t.items[o.ID]
		if !ok && p.Text != "" {
			return q, false
		}
		delete(t.items, o.ID)
		q = encryptedReasoning(o.ID, summary, o.Encrypted)
	}
	return q, q.Text != "" || q.State != nil
}

func (t *opencodeBuilder) addToolCall(seq int, p opencodePart) {
	if p.Tool == "" {
		t.skipped.add(emptyCalls, 1)
		return
	}
	s := p.State
	id := p.CallID
	if id == "" {
		id = fmt.Sprintf("opencode_%d_%d", seq, len(t.localCalls)+1)
	}
	t.call(seq, llm.Part{ID: id, Name: p.Tool, Input: compact(s.Input)})
	result := llm.Part{Text: s.Output}
	switch s.Status {
	case "completed":
	case "error":
		result.Text, result.Failed = join(s.Output, s.Error), true
	default: // pending or running: it has no result
		return
	}
	var files []llm.Part
	for _, f := range s.Files {
		f.Type = "file"
		files = t.appendPart(files, f)
	}
	from, to := millis(s.Time.Start), millis(s.Time.End)
	t.result(id, to, result, files, store.Outcome{Diff: s.Metadata.Diff, Duration: elapsed(from, to)})
}
