package filter_test

import (
	"errors"
	"testing"

	"parley/providers/filter"
	"parley/providers/llm"
)

// TestEnds checks that end-of-turn tokens are removed only at the end of an answer, wherever the
// stream is split.
func TestEnds(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"hello<|im_end|>", "hello"},
		{"hello\n<|im_end|>\n", "hello\n"},
		{"hello<|im_end|>\n<|im_start|> <|endoftext|>", "hello"},
		{"<|im_end|>", ""},
		{"a <|im_end|> b", "a <|im_end|> b"},
		{"a <|im_end|> b<|im_end|>", "a <|im_end|> b"},
		{"hello<|im_en", "hello<|im_en"},
		{"hello<|im_end|><|im_", "hello<|im_end|><|im_"},
		{"1 < 2 <| 3", "1 < 2 <| 3"},
		{"write `<|im_end|>`", "write `<|im_end|>`"},
		{"```\n<|im_end|>", "```\n<|im_end|>"},
		{"```\nx\n```\n<|im_end|>", "```\nx\n```\n"},
		{"<<|im_end|>", "<"},
		{"naïve – “x”<|eot_id|>", "naïve – “x”"},
		{"", ""},
	} {
		for cut := range len(tt.in) + 1 {
			var draft llm.Draft
			for e := range filter.Harmony("")(stream(text(tt.in[:cut]), text(tt.in[cut:]), stop)) {
				if d, ok := e.(llm.Delta); ok {
					draft.Add(d)
				}
			}
			got := llm.Message{Parts: draft.Complete()}.Text()
			if got != tt.want {
				t.Errorf("%q cut at %d: %q, want %q", tt.in, cut, got, tt.want)
			}
		}
	}
}

// TestEndsThatStay checks that tokens stay before a call, before another block, and in an
// interrupted answer.
func TestEndsThatStay(t *testing.T) {
	call := llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read", Input: "{}"}}
	other := llm.Delta{Block: "other", Part: llm.Part{Kind: llm.Text, Text: "b"}}
	for _, events := range [][]llm.Event{{text("a<|im_end|>"), call, stop}, {text("a<|im_end|>"), other, stop}, {text("a<|im_end|>")}} {
		want, got := tell(stream(events...)), tell(filter.Harmony("")(stream(events...)))
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	var got string
	for e, err := range filter.Harmony("")(func(yield func(llm.Event, error) bool) {
		_ = yield(text("a<|im_end|>"), nil) && yield(nil, errors.New("broken"))
	}) {
		if d, ok := e.(llm.Delta); ok {
			got += d.Text
		}
		if err != nil {
			got += " " + err.Error()
		}
	}
	if got != "a<|im_end|> broken" {
		t.Errorf("broken off: %q", got)
	}
	for range filter.Harmony("")(stream(text("a"), text("b<|im_end|>"), stop)) {
		break // leaving early is no trouble
	}
}
