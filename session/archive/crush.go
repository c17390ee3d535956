package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// A crushPart is a part of a message of crush, which keeps the conversations of a project in
// PROJECT/.crush/crush.db: sessions and messages, whose parts are a list of {"type", "data"}
// in JSON. Times are in seconds, in milliseconds in newer databases. Sessions with a parent
// are those of subagents. Usage and cost are those of a whole session.
// (charmbracelet/crush, internal/db/migrations and internal/message/content.go.)

type crushPart struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// A crushData is a part of any type.
type crushData struct {
	Text      string `json:"text"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Responses *struct {
		ID        string   `json:"item_id"`
		Encrypted string   `json:"encrypted_content"`
		Summary   []string `json:"summary"`
	} `json:"responses_data"`
	URL      string `json:"url"`
	Path     string `json:"Path"`
	MIME     string `json:"MIMEType"`
	Data     string `json:"Data"` // base64
	ID       string `json:"id"`
	Name     string `json:"name"`
	Input    string `json:"input"`
	CallID   string `json:"tool_call_id"`
	Content  string `json:"content"`
	Failed   bool   `json:"is_error"`
	DataMIME string `json:"mime_type"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Command  string `json:"command"`
	Output   string `json:"output"`
	Exit     int    `json:"exit_code"`
}

var crushReasons = map[string]llm.Reason{
	"end_turn": llm.Stop, "stop": llm.Stop, "max_tokens": llm.Length, "tool_use": llm.Calls, "content_filter": llm.Refused,
}

// crushSession is a row of sessions.
type crushSession struct {
	id, title, parent, created, updated, count string
	prompt, completion, cost                   float64
}

func (r *sourceReader) crush(ctx context.Context, d *database, path string) error {
	dir := ""
	if at, err := filepath.Abs(path); err == nil && filepath.Base(filepath.Dir(at)) == ".crush" {
		dir = filepath.Dir(filepath.Dir(at))
	}
	var all []crushSession
	err := d.rows(ctx, func(row []string) error {
		all = append(all, crushSession{row[0], row[1], row[2], row[3], row[4], row[5], parseNumber(row[6]), parseNumber(row[7]), parseNumber(row[8])})
		return nil
	}, `SELECT `+d.columnList("sessions", "id", "title", "parent_session_id", "created_at", "updated_at", "message_count", "prompt_tokens", "completion_tokens", "cost")+
		` FROM sessions ORDER BY created_at, id`)
	if err != nil {
		return err
	}
	for _, s := range all {
		r.skipped.at("session "+truncateLine(s.id), 0)
		stamp := s.updated + "/" + s.count
		if s.parent != "" {
			r.found++
			r.skipped.add(subsessions, 1)
			continue
		}
		if !r.isWanted("crush", s.id, stamp) {
			continue
		}
		if err := r.crushSession(ctx, d, s, dir, stamp); err != nil {
			return err
		}
	}
	return nil
}

func (r *sourceReader) crushSession(ctx context.Context, d *database, s crushSession, dir, stamp string) error {
	t := &crushBuilder{builder: newBuilder("crush", r.skipped)}
	t.session.ID, t.session.Title, t.session.Dir = s.id, s.title, directory(dir)
	t.session.Created, t.session.Updated = parseTime(s.created), parseTime(s.updated)
	head := 0
	err := d.rows(ctx, func(row []string) error {
		r.skipped.at("message "+truncateLine(row[0]), 0)
		head = t.message(head, row[1], row[2], foreignModel(row[3], row[4]), row[3], parseTime(row[5]), row[6] == "1")
		return nil
	}, `SELECT `+d.columnList("messages", "id", "role", "parts", "provider", "model", "created_at", "is_summary_message")+
		` FROM messages WHERE session_id = ? ORDER BY created_at, rowid`, s.id)
	if err != nil {
		return err
	}
	for seq := t.last(); seq > 0; seq-- {
		if n := t.node(seq); n.Role == llm.RoleAssistant {
			n.Usage = consumption{input: s.prompt, output: s.completion, cost: s.cost}.usage()
			break
		}
	}
	return r.add(t.builder, head, stamp)
}

type crushBuilder struct{ *builder }

