package dialog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// names lists models in display order, the best of each provider first.
var names = []string{
	"openai/gpt-6.1-sol", "openai/gpt-6-luna", "openai/gpt-6-sol", "openai/gpt-5.6-luna", "openai/gpt-5.5-pro", "openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-4o-mini", "openai/gpt-4o", "openai/o3-mini", "openai/o3",
	"gemini/gemini-4-argon", "gemini/gemini-3.5-flash-lite", "gemini/gemini-3.8-flash", "gemini/gemini-3.5-flash", "gemini/gemini-2.5-flash", "gemini/gemma-4-31b-it",
	"anthropic/claude-opus-5", "anthropic/claude-sonnet-4-6", "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-20250514", "anthropic/claude-3-5-sonnet-20241022",
	"openrouter/anthropic/claude-sonnet-4", "xai/grok-4.7", "xai/grok-4.20-0309-non-reasoning", "zai/glm-5.3", "qwen/qwen3.5-coder:480b", "groq/llama-4-scout",
}

func named(names ...string) *dialog.Picker {
	items := make([]dialog.Item, len(names))
	for i, name := range names {
		items[i] = dialog.Item{Title: name, Value: name}
	}
	items[0].Keywords = "the flagship"
	p := dialog.Pick("Model", items, theme.Plain())
	p.SetSize(80, 24)
	return p
}

// Users find the model they mean by what they type.
func TestFinds(t *testing.T) {
	for typed, want := range map[string]string{
		"gpt6":                 "openai/gpt-6.1-sol",
		"gpt 6":                "openai/gpt-6.1-sol",
		"gpt-6 sol":            "openai/gpt-6.1-sol",
		"gpt5":                 "openai/gpt-5",
		"gpt 5.6":              "openai/gpt-5.6-luna",
		"GPT-5":                "openai/gpt-5",
		"5 mini":               "openai/gpt-5-mini",
		"4o":                   "openai/gpt-4o",
		"o3":                   "openai/o3",
		"g3.5fl":               "gemini/gemini-3.5-flash-lite",
		"g3.8":                 "gemini/gemini-3.8-flash",
		"flash 3.5":            "gemini/gemini-3.5-flash",
		"3-5 flash":            "gemini/gemini-3.5-flash",
		"gemma":                "gemini/gemma-4-31b-it",
		"sonnet 4":             "openrouter/anthropic/claude-sonnet-4",
		"sonnet 4.6":           "anthropic/claude-sonnet-4-6",
		"openrouter sonnet":    "openrouter/anthropic/claude-sonnet-4",
		"sonnet 2024":          "anthropic/claude-3-5-sonnet-20241022",
		"opus":                 "anthropic/claude-opus-5",
		"haiku":                "anthropic/claude-haiku-4-5",
		"grok":                 "xai/grok-4.7",
		"xai reasoning":        "xai/grok-4.20-0309-non-reasoning",
		"qwen 480":             "qwen/qwen3.5-coder:480b",
		"coder_480b":           "qwen/qwen3.5-coder:480b",
		"groq":                 "groq/llama-4-scout",
		"flagship":             "openai/gpt-6.1-sol",
		"flagship gpt":         "openai/gpt-6.1-sol",
		"no model is so":       "",
		strings.Repeat("g", 9): "",
	} {
		p := named(names...)
		press(t, p, "paste:"+typed)
		if got := p.Selected(); got != want {
			t.Errorf("%q finds %q, want %q\n%s", typed, got, want, strings.Join(rows(t, p, 80, 12), "\n"))
		}
	}
}

// A match is visible without colors: it is underlined.
func TestMarks(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"gpt6", "openai/[gpt]-[6].1-sol"}, {"g3.5fl", "gemini/[g]emini-[3.5]-[fl]ash-lite"}, {"lite 3", "gemini/gemini-[3].5-flash-[lite]"},
		{"flagship", "openai/gpt-6.1-sol"}, {"日", "e\u0301/[日]本 👨‍👩‍👧"}, {"👨", "e\u0301/日本 [👨‍👩‍👧]"},
	} {
		p := named(append(names, "e\u0301/日本 👨‍👩‍👧")...)
		press(t, p, "paste:"+c.typed)
		rows := strings.Split(p.View(), "\n")
		row := rows[slices.IndexFunc(rows, func(r string) bool { return strings.Contains(r, "›") })]
		var out strings.Builder
		on, state := false, byte(0)
		for rest := row; rest != ""; {
			seq, width, n, next := ansi.DecodeSequence(rest, state, nil)
			rest, state = rest[n:], next
			switch {
			case width > 0:
				out.WriteString(seq)
			case strings.HasSuffix(seq, "m"):
				if under := strings.Contains(seq, "4") || strings.Contains(seq, ";4"); under != on {
					on = under
					out.WriteString(map[bool]string{true: "[", false: "]"}[on])
				}
			default:
				out.WriteString(seq)
			}
		}
		if got := strings.TrimSpace(strings.TrimPrefix(out.String(), "› ")); got != c.want {
			t.Errorf("%q marks %q, want %q (%q)", c.typed, got, c.want, row)
		}
	}
}

