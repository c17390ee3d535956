package providers_test

import (
	"bytes"
	"fmt"
	"testing"

	"parley/providers/llm"
)

// TestAsideKeepsRequests checks in every wire format that asides change nothing of the conversation's own
// requests, their cache marks included, whether they are asked after an answer or while calls run. The request
// of an aside is valid, and begins as the conversation's last one, so that its prompt is cached.
func TestAsideKeepsRequests(t *testing.T) {
	all := func() []*party {
		return append(parties(), &party{kind: "cerebras", model: "llama3.1-8b", format: prompted, gets: "prompt"})
	}
	twins := all()
	for i, p := range all() {
		t.Run(p.String(), func(t *testing.T) {
			alone := twins[i]
			alone.open(t)
			p.open(t)
			n := 0
			ask := func(history []llm.Message, calls bool) []llm.Message {
				n++
				a := answer{n: n, text: fmt.Sprint("Step ", n, "."), calls: calls}
				alone.ask(t, history, a)
				next := p.ask(t, history, a)
				if !bytes.Equal(p.body, alone.body) {
					t.Fatalf("request %d differs after asides:\n%s\nwithout them:\n%s", n, p.body, alone.body)
				}
				before, side := prefixOf(t, p.body), say(next, "Why?")
				p.aside = true
				side = say(p.ask(t, side, answer{n: 1000 + n, text: "Because."}), "And else?")
				p.ask(t, side, answer{n: 2000 + n, text: "Nothing."})
				p.aside = false
				now := prefixOf(t, p.body)
				delete(now.fixed, "tool_choice")
				delete(before.fixed, "tool_choice")
				now.holds(t, before, n, false)
				return next
			}
			history := []llm.Message{llm.UserText("What is this?")}
			for turn := range 12 {
				history = ask(history, true)
				if len(history[len(history)-1].Calls()) > 0 {
					history = ask(run(t, history), false)
				}
				history = say(history, fmt.Sprint("Turn ", turn, "?"))
			}
		})
	}
}
