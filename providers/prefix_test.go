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

// TestPrefixStays holds that nothing misses a provider's cache needlessly: in 10 turns, or 30 with PARLEY_LONG=1,
// with thinking, calls, results with images, answers that broke off and words of other
// models in between, each request begins with the bytes of the one before, for every
// wire format; tools that come late change the tools alone. Marks for the cache move
// along, and are no part of what is cached.
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

// A prefix is a request as providers cache it: everything that is no message, by field,
// and the messages.
type prefix struct {
	fixed    map[string]string
	messages []json.RawMessage
}

// messageFields are where the wire formats have their messages.
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

// unmarked returns a value without marks for the cache. A text that was made a list of
// one part to carry one is that text.
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

// holds reports where p, the request of step n, does not begin with the one before it;
// its tools may be others if some came late.
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
