package providers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// paper is a PDF whose content is not text.
var paper = llm.Part{Kind: llm.Media, Name: "paper.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.7\n\xff\x00\xfe%%EOF")}

// elsewhere is an answer of a model that no longer exists, with all kinds of data that only its own
// provider understands.
var elsewhere = llm.Message{
	Role: llm.RoleAssistant, Origin: "elsewhere", Model: "else/where",
	Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "thought elsewhere", State: json.RawMessage(`"signed elsewhere"`)},
		{Kind: llm.Opaque, State: json.RawMessage(`{"type":"elsewhere"}`)},
		{Kind: llm.Call, ID: "srv_1", Name: "web_search", Input: `{}`, Remote: true, State: json.RawMessage(`{"call":"elsewhere"}`)},
		{Kind: llm.Result, ID: "srv_1", Name: "web_search", Text: "found elsewhere", Remote: true, State: json.RawMessage(`{"result":"elsewhere"}`)},
		{Kind: llm.Text, Text: "It was said elsewhere."},
		{Kind: llm.Source, Name: "A page", URL: "https://elsewhere.example/1"},
	},
}

// canceled is the text of an interrupted answer.
const canceled = "I am about to look."

// prompted is the format of a model with its tools in the system prompt.
var prompted = format{speakPrompted, checkPrompted}

func speakPrompted(p *party, a answer) []string {
	text := p.spoken(a)
	for _, call := range a.made() {
		text += fmt.Sprintf("\n<tool_call>\n{\"name\":%q,\"arguments\":%s}\n</tool_call>", call.Name, call.Input)
	}
	return []string{
		fmt.Sprintf(`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","reasoning":%s}}]}`, quoted(p.thought(a.n))),
		fmt.Sprintf(`{"id":"c","choices":[{"index":0,"delta":{"content":%s}}]}`, quoted(text)),
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`,
	}
}

// checkPrompted: the system prompt describes the tools, user and model alternate in text, and there
// are no native calls and results.
func checkPrompted(c *check) {
	var req struct {
		Messages []chatMessage
		Tools    []json.RawMessage
	}
	c.read(&req)
	if len(req.Messages) < 2 || req.Messages[0].Role != "system" || !strings.Contains(string(req.Messages[0].Content), "Reads a file") {
		c.fail("no system prompt with tools")
		return
	}
	for i, m := range req.Messages[1:] {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want || len(m.Calls) > 0 || m.Answers != "" {
			c.fail("message %d is %+v, want one of %s", i, m, want)
		}
		if m.Role == "user" {
			c.chatUser(m)
		}
	}
	if len(req.Tools) > 0 || len(req.Messages)%2 != 0 {
		c.fail("%d tools, %d messages", len(req.Tools), len(req.Messages))
	}
}

// everything returns a conversation with p with every kind of content: an image, a file, thinking,
// parallel calls, results with images, sources, an answer of elsewhere, a turn of a model with
// prompted tools, and a canceled answer.
func (p *party) everything(t *testing.T, byPrompt *party) []llm.Message {
	t.Helper()
	h := []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{picture(""), paper, {Kind: llm.Text, Text: "What are these?"}}}}
	h = run(t, p.ask(t, h, answer{n: 1, text: "Let me look.", calls: true}))
	h = say(p.ask(t, h, answer{n: 2, text: "Both are there."}), "And elsewhere?")
	h = say(append(h, elsewhere), "Look for yourself.")
	h = run(t, byPrompt.ask(t, h, answer{n: 1, text: "I look as well.", calls: true}))
	h = say(byPrompt.ask(t, h, answer{n: 2, text: "I saw it."}), "Look once more.")
	h = p.cancel(t, h, answer{n: 3, text: canceled, calls: true})
	return say(h, "Go on.")
}

// losses returns the changes to history on its way to p, each kind once.
func (p *party) losses(history []llm.Message) (list []llm.Change) {
	counts := map[string]int{}
	for _, m := range history {
		for _, part := range m.Parts {
			foreign := m.Role == llm.RoleAssistant && m.Origin != p.Origin
			switch {
			case foreign && part.Kind == llm.Thinking:
				counts["earlier models' thinking not sent"]++
			case foreign && part.Kind == llm.Opaque:
				counts["earlier models' private data not sent"]++
			case foreign && part.Kind == llm.Call && part.Remote:
				counts["other providers' tool calls sent as text"]++
			case foreign && part.Kind == llm.Source:
				counts["sources sent as text"]++
			case part.Kind == llm.Media && part.MIME == "image/png" && p.Known && !p.Vision:
				counts["images not sent: this model takes none"]++
			}
		}
	}
	for what, n := range counts {
		list = append(list, llm.Change{What: what, Count: n})
	}
	return list
}

// TestHandoverOfEverything sends a conversation with every kind of content from each party to each
// other one and back, in full and after a summary. Every request must be valid by the rules of its
// format. Data signed by a service goes back to it byte for byte, and to no other. Everything that
// arrives changed is reported once. Without PARLEY_LONG=1 it runs only some of the pairs.
func TestHandoverOfEverything(t *testing.T) {
	all := parties()
	byPrompt := &party{kind: "cerebras", model: "llama3.1-8b", format: prompted, gets: "prompt"}
	for _, p := range append(all, byPrompt) {
		p.open(t)
	}
	for i, a := range all {
		whole := a.everything(t, byPrompt)
		summary := []llm.Message{llm.UserText("The conversation up to here was summarized: " + a.tag()), llm.UserText("Go on.")}
		summary = run(t, a.ask(t, summary, answer{n: 4, text: "Let me look.", calls: true}))
		for j, b := range all {
			if a.Origin == b.Origin || !tried(a, b, i+j+1) {
				continue
			}
			t.Run(a.String()+" to "+b.String(), func(t *testing.T) {
				for _, history := range [][]llm.Message{whole, summary} {
					_, named := b.Portable(history)
					if want := b.losses(history); !sameChanges(named, want) {
						t.Errorf("%s is told %v, want %v", b, named, want)
					}
					loop := run(t, b.ask(t, history, answer{n: 1, text: "I look again.", calls: true}))
					back := say(b.ask(t, loop, answer{n: 2, text: "I am done."}), "And back.")
					a.ask(t, back, answer{n: 5, text: "I am back."})
					a.returned(t, back)
				}
			})
		}
	}
	for _, p := range all {
		p.toldOnce(t)
	}
}

func sameChanges(a, b []llm.Change) bool {
	order := func(x, y llm.Change) int { return strings.Compare(x.What, y.What) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// toldOnce checks that p reported each change once, and the file if p does not accept it.
func (p *party) toldOnce(t *testing.T) {
	t.Helper()
	counts := map[string]int{}
	papers := 0
	for _, n := range p.notices {
		counts[n.Text]++
		if counts[n.Text] > 1 {
			t.Errorf("%s told again: %s", p, n.Text)
		}
		if strings.Contains(n.Text, paper.Name) {
			papers++
		}
	}
	want := 1
	if p.Accepts(paper.MIME) {
		want = 0
	}
	if papers != want {
		t.Errorf("%s told of the file %d times, want %d: %v", p, papers, want, p.notices)
	}
}
