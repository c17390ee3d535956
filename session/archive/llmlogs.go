package archive

import (
	"cmp"
	"context"
	"encoding/hex"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// llm keeps its log in logs.db: a row of responses is a prompt and its response, and belongs
// to a conversation. Tool results belong to the response whose prompt they were a part of.
// Fragments precede a prompt. (simonw/llm, llm/migrations.py up to m022.)
func (d *database) llm(ctx context.Context, n *skippedCounts) (all []source, err error) {
	names := map[string]string{}
	if d.has("conversations", "id", "name") {
		err = d.read(ctx, func(row map[string]string) { names[row["id"]] = row["name"] }, "id name", "conversations")
	}
	if err == nil && d.has("turns", "id") { // of a newer llm
		err = d.rows(ctx, func(row map[string]string) {
			n.at("table turns", 0)
			n.add(newerTurns, int(parseNumber(row["count"])))
		}, "count", `SELECT count(*) FROM turns`)
	}
	if err != nil {
		return nil, err
	}
	err = d.rows(ctx, func(row map[string]string) {
		id := row["id"]
		all = append(all, source{
			session: store.Session{Origin: "llm", ID: id, Title: names[id]}, stamp: row["count"] + "/" + row["last"],
			read: func(t *builder) error { return (&llmBuilder{t, d, ctx, nil}).conversation(id) },
		})
	}, "id count last", `SELECT conversation_id, count(*), max(id) FROM responses GROUP BY conversation_id ORDER BY min(rowid)`)
	return all, err
}

type llmBuilder struct {
	*builder
	db  *database
	ctx context.Context
	err error
}

// each calls f for rows as database.read does, unless a call before failed.
func (t *llmBuilder) each(f func(row map[string]string), columns, from string, args ...any) {
	if t.err == nil {
		t.err = t.db.read(t.ctx, f, columns, from, args...)
	}
}

// conversation adds the responses of a conversation.
func (t *llmBuilder) conversation(id string) error {
	var all []map[string]string
	t.each(func(row map[string]string) { all = append(all, row) },
		"id model prompt system response datetime_utc reasoning duration_ms input_tokens output_tokens schema_id resolved_model",
		"responses WHERE conversation_id = ? ORDER BY datetime_utc, rowid", id)
	system := ""
	for _, row := range all {
		t.skipped.at("response "+truncateLine(row["id"]), 0)
		if row["system"] != "" && row["system"] != system {
			system = row["system"]
			t.skip(systemPrompts)
		}
		if row["schema_id"] != "" {
			t.skip(schemas)
		}
		t.response(row)
	}
	return t.err
}

// response adds a prompt and its response, a row of responses.
func (t *llmBuilder) response(row map[string]string) {
	at, took := parseTime(row["datetime_utc"]), min(time.Duration(parseNumber(row["duration_ms"]))*time.Millisecond, 24*time.Hour)
	asked := at.Add(-took)
	t.results(row["id"], asked)
	var parts []llm.Part
	if t.db.has("prompt_fragments", "response_id", "fragment_id", "order") && t.db.has("fragments", "id", "content") {
		t.each(func(row map[string]string) { parts = appendText(parts, row["content"]) },
			"content", `fragments f JOIN prompt_fragments p ON f.id = p.fragment_id WHERE p.response_id = ? ORDER BY p."order"`, row["id"])
	}
	parts = appendText(parts, row["prompt"])
	t.user(asked, append(parts, t.attachments("prompt_attachments", "response_id", row["id"])...))
	n := t.add(at, llm.Message{Role: llm.RoleAssistant, Model: llmModel(cmp.Or(row["resolved_model"], row["model"]))})
	n.Duration, n.Usage = took, consumption{input: parseNumber(row["input_tokens"]), output: parseNumber(row["output_tokens"])}.usage()
	t.think(row["reasoning"], nil)
	t.append(appendText(nil, row["response"])...)
	if t.db.has("tool_calls", "response_id") {
		t.each(func(row map[string]string) {
			t.call(llm.Part{ID: cmp.Or(row["tool_call_id"], "llm_"+row["name"]), Name: row["name"], Input: compact([]byte(row["arguments"]))})
		}, "name arguments tool_call_id", "tool_calls WHERE response_id = ? ORDER BY rowid", row["id"])
	}
	if t.removeEmpty() {
		t.skip(failedAnswers)
	}
}

// results adds the tool results that were sent with the prompt of a response.
func (t *llmBuilder) results(response string, at time.Time) {
	var all []map[string]string
	if t.db.has("tool_results", "response_id") {
		t.each(func(row map[string]string) { all = append(all, row) },
			"id name output tool_call_id exception", "tool_results WHERE response_id = ? ORDER BY rowid", response)
	}
	for _, row := range all {
		files := t.attachments("tool_results_attachments", "tool_result_id", row["id"])
		result := llm.Part{Text: cmp.Or(row["output"], row["exception"]), Failed: row["exception"] != ""}
		t.result(cmp.Or(row["tool_call_id"], "llm_"+row["name"]), at, result, files, store.Outcome{})
	}
}

// attachments returns the files that a table links to an id in its column.
func (t *llmBuilder) attachments(table, column, id string) (parts []llm.Part) {
	if t.err != nil || !t.db.has(table, column, "attachment_id", "order") || !t.db.has("attachments", "id", "type", "content", "url") {
		return nil
	}
	t.err = t.db.rows(t.ctx, func(row map[string]string) {
		data, err := hex.DecodeString(row["content"])
		if err != nil || len(data) == 0 {
			data = nil
		} else {
			row["url"] = ""
		}
		parts = append(parts, t.file(row["type"], "", data, row["url"])...)
	}, "type content url", `SELECT a.type, iif(length(a.content) > ?, NULL, hex(a.content)), a.url FROM attachments a JOIN `+table+
		` p ON p.attachment_id = a.id WHERE p.`+column+` = ? ORDER BY p."order"`, t.db.longest, id)
	return parts
}

// llmModels holds the providers of models by prefix: llm names the provider only of models
// of plugins.
var llmModels = []struct{ prefix, provider string }{
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"claude-", "anthropic"}, {"gemini-", "gemini"}, {"grok-", "xai"}, {"deepseek-", "deepseek"},
	{"mistral-", "mistral"}, {"codestral-", "mistral"}, {"magistral-", "mistral"}, {"pixtral-", "mistral"},
}

func llmModel(name string) string {
	if provider, rest, ok := strings.Cut(name, "/"); ok {
		return foreignModel(provider, rest)
	}
	for _, m := range llmModels {
		if strings.HasPrefix(name, m.prefix) {
			return foreignModel(m.provider, name)
		}
	}
	return foreignModel("llm", name)
}
