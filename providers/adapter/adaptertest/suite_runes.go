package adaptertest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// runes checks that a rune split by the server between deltas of one block is restored: split
// between its surrogates, as by servers written in JavaScript, or between its bytes.
func (w Wire) runes(t *testing.T) {
	const first, second = "\uE001", "\uE002" // replaced by the halves; encoders split texts in the middle
	in := Answer{Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "ab" + first + second + "cd"},
		{Kind: llm.Text, Text: "ab" + first + second + "cd"},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a` + first + second + `bcdefgh"}`},
	}, Reason: llm.Calls}
	if !w.Thinks {
		in.Parts = in.Parts[1:]
	}
	whole := strings.NewReplacer(first+second, "🌍")
	var want []llm.Part
	for _, p := range in.Parts {
		p.Text, p.Input = whole.Replace(p.Text), whole.Replace(p.Input)
		want = append(want, p)
	}
	for name, halves := range map[string]*strings.Replacer{
		"UTF-16": strings.NewReplacer(first, `\ud83c`, second, `\uDF0D`),
		"UTF-8":  strings.NewReplacer(first, "\xf0\x9f", second, "\x8c\x8d"),
	} {
		t.Run(name, func(t *testing.T) {
			var list []string
			for _, event := range w.Encode(in) {
				list = append(list, halves.Replace(event))
			}
			s := serve(t, w.events(list, 0))
			model := w.Open(t, s.URL)
			var pieces []string
			for e, err := range model.Stream(t.Context(), ask("Hello")) {
				if d, ok := e.(llm.Delta); ok && err == nil {
					pieces = append(pieces, d.Text+d.Input)
				}
			}
			if i := slices.IndexFunc(pieces, func(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) }); i >= 0 {
				t.Errorf("the delta %q in %q", pieces[i], pieces)
			}
			got := llmtest.Collect(t, model.Stream(t.Context(), ask("Hello")))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			for i, p := range got.Parts { // an escape in the input may stay one
				if input, ok := llm.Arguments(p.Input); ok && p.Kind == llm.Call {
					got.Parts[i].Input = strings.ReplaceAll(string(input), `\ud83c\uDF0D`, "🌍")
				}
			}
			checkSame(t, got.Parts, want)
		})
	}
}

// halves checks that lone surrogates and invalid UTF-8 are not sent to a server: some refuse the
// conversation from then on.
func (w Wire) halves(t *testing.T) {
	said := llm.Message{Role: llm.RoleAssistant, Origin: w.Origin, Parts: []llm.Part{
		{Kind: llm.Text, Text: "half \xed\xa0\xbd of a pair"},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a\ud83d","b":"\uDE00","c":"\ud83d\ude00 \\ud83d ` + "\xff" + `"}`},
	}}
	out := results(said)
	out.Parts[0].Text = "\xed\xb8\x80 result of read"
	req := ask("Hello \xed\xa0\xbd")
	req.Messages = append(req.Messages, said, out)
	req.System += " \xed\xa0\xbd"
	req.Tools = append(slices.Clone(req.Tools), llm.Tool{Name: "find", Description: "Finds \xed\xa0\xbd.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"as \ud83d \ud83d\ude00","enum":["\uDE00"]}}}`)})
	s := serve(t, w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	if got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), req)); got.Err != nil {
		t.Fatal(got.Err)
	}
	body := s.request(t, 0)
	if !utf8.Valid(body) {
		t.Errorf("invalid UTF-8: %q", body)
	}
	checkNoHalves(t, string(body))
	for _, m := range w.read(t, body).Messages {
		for _, call := range m.Calls() {
			checkNoHalves(t, call.Input)
		}
	}
}

var (
	literal = regexp.MustCompile(`\\\\`) // an escaped backslash, which does not escape the next character
	pair    = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	half    = regexp.MustCompile(`(?i)\\ud[89a-f]`)
)

// checkNoHalves checks that JSON text has no unpaired surrogate.
func checkNoHalves(t *testing.T, text string) {
	t.Helper()
	if half.MatchString(pair.ReplaceAllString(literal.ReplaceAllString(text, ""), "")) {
		t.Errorf("half of a pair in %s", text)
	}
}

// ids checks that calls with the same id of the server get different ones: the first keeps it,
// and the others get new ids and are marked as Repeated.
func (w Wire) ids(t *testing.T) {
	in := Answer{Reason: llm.Calls}
	for i := range 3 {
		in.Parts = append(in.Parts, llm.Part{Kind: llm.Call, ID: "call_1", Name: "read", Input: fmt.Sprintf(`{"path":"%d"}`, i)})
	}
	s := serve(t, w.events(w.Encode(in), 0), w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	model := w.Open(t, s.URL)
	req := ask("Read them")
	got := llmtest.Collect(t, model.Stream(t.Context(), req))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	carried := strings.Contains(strings.Join(w.Encode(in), ""), "call_1")
	for i, p := range got.Parts {
		if p.Repeated != (carried && i > 0) {
			t.Errorf("call %d: repeated %t", i, p.Repeated)
		}
		got.Parts[i].Repeated, in.Parts[i].ID = false, fmt.Sprint(i)
	}
	checkSame(t, got.Parts, in.Parts)
	written := llm.Message{Role: llm.RoleAssistant, Origin: w.Origin, Parts: got.Parts}
	req.Messages, _ = llm.Portable(append(req.Messages, written, results(written)), w.Origin)
	if got := llmtest.Collect(t, model.Stream(t.Context(), req)); got.Err != nil {
		t.Fatal(got.Err)
	}
	checkPaired(t, w.read(t, s.request(t, 1)), []string{"read", "read", "read"})
}
