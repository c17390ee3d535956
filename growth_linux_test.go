//go:build !race

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/providers/adapter"
	"parley/providers/anthropic"
	"parley/providers/catalog"
	"parley/providers/filter"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/schema"
	"parley/providers/wire"
	"parley/session/archive"
	"parley/session/attach"
	"parley/session/frontmatter"
	"parley/tools"
	"parley/tools/diff"
	"parley/tools/permission"
	"parley/tools/sanitize"
	"parley/ui/markdown"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A grower returns a text of about n bytes.
type grower func(n int) string

// repeated returns s repeated.
func repeated(s string) grower {
	return func(n int) string { return strings.Repeat(s, n/len(s)+1) }
}

// within returns s repeated between head and tail.
func within(head, s, tail string) grower {
	return func(n int) string { return head + repeated(s)(n) + tail }
}

// rows returns row repeated between head and tail. {i} is its number, {p} the previous and {n} the next number.
func rows(head, row, tail string) grower {
	pieces := regexp.MustCompile(`\{[pin]\}`).Split(row, -1)
	marks := regexp.MustCompile(`\{[pin]\}`).FindAllString(row, -1)
	return func(n int) string {
		b := []byte(head)
		for i := 1; len(b) < n; i++ {
			for j, piece := range pieces {
				b = append(b, piece...)
				if j < len(marks) {
					b = strconv.AppendInt(b, int64(i+strings.Index("pin", marks[j][1:2])-1), 10)
				}
			}
		}
		return string(b) + tail
	}
}

// nested returns open and end nested around middle, as deep as n bytes allow.
func nested(open, middle, end string) grower {
	return func(n int) string {
		deep := n / (len(open) + len(end))
		return strings.Repeat(open, deep) + middle + strings.Repeat(end, deep)
	}
}

// anyText lists shapes for all functions that read text.
var anyText = []grower{
	repeated("a"),
	repeated("0123456789abcdef"),
	repeated("({[<"),
	repeated(`\"'`),
	repeated("x\n"),
	repeated(" \t"),
	repeated("e\u0301\u200d漢\xff"),
	repeated("\x1b[31m\r\x1b]8;;"),
}

var markdownText = []grower{
	repeated("*a_ **b"),
	repeated("[a](b "),
	repeated("`a ``b "),
	repeated("| a "),
	repeated("> - 1. "),
	repeated("- a\n\n  b\n"),
	repeated("<!-- $x \\( "),
	rows("", "[{i}]: /{n} \"a\n\n[{p}][{n}] ", ""),
}

var callText = []grower{
	repeated("<think>a"),
	within("<think>", "</thin", ""),
	repeated("<tool_call>"),
	within("<tool_call>\n<function=read>\n", "<parameter=path>", ""),
	within(`{"name":"read","arguments":{"path":"`, `\n</tool_call`, ""),
	repeated("```json\n"),
	repeated(`{"name":"read","arguments":{}} `),
	repeated("<|channel|>commentary<|message|>"),
}

