package llm

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// repairPlainly is repair in its simplest form: a new list, and each result looked up.
func repairPlainly(history []Message) (out []Message, closed int) {
	for i := range history {
		history[i].Parts = cleanParts(history[i].Parts)
	}
	for i, m := range history {
		if m.Role == RoleTool || !slices.ContainsFunc(m.Parts, func(p Part) bool { return !isEmpty(&p) }) {
			continue
		}
		if n := len(out); m.Role == RoleUser && n > 0 && out[n-1].Role == RoleUser {
			out[n-1].Parts = slices.Concat(out[n-1].Parts, m.Parts)
			continue
		}
		out = append(out, m)
		results := resultsByCall(history[i+1:])
		var parts []Part
		for _, p := range m.Parts {
			if p.Kind != Call || p.Remote {
				continue
			}
			found := results[p.ID]
			delete(results, p.ID)
			if len(found) == 0 {
				found = []Part{{Kind: Result, ID: p.ID, Name: p.Name, Text: NoResult, Failed: true}}
				closed++
			}
			parts = append(parts, found...)
		}
		if parts != nil {
			out = append(out, Message{Role: RoleTool, Parts: parts})
		}
	}
	return out, closed
}

// randomHistory returns messages in any order, with calls and results of a few ids.
func randomHistory(r *rand.Rand) []Message {
	history := make([]Message, r.IntN(12))
	for i := range history {
		m := &history[i]
		m.Role = []Role{RoleUser, RoleAssistant, RoleTool}[r.IntN(3)]
		for range r.IntN(4) {
			p := Part{Kind: []Kind{Text, Call, Result, Media, Thinking}[r.IntN(5)], ID: fmt.Sprint(r.IntN(3)), Text: []string{"", "a", "b\xff"}[r.IntN(3)], Remote: r.IntN(5) == 0}
			if p.Kind == Media {
				p.URL = "https://example.com"
			}
			m.Parts = append(m.Parts, p)
		}
	}
	return history
}

// Repair gives the same result as its simple form for any history, and does not modify its parts.
func TestRepairIsThePlainForm(t *testing.T) {
	for seed := range uint64(20_000) {
		history := randomHistory(rand.New(rand.NewPCG(seed, 1)))
		before := randomHistory(rand.New(rand.NewPCG(seed, 1)))
		want, wantClosed := repairPlainly(before)
		got, closed := repair(slices.Clone(history))
		if !reflect.DeepEqual(got, want) || closed != wantClosed {
			t.Fatalf("seed %d: got %d closed of\n%+v\nwant %d of\n%+v", seed, closed, got, wantClosed, want)
		}
		if again := randomHistory(rand.New(rand.NewPCG(seed, 1))); !reflect.DeepEqual(history, again) {
			t.Fatalf("seed %d: the history was changed", seed)
		}
	}
}

// Calls returns adjacent calls as a slice of the message's parts, and copies of others.
func TestCallsInAnyPlace(t *testing.T) {
	call := func(id string) Part { return Part{Kind: Call, ID: id} }
	remote := Part{Kind: Call, ID: "r", Remote: true}
	text := Part{Kind: Text, Text: "t"}
	for _, test := range []struct {
		parts []Part
		want  string
	}{
		{nil, "[]"},
		{[]Part{text, remote}, "[]"},
		{[]Part{call("a")}, "[a]"},
		{[]Part{text, call("a"), call("b"), text}, "[a b]"},
		{[]Part{call("a"), text, call("b"), call("c"), remote, call("d")}, "[a b c d]"},
	} {
		parts := slices.Clone(test.parts)
		ids := []string{}
		for _, c := range append((Message{Parts: parts}).Calls(), text)[:len((Message{Parts: parts}).Calls())] {
			ids = append(ids, c.ID)
		}
		if got := fmt.Sprint(ids); got != test.want || !reflect.DeepEqual(parts, test.parts) {
			t.Errorf("%v: got %s, want %s; then %v", test.parts, got, test.want, parts)
		}
	}
}

// A history without changes is copied only once, even if it is long: its parts are shared.
func TestPortableCopiesMessagesOnce(t *testing.T) {
	cost := func(turns int) float64 {
		var history []Message
		for i := range turns {
			id := fmt.Sprint("c", i)
			history = append(history, Message{Role: RoleUser, Parts: []Part{{Kind: Text, Text: "read it"}}},
				Message{Role: RoleAssistant, Origin: "chat:a", Parts: []Part{{Kind: Thinking, Text: "hm"}, {Kind: Text, Text: "I read."}, {Kind: Call, ID: id, Name: "read", Input: "{}"}}},
				Message{Role: RoleTool, Parts: []Part{{Kind: Result, ID: id, Name: "read", Text: "text"}}},
				Message{Role: RoleAssistant, Origin: "chat:b", Parts: []Part{{Kind: Text, Text: "Done."}}})
		}
		return testing.AllocsPerRun(5, func() { Portable(history, "chat:a") })
	}
	if few, many := cost(10), cost(1000); many > few+10 { // the runtime allocates too
		t.Errorf("%.0f allocations for 10 turns, %.0f for 1,000", few, many)
	}
}
