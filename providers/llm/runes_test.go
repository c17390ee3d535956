package llm_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	. "parley/providers/llm"
)

// Halves of the pair that is 😀, as adapters decode them.
const (
	high = "\xed\xa0\xbd"
	low  = "\xed\xb8\x80"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                "plain",
		"a" + high + low + "b": "a😀b",
		high + high + low:      "\uFFFD😀",
		low + high:             "\uFFFD\uFFFD",
		"a\xe6\x97":            "a\uFFFD",
		"\xff\xffé":            "\uFFFD\uFFFDé",
		"real \uFFFD":          "real \uFFFD",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// produced returns the deltas that consumers of an adapter's deltas get.
func produced(in []Delta, end func(*Out) error) (out []Delta, failed error) {
	for e, err := range Produce(context.Background(), func(_ context.Context, o *Out) error {
		for _, d := range in {
			o.Send(d)
		}
		return end(o)
	}) {
		if d, ok := e.(Delta); ok {
			out = append(out, d)
		}
		failed = err
	}
	return out, failed
}

func finish(o *Out) error { o.Send(Finish{Reason: Stop}); return nil }

func TestSplitRunes(t *testing.T) {
	piece := func(block, s string) Delta { return Delta{Block: block, Part: text(s)} }
	input := func(block, s string) Delta { return Delta{Block: block, Part: Part{Kind: Call, Input: s}} }
	for _, test := range []struct {
		name     string
		in, want []Delta
	}{
		{"halves of a pair", []Delta{piece("a", "x"+high), piece("a", low+"y")}, []Delta{piece("a", "x"), piece("a", "😀y")}},
		{"bytes", []Delta{piece("a", "x\xf0"), piece("a", "\x9f\x98"), piece("a", "\x80y")}, []Delta{piece("a", "x"), piece("a", "😀y")}},
		{"a half that stays alone", []Delta{piece("a", "x"+high), piece("a", "y")}, []Delta{piece("a", "x"), piece("a", "\uFFFDy")}},
		{"at the end", []Delta{piece("a", "x"+high)}, []Delta{piece("a", "x"), piece("a", "\uFFFD")}},
		{"another block opens", []Delta{piece("a", "x"+high), piece("b", low+"y")}, []Delta{piece("a", "x"), piece("a", "\uFFFD"), piece("b", "\uFFFDy")}},
		{"blocks that take turns", []Delta{piece("a", "x"), piece("b", "y"), piece("a", high), piece("b", "z"), piece("a", low)},
			[]Delta{piece("a", "x"), piece("b", "y"), piece("b", "z"), piece("a", "😀")}},
		{"calls that take turns", []Delta{input("a", `{"x":"`+high), input("b", `{"y":"`+high), input("a", low+`"}`), input("b", low+`"}`)},
			[]Delta{input("a", `{"x":"`), input("b", `{"y":"`), input("a", `😀"}`), input("b", `😀"}`)}},
		{"a block that is renamed meanwhile", []Delta{piece("a", high), {Block: "b", Part: Part{Kind: Call, ID: "1"}}, {Block: "a", Part: Part{Kind: Thinking}}},
			[]Delta{piece("a", "\uFFFD"), {Block: "b", Part: Part{Kind: Call, ID: "1"}}, {Block: "a", Part: Part{Kind: Thinking}}}},
		{"state behind a half", []Delta{piece("a", "x"+high), {Block: "a", Part: Part{Kind: Text, State: []byte(`1`)}}, piece("a", low)},
			[]Delta{piece("a", "x"), {Block: "a", Part: Part{Kind: Text, State: []byte(`1`)}}, piece("a", "😀")}},
	} {
		if got, err := produced(test.in, finish); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", test.name, err, got, test.want)
		}
	}
	if got, err := produced([]Delta{piece("a", "x"+high)}, func(*Out) error { return nil }); FaultOf(err) != Network || len(got) != 2 || got[1].Text != "\uFFFD" {
		t.Errorf("an answer that broke off: %+v, %v", got, err)
	}
}

// FuzzSplitRunes: split text gives the same result as whole text, and every delta is valid UTF-8.
func FuzzSplitRunes(f *testing.F) {
	f.Add("a"+high+low+"b\xf0\x9f\x98\x80"+high, uint8(2))
	f.Add("\xed\xa0\xed\xb8\x80\xff\xe6\x97é", uint8(1))
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		var in []Delta
		for rest := s; rest != ""; {
			n := min(int(size%5)+1, len(rest))
			in, rest = append(in, Delta{Block: "a", Part: text(rest[:n])}), rest[n:]
		}
		var got strings.Builder
		out, err := produced(in, finish)
		for _, d := range out {
			got.WriteString(d.Text)
			if !utf8.ValidString(d.Text) {
				t.Errorf("the delta %q", d.Text)
			}
		}
		if err != nil || got.String() != Clean(s) {
			t.Errorf("%q in pieces of %d: %q, want %q (%v)", s, size%5+1, got.String(), Clean(s), err)
		}
	})
}

// TestSendable: text for a server contains no lone surrogate, raw or as an escape. State is
// unchanged, and so is the history itself.
func TestSendable(t *testing.T) {
	said := assistant("o", Part{Kind: Text, Text: "a" + high, State: []byte(`"\ud83d"`)}, call("1", `{"a":"\ud83d","b":"\\ud83d \uD83D\ude00 \u00e9 \ude00\ud83d`+high+`"}`))
	history := []Message{UserText("x" + low), said, toolMessage(result("1", "\xff"))}
	got, changes := Portable(history, "o")
	want := []Message{UserText("x\uFFFD"),
		assistant("o", Part{Kind: Text, Text: "a\uFFFD", State: []byte(`"\ud83d"`)}, call("1", `{"a":"`+"\uFFFD"+`","b":"\\ud83d \uD83D\ude00 \u00e9 `+"\uFFFD\uFFFD\uFFFD"+`"}`)),
		toolMessage(result("1", "\uFFFD"))}
	if !reflect.DeepEqual(got, want) || len(changes) > 0 {
		t.Errorf("%v\ngot  %+v\nwant %+v", changes, got, want)
	}
	if history[1].Parts[0].Text != "a"+high {
		t.Error("the history was changed")
	}
	if args, ok := Arguments(`{"a": "\uDE00"}`); !ok || string(args) != `{"a":"`+"\uFFFD"+`"}` {
		t.Errorf("%s, %t", args, ok)
	}
}