var jsonText = []grower{
	repeated("["),
	repeated(`{"a":`),
	within(`{"a":"`, `\"b\`, `"}`),
	within(`{"a":"`, "\n", `"}`),
	rows("{", `"k{i}":{i},`, `"z":0}`),
	within("[", "1,", ""),
	within(`{"a":"`, `b"c" `, `"}`),
	within("{", "'a': None, // b\n", "}"),
}

var schemaText = []grower{
	rows(`{"type":"object","properties":{`, `"k{i}":{"type":["string","null"],"description":"d"},`, `"z":{}}}`),
	nested(`{"anyOf":[`, `{"type":"string"}`, `]}`),
	nested(`{"type":"object","properties":{"a":`, `{}`, `}}`),
	rows(`{"$ref":"#/$defs/k1","$defs":{`, `"k{i}":{"$ref":"#/$defs/k{n}"},`, `"z":{}}}`),
	rows(`{"type":"object","properties":{`, `"k{i}":{"$ref":"#/$defs/a"},`, `"z":{}},"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/a"}}}}}`),
	rows(`{"enum":[`, `"v{i}",`, `"z"]}`),
	rows(`{"allOf":[`, `{"properties":{"k{i}":{"minLength":1}},"required":["k{i}"]},`, `{}]}`),
	within(`{"type":"string","pattern":"`, `(a|b)+`, `"}`),
	rows(`{"required":[`, `"k{i}",`, `"z"]}`),
	rows(`{"anyOf":[`, `{"const":"v{i}","description":"d"},`, `{"const":0}]}`),
	rows(`{"anyOf":[`, `{"type":"object","properties":{"t":{"const":"v{i}"},"k{i}":{}},"required":["t"]},`, `{"type":"object"}]}`),
	rows(`{"allOf":[`, `{"enum":["v1","v{i}","v{n}"]},`, `{}]}`),
	rows(`{"allOf":[{"enum":[`, `"v{i}",`, `"v1"]},{"enum":["v1","v2","v3","v4","v5"]}]}`),
	rows(`{"oneOf":[`, `{"type":"object","properties":{"k{i}":{"const":1}}},`, `{}],"properties":{"a":{}}}`),
	rows(`{"allOf":[`, `{"properties":{"a":{"properties":{"k{i}":{}}}}},`, `{}]}`),
	rows(`{"allOf":[`, `{"if":{"properties":{"a":{"const":{i}}}},"then":{"required":["k{i}"]}},`, `{}]}`),
	rows(`{"type":"object","dependentRequired":{`, `"k{i}":["k{n}"],`, `"z":[]}}`),
	rows(`{"type":"object","patternProperties":{`, `"^k{i}":{"type":"string"},`, `"z":{}}}`),
}

var diffText = []grower{
	within("--- a\n+++ b\n@@ -1,99999999 +1,99999999 @@\n", "-a\n+b\n", ""),
	within("--- a\n+++ b\n@@ -1,99999999 +1,99999999 @@\n", "-a\n", ""),
	repeated("@@ -1 +1 @@\n"),
	repeated("@@ -1,3 +1,3 @@\n-a\n+b\n"),
	repeated("--- a\n+++ b\n"),
	within("@@ -1,99 +1,99 @@\n", "\\ No newline\n", ""),
	repeated("diff --git a b\nindex 1..2\n"),
	repeated("--- "),
}

var commandText = []grower{
	repeated("echo a; "),
	repeated("echo a | "),
	repeated("$("),
	nested("( ", "echo", " )"),
	nested("echo $(", "a", ")"),
	within("cat <<A ", "<<B ", "\nA\nB\n"),
	repeated("if a; then "),
	within("echo ", "'a' \"b\" $c ${d:-e} `f` \\\n", ""),
}

// importers holds shapes of files of other programs, by file name.
var importers = map[string][]grower{
	"claude.jsonl": {
		rows("", `{"type":"user","uuid":"m{i}","parentUuid":"m{p}","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n", ""),
		rows(`{"type":"user","uuid":"m","parentUuid":null,"sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n",
			`{"type":"user","uuid":"m{i}","parentUuid":"m","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n", ""),
		rows(`{"type":"user","uuid":"m0","parentUuid":null,"sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n",
			`{"type":"attachment","uuid":"m{i}","parentUuid":"m{p}","sessionId":"s"}`+"\n", ""),
		rows("", `{"type":"assistant","uuid":"m{i}","parentUuid":"m{p}","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"id":"one","role":"assistant","model":"c","content":[{"type":"text","text":"a"}]}}`+"\n", ""),
		rows(`{"type":"user","uuid":"m0","parentUuid":null,"sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n"+
			`{"type":"assistant","uuid":"m1","parentUuid":"m0","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"assistant","content":[`,
			`{"type":"tool_use","id":"c{i}","name":"Read","input":{}},`, `{"type":"text","text":"a"}]}}`+"\n"),
		rows("", `{"type":"assistant","uuid":"m{i}","parentUuid":"m{p}","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"assistant","content":[{"type":"tool_use","id":"c{i}","name":"Read","input":{}}]}}`+"\n", ""),
		rows("", `{"type":"user","uuid":"m{i}","parentUuid":"m{n}","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"a"}}`+"\n", ""),
		within(`{"type":"user","uuid":"m","sessionId":"s","timestamp":"2026-03-04T10:00:00.000Z","message":{"role":"user","content":"`, `\n\"a`, `"}}`+"\n"),
	},
	"codex.jsonl": {
		rows(codexHead, `{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a{i}"}]}}`+"\n", ""),
		rows(codexHead, `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}`+"\n", ""),
		rows(codexHead, `{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c{i}"}}`+"\n", ""),
		rows(codexHead, `{"type":"response_item","payload":{"type":"function_call_output","call_id":"c{i}","output":"a"}}`+"\n", ""),
		rows(codexHead, `{"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}}`+"\n"+`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"a"}}`+"\n", ""),
		rows(codexHead, `{"type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}],"encrypted_content":"x"}}`+"\n", ""),
		rows(codexHead, `{"type":"event_msg","payload":{"type":"user_message","message":"a"}}`+"\n", ""),
		within(codexHead+`{"type":"response_item","payload":{"type":"message","role":"user","content":[`, `{"type":"input_text","text":"a"},`, `{"type":"input_text","text":"a"}]}}`+"\n"),
	},
	"pi.jsonl": {
		rows(piHead, `{"type":"message","id":"m{i}","parentId":"m{p}","message":{"role":"user","content":[{"type":"text","text":"a"}]}}`+"\n", ""),
		rows(piHead, `{"type":"message","id":"m{i}","parentId":"m1","message":{"role":"user","content":[{"type":"text","text":"a"}]}}`+"\n", ""),
		rows(piHead, `{"type":"model_change","id":"m{i}","parentId":"m{p}","provider":"a","modelId":"b"}`+"\n", `{"type":"message","id":"z","parentId":"m1","message":{"role":"user","content":[{"type":"text","text":"a"}]}}`+"\n"),
		rows(piHead, `{"type":"message","id":"m{i}","parentId":"m{p}","message":{"role":"assistant","content":[{"type":"toolCall","id":"c{i}","name":"read","arguments":{}}]}}`+"\n", ""),
		rows(piHead, `{"type":"message","id":"m{i}","parentId":"m{p}","message":{"role":"toolResult","toolCallId":"c{i}","content":[{"type":"text","text":"a"}]}}`+"\n", ""),
		rows(piHead, `{"type":"message","id":"m{i}","parentId":"m{n}","message":{"role":"user","content":[{"type":"text","text":"a"}]}}`+"\n", ""),
		rows(piHead, `{"type":"compaction","id":"m{i}","parentId":"m{p}","summary":"a","firstKeptEntryId":"m1"}`+"\n", ""),
		rows(piHead+`{"type":"message","id":"m1","message":{"role":"assistant","content":[`, `{"type":"toolCall","id":"c{i}","name":"read","arguments":{}},`, `{"type":"text","text":"a"}]}}`+"\n"),
	},
	"chatgpt.json": {
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","message":{"id":"m{i}","author":{"role":"user"},"content":{"content_type":"text","parts":["a"]},"recipient":"all"},"parent":"m{p}","children":["m{n}"]},`, chatGPTTail),
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","message":{"id":"m{i}","author":{"role":"user"},"content":{"content_type":"text","parts":["a"]},"recipient":"all"},"parent":"m0","children":[]},`, chatGPTTail),
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","message":null,"parent":"m{p}","children":["m{n}"]},`, chatGPTTail),
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","message":{"id":"m{i}","author":{"role":"assistant"},"content":{"content_type":"text","parts":["a"]},"recipient":"all"},"parent":"m{p}","children":["m{n}"]},`, chatGPTTail),
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","message":{"id":"m{i}","author":{"role":"tool"},"content":{"content_type":"text","parts":["a"]},"recipient":"all"},"parent":"m{p}","children":["m{n}"]},`, chatGPTTail),
		rows(chatGPTHead, `"m{i}":{"id":"m{i}","parent":"m{n}","children":["m{p}"]},`, chatGPTTail),
		within(strings.TrimSuffix(chatGPTHead, `{"m0":`), `{"a":`, ""),
		rows("[", `{"title":"a","conversation_id":"c{i}","current_node":"m0","mapping":{"m0":{"id":"m0","message":{"id":"m0","author":{"role":"user"},"content":{"content_type":"text","parts":["a"]},"recipient":"all"},"children":[]}}},`, "{}]"),
	},
	"claude.ai.json": {
		rows(claudeHead, `{"uuid":"m{i}","text":"a","content":[],"sender":"human","parent_message_uuid":"m{p}"},`, "{}]}]"),
		rows(claudeHead, `{"uuid":"m{i}","text":"a","content":[],"sender":"human","parent_message_uuid":"m1"},`, "{}]}]"),
		rows(claudeHead, `{"uuid":"m{i}","text":"a","content":[],"sender":"assistant","parent_message_uuid":"m{p}"},`, "{}]}]"),
		rows(claudeHead, `{"uuid":"m{i}","content":[{"type":"tool_use","id":null,"name":"repl","input":{}},{"type":"tool_result","tool_use_id":null,"name":"repl","content":[]}],"sender":"assistant","parent_message_uuid":"m{p}"},`, "{}]}]"),
		rows(claudeHead+`{"uuid":"m1","sender":"assistant","content":[`, `{"type":"tool_use","id":"c{i}","name":"repl","input":{}},`, "{}]}]}]"),
		rows(claudeHead, `{"uuid":"m{i}","text":"a","content":[],"sender":"human","parent_message_uuid":"m{n}"},`, "{}]}]"),
		rows("[", `{"uuid":"c{i}","name":"A","chat_messages":[{"uuid":"m","text":"a","content":[],"sender":"human"}]},`, "{}]"),
		within(claudeHead+`{"uuid":"m1","sender":"human","text":"`, `\u0000\"`, `"}]}]`),
	},
	"gemini.jsonl": {
		rows(geminiHead, `{"id":"m{i}","type":"user","content":[{"text":"a"}]}`+"\n", ""),
		rows(geminiHead, `{"id":"m{i}","type":"gemini","content":"a"}`+"\n", ""),
		rows(geminiHead, `{"id":"m","type":"gemini","content":"a"}`+"\n", ""),
		rows(geminiHead, `{"$set":{"lastUpdated":"2026-02-01T07:19:37.346Z"}}`+"\n", ""),
		rows(geminiHead, `{"id":"m{i}","type":"user","content":[{"text":"a"}]}`+"\n"+`{"$rewindTo":"m{p}"}`+"\n", ""),
		rows(geminiHead, `{"$set":{"messages":[{"id":"m{i}","type":"user","content":"a"}]}}`+"\n", ""),
		rows(geminiHead+`{"id":"m","type":"gemini","content":"a","toolCalls":[`, `{"id":"c{i}","name":"read","args":{},"result":[]},`, "{}]}\n"),
		rows(geminiHead, `{"id":"m{i}","type":"gemini","content":"","toolCalls":[{"id":"c","name":"read","args":{},"result":[{"functionResponse":{"id":"c","response":{}}}]}]}`+"\n", ""),
	},
}

// databases holds shapes of databases of other programs, as SQL.
var databases = map[string][]grower{
	"crush": {
		rows(crushHead+crushSession, `INSERT INTO messages VALUES ('m{i}', 's', 'user', '[{"type":"text","data":{"text":"a"}}]', '', 1764000000, '', 0);`, ""),
		rows(crushHead+crushSession, `INSERT INTO messages VALUES ('m{i}', 's', 'assistant', '[{"type":"tool_call","data":{"id":"c{i}","name":"a","input":"{}"}},{"type":"tool_result","data":{"tool_call_id":"c{i}"}}]', 'm', 1764000000, 'openai', 0);`, ""),
		rows(crushHead+crushSession, `INSERT INTO messages VALUES ('m{i}', 's', 'assistant', '[]', 'm', {i}, 'openai', 0);`, ""),
		rows(crushHead+crushSession+`INSERT INTO messages VALUES ('m', 's', 'assistant', '[`, `{"type":"tool_call","data":{"id":"c","name":"a","input":"{}"}},`, `{}]', 'm', 1764000000, 'openai', 0);`),
		rows(crushHead, crushRow, ""),
		rows(crushHead+"DROP INDEX i;", crushRow, ""),
		rows(crushHead, `INSERT INTO sessions VALUES ('s{i}', 's{p}', 'a', 1, 1, 1);`, ""),
		within(crushHead+crushSession+`INSERT INTO messages VALUES ('m', 's', 'user', '[{"type":"text","data":{"text":"`, `a\n`, `"}}]', '', 1764000000, '', 0);`),
	},
	"opencode": {
		rows(opencodeHead+opencodeSession, `INSERT INTO message VALUES ('m{i}', 's', {i}, '{"role":"user"}'); INSERT INTO part VALUES ('p{i}', 'm{i}', '{"type":"text","text":"a"}');`, ""),
		rows(opencodeHead+opencodeSession+opencodeAnswer, `INSERT INTO part VALUES ('p{i}', 'm', '{"type":"tool","tool":"a","callID":"c{i}","state":{"status":"completed"}}');`, ""),
		rows(opencodeHead+opencodeSession+opencodeAnswer, `INSERT INTO part VALUES ('p{i}', 'm', '{"type":"step-start"}'), ('q{i}', 'm', '{"type":"tool","tool":"a"}');`, ""),
		rows(opencodeHead+opencodeSession+opencodeAnswer, `INSERT INTO part VALUES ('p{i}', 'm', '{"type":"reasoning","text":"a","metadata":{"openai":{"itemId":"r"}}}');`, ""),
		rows(opencodeHead+opencodeSession+opencodeAnswer, `INSERT INTO part VALUES ('p{i}', 'm', '{"type":"text","text":"a{i}"}');`, ""),
		rows(opencodeHead, opencodeRow, ""),
		rows(opencodeHead+"DROP INDEX i; DROP INDEX j;", opencodeRow, ""),
		rows(opencodeHead, `INSERT INTO session VALUES ('s{i}', 's{p}', 'a', '/', 1, 1);`, ""),
	},
	"llm": {
		rows(llmHead, `INSERT INTO responses VALUES ('r{i}', 'm', 'a', 'b', 'c', '2025-11-24');`, ""),
		rows(llmHead, llmRow, ""),
		rows(llmHead, `INSERT INTO responses VALUES ('r{i}', 'm', 'a', 'b', 'c', '2025-11-24'); INSERT INTO tool_calls VALUES ({i}, 'r{i}', 'a', '{}', 'c{i}'); INSERT INTO tool_results VALUES ({i}, 'r{n}', 'a', 'b', 'c{i}');`, ""),
		rows(llmHead+llmResponse, `INSERT INTO tool_calls VALUES ({i}, 'r', 'a', '{}', NULL);`, ""),
		rows(llmHead+llmResponse, `INSERT INTO tool_results VALUES ({i}, 'r', 'a', 'b', 'c{i}'); INSERT INTO tool_results_attachments VALUES ({i}, 'a{i}', 1); INSERT INTO attachments VALUES ('a{i}', 'image/png', 'https://a', NULL);`, ""),
		rows(llmHead+llmResponse, `INSERT INTO fragments VALUES ({i}, 'a{i}'); INSERT INTO prompt_fragments VALUES ('r', {i}, {i});`, ""),
		rows(llmHead, llmRow+`INSERT INTO prompt_fragments VALUES ('r{i}', {i}, 1); INSERT INTO fragments VALUES ({i}, 'a');`, ""),
		rows(llmHead, llmRow+`INSERT INTO prompt_attachments VALUES ('r{i}', 'a{i}', 1); INSERT INTO attachments VALUES ('a{i}', 'image/png', 'https://a', NULL);`, ""),
	},
}

const (
	crushHead = `CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, message_count INTEGER, updated_at INTEGER, created_at INTEGER);
CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, provider TEXT, is_summary_message INTEGER);
CREATE INDEX i ON messages (session_id);`
	crushSession = `INSERT INTO sessions VALUES ('s', NULL, 'a', 1, 1764000000, 1764000000);`
	crushRow     = `INSERT INTO sessions VALUES ('s{i}', NULL, 'a', 1, 1764000000, 1764000000);
INSERT INTO messages VALUES ('m{i}', 's{i}', 'user', '[{"type":"text","data":{"text":"a"}}]', '', 1764000000, '', 0);`
	opencodeHead = `CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
CREATE TABLE part (id TEXT, message_id TEXT, data TEXT);
CREATE INDEX i ON message (session_id, time_created, id); CREATE INDEX j ON part (message_id, id);`
	opencodeSession = `INSERT INTO session VALUES ('s', NULL, 'a', '/', 1764000000000, 1764000000000);`
	opencodeAnswer  = `INSERT INTO message VALUES ('m', 's', 1, '{"role":"assistant","modelID":"m","providerID":"openai"}');`
	opencodeRow     = `INSERT INTO session VALUES ('s{i}', NULL, 'a', '/', 1764000000000, 1764000000000);
INSERT INTO message VALUES ('m{i}', 's{i}', 1, '{"role":"user"}'); INSERT INTO part VALUES ('p{i}', 'm{i}', '{"type":"text","text":"a"}');`
	llmHead = `CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, response TEXT, conversation_id TEXT, datetime_utc TEXT);
CREATE TABLE attachments (id TEXT, type TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT);
CREATE TABLE tool_results_attachments (tool_result_id INTEGER, attachment_id TEXT, "order" INTEGER);`
	llmResponse = `INSERT INTO responses VALUES ('r', 'm', 'a', 'b', 'c', '2025-11-24');`
	llmRow      = `INSERT INTO responses VALUES ('r{i}', 'm', 'a', 'b', 'c{i}', '2025-11-24');`

	codexHead   = `{"timestamp":"2026-02-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019c0000-1111-7222-8333-444444444444","cwd":"/b","originator":"codex_cli_rs","cli_version":"0.90.0"}}` + "\n"
	piHead      = `{"type":"session","version":3,"id":"0197f3a2-1111-7222-8333-444455556666","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}` + "\n"
	chatGPTHead = `[{"title":"a","conversation_id":"c","id":"c","current_node":"m5","mapping":{"m0":{"id":"m0","message":null,"parent":null,"children":["m1"]},`
	chatGPTTail = `"z":{"id":"z","message":null,"parent":null,"children":[]}}}]`
	claudeHead  = `[{"uuid":"5a6b7c8d-0001-4000-8000-000000000001","name":"A","chat_messages":[`
	geminiHead  = `{"sessionId":"e351cf16-993b-4cff-b133-5a022d2cf85e","projectHash":"b1d7","startTime":"2026-02-01T07:19:37.336Z","kind":"main"}` + "\n"
)

// screenText holds output that programs use to overwrite earlier output.
var screenText = []grower{
	repeated("50%\r"),
	repeated("a\n\x1b[A\x1b[K"),
	repeated("\x1b[2J\x1b[Ha"),
	repeated("a\b \b"),
	repeated("a\n"),
	repeated("\x1b[999Ca\r"),
	rows("", "\x1b[{i}B\x1b[{i}Ca\x1b[{i}A", ""),
	repeated("漢\x1b[D字"),
}

// A wireFormat is the decoder of one wire format, with shapes of its answers.
type wireFormat struct {
	name   string
	open   func(adapter.Options) llm.Model
	shapes []grower
}

var wireFormats = []wireFormat{
	{"openai", func(o adapter.Options) llm.Model { return openai.New(o, openai.Dialect{}) }, []grower{
		rows("", chatDelta(`{"content":"a{i} "}`), ""),
		rows("", chatDelta(`{"reasoning_content":"a{i} "}`), ""),
		rows("", chatDelta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"a{i}"}}]}`), ""),
		rows("", chatDelta(`{"tool_calls":[{"index":{i},"id":"c{i}","function":{"name":"read","arguments":"{}"}}]}`), ""),
		rows("", chatDelta(`{"content":"<think>a{i}"}`), ""),
		rows("", chatDelta(`{"reasoning_details":[{"type":"reasoning.text","index":{i},"text":"a"}]}`), ""),
		within(`data: {"choices":[{"index":0,"delta":{"content":"`, `\n\"a`, `"}}]}`+"\n\n"),
		within(`{"choices":[{"index":0,"message":{"content":"`, `\u00e9a`, `"},"finish_reason":"stop"}]}`),
	}},
	{"openai-responses", func(o adapter.Options) llm.Model { return openai.NewResponses(o) }, []grower{
		rows(`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}`+"\n\n", `data: {"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"a{i}"}`+"\n\n", ""),
		rows("", `data: {"type":"response.output_item.added","output_index":{i},"item":{"type":"message","id":"m{i}"}}`+"\n\n", ""),
		rows("", `data: {"type":"response.output_text.done","item_id":"m{i}","text":"a"}`+"\n\n", ""),
		rows("", `data: {"type":"response.function_call_arguments.delta","item_id":"f{i}","delta":"a"}`+"\n\n", ""),
		rows("", `data: {"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"a{i}"}`+"\n\n", ""),
		rows("", `data: {"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":{i},"delta":"a"}`+"\n\n", ""),
		rows(`data: {"type":"response.completed","response":{"status":"completed","output":[`, `{"type":"message","id":"m{i}","content":[{"type":"output_text","text":"a"}]},`, `{}]}}`+"\n\n"),
		rows("", `data: {"type":"response.output_item.done","output_index":{i},"item":{"type":"reasoning","id":"r{i}","encrypted_content":"x"}}`+"\n\n", ""),
	}},
	{"anthropic", func(o adapter.Options) llm.Model { return anthropic.New(o) }, []grower{
		rows("", `data: {"type":"content_block_start","index":{i},"content_block":{"type":"text","text":"a"}}`+"\n\n", ""),
		rows(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a{i}"}}`+"\n\n", ""),
		rows(`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"read"}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"a{i}"}}`+"\n\n", ""),
		rows(`data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"a{i}"}}`+"\n\n", ""),
		rows(`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n", `data: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a/{i}","title":"a"}}}`+"\n\n", ""),
		rows("", `data: {"type":"content_block_start","index":{i},"content_block":{"type":"server_tool_use","id":"s{i}","name":"web_search","input":{}}}`+"\n\n", ""),
		rows("", `data: {"type":"content_block_start","index":{i},"content_block":{"type":"web_search_tool_result","tool_use_id":"s{i}","content":[]}}`+"\n\n", ""),
		repeated(`data: {"type":"ping"}` + "\n\n"),
	}},
	{"gemini", func(o adapter.Options) llm.Model { return gemini.New(o) }, []grower{
		rows("", geminiPart(`{"text":"a{i}"}`), ""),
		rows("", geminiPart(`{"text":"a{i}","thought":true}`), ""),
		rows("", geminiPart(`{"text":"a{i}","thoughtSignature":"eA=="}`), ""),
		rows("", geminiPart(`{"functionCall":{"name":"read","args":{"path":"a{i}"}}}`), ""),
		rows("", geminiPart(`{"functionCall":{"id":"c{i}","name":"read","args":{}},"thoughtSignature":"eA=="}`), ""),
		rows("", geminiPart(`{"inlineData":{"mimeType":"image/png","data":"eA=="}}`), ""),
		rows(`data: {"candidates":[{"content":{"parts":[`, `{"text":"a{i}"},`, `{}]}}]}`+"\n\n"),
		rows("", `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a/{i}","title":"a"}}]}}]}`+"\n\n", ""),
	}},
}

func chatDelta(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

func geminiPart(part string) string {
	return `data: {"candidates":[{"content":{"role":"model","parts":[` + part + `]}}]}` + "\n\n"
}

// answersWith answers each request with text.
type answersWith struct{ text string }

func (a *answersWith) RoundTrip(r *http.Request) (*http.Response, error) {
	kind := "text/event-stream"
	if strings.HasPrefix(a.text, "{") {
		kind = "application/json"
	}
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Request: r, Body: io.NopCloser(strings.NewReader(a.text))}, err
}

// streamed returns a function that sends a text through f as deltas of size bytes.
func streamed(f func(llm.Stream) llm.Stream, size int) func(string) {
	return func(text string) {
		var draft llm.Draft
		for e, err := range f(func(yield func(llm.Event, error) bool) {
			for len(text) > 0 {
				n := min(size, len(text))
				if !yield(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: text[:n]}}, nil) {
					return
				}
				text = text[n:]
			}
			yield(llm.Finish{Reason: llm.Stop}, nil)
		}) {
			if d, ok := e.(llm.Delta); ok && err == nil {
				draft.Add(d)
			}
		}
		draft.Complete()
	}
}

// TestGrowth checks that functions that read foreign text take at most twice as long for twice the input, with a margin
// for a logarithm and for noise. No other test measures time. It counts the CPU time of its own thread, without the
// garbage collector.
func TestGrowth(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	offered := llm.Request{Tools: []llm.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}}
	rules := permission.Rules{permission.ExactRule("shell", "echo a")}
	if deny, err := permission.ParseRule("deny shell(git push *)"); err == nil {
		rules = append(rules, deny)
	}
	plain := theme.Dark()
	for _, f := range []struct {
		name   string
		run    func(text string)
		shapes [][]grower
	}{
		{"catalog.Estimate", func(s string) { catalog.Estimate(s) }, nil},
		{"filter.Think", streamed(filter.Think, math.MaxInt), [][]grower{callText}},
		{"filter.Think in pieces", streamed(filter.Think, 7), [][]grower{callText}},
		{"filter.Calls", streamed(filter.Calls(offered), math.MaxInt), [][]grower{callText, jsonText}},
		{"filter.Calls in pieces", streamed(filter.Calls(offered), 7), [][]grower{callText, jsonText}},
		{"filter.Prompted", streamed(filter.Prompted(offered), 7), [][]grower{callText, jsonText}},
		{"filter.Actions", streamed(filter.Actions(offered), 7), [][]grower{callText, jsonText}},
		{"filter.Harmony", streamed(filter.Harmony("gpt-oss"), 7), [][]grower{callText}},
		{"sanitize.Text", func(s string) { sanitize.Text(s) }, nil},
		{"sanitize.Plain", func(s string) { sanitize.Plain(s) }, nil},
		{"sanitize.Line", func(s string) { sanitize.Line(s) }, nil},
		{"sanitize.Source", func(s string) { sanitize.Source(s) }, nil},
		{"sanitize.Words", func(s string) { sanitize.Words(s) }, nil},
		{"sanitize.JSON", func(s string) { sanitize.JSON([]byte(s)) }, [][]grower{jsonText}},
		{"sanitize.Output", func(s string) {
			var o sanitize.Output
			for len(s) > 0 {
				n := min(7, len(s))
				o.Write([]byte(s[:n]))
				s = s[n:]
			}
			o.Close()
		}, nil},
		{"sanitize.Mask", func(s string) {
			sanitize.NewMask([]string{"aaaaaaaaaaaaaaaaaaaab", "0123456789abcdef0123456789abcdeg"}, 4).Text(s)
		}, nil},
		{"sanitize.Played", func(s string) { sanitize.Played(s) }, [][]grower{screenText}},
		{"tools.Sanitize", func(s string) { tools.Sanitize(s) }, nil},
		{"markdown.Render", func(s string) { markdown.Render(sanitize.Text(s), 80, plain) }, [][]grower{markdownText}},
		{"markdown.Doc", func(s string) {
			d := markdown.New(plain)
			for len(s) > 0 {
				n := min(1024, len(s))
				d.Append(sanitize.Cleaned(s[:n]))
				s = s[n:]
			}
			d.Finish()
			d.Lines(80)
		}, [][]grower{markdownText}},
		{"markdown.Fenced", func(s string) { markdown.Fenced(s) }, [][]grower{markdownText}},
		{"markdown.Scanner", func(s string) {
			for _, file := range []string{"a.go", "a.py", "a.sh", "a.html"} {
				scan := markdown.NewScanner(file)
				for line := range strings.Lines(s) {
					scan.Line(line)
				}
			}
		}, [][]grower{commandText}},
		{"textwrap.Lines", func(s string) { textwrap.Lines(s, 80) }, nil},
		{"schema.Repair", func(s string) { schema.Repair([]byte(s)) }, [][]grower{jsonText}},
		{"schema.RepairWhole", func(s string) { schema.RepairWhole([]byte(s)) }, [][]grower{jsonText}},
		{"schema.Coerce", func(s string) {
			schema.Coerce(json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`), []byte(s))
		}, [][]grower{jsonText}},
		{"schema.Validate", func(s string) {
			_ = schema.Validate(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`), []byte(s))
		}, [][]grower{jsonText}},
		{"schema.For", func(s string) {
			schema.For(json.RawMessage(s), schema.Target{ObjectRoot: true, AllRequired: true, ClosedObjects: true, TypeRequired: true})
		}, [][]grower{schemaText}},
		{"schema.TypeScript", func(s string) { schema.TypeScript(json.RawMessage(s)) }, [][]grower{schemaText}},
		{"llm.Arguments", func(s string) { llm.Arguments(s) }, [][]grower{jsonText}},
		{"diff.Lines", func(s string) {
			for range diff.Lines(s) {
			}
		}, [][]grower{diffText}},
		{"tools.FileDiff", func(s string) { tools.FileDiff("a", true, []byte(s), []byte(s[len(s)/3:]+"\n"+s[:len(s)/2])) }, [][]grower{diffText, {rows("", "line {i}\n", "")}}},
		{"permission.Decide", func(s string) { rules.Decide(permission.Call{Tool: "shell", Command: s, Workspace: "/w"}) }, [][]grower{commandText}},
		{"permission.PrefixRules", func(s string) { _, _ = permission.PrefixRules(s, 1) }, [][]grower{commandText}},
		{"permission.CountWords", func(s string) { _, _ = permission.CountWords(s) }, [][]grower{commandText}},
		{"wire.Events", func(s string) {
			events := wire.NewEvents(bufio.NewReader(strings.NewReader(s)))
			for {
				if _, err := events.Next(); err != nil {
					return
				}
			}
		}, [][]grower{{repeated("data: a\n"), repeated("data: a\n\n"), repeated(":\r"), repeated("event: a\nid: 1\n\n")}}},
		{"wire.Unquote", func(s string) { _, _ = wire.Unquote([]byte(`"` + s + `"`)) }, [][]grower{{repeated(`\ud83d`), repeated(`\n\"`)}}},
		{"frontmatter.Parse", func(s string) { _, _ = frontmatter.Parse(s, 1) }, [][]grower{{rows("", "k{i}: a\n", ""), repeated("- a\n"), repeated("a: |\n  b\n"),
			rows("a: [", "[", ""), rows("a: \"", "x\n ", ""), repeated("a:\n "), rows("a: [x\n", " x\n", "")}}},
		{"attach.Mentions", func(s string) { attach.Mentions(s, func(string) bool { return false }) }, [][]grower{{repeated("@a "), repeated("@"), repeated(`@"a`), repeated(`@a\ `)}}},
		{"attach.DroppedPaths", func(s string) { attach.DroppedPaths(s) }, [][]grower{{repeated("/a "), repeated(`'/a' `), repeated("file:///a%20\n")}}},
	} {
		for i, shapes := range append([][]grower{anyText}, f.shapes...) {
			for j, shape := range shapes {
				t.Run(fmt.Sprintf("%s/%d.%d", f.name, i, j), func(t *testing.T) { checkGrowth(t, shape, f.run) })
			}
		}
	}
	for _, f := range wireFormats {
		answer := &answersWith{}
		model := f.open(adapter.Options{BaseURL: "http://127.0.0.1:1/v1", Key: "test-key", Model: "m", HTTP: &http.Client{Transport: answer}})
		for i, shape := range f.shapes {
			t.Run(fmt.Sprintf("%s/%d", f.name, i), func(t *testing.T) {
				checkGrowth(t, shape, func(text string) {
					answer.text = text
					for range model.Stream(context.Background(), offered) {
					}
				})
			})
		}
	}
	for name, shapes := range databases {
		dir := t.TempDir()
		for i, shape := range shapes {
			file := func(text string) string { return filepath.Join(dir, fmt.Sprintf("%s%d-%d.db", name, i, len(text))) }
			t.Run(fmt.Sprintf("archive.ReadFile %s.db/%d", name, i), func(t *testing.T) {
				checkGrowth(t, func(n int) string {
					text := shape(64 * n) // opening a database takes some milliseconds
					if _, err := os.Stat(file(text)); err != nil {
						execute(t, file(text), text)
					}
					return text
				}, func(text string) {
					if _, err := archive.ReadFile(context.Background(), file(text), nil, func(archive.Conversation) error { return nil }); err != nil {
						t.Fatal(err)
					}
				})
			})
		}
	}
	for name, shapes := range importers {
		dir := t.TempDir()
		file := func(text string) string { return filepath.Join(dir, strconv.Itoa(len(text))+name) }
		for i, shape := range shapes {
			t.Run(fmt.Sprintf("archive.ReadFile %s/%d", name, i), func(t *testing.T) {
				checkGrowth(t, func(n int) string {
					text := shape(n)
					if err := os.WriteFile(file(text), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					return text
				}, func(text string) {
					_, _ = archive.ReadFile(context.Background(), file(text), nil, func(archive.Conversation) error { return nil })
				})
			})
		}
	}
}

