package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// TestPrefixStays checks that no request misses a provider's cache needlessly, in every wire format. In 10 turns,
// or 30 with PARLEY_LONG=1, with thinking, calls, results with images, interrupted answers and messages of other
// models, each request begins with the bytes of the previous one; tools that are added later change only the
// tools. Cache marks move, and are not part of the cached prompt.
func TestPrefixStays(t *testing.T) {
	for _, p := range parties() {
		t.Run(p.String(), func(t *testing.T) {
			p.open(t)
			rng := rand.New(rand.NewPCG(1, 2))
			history := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{picture(""), {Kind: llm.Text, Text: "What is this?"}}}}
			var before prefix
			n, late := 0, false
			known := offered
			defer func() { offered = known }()
			ask := func(calls bool) {
				n++
				history = p.ask(t, history, answer{n: n, text: fmt.Sprint("Step ", n, "."), calls: calls})
				now := prefixOf(t, p.body)
				now.holds(t, before, n, late)
				before, late = now, false
			}
			turns := 10
			if llmtest.Long {
				turns = 30
			}
			for turn := range turns {
				if turn == turns/2 {
					offered, late = append(slices.Clip(known), llm.Tool{Name: "mcp__late", Schema: known[1].Schema}), true
				}
				for range rng.IntN(3) {
					ask(true)
					history = run(t, history)
				}
				ask(false)
				switch rng.IntN(4) {
				case 0: // another model answers in between
					history = append(say(history, "You?"), llm.Message{
						Role: llm.RoleAssistant, Origin: "elsewhere", Model: "else/where",
						Parts: []llm.Part{{Kind: llm.Thinking, Text: "foreign"}, {Kind: llm.Text, Text: "I."}},
					})
				case 1: // an answer broke off
					history = append(say(history, "And?"), llm.Message{
						Role: llm.RoleAssistant, Origin: p.Origin, Model: p.Name, Interrupted: true,
						Parts: []llm.Part{{Kind: llm.Text, Text: "Because"}},
					})
				}
				history = say(history, fmt.Sprint("Turn ", turn, "?"))
			}
			if len(before.messages) < 2*turns {
				t.Errorf("the last request has %d messages", len(before.messages))
			}
		})
	}
}

// A prefix is a request as providers cache it: all fields but the messages, and the messages.
type prefix struct {
	fixed    map[string]string
	messages []json.RawMessage
}

// messageFields are the fields that contain messages in the wire formats.
var messageFields = []string{"messages", "input", "contents"}

func prefixOf(t *testing.T, body []byte) (p prefix) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	p.fixed = map[string]string{}
	for name, value := range fields {
		data, _ := json.Marshal(unmarked(value))
		p.fixed[name] = string(data)
	}
	for _, name := range messageFields {
		if list, ok := p.fixed[name]; ok {
			if err := json.Unmarshal([]byte(list), &p.messages); err != nil {
				t.Fatal(err)
			}
			delete(p.fixed, name)
		}
	}
	return p
}

// unmarked returns a value without cache marks. A text that was wrapped in a list to carry a mark
// becomes a text again.
func unmarked(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	case map[string]any:
		if list, ok := v["content"].([]any); ok && len(list) == 1 {
			if part, ok := list[0].(map[string]any); ok && part["type"] == "text" && part["cache_control"] != nil && v["role"] != "assistant" {
				delete(part, "cache_control")
				if len(part) == 2 {
					v["content"] = []any{part}
				}
			}
		}
		if text, ok := v["content"].(string); ok {
			v["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		delete(v, "cache_control")
		for name := range v {
			v[name] = unmarked(v[name])
		}
	}
	return value
}

// holds fails the test if p, the request of step n, does not begin with the previous one. Late
// means that tools were added, so they may differ.
func (p prefix) holds(t *testing.T, before prefix, n int, late bool) {
	t.Helper()
	for name, was := range before.fixed {
		if is := p.fixed[name]; is != was && (name != "tools" || !late) {
			t.Errorf("request %d: %s is\n%s, was\n%s", n, name, is, was)
		}
	}
	if len(p.messages) < len(before.messages) {
		t.Fatalf("request %d has %d messages, the one before %d", n, len(p.messages), len(before.messages))
	}
	for i, was := range before.messages {
		if !bytes.Equal(p.messages[i], was) {
			t.Fatalf("request %d: message %d of %d is\n%s, was\n%s", n, i+1, len(before.messages), p.messages[i], was)
		}
	}
}
