package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
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

func (d *database) crush(ctx context.Context, path string) (all []source, err error) {
	dir := ""
	if at, err := filepath.Abs(path); err == nil && filepath.Base(filepath.Dir(at)) == ".crush" {
		dir = directory(filepath.Dir(filepath.Dir(at)))
	}
	err = d.read(ctx, func(row map[string]string) {
		s := store.Session{Origin: "crush", ID: row["id"], Title: row["title"], Dir: dir, Created: parseTime(row["created_at"]), Updated: parseTime(row["updated_at"])}
		used := consumption{input: parseNumber(row["prompt_tokens"]), output: parseNumber(row["completion_tokens"]), cost: parseNumber(row["cost"])}
		all = append(all, source{s, row["parent_session_id"] != "", row["updated_at"] + "/" + row["message_count"], func(t *builder) error {
			err := d.read(ctx, func(row map[string]string) {
				t.skipped.at("message "+truncateLine(row["id"]), 0)
				crushBuilder{t}.message(row)
			}, "id role parts provider model created_at is_summary_message", "messages WHERE session_id = ? ORDER BY created_at, rowid", s.ID)
			for _, n := range slices.Backward(t.nodes) {
				if n.Role == llm.RoleAssistant {
					t.node(n.Seq).Usage = used.usage()
					break
				}
			}
			return err
		}})
	}, "id title parent_session_id created_at updated_at message_count prompt_tokens completion_tokens cost", "sessions ORDER BY created_at, id")
	return all, err
}

type crushBuilder struct{ *builder }

// message adds a row of messages.
func (t crushBuilder) message(row map[string]string) {
	var parts []crushPart
	if decode([]byte(row["parts"]), &parts) != nil {
		t.skip(badRows)
		return
	}
	at, provider, summary := parseTime(row["created_at"]), row["provider"], row["is_summary_message"] == "1"
	switch role := row["role"]; {
	case role == "tool", role == "user", role == "assistant" && summary: // the model is sent a summary as the user's
		t.add(at, llm.Message{Role: llm.RoleUser}).Summary = role == "assistant"
	case role == "assistant":
		t.answer(at, provider, row["model"])
	default:
		t.skip(injected)
		return
	}
	for _, p := range parts {
		var data crushData
		if t.skipped.decode(p.Data, &data, unknownBlocks) {
			t.addPart(p.Type, &data, provider)
		}
	}
	if t.removeEmpty() && row["role"] == "assistant" {
		t.skip(failedAnswers)
	}
}

func (t crushBuilder) addPart(kind string, d *crushData, provider string) {
	n := t.node(t.head)
	switch kind {
	case "text":
		t.append(appendText(nil, d.Text)...)
	case "reasoning":
		var state json.RawMessage
		switch {
		case n.Origin == "":
		case provider == "anthropic":
			state = signedThinking(d.Thinking, d.Signature, false)
		case d.Responses != nil:
			state = encryptedReasoning(d.Responses.ID, d.Responses.Summary, d.Responses.Encrypted)
			d.Thinking = strings.Join(d.Responses.Summary, "\n\n")
		}
		t.think(d.Thinking, state)
	case "image_url":
		t.append(t.file("", "", nil, d.URL)...)
	case "binary":
		for _, p := range t.file(d.MIME, filepath.Base(d.Path), fromBase64(d.Data), "") {
			if strings.HasPrefix(p.MIME, "text/") {
				p = textFile(d.Path, string(p.Data))
			}
			t.append(p)
		}
	case "tool_call":
		if n.Role != llm.RoleAssistant {
			d.Name = ""
		}
		t.call(llm.Part{ID: d.ID, Name: d.Name, Input: compact(json.RawMessage(d.Input))})
	case "tool_result":
		var files []llm.Part
		if d.Data != "" {
			files = t.file(d.DataMIME, "", fromBase64(d.Data), "")
		}
		t.result(d.CallID, n.At, llm.Part{Text: d.Content, Failed: d.Failed}, files, store.Outcome{})
	case "shell_command":
		t.append(appendText(nil, fmt.Sprintf("$ %s\n%s\n(exit status %d)", d.Command, d.Output, d.Exit))...)
	case "finish":
		if n.Role == llm.RoleAssistant {
			t.setEnding(reasons[d.Reason], d.Reason == "canceled" || d.Reason == "error", d.Message)
		}
	default:
		t.skip(unknownBlocks)
	}
}

// parseNumber returns a number of a database, 0 if text is none.
func parseNumber(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// parseTime returns a time from Unix seconds or milliseconds, RFC 3339, or a date as SQLite and
// Python write it. It is zero if text is none.
func parseTime(text string) time.Time {
	n := parseNumber(text)
	switch {
	case n > 1e11:
		return millis(n)
	case n > 0:
		return time.UnixMicro(int64(n * 1e6)).UTC()
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(form, text); err == nil {
			return t
		}
	}
	return time.Time{}
}
