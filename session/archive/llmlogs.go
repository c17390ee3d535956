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
// An llmResponse is a row of responses.
type llmResponse struct {
	id, prompt, system, response, reasoning, schema, model string
	at                                                     time.Time
	took                                                   time.Duration
	usage                                                  *llm.Usage
}

func (r *sourceReader) llm(ctx context.Context, d *database) error {
	type conversation struct{ id, name, stamp string }
	var all []conversation
	names := map[string]string{}
	if d.has("conversations", "id", "name") {
		err := d.rows(ctx, func(row []string) error {
			names[row[0]] = row[1]
			return nil
		}, `SELECT `+d.columnList("conversations", "id", "name")+` FROM conversations`)
		if err != nil {
			return err
		}
	}
	err := d.rows(ctx, func(row []string) error {
		all = append(all, conversation{row[0], names[row[0]], row[1] + "/" + row[2]})
		return nil
	}, `SELECT conversation_id, count(*), max(id) FROM responses GROUP BY conversation_id ORDER BY min(rowid)`)
	if err != nil {
		return err
	}
	if err := r.newerTurns(ctx, d); err != nil {
		return err
	}
	for _, c := range all {
		if !r.isWanted("llm", c.id, c.stamp) {
			continue
		}
		t := &llmBuilder{newBuilder("llm", r.skipped), d, ctx, nil}
		t.session.ID, t.session.Title = c.id, c.name
		head := t.conversation(c.id)
		if t.err != nil {
			return t.err
		}
		if err := r.add(t.builder, head, c.stamp); err != nil {
			return err
		}
	}
	return nil
}

// newerTurns counts turns in the tables of a newer llm, which are not read.
func (r *sourceReader) newerTurns(ctx context.Context, d *database) error {
	if !d.has("turns", "id") {
		return nil
	}
	return d.rows(ctx, func(row []string) error {
		r.skipped.at("table turns", 0)
		r.skipped.add(newerTurns, int(parseNumber(row[0])))
		return nil
	}, `SELECT count(*) FROM turns`)
}

type llmBuilder struct {
	*builder
	db  *database
	ctx context.Context
	err error
}

// each calls f for the rows of a query, unless one before failed.
func (t *llmBuilder) each(f func(row []string), query string, args ...any) {
	if t.err == nil {
		t.err = t.db.rows(t.ctx, func(row []string) error { f(row); return nil }, query, args...)
	}
}

// conversation adds the responses of a conversation, and returns the Seq of its last message.
func (t *llmBuilder) conversation(id string) (head int) {
	var all []llmResponse
	t.each(func(row []string) {
		u := consumption{input: parseNumber(row[8]), output: parseNumber(row[9])}
		all = append(all, llmResponse{
			id: row[0], prompt: row[2], system: row[3], response: row[4], at: parseTime(row[5]), reasoning: row[6],
			took: min(time.Duration(parseNumber(row[7]))*time.Millisecond, 24*time.Hour), usage: u.usage(), schema: row[10], model: llmModel(cmp.Or(row[11], row[1])),
		})
	}, `SELECT `+t.db.columnList("responses", "id", "model", "prompt", "system", "response", "datetime_utc", "reasoning", "duration_ms",
		"input_tokens", "output_tokens", "schema_id", "resolved_model")+` FROM responses WHERE conversation_id = ? ORDER BY datetime_utc, rowid`, id)
	system := ""
	for i := range all {
		r := &all[i]
		t.skipped.at("response "+truncateLine(r.id), 0)
		if r.system != "" && r.system != system {
			system = r.system
			t.skipped.add(systemPrompts, 1)
		}
		if r.schema != "" {
			t.skipped.add(schemas, 1)
		}
		head = t.response(r, head)
	}
	return head
}

