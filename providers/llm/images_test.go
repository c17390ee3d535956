package llm_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	. "parley/providers/llm"
)

func TestEndpointPortable(t *testing.T) {
	image := func(id string) Part {
		return Part{Kind: Media, ID: id, Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")}
	}
	pdf := Part{Kind: Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}
	const told = "[image left out, for this model cannot look at any: a.png image/png]"
	history := []Message{
		{Role: RoleUser, Parts: []Part{image(""), text("what is this?"), pdf}},
		assistant("a", call("1", "{}"), call("2", "{}")),
		toolMessage(result("1", "one"), image("1"), image("1"), Part{Kind: Result, ID: "2"}, image("2")),
		assistant("a", text("a horse")),
	}
	blind := []Message{
		{Role: RoleUser, Parts: []Part{text(told), text("what is this?"), pdf}},
		history[1],
		toolMessage(result("1", "one\n"+told+"\n"+told), Part{Kind: Result, ID: "2", Text: told}),
		history[3],
	}
	before, _ := json.Marshal(history)
	for _, tt := range []struct {
		name    string
		e       Endpoint
		want    []Message
		changes string
	}{
		{"takes images", Endpoint{Origin: "a", Known: true, Vision: true}, history, "[]"},
		{"may take images", Endpoint{Origin: "a"}, history, "[]"},
		{"takes none", Endpoint{Origin: "a", Known: true}, blind, "[images not sent: this model takes none (4)]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, changes := tt.e.Portable(history)
			if !reflect.DeepEqual(got, tt.want) || fmt.Sprint(changes) != tt.changes {
				t.Errorf("got %+v, %v\nwant %+v, %s", got, changes, tt.want, tt.changes)
			}
			if after, _ := json.Marshal(history); string(after) != string(before) {
				t.Errorf("the history itself was changed: %s", after)
			}
		})
	}
}