// message adds a row of messages behind head, and returns the Seq the next one follows.
func (t *crushBuilder) message(head int, role, list, name, provider string, at time.Time, summary bool) int {
	var parts []crushPart
	if decode([]byte(list), &parts) != nil {
		t.skipped.add(badRows, 1)
		return head
	}
	n := store.Node{Parent: head, At: at, Message: llm.Message{Role: llm.RoleUser}}
	switch role {
	case "tool", "user":
	case "assistant":
		if summary {
			n.Summary = true // and sent to the model as the user's
			break
		}
		n.Role, n.Model = llm.RoleAssistant, name
		if _, id, ok := strings.Cut(name, "/"); ok && provider == "anthropic" {
			n.Origin = claudeOrigin(id)
		} else if ok {
			n.Origin = responsesOrigin(provider, id)
		}
	default:
		t.skipped.add(injected, 1)
		return head
	}
	seq := t.add("", n)
	for _, p := range parts {
		var data crushData
		if t.skipped.decode(p.Data, &data, unknownBlocks) {
			t.part(seq, p.Type, &data, provider)
		}
	}
	if said := t.node(seq); len(said.Parts) == 0 && seq == t.last() {
		t.nodes = t.nodes[:seq-1]
		if role == "assistant" {
			t.skipped.add(failedAnswers, 1)
		}
		return head
	}
	return seq
}

func (t *crushBuilder) part(seq int, kind string, d *crushData, provider string) {
	n := t.node(seq)
	switch kind {
	case "text":
		n.Parts = appendText(n.Parts, d.Text)
	case "reasoning":
		p := llm.Part{Kind: llm.Thinking, Text: d.Thinking}
		switch {
		case n.Origin == "":
		case provider == "anthropic":
			p = signedThinking(n.Origin, d.Thinking, d.Signature)
		case d.Responses != nil:
			p = encryptedReasoning(d.Responses.ID, d.Responses.Summary, d.Responses.Encrypted)
		}
		if p.Text != "" || p.State != nil {
			n.Parts = append(n.Parts, p)
		}
	case "image_url":
		if p, ok := imagePart(d.URL); ok {
			n.Parts = append(n.Parts, p)
		} else {
			t.skipped.add(noFiles, 1)
		}
	case "binary":
		if p, ok := filePart(d.MIME, filepath.Base(d.Path), d.Data); !ok {
			t.skipped.add(noFiles, 1)
		} else if strings.HasPrefix(p.MIME, "text/") {
			n.Parts = append(n.Parts, textFile(d.Path, string(p.Data)))
		} else {
			n.Parts = append(n.Parts, p)
		}
	case "tool_call":
		if d.Name == "" || n.Role != llm.RoleAssistant {
			t.skipped.add(emptyCalls, 1)
			return
		}
		t.call(seq, llm.Part{ID: d.ID, Name: d.Name, Input: compact(json.RawMessage(d.Input))})
	case "tool_result":
		t.addResult(d, n.At)
	case "shell_command":
		n.Parts = appendText(n.Parts, fmt.Sprintf("$ %s\n%s\n(exit status %d)", d.Command, d.Output, d.Exit))
	case "finish":
		t.finish(seq, d)
	default:
		t.skipped.add(unknownBlocks, 1)
	}
}

func (t *crushBuilder) addResult(d *crushData, at time.Time) {
	var files []llm.Part
	if p, ok := filePart(d.DataMIME, "", d.Data); ok {
		files = append(files, p)
	}
	t.result(d.CallID, at, llm.Part{Text: d.Content, Failed: d.Failed}, files, store.Outcome{})
}

func (t *crushBuilder) finish(seq int, d *crushData) {
	if t.node(seq).Role == llm.RoleAssistant {
		t.setEnding(seq, crushReasons[d.Reason], d.Reason == "canceled" || d.Reason == "error", d.Message)
	}
}

// parseNumber returns a number of a database, 0 if text is none.
func parseNumber(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// parseTime returns a time of a database: Unix seconds or milliseconds, or a date as SQLite and
// Python write it. It is zero if text is none.
func parseTime(text string) time.Time {
	n := parseNumber(text)
	switch {
	case n > 1e11:
		return millis(n)
	case n > 0:
		return millis(n * 1000)
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}
