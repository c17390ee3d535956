package prompted

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// TestPatch: descriptions of another form of replies or calls are removed from a system prompt, and
// nothing else.
func TestPatch(t *testing.T) {
	const note = "(Calls: see \"Reply format\" below.)\n"
	for _, tt := range []struct {
		name, in, want string
		replaced       []string
	}{
		{"nothing", "You are kind.\n\n## Style\nBe short. Use tools with care.", "You are kind.\n\n## Style\nBe short. Use tools with care.", nil},
		{"a format of words", "## Output format\nTwo sentences, in German.\n", "## Output format\nTwo sentences, in German.\n", nil},
		{"rules for tools", "## Tool use\nRead a file before you edit it.\n", "## Tool use\nRead a file before you edit it.\n", nil},
		{"a section", "Be kind.\n\n## Output Format\nAlways answer as JSON:\n```json\n# no heading\n{\"a\": 1}\n```\n### Details\nNo words.\n\n## Style\nShort.\n", "Be kind.\n\n## Style\nShort.\n", []string{"Output Format"}},
		{"the last section", "Be kind.\n# Function calling\nCall functions natively.", "Be kind.\n", []string{"Function calling"}},
		{"two", "# Tools\nWrite <call name=\"x\"/>.\n# Response Format:\nXML only\n# Rest\nx\n", "# Rest\nx\n", []string{"Tools", "Response Format"}},
		{"a label", "Be kind.\n\nOUTPUT FORMAT:\nPut the answer into <answer> tags.\n- always\n\nBe short.\n", "Be kind.\n\nBe short.\n", []string{"OUTPUT FORMAT"}},
		{"a label in bold", "**Function Calling**: never\nThe output format of ls is odd.\n", "The output format of ls is odd.\n", []string{"Function Calling"}},
		{"a label, then another", "Tool calls:\nuse JSON\n\nStyle:\nshort\n", "Style:\nshort\n", []string{"Tool calls"}},
		{"tags", "a\n<output_format>\nJSON\n\nonly\n</output_format>\nb\n", "a\nb\n", []string{"output_format"}},
		{"an example in a fence", "To read:\n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"x\"}}\n```\nThen go on.\n", "To read:\n" + note + "Then go on.\n", []string{exampleTitle}},
		{"an example of an action", "{\"action\": \"read\", \"action_input\": {\"path\": \"x\"}}\nb", note + "b", []string{exampleTitle}},
		{"an example in XML", "So:\n<function_call>\n<name>read</name>\n</function_call>\nb\n", "So:\n" + note + "b\n", []string{exampleTitle}},
		{"other JSON", "```json\n{\"name\": \"Launch\", \"type\": \"go\", \"request\": \"launch\", \"args\": []}\n```\n", "```json\n{\"name\": \"Launch\", \"type\": \"go\", \"request\": \"launch\", \"args\": []}\n```\n", nil},
		{"a fence that never ends", "```\n{\"name\": \"read\", \"arguments\": {}}\n", "```\n(Calls: see \"Reply format\" below.)\n", []string{exampleTitle}},
		{"words about calls", "Function calling is what you do best: do it. The function_call tag is old.", "Function calling is what you do best: do it. The function_call tag is old.", nil},
	} {
		got, replaced := removeFormSections(tt.in)
		if got != tt.want || !slices.Equal(replaced, tt.replaced) {
			t.Errorf("%s: replaced %q in\n%s\nwant %q in\n%s", tt.name, replaced, got, tt.replaced, tt.want)
		}
		if again, more := removeFormSections(got); again != got || more != nil {
			t.Errorf("%s: patched twice:\n%s", tt.name, again)
		}
	}
}

// The model is told only the strategy's own form, and the user is told once that theirs was
// replaced.
func TestPatchIsToldOnce(t *testing.T) {
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	m := wrap(fake, Options{Notices: &llm.Notices{}})
	req := llm.Request{System: "Be kind.\n\n## Function calling\nWrite <function_call> tags.\n", Tools: tools, Messages: []llm.Message{llm.UserText("q")}}
	var told []string
	for range 2 {
		for e := range m.Stream(context.Background(), req) {
			if n, ok := e.(llm.Notice); ok {
				told = append(told, n.Text)
			}
		}
	}
	if want := []string{"System prompt: replaced what describes another form of replies or tool calls (Function calling)"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if s := fake.Requests()[1].System; strings.Contains(s, "function_call") || !strings.HasPrefix(s, "Be kind.\n\n# Tools\n") || strings.Contains(s, "also say") {
		t.Errorf("the system prompt is\n%s", s)
	}
	req.Tools = nil // then nothing contradicts
	for range m.Stream(context.Background(), req) {
	}
	if s := fake.Requests()[2].System; s != req.System {
		t.Errorf("without tools the system prompt is\n%s", s)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("## Output format\nJSON\n```\n{\"name\":\"x\",\"args\":1}\n```\n")
	f.Add("<tool_use>\n**Tool calls**: x\n\ty\n</tool_use>")
	f.Fuzz(func(t *testing.T, s string) {
		got, replaced := removeFormSections(s)
		if replaced == nil && got != s {
			t.Errorf("%q became %q, untold", s, got)
		}
	})
}
