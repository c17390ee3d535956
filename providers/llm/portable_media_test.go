package llm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// said formats a history: "u:text a:call t:result", images as <name>.
func said(history []Message) string {
	var all []string
	for _, m := range history {
		var parts []string
		for _, p := range m.Parts {
			switch p.Kind {
			case Media:
				parts = append(parts, "<"+p.Name+">")
			case Text, Result:
				parts = append(parts, p.Text)
			case Call:
				parts = append(parts, "call")
			}
		}
		all = append(all, string(m.Role[:1])+":"+strings.Join(parts, "+"))
	}
	return strings.Join(all, " | ")
}

// Media made by a model is sent to the next model after its answer: only its own wire format
// accepts media in an answer.
func TestMadeMediaGoesOver(t *testing.T) {
	user := UserText("draw")
	fox := Part{Kind: Media, Name: "fox.png", MIME: "image/png", Data: []byte("png")}
	text, call := Part{Kind: Text, Text: "here"}, Part{Kind: Call, ID: "c", Name: "read", Input: "{}"}
	answer := func(origin string, parts ...Part) Message {
		return Message{Role: RoleAssistant, Origin: origin, Parts: parts}
	}
	own := fox
	own.State = json.RawMessage(`"s"`)
	for _, test := range []struct {
		name    string
		history []Message
		want    string
	}{
		{"before the next prompt", []Message{user, answer("x", text, fox), UserText("darker")},
			"u:draw | a:here | u:Made by the assistant: fox.png+<fox.png>+darker"},
		{"an answer of nothing else", []Message{user, answer("x", fox), UserText("darker")},
			"u:draw+Made by the assistant: fox.png+<fox.png>+darker"},
		{"behind the results of calls", []Message{user, answer("x", fox, call), {Role: RoleTool, Parts: []Part{{Kind: Result, ID: "c", Text: "r"}}}, answer("x", text), UserText("b")},
			"u:draw | a:call | t:r | u:Made by the assistant: fox.png+<fox.png> | a:here | u:b"},
		{"the same while the turn runs", []Message{user, answer("x", fox, call), {Role: RoleTool, Parts: []Part{{Kind: Result, ID: "c", Text: "r"}}}},
			"u:draw | a:call | t:r | u:Made by the assistant: fox.png+<fox.png>"},
		{"its own stays", []Message{user, answer("o", text, own), UserText("darker")}, "u:draw | a:here+<fox.png> | u:darker"},
		{"another's is none", []Message{user, answer("x", text, own), UserText("darker")}, "u:draw | a:here | u:Made by the assistant: fox.png+<fox.png>+darker"},
	} {
		before := said(test.history)
		got, _ := Portable(test.history, "o")
		if said(got) != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, said(got), test.want)
		}
		if said(test.history) != before {
			t.Errorf("%s: the history was changed", test.name)
		}
		if again, _ := Portable(got, "o"); !reflect.DeepEqual(said(again), said(got)) {
			t.Errorf("%s: not stable: %s", test.name, said(again))
		}
	}
}
