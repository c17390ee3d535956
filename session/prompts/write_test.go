package prompts_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/quick"

	"parley/session/prompts"
)

// Any text that is escaped becomes itself again.
func TestEscape(t *testing.T) {
	whole := func(text string) bool {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		p := prompts.Prompt{Program: prompts.Parley, Body: prompts.Escape(text)}
		e, err := p.Expand("", nil)
		return err == nil && e.Text() == text && len(e.Commands) == 0 && e.Mentions == ""
	}
	for _, text := range []string{"$1 $$ $ARGUMENTS !`ls` @main.go {{x}} {{{ }} \\$ \\\\! a!`", "$HOME", "@@a", "!!`a`"} {
		if !whole(text) {
			t.Errorf("%q did not come back", text)
		}
	}
	if err := quick.Check(whole, nil); err != nil {
		t.Error(err)
	}
}

// TestFormat: what is written is read back the same.
func TestFormat(t *testing.T) {
	for _, p := range []prompts.Prompt{
		{Body: "Go"},
		{Body: "--- a rule"},
		{Body: "Go\n\n  there", Settings: prompts.Settings{Description: "a: b # c", Hint: "[x] [y]", Model: "a/b", Effort: "low", Tools: []string{"read", "grep"}, System: "Be\n\n  short", Schema: []byte(`{"type":"object"}`)}},
		{Body: "", Settings: prompts.Settings{System: "'quoted' \"text\"", SchemaFile: "schema.json"}},
		{Body: "Close $issue for $who", Settings: prompts.Settings{Arguments: []string{"issue", "who"}, Web: true}},
		{Body: "x", Settings: prompts.Settings{Description: "- dash\ttab", System: "  indented\nlines"}},
	} {
		text := prompts.Format(p)
		got, err := parse(t, prompts.Parley, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p.System = strings.TrimSpace(p.System)
		want := fmt.Sprintf("%+v %q", p.Settings, p.Body)
		if got := fmt.Sprintf("%+v %q", got.Settings, got.Body); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestFromLLM(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a text", "Summarize $input", "Summarize $ARGUMENTS\n"},
		{"a prompt", "prompt: 'Price: $$5 for $who, $input. !`ls`'\n", "Price: \\$5 for {{who}}, $ARGUMENTS. \\!`ls`\n"},
		{"defaults", "prompt: |\n  In ${lang} for $who\ndefaults:\n  lang: plain Czech\n", "In {{lang=plain Czech}} for {{who}}\n"},
		{"defaults that a placeholder cannot hold", "prompt: $a $b $c $d\ndefaults:\n  a: x }} y\n  b: '{x}'\n  c: \"x \"\n  d: \"x\\ny\"\n", "{{a}} {{b}} {{c}} {{d}}\n" +
			" · t.yaml:3: defaults: a has none here: {{a=…}} cannot say \"x }} y\" · t.yaml:4: defaults: b has none here: {{b=…}} cannot say \"{x}\"" +
			" · t.yaml:5: defaults: c has none here: {{c=…}} cannot say \"x \" · t.yaml:6: defaults: d has none here: {{d=…}} cannot say \"x\\ny\""},
		{"a name that means all arguments here", "prompt: $args and $input\n", "{{llm_args}} and $ARGUMENTS\n · t.yaml:1: prompt: its $args is {{llm_args}} here, for {{args}} stands for all arguments"},
		{"such a name with a default", "prompt: $args\ndefaults:\n  args: x\n", "{{args=x}}\n"},
		{"a system prompt", "system: You are terse\nmodel: gpt-x\n", "---\nmodel: gpt-x\nsystem: You are terse\n---\n\n"},
		{"a schema", "prompt: Go\nschema_object:\n  type: object\n  properties:\n    n: {type: integer}\n", "---\nschema: {\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}\n---\nGo\n"},
		{"fragments", "prompt: Go\nfragments:\n- a b.txt\n- github:x/y\n", "@\"a b.txt\"\n\nGo\n · t.yaml:3: fragments: github:x/y is no file: attach it yourself"},
		{"what has no place", "prompt: Go\noptions: {temperature: 0}\ntools: [x]\nfunctions: |\n  def f(): pass\nextract: true\n",
			"Go\n · t.yaml:2: options is not used here · t.yaml:3: tools is not used here · t.yaml:4: functions is not used here · t.yaml:6: extract: parley -p -x prints the first code block"},
		{"nothing", "model: x\n", "t.yaml: there is no prompt in it"},
		{"bad YAML", "prompt: x\n\ty: z\n", "t.yaml:2: it is indented with a tab: use spaces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, notes, err := prompts.FromLLM("t.yaml", []byte(tt.text))
			got := strings.Join(append([]string{prompts.Format(p)}, notes...), " · ")
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
