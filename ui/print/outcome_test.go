package print_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

func textDelta(block, s string) llm.Delta {
	return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}}
}

// TestWhyIncomplete: the reason why an answer is empty or incomplete is on standard error in
// words, even with -q, and in the events.
func TestWhyIncomplete(t *testing.T) {
	ends := func(text string, reason llm.Reason, raw string) llmtest.Turn {
		return llmtest.Script(textDelta("a", text), llm.Finish{Reason: reason, Raw: raw})
	}
	for _, tt := range []struct {
		want, finish string
		turn         llmtest.Turn
	}{
		{"Empty answer from the model", "stop", llmtest.Say()},
		{"Answer cut off at the output limit", "length", ends("half", llm.Length, "max_tokens")},
		{"Answer cut off at the output limit", "length", ends("half", llm.Length, "")},
		{"Answer cut off: the context window is full · start a new conversation, or choose a model with a larger window", "length", ends("half", llm.Length, "model_context_window_exceeded")},
		{"Answer blocked by the provider: PROHIBITED_CONTENT", "content_filter", ends("", llm.Refused, "PROHIBITED_CONTENT")},
		{"Answer blocked by the provider: SAFETY", "content_filter", ends("half", llm.Refused, "SAFETY")},
		{"Answer blocked by the provider: refusal", "content_filter", ends("", llm.Refused, "refusal")},
		{"Answer blocked by the provider: content_filter", "content_filter", ends("half", llm.Refused, "content_filter")},
		{"Answer blocked by the provider", "content_filter", ends("I cannot.", llm.Refused, "stop")},
	} {
		for _, o := range []cmdutil.PrintOptions{{Format: "text"}, {Format: "text", Quiet: true}, {Quiet: true, Format: "json"}, {Quiet: true, Format: "jsonl"}, {Format: "json"}, {Format: "jsonl"}} {
			out, told, status := play(o, tt.turn)
			lines := strings.Count(ansi.Strip(told), tt.want+"\n")
			if want := o.Quiet || o.Format == "text"; (lines == 1) != want || o.Quiet && strings.Count(told, "\n") != 1 || status != exit.Incomplete {
				t.Errorf("%+v: status %d, told %q, want %q", o, status, told, tt.want)
			}
			if o.Format != "text" && (!strings.Contains(out, `"text":"`+tt.want+`"`) || !strings.Contains(out, `"finish_reason":"`+tt.finish+`"`)) {
				t.Errorf("%+v: printed %s, want %q", o, out, tt.want)
			}
		}
	}
}

// TestThinkingIsAskedFor: thinking is printed on standard error if requested, labeled and
// wrapped at words. Neither thinking nor a notice is ever printed within a line of the answer.
func TestThinkingIsAskedFor(t *testing.T) {
	think := func(block, s string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Thinking, Text: s}}
	}
	turn := llmtest.Script(think("t", "one two three"), think("t", " four\nfive"), textDelta("a", "Half a"), llm.Notice{Text: "told"}, think("u", "more"),
		textDelta("b", " line"), textDelta("b", ".\n"), textDelta("b", "End."), llm.Notice{Text: "again"}, llm.Finish{Reason: llm.Stop})
	for _, tt := range []struct {
		o    cmdutil.PrintOptions
		both string // out and err, in the order of writing
	}{
		{cmdutil.PrintOptions{}, "Half a line.\nNote: Told\nEnd.\nNote: Again\n"},
		{cmdutil.PrintOptions{Thinking: true, Width: 16}, "Thinking: one\ntwo three four\nfive\nHalf a line.\nNote: Told\nThinking: more\nEnd.\nNote: Again\n"},
		{cmdutil.PrintOptions{Thinking: true, Quiet: true}, "Half a line.\nEnd.\n"},
	} {
		var both strings.Builder
		tt.o.Out, tt.o.Err = &both, &both
		play(tt.o, turn)
		got, _, _ := strings.Cut(ansi.Strip(both.String()), "fake/m:")
		if got != tt.both {
			t.Errorf("%+v: %q, want %q", tt.o, got, tt.both)
		}
	}
}

// TestImagesOfAnswers: an image of an answer is saved and named in every format; failing to save
// one is an error.
func TestImagesOfAnswers(t *testing.T) {
	image := llm.Delta{Block: "m", Part: llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte{1}}}
	link := llm.Delta{Block: "n", Part: llm.Part{Kind: llm.Media, URL: "https://a.example/b"}}
	turn := llmtest.Script(textDelta("a", "Here"), image, link, textDelta("b", " it is"), llm.Finish{Reason: llm.Stop})
	for format, want := range map[string][2]string{
		"":      {"Here it is\n", "Image saved: a.png\nFile at https://a.example/b\n"},
		"json":  {`"images":[{"mime":"image/png","path":"a.png"},{"mime":"","url":"https://a.example/b"}]`, ""},
		"jsonl": {`{"type":"image","mime":"image/png","path":"a.png"}` + "\n" + `{"type":"image","mime":"","url":"https://a.example/b"}`, ""},
	} {
		saved := 0
		o := cmdutil.PrintOptions{Format: format, Save: func(p llm.Part) (string, error) {
			saved += len(p.Data)
			return "a.png", nil
		}}
		out, told, status := play(o, turn)
		if !strings.Contains(out, want[0]) || !strings.Contains(ansi.Strip(told), want[1]) || status != exit.OK || saved != 1 {
			t.Errorf("%q: %q %q, status %d, %d saved", format, out, told, status, saved)
		}
		o.Save = func(llm.Part) (string, error) { return "", errors.New("the disk is full") }
		if out, told, status := play(o, turn); !strings.Contains(out+told, "the disk is full") || status != exit.Failed {
			t.Errorf("%q, unsaved: %q %q, status %d", format, out, told, status)
		}
	}
}

// TestEstimatedUsage: if the server reports no usage, an estimate is printed.
func TestEstimatedUsage(t *testing.T) {
	for _, format := range []string{"json", "jsonl"} {
		out, _, _ := play(cmdutil.PrintOptions{Format: format}, llmtest.Script(textDelta("a", "many words of it"), llm.Finish{Reason: llm.Stop}))
		if !strings.Contains(out, `"estimated":true`) {
			t.Errorf("%s: %s", format, out)
		}
	}
}

// TestKinds: print has every kind of part in every format.
func TestKinds(t *testing.T) {
	for format, way := range map[string]llmtest.Way{"text": llmtest.Text, "json": llmtest.JSON, "jsonl": llmtest.JSONL} {
		save := func(llm.Part) (string, error) { return "made.png", nil }
		out, told, _ := play(cmdutil.PrintOptions{Format: format, Thinking: true, Save: save}, llmtest.KindsTurns()...)
		llmtest.CheckKinds(t, way, ansi.Strip(out+told))
	}
}
