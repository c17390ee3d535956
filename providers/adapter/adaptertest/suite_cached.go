package adaptertest

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

// A CachingAdapter is an adapter that caches the JSON of messages it sent.
type CachingAdapter struct {
	Origin     string
	List       string // field of the body with the messages, a []any unless some are cached
	EscapeHTML bool   // whether the sent JSON escapes HTML
	// Compile returns the fields of a request; whole disables the cache.
	Compile func(req llm.Request, whole bool) map[string]any
	// Body returns the body of a request.
	Body func(llm.Request) ([]byte, error)
	// Learned remembers the server's refusals, each one of Limits.
	Learned interface {
		Learn(name, becomes string, lasting bool) bool
		Forget(name string)
	}
	Limits []string
	// Learn simulates another refusal of the server; nil if there is none.
	Learn func(*rand.Rand)
	// Settings change the settings of the next requests.
	Settings []func(*llm.Request)
}

// learn simulates a refusal of the server, or forgets one.
func (k CachingAdapter) learn(r *rand.Rand) {
	if len(k.Limits) > 0 {
		if name := k.Limits[r.IntN(len(k.Limits))]; !k.Learned.Learn(name, "", false) {
			k.Learned.Forget(name)
		}
	}
	if k.Learn != nil && r.IntN(3) == 0 {
		k.Learn(r)
	}
}

// uncached returns the body of a request without a cache, encoded by encoding/json.
func (k CachingAdapter) uncached(t *testing.T, req llm.Request) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(k.EscapeHTML)
	if err := encoder.Encode(k.Compile(req, true)); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// LongSystem, NoSystem and MuchEffort are settings for CachingAdapter.
var (
	LongSystem = func(r *llm.Request) { r.System = "Be long." }
	NoSystem   = func(r *llm.Request) { r.System = "" }
	MuchEffort = func(r *llm.Request) { r.Effort = llm.EffortHigh }
)

// SuiteCached checks that an adapter sends the same bytes with and without its cache: for conversations
// that grow, are edited in place, branch, lose their beginning, or alternate, while settings change too.
// Open returns a new adapter. With llmtest.Long it runs five seeds instead of two.
func SuiteCached(t *testing.T, open func() CachingAdapter) {
	t.Helper()
	requests, found := 0, 0
	seeds := uint64(2)
	if llmtest.Long {
		seeds = 5
	}
	for seed := range seeds {
		r, k := rand.New(rand.NewPCG(seed, 7)), open()
		talks := []*conversation{{Rand: r, origin: k.Origin}, {Rand: r, origin: k.Origin}}
		req := llm.Request{System: "Be brief."}
		for step := range 24 {
			now := talks[r.IntN(8)/7]
			now.change()
			if r.IntN(6) == 0 && len(k.Settings) > 0 {
				k.Settings[r.IntN(len(k.Settings))](&req)
			}
			if r.IntN(15) == 0 {
				k.learn(r)
			}
			req.Messages = now.messages
			if r.IntN(4) > 0 {
				req.Messages, _ = llm.Portable(now.messages, k.Origin)
			}
			want := k.uncached(t, req)
			_, plain := k.Compile(req, false)[k.List].([]any)
			got, err := k.Body(req)
			if err != nil {
				t.Fatal(err)
			}
			if requests++; !plain {
				found++
			}
			if !bytes.Equal(got, want) {
				at := 0
				for at < min(len(got), len(want)) && got[at] == want[at] {
					at++
				}
				t.Fatalf("seed %d, step %d, %d messages, kept: %v; from byte %d on it sends\n%s\nwant\n%s", seed, step, len(req.Messages), !plain, at,
					got[max(at-200, 0):min(at+300, len(got))], want[max(at-200, 0):min(at+300, len(want))])
			}
		}
	}
	if found < requests/3 {
		t.Errorf("something was kept of %d of %d requests: too few to say anything", found, requests)
	}
}

// A conversation is a conversation that changes at random.
type conversation struct {
	*rand.Rand
	origin   string
	messages []llm.Message
	calls    int
}

// change adds, changes or removes messages.
func (c *conversation) change() {
	n := len(c.messages)
	switch c.IntN(12) {
	case 0, 1: // removes messages at the end
		c.messages = slices.Clip(c.messages[:n-c.IntN(n/3+1)])
		return
	case 2, 3: // changes a part in place
		if n > 0 {
			m := c.messages[c.IntN(n)]
			c.edit(&m.Parts[c.IntN(len(m.Parts))])
		}
		return
	case 4: // drops the beginning
		if c.IntN(3) == 0 && n > 0 {
			c.messages = slices.Clone(c.messages[c.IntN(min(n, 8)):])
		}
	case 5: // copies everything
		copied := slices.Clone(c.messages)
		for i := range copied {
			copied[i].Parts = slices.Clone(copied[i].Parts)
		}
		c.messages = copied
	}
	for len(c.messages) < 60 || c.IntN(3) > 0 {
		c.turn(c.IntN(4))
		if c.IntN(8) > 0 {
			c.messages = append(c.messages, c.answer())
		}
	}
	if c.IntN(3) == 0 { // long enough for part of the turn to be cached
		c.turn(8)
	}
}

