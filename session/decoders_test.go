package session

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"parley/providers/llm"
)

// Each kind that kindOf stores is read back.
func TestEveryKindIsReadBack(t *testing.T) {
	events := []Event{
		llm.Notice{Text: "n"}, llm.Retry{Attempt: 2, Wait: time.Second}, Fallback{From: "a/a", To: "b/b"}, ModelSwitched{From: "a/a", To: "b/b"},
		Compacted{Seq: 3, Messages: 2}, ShellCommand{Command: "ls", Output: "x"}, Opinion{Model: "a/a", Answer: "x"}, DroppedCall{Name: "read", Input: "{}"}, Persona{Name: "p"},
		AddedDirectories{Dirs: []string{"/d"}}, Settings{}, Verdict{}, Sandbox{Text: "undone"}, Abandoned{}, Done{Err: errors.New("x")},
	}
	read := map[string]bool{}
	for _, e := range events {
		kind, stored := kindOf(e)
		data, err := json.Marshal(stored)
		if err != nil || kind == "" || read[kind] {
			t.Errorf("%T is stored as %q, %v; another one, too: %v", e, kind, err, read[kind])
		}
		read[kind] = true
		back := DecodeAnnotation(Annotation{Kind: kind, Data: data})
		again, err := json.Marshal(back)
		if reflect.TypeOf(back) != reflect.TypeOf(e) || string(again) != string(data) || err != nil {
			t.Errorf("%T, stored as %q: %s, reads %T: %s, %v", e, kind, data, back, again, err)
		}
	}
	for kind := range storedEvents {
		if !read[kind] {
			t.Errorf("no event here has the kind %q", kind)
		}
	}
}