// execute creates a database at path with the statements of script.
func execute(t *testing.T, path, script string) {
	t.Helper()
	pool, err := sql.Open("sqlite", "file://"+path+"?_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = pool.Exec("BEGIN; " + script + " COMMIT")
	if err = errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
}

// checkGrowth fails the test if run takes more than 2.5 times as long for a shape of 2n bytes as for n. N is large
// enough for 5 ms, and is doubled for two more tries, since a function with a size limit may grow faster below it. Each
// time is the least of five runs, or of two if the ratio is clear.
func checkGrowth(t *testing.T, shape grower, run func(text string)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := 1 << 10
	for ; ; n *= 2 {
		if n > 1<<20 {
			return
		}
		text := shape(n)
		if min(threadTime(t, text, run), threadTime(t, text, run)) >= 5*time.Millisecond {
			break
		}
	}
	var once, twice time.Duration
	for range 3 {
		small, large := shape(n), shape(2*n)
		once, twice = math.MaxInt64, math.MaxInt64
		for i := range 5 {
			once = min(once, threadTime(t, small, run))
			twice = min(twice, threadTime(t, large, run))
			if i > 0 && 10*twice < 22*once {
				return
			}
		}
		t.Logf("%d bytes take %v, %d take %v: %.2f", n, once, 2*n, twice, float64(twice)/float64(once))
		if 2*twice < 5*once {
			return
		}
		n *= 2
	}
	t.Errorf("%.100q takes %.1f times as long for twice as much", shape(100), float64(twice)/float64(once))
}

// threadTime returns the CPU time of the calling thread for run.
func threadTime(t *testing.T, text string, run func(text string)) time.Duration {
	t.Helper()
	var mem runtime.MemStats
	if runtime.ReadMemStats(&mem); mem.HeapAlloc > 256<<20 {
		runtime.GC()
	}
	start := threadClock(t)
	run(text)
	return threadClock(t) - start
}

func threadClock(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
