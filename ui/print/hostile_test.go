package print_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/cli/cmdutil"
	"parley/ui/theme"
	"parley/ui/uitest"
)

// controls returns the findings of uitest.Foreign that affect a terminal, which JSON
// must escape too. Bidirectional and hidden text is left in JSON.
func controls(found []string) (rest []string) {
	for _, f := range found {
		if !strings.HasPrefix(f, "U+") || strings.HasPrefix(f, "U+00") && !strings.HasPrefix(f, "U+00AD") {
			rest = append(rest, f)
		}
	}
	return rest
}

// TestHostileTexts: in no format does text of a model, a tool or a server have
// an effect on a terminal but to be displayed.
func TestHostileTexts(t *testing.T) {
	texts := uitest.Hostile(200)
	for _, o := range []cmdutil.PrintOptions{
		{}, {Render: true, Width: 80, Theme: theme.Terminal()}, {Render: true, Width: 20, Theme: theme.Dark()}, {Code: true},
		{Format: "json"}, {Format: "jsonl"}, {Schema: true},
	} {
		name := fmt.Sprintf("%s %v %v %v %d", o.Format, o.Render, o.Code, o.Schema, o.Width)
		said := func(_ context.Context, _ llm.Request, out *llm.Out) error {
			for i, text := range texts {
				block := fmt.Sprint(i / 10)
				out.Send(llm.Delta{Block: "t" + block, Part: llm.Part{Kind: llm.Thinking, Text: text}})
				out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[:len(text)/2]}})
				out.Send(llm.Delta{Block: "a" + block, Part: llm.Part{Kind: llm.Text, Text: text[len(text)/2:] + "\n\n"}})
				out.Send(llm.Notice{Text: text})
			}
			out.Send(llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, ID: texts[1], Name: texts[2], Input: `{"a":"` + "\u009b4242m\u202e" + `"}`}})
			out.Send(llm.Finish{Reason: llm.Calls, Raw: texts[3], Model: texts[4]})
			return nil
		}
		failed := llmtest.Fail(&llm.Error{
			Fault: llm.InvalidRequest, Provider: texts[5], Message: strings.Join(texts, " "), URL: texts[6], Key: texts[7], Code: texts[8],
		})
		stdout, stderr, _ := playing(session.Options{Fallback: func(session.FallbackNeed) []string { return []string{texts[9]} }, OpenModel: func(string) (llm.Endpoint, error) {
			return llm.Endpoint{}, errors.New(texts[10])
		}}, o, said, failed)
		found := uitest.Foreign(stdout)
		if o.Format != "" {
			found = controls(found)
		}
		if found = append(found, uitest.Foreign(stderr)...); len(found) > 0 {
			t.Errorf("%s: %d violations, such as %q", name, len(found), found[:min(5, len(found))])
		}
		if len(stdout)+len(stderr) < 5000 {
			t.Errorf("%s: only %d bytes came", name, len(stdout)+len(stderr))
		}
		if (o.Format == "" && !o.Code && !o.Schema) && !strings.Contains(stdout, "199") {
			t.Errorf("%s: the end is missing", name)
		}
	}
}
