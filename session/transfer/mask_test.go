package transfer

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session/store"
)

// Masking changes texts, arguments and results of a copy, and counts them. State stays
// as it is.
func TestMask(t *testing.T) {
	say := func() Conversation {
		state := json.RawMessage(`{"key":"KEY"}`)
		return Conversation{Session: store.Session{Title: "my KEY", Preview: "none"}, Nodes: []store.Node{
			{Seq: 1, Message: llm.UserText("KEY and KEY")},
			{Seq: 2, Parent: 1, InterruptedBy: "invalid key KEY", Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "a KEY", State: state}, {Kind: llm.Call, ID: "1", Name: "KEY", Input: `{"a":"KEY"}`}, {Kind: llm.Source, URL: "https://x.org/?key=KEY"}}}},
			{Seq: 3, Parent: 2, Results: map[string]store.Outcome{"1": {Input: "KEY", Diff: "+KEY"}}, Message: llm.Message{Role: llm.RoleTool, Parts: []llm.Part{
				{Kind: llm.Result, ID: "1", Name: "KEY", Text: "KEY"}, {Kind: llm.Media, Data: []byte("KEY")}}}},
		}}
	}
	c := say()
	got := Mask(c, strings.NewReplacer("KEY", "[redacted]").Replace)
	if !reflect.DeepEqual(c, say()) {
		t.Error("the conversation itself was changed")
	}
	if got.MaskedTexts != 9 {
		t.Errorf("%d texts were masked, want 9", got.MaskedTexts)
	}
	p := got.Nodes[1].Parts
	if string(p[0].State) != `{"key":"KEY"}` || p[1].Name != "KEY" || string(got.Nodes[2].Parts[1].Data) != "KEY" {
		t.Errorf("what has to stay was changed: %+v", got.Nodes)
	}
	if got.Session.Title != "my [redacted]" || got.Nodes[0].Text() != "[redacted] and [redacted]" || p[0].Text != "a [redacted]" ||
		p[1].Input != `{"a":"[redacted]"}` || p[2].URL != "https://x.org/?key=[redacted]" || got.Nodes[1].InterruptedBy != "invalid key [redacted]" || got.Nodes[2].Parts[0].Text != "[redacted]" || got.Nodes[2].Results["1"].Input != "[redacted]" || got.Nodes[2].Results["1"].Diff != "+[redacted]" {
		t.Errorf("not masked: %+v", got)
	}
	if again := Mask(c, func(s string) string { return s }); again.MaskedTexts != 0 || !reflect.DeepEqual(again.Nodes, c.Nodes) {
		t.Errorf("without keys: %+v", again)
	}
}