// edit changes one field of a part.
func (c *conversation) edit(p *llm.Part) {
	switch {
	case len(p.Data) > 0:
		p.Data[len(p.Data)-1]++
	case len(p.State) > 2 && c.IntN(2) == 0:
		p.State = c.state()
	case p.Input != "" && c.IntN(2) == 0:
		p.Input = `{"n":10}`
	case c.IntN(2) == 0:
		p.Text = c.text()
	default:
		p.Text += "."
	}
}

// turn adds a prompt, and steps with calls and their results.
func (c *conversation) turn(steps int) {
	prompt := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: c.text()}}}
	if c.IntN(5) == 0 {
		prompt.Parts = append(prompt.Parts, c.image())
	}
	if c.IntN(25) == 0 {
		prompt.Parts = []llm.Part{{Kind: llm.Media, MIME: "application/x-zip", Name: "a.zip", Data: []byte{1, 2, 0}}, c.image()}
	}
	for range 6 * (c.IntN(12) / 11) { // rarely, prompts of images alone
		c.messages = append(c.messages, llm.Message{Role: llm.RoleUser, Parts: []llm.Part{c.image()}}, c.answer())
	}
	c.messages = append(c.messages, prompt)
	for range steps {
		step := c.answer()
		var results []llm.Part
		for range 1 + c.IntN(2) {
			c.calls++
			call := llm.Part{Kind: llm.Call, ID: fmt.Sprint("call_", c.calls%40), Name: "read", Input: fmt.Sprintf(`{"n":%d, "path":"<a>"}`, c.IntN(9))}
			if c.IntN(2) == 0 {
				call.State = c.state()
			}
			step.Parts = append(step.Parts, call)
			results = append(results, llm.Part{Kind: llm.Result, ID: call.ID, Name: call.Name, Text: c.text(), Failed: c.IntN(5) == 0})
			if c.IntN(8) == 0 {
				picture := c.image()
				picture.ID = call.ID
				results = append(results, picture)
			}
		}
		c.messages = append(c.messages, step, llm.Message{Role: llm.RoleTool, Parts: results})
	}
}

// answer returns a response, of the adapter's origin or another.
func (c *conversation) answer() llm.Message {
	m := llm.Message{Role: llm.RoleAssistant, Origin: c.origin}
	if c.IntN(5) == 0 {
		m.Origin = "else/where"
	}
	if c.IntN(2) == 0 {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.Thinking, Text: c.text(), State: c.state()})
	}
	text := llm.Part{Kind: llm.Text, Text: c.text()}
	if c.IntN(4) == 0 {
		text.State = c.state()
	}
	m.Parts = append(m.Parts, text)
	if c.IntN(10) == 0 {
		m.Parts = append(m.Parts, llm.Part{Kind: llm.Opaque, State: c.state()})
	}
	return m
}

func (c *conversation) image() llm.Part {
	return llm.Part{Kind: llm.Media, MIME: "image/png", Name: "fox.png", Data: []byte{0x89, 'P', 'N', 'G', byte(c.IntN(9))}}
}

var (
	texts = []string{"", " ", "yes", "a <b> & \"c\" \\ \x00\x1f\n\t\r\b\f", "ünï 🦊 \u2028 \u2029 \ufffd", "broken \xff\xed\xa0\xbd", "{\"a\":1}"}
	// States of every wire format, since an adapter must accept foreign ones.
	states = []string{
		"", `"sig"`, `"` + "c2ln" + `"`, `{"type":"thinking","thinking":"hm <x>","signature":"s%d"}`, `{"type":"redacted_thinking", "data":"d%d"}`,
		`{"type":"server_tool_use","id":"srv%d","name":"web_search","input":{}}`, `{"type":"text","text":"said  %d"}`,
		`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":"e\u003c"}`, `{"type":"message","id":"msg_%d","content":[{"type":"output_text","text":"yes"}],"phase":"commentary"}`,
		`[{"type":"reasoning.encrypted","id":"r%d","data":"x"}, {"type":"reasoning.text","text":"t","signature":"s"}]`, `{"broken`,
	}
)

func (c *conversation) text() string {
	text := texts[c.IntN(len(texts))]
	if c.IntN(3) == 0 {
		text += fmt.Sprint(" ", c.IntN(1000))
	}
	return text
}

func (c *conversation) state() json.RawMessage {
	state := states[c.IntN(len(states))]
	if state == "" {
		return nil
	}
	return json.RawMessage(bytes.ReplaceAll([]byte(state), []byte("%d"), fmt.Append(nil, c.IntN(30))))
}
