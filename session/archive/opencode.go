package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

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
}

type opencodeMessage struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	Model    string          `json:"modelID"`
	Provider string          `json:"providerID"`
	Summary  json.RawMessage `json:"summary"` // true for the summary of a compaction
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

// An opencodeRow is a message with its parts, in JSON.
type opencodeRow struct {
	id, data string
	parts    []string
}

// source returns the conversation of a session, with the messages that rows returns in order.
func (s opencodeSession) source(stamp string, rows func() ([]opencodeRow, error)) source {
	session := store.Session{Origin: "opencode", ID: s.ID, Title: s.Title, Dir: directory(s.Dir), Created: millis(s.Time.Created), Updated: millis(s.Time.Updated)}
	return source{session, s.Parent != "", stamp, func(t *builder) error {
		all, err := rows()
		head, reverted := 0, false
		for _, row := range all {
			t.skipped.at("message "+truncateLine(row.id), 0)
			var m opencodeMessage
			if !t.skipped.decode([]byte(row.data), &m, badRows) {
				continue
			}
			if row.id == s.Revert.Message && row.id != "" {
				head, reverted = t.head, true
			}
			(&opencodeBuilder{builder: t}).message(&m, row.parts)
		}
		if reverted {
			t.head = head
		}
		return err
	}}
}

type opencodeBuilder struct {
	*builder
	items map[string][]string // summaries of reasoning items of the message, by their id
}

// message adds a message after the head.
func (t *opencodeBuilder) message(m *opencodeMessage, list []string) {
	parts := make([]opencodePart, 0, len(list))
	t.items = map[string][]string{}
	for _, text := range list {
		var p opencodePart
		if !t.skipped.decode([]byte(text), &p, badRows) {
			continue
		}
		parts = append(parts, p)
		if id := p.Metadata.OpenAI.ID; p.Type == "reasoning" && id != "" && p.Text != "" {
			t.items[id] = append(t.items[id], p.Text)
		}
	}
	summary := string(m.Summary) == "true" && m.Role == "assistant"
	switch {
	case m.Role == "user", summary:
		t.add(millis(m.Time.Created), llm.Message{Role: llm.RoleUser}).Summary = summary
		for _, p := range parts {
			t.addPart(p)
		}
		t.removeEmpty()
	case m.Role == "assistant":
		t.addAnswer(m, parts)
	default:
		t.skip(badMessages)
	}
}

// addPart adds a part that is text or a file; others are skipped, unknown ones counted.
func (t *opencodeBuilder) addPart(p opencodePart) {
	switch p.Type {
	case "text":
		t.append(appendText(nil, p.Text)...)
	case "subtask":
		t.append(appendText(nil, p.Prompt)...)
	case "file":
		t.append(t.file(p.MIME, p.File, nil, p.URL)...)
	case "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "reasoning", "tool":
	default:
		t.skip(unknownBlocks)
	}
}

// addAnswer adds a response: a step that follows calls is a message of its own, as their
// results stand between.
func (t *opencodeBuilder) addAnswer(m *opencodeMessage, parts []opencodePart) {
	begin := func() { t.answer(millis(m.Time.Created), m.Provider, m.Model) }
	begin()
	first := t.head
	for _, p := range parts {
		switch n := t.node(t.head); {
		case p.Type == "step-start" && len(n.Calls()) > 0:
			begin()
		case p.Type == "reasoning":
			t.addThinking(p, m.Provider)
		case p.Type == "tool":
			t.addCall(p)
		case p.Type == "step-finish":
			n.Usage = p.Tokens.usage(p.Cost)
		default:
			t.addPart(p)
		}
	}
	if t.removeEmpty(); t.head < first {
		if m.Error != nil {
			t.skip(failedAnswers)
		}
		return
	}
	if n := t.node(t.head); t.head == first {
		n.Duration = elapsed(millis(m.Time.Created), millis(m.Time.Completed))
		if n.Usage == nil {
			n.Usage = m.Tokens.usage(m.Cost)
		}
	}
	why := ""
	if m.Error != nil && m.Error.Name != "MessageAbortedError" {
		why = join(m.Error.Name, m.Error.Data.Message)
	}
	t.setEnding(reasons[m.Finish], m.Error != nil, why)
}

// addThinking adds the thinking of a part. A reasoning item of the Responses API has a part
// for each of its summaries: the first gets all of them, the others are skipped.
func (t *opencodeBuilder) addThinking(p opencodePart, provider string) {
	var state json.RawMessage
	a, o := p.Metadata.Anthropic, p.Metadata.OpenAI
	switch {
	case t.node(t.head).Origin == "":
	case provider == "anthropic" && a.Redacted != "":
		p.Text, state = "", signedThinking("", a.Redacted, true)
	case provider == "anthropic":
		state = signedThinking(p.Text, a.Signature, false)
	case o.ID != "":
		summary, ok := t.items[o.ID]
		if !ok && p.Text != "" {
			return
		}
		delete(t.items, o.ID)
		p.Text, state = strings.Join(summary, "\n\n"), encryptedReasoning(o.ID, summary, o.Encrypted)
	}
	t.think(p.Text, state)
}

func (t *opencodeBuilder) addCall(p opencodePart) {
	s := p.State
	id := cmp.Or(p.CallID, fmt.Sprintf("opencode_%d_%d", t.head, len(t.localCalls)+1))
	if t.call(llm.Part{ID: id, Name: p.Tool, Input: compact(s.Input)}) == "" || s.Status != "completed" && s.Status != "error" {
		return // pending or running: it has no result
	}
	result := llm.Part{Text: s.Output}
	if s.Status == "error" {
		result.Text, result.Failed = join(s.Output, s.Error), true
	}
	var files []llm.Part
	for _, f := range s.Files {
		files = append(files, t.file(f.MIME, f.File, nil, f.URL)...)
	}
	from, to := millis(s.Time.Start), millis(s.Time.End)
	t.result(id, to, result, files, store.Outcome{Diff: s.Metadata.Diff, Duration: elapsed(from, to)})
}