// gateway returns many models, like those of a gateway.
func gateway(n int) []dialog.Item {
	items := make([]dialog.Item, n)
	for i := range items {
		name := names[i%len(names)]
		title := fmt.Sprintf("gateway%d/%s-%04d", i%7, name, i)
		items[i] = dialog.Item{
			Title: title, Value: title, Group: fmt.Sprintf("gateway%d", i%7), Cells: []string{"tools vision reasoning", "1.05M", "$2", "$10"}, Keywords: "a model",
			Disabled: i%3 == 0, Unavailable: "set OPENAI_API_KEY",
		}
	}
	return items
}

func columned(items []dialog.Item) *dialog.Picker {
	p := dialog.Pick("Model", items, theme.Dark())
	p.Columns = []dialog.Column{{Name: "can", Left: true, Letters: [][2]string{{"tools", "T"}, {"vision", "V"}, {"reasoning", "R"}}}, {Name: "context"}, {Name: "in"}, {Name: "out"}}
	p.Marks.Pin, p.Marks.Hide = nothingPinned, nothingPinned
	p.SetSize(120, 30)
	return p
}

// A key in a long list costs no allocation per hidden row.
func TestLongListsAllocateLittle(t *testing.T) {
	cost := func(n int) float64 {
		p := columned(gateway(n))
		for _, r := range "gpt" { // what grows once
			p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
			p.View()
		}
		return testing.AllocsPerRun(20, func() {
			p.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
			p.View()
			p.Update(tea.KeyPressMsg{Code: 't', Text: "t"})
			p.View()
		})
	}
	few, many := cost(200), cost(2000)
	if many > few*1.5 {
		t.Errorf("two keys allocate %v times among 2000 models and %v among 200", many, few)
	}
}

// Opening a list of 2,000 models, including the first frame.
func BenchmarkPickOpen(b *testing.B) {
	items := gateway(2000)
	b.ReportAllocs()
	for b.Loop() {
		columned(items).View()
	}
}

// Typing a query among 2,000 models, with a frame for each key.
func BenchmarkPickType(b *testing.B) {
	for _, typed := range []string{"e", "gpt6", "sonnet 4", "openai"} {
		b.Run(typed, func(b *testing.B) {
			p := columned(gateway(2000))
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range typed {
					p.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
					p.View()
				}
				p.Update(tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(typed)), "µs/key")
		})
	}
}

// Letters of actions act on the selected row while there is no filter, and type one after a slash or another letter.
// Other keys always act.
func TestRowActions(t *testing.T) {
	for _, c := range []struct {
		keys     []string
		acted    string
		selected string
	}{
		{[]string{"down", "u"}, "b/u.go", "b/u.go"}, {[]string{"/", "u"}, "", "b/u.go"}, {[]string{"b", "u"}, "", "b/u.go"}, {[]string{"x", "u"}, "", ""},
		{[]string{"b", "ctrl+g"}, "edit b/u.go", "b/u.go"}, {[]string{"/", "ctrl+g"}, "edit a.go", "a.go"}, {[]string{"ctrl+/"}, "take back a.go", "a.go"},
	} {
		acted := ""
		p := dialog.Pick("Changes", []dialog.Item{{Title: "a.go", Value: "a.go"}, {Title: "b/u.go", Value: "b/u.go"}}, theme.Plain())
		p.Actions = []dialog.PageKey{{Key: "u", Help: "undo this file", Do: func() tea.Cmd { acted = p.Selected(); return nil }},
			{Key: "ctrl+g", Help: "open the file", Do: func() tea.Cmd { acted = "edit " + p.Selected(); return nil }}, {Key: "ctrl+_", Help: "undo", Do: func() tea.Cmd { acted = "take back " + p.Selected(); return nil }}}
		listen(p)
		if foot := rows(t, p, 80, 12); !strings.Contains(foot[len(foot)-1], "enter choose   u undo this file") {
			t.Errorf("the foot is %q", foot[len(foot)-1])
		}
		press(t, p, c.keys...)
		if acted != c.acted || p.Selected() != c.selected {
			t.Errorf("%q: acted on %q, selected %q", c.keys, acted, p.Selected())
		}
	}
}