// response adds a prompt and its response behind head, and returns the Seq of the last.
func (t *llmBuilder) response(r *llmResponse, head int) int {
	t.results(r)
	asked := store.Node{Parent: head, At: r.at.Add(-r.took), Message: llm.Message{Role: llm.RoleUser}}
	if t.db.has("prompt_fragments", "response_id", "fragment_id", "order") && t.db.has("fragments", "id", "content") {
		t.each(func(row []string) { asked.Parts = appendText(asked.Parts, row[0]) },
			`SELECT f.content FROM prompt_fragments p JOIN fragments f ON f.id = p.fragment_id WHERE p.response_id = ? ORDER BY p."order"`, r.id)
	}
	asked.Parts = appendText(asked.Parts, r.prompt)
	if t.db.has("prompt_attachments", "response_id", "attachment_id", "order") {
		asked.Parts = append(asked.Parts, t.attachments(`JOIN prompt_attachments p ON p.attachment_id = a.id WHERE p.response_id = ? ORDER BY p."order"`, r.id)...)
	}
	if len(asked.Parts) > 0 {
		head = t.add("", asked)
	}
	said := store.Node{Parent: head, At: r.at, Usage: r.usage, Duration: r.took, Message: llm.Message{Role: llm.RoleAssistant, Model: r.model}}
	if r.reasoning != "" {
		said.Parts = append(said.Parts, llm.Part{Kind: llm.Thinking, Text: r.reasoning})
	}
	said.Parts = appendText(said.Parts, r.response)
	seq := t.add("", said)
	t.each(func(row []string) {
		if row[0] == "" {
			t.skipped.add(emptyCalls, 1)
			return
		}
		t.call(seq, llm.Part{ID: cmp.Or(row[2], "llm_"+row[0]), Name: row[0], Input: compact([]byte(row[1]))})
	}, `SELECT `+t.db.columnList("tool_calls", "name", "arguments", "tool_call_id")+t.where("tool_calls"), r.id)
	if n := t.node(seq); len(n.Parts) == 0 {
		t.nodes = t.nodes[:seq-1]
		t.skipped.add(failedAnswers, 1)
		return head
	}
	return seq
}

// where returns the FROM and WHERE of a query for a table's rows of one response, which
// yields none if there is no such table.
func (t *llmBuilder) where(table string) string {
	if !t.db.has(table, "response_id") {
		return " WHERE 0 AND ? = ''"
	}
	return " FROM " + table + " WHERE response_id = ? ORDER BY rowid"
}

// results adds the tool results that were sent with a prompt.
func (t *llmBuilder) results(r *llmResponse) {
	type result struct{ num, name, output, id, exception string }
	var all []result
	t.each(func(row []string) { all = append(all, result{row[0], row[1], row[2], row[3], row[4]}) },
		`SELECT `+t.db.columnList("tool_results", "id", "name", "output", "tool_call_id", "exception")+t.where("tool_results"), r.id)
	for _, a := range all {
		var files []llm.Part
		if t.db.has("tool_results_attachments", "tool_result_id", "attachment_id", "order") {
			files = t.attachments(`JOIN tool_results_attachments p ON p.attachment_id = a.id WHERE p.tool_result_id = ? ORDER BY p."order"`, a.num)
		}
		t.result(cmp.Or(a.id, "llm_"+a.name), r.at.Add(-r.took), llm.Part{Text: cmp.Or(a.output, a.exception), Failed: a.exception != ""}, files, store.Outcome{})
	}
}

func (t *llmBuilder) attachments(where string, id string) (parts []llm.Part) {
	if !t.db.has("attachments", "id", "type", "content", "url") {
		return nil
	}
	t.each(func(row []string) {
		p := llm.Part{Kind: llm.Media, MIME: cmp.Or(row[0], "application/octet-stream"), URL: row[2]}
		if data, err := hex.DecodeString(row[1]); err == nil && len(data) > 0 {
			p.Data, p.URL = data, ""
		}
		if _, web := imagePart(p.URL); p.Data == nil && !web {
			t.skipped.add(noFiles, 1)
			return
		}
		parts = append(parts, p)
	}, `SELECT a.type, iif(length(a.content) > ?, NULL, hex(a.content)), a.url FROM attachments a `+where, t.db.longest, id)
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
