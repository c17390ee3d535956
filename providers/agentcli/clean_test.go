package agentcli

import (
	"context"
	"strings"
	"testing"
	"unicode"

	"parley/providers/llm"
	"parley/tools/sanitize"
)

// Messages of a program are cleaned in errors and notices: no escape sequences, control characters, invisible
// characters, or credentials, even if an escape sequence splits one. Characters that reverse text are named.
func TestCleanWords(t *testing.T) {
	const (
		dirty = "bad\x1b]0;title\x07 \x1b[31mred\x1b[0m \u009b1mbold\u202e \u2066turned\u2069 hid\u200bden QXZKVWJY\x1b[1mQUZXKVJW end"
		clean = "bad red 1mbold<U+202E> <U+2066>turned<U+2069> hidden [redacted] end"
	)
	check := func(name string, m *Model, s llm.Stream, want string) {
		t.Helper()
		got := take(t, s)
		said := strings.Join(got.notices, " ")
		if got.err != nil {
			said += " " + m.withProvider(got.err).Message
		}
		hides := func(r rune) bool { return unicode.IsControl(r) || sanitize.IsInvisible(r) }
		if strings.Count(said, want) != 1 || strings.ContainsFunc(said, hides) {
			t.Errorf("%s: %q, want %q", name, said, want)
		}
	}
	secret := func(o *Options) { o.Env = append(o.Env, "A_TOKEN=QXZKVWJYQUZXKVJW") }
	for name, s := range map[string]step{"stderr": {Err: dirty, Exit: 1}, "plain text": {Out: dirty, Exit: 1}} {
		m := script(t, []step{s}).model("gemini-cli", secret)
		check(name, m, m.Stream(t.Context(), asking("Hi")), clean)
	}
	for _, tt := range []struct{ kind, name, lines, want string }{
		{"claude-cli", "error", `{"type":"result","subtype":"success","is_error":true,"result":%s}`, clean},
		{"claude-cli", "limit", `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":[%s]}`, clean},
		{"codex-cli", "error", `{"type":"turn.failed","error":{"message":%s}}`, clean},
		{"codex-cli", "notice", `{"type":"item.completed","item":{"id":"1","type":"error","message":%s}}`, clean},
		{"gemini-cli", "error", `{"type":"result","status":"error","error":{"type":"x","message":%s}}`, clean},
		{"gemini-cli", "notice", `{"type":"error","message":%s}` + "\n" + `{"type":"result","status":"success"}`, clean},
		{"gemini-cli", "answer of the service", `{"type":"result","status":"error","error":{"type":"x","message":"{\"error\":{\"message\":\"bad\\u001b[31m \\u202ered\"}}"}}`, "bad <U+202E>red"},
		{"copilot-cli", "error", `{"type":"session.error","data":{"message":%s}}` + "\n" + `{"type":"result","exitCode":1}`, clean},
		{"copilot-cli", "notice", `{"type":"session.warning","data":{"message":%s}}`, clean},
		{"antigravity-cli", "error", `{"event":"result","result":{"status":"ERROR","error":%s}}`, clean},
		{"antigravity-cli", "denied", `{"event":"result","result":{"status":"SUCCESS","denied_actions":[%s]}}`, clean},
		{"grok-cli", "error", `{"type":"error","message":%s}`, clean},
		{"grok-cli", "unknown form", `{"type":"future","data":%s}` + "\n" + `{"type":"end"}`, "hidden QXZ"},
		{"qwen-cli", "error", `{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":%s}}`, clean},
	} {
		m := New(Options{Provider: "mine", Kind: tt.kind})
		secret(&m.o)
		check(tt.kind+", "+tt.name, m, llm.Produce(t.Context(), func(_ context.Context, out *llm.Out) error {
			a := &answer{out: out, run: &run{}, flavor: m.flavor, mask: m.mask()}
			d := a.flavor.decoder(a)
			for line := range strings.Lines(strings.Replace(tt.lines, "%s", string(mustJSON(dirty)), 1)) {
				a.onLine(d, []byte(strings.TrimRight(line, "\n")))
			}
			return m.resultOf(a, exitInfo{code: 1, byItself: true})
		}), tt.want)
	}
}
