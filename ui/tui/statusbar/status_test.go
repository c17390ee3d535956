package statusbar

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/format"
	"parley/ui/theme"
)

var busy = Info{
	Model: "openai/gpt-6.1-sol", Effort: "high", Badge: "tools by prompt", Mode: "auto", Context: 0.42, Tokens: 18_230, Cost: 0.307, Priced: true,
	State: "streaming", Elapsed: 12 * time.Second, Rate: 84.3, Queue: 1, Hint: "esc stops",
}

var edits = Info{Model: "openai/gpt-6.1-sol", Mode: "edits", Context: 0.028, Tokens: 910, Priced: true}
var calm = Info{Model: "openai/gpt-6.1-sol", Mode: "ask", Context: 0.028, Tokens: 910, Priced: true}

func TestView(t *testing.T) {
	yolo := busy
	yolo.Mode = "yolo"
	asking := busy
	asking.Mode = "ask"
	for name, c := range map[string]struct {
		info  Info
		width int
		want  string
	}{
		"idle": {Info{Model: "demo", Mode: "ask", Context: -1}, 30,
			"demo                       ask"},
		"everything": {busy, 170,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · context ███▍░░░░ 42% · 18.2k tokens · $0.31 · auto mode"},
		"short words before fewer": {busy, 130,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · ctx 42% · 18.2k · $0.31 · auto"},
		"120 cells": {busy, 120,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · ctx 42% · $0.31 · auto"},
		"words":              {calm, 100, "openai/gpt-6.1-sol   context 3% · 910 tokens · $0.00 · ask mode"},
		"short words":        {calm, 99, "openai/gpt-6.1-sol   ctx 3% · 910 · $0.00 · ask"},
		"edits allowed":      {edits, 100, "openai/gpt-6.1-sol   context 3% · 910 tokens · $0.00 · edits allowed"},
		"and in few cells":   {edits, 50, "openai/gpt-6.1-sol   ctx 3% · 910 · $0.00 · edits"},
		"a gauge":            {calm, 120, "openai/gpt-6.1-sol   context ▎░░░░░░░ 3% · 910 tokens · $0.00 · ask mode"},
		"unknown window":     {Info{Model: "m", Context: -1, Tokens: 1500}, 100, "m   1.5k tokens"},
		"the same, narrower": {Info{Model: "m", Context: -1, Tokens: 1500}, 50, "m   1.5k tokens"},
		"without cost": {busy, 110,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · ctx 42% · auto"},
		"without rate": {busy, 105,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 1 queued · ctx 42% · auto"},
		"without context": {busy, 94,
			"openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 1 queued · auto"},
		"without badge": {busy, 80,
			"openai/gpt-6.1-sol · high   esc stops · streaming 12 s · 1 queued · auto"},
		"without effort": {busy, 70,
			"openai/gpt-6.1-sol   esc stops · streaming 12 s · 1 queued · auto"},
		"without queue": {busy, 60,
			"openai/gpt-6.1-sol   esc stops · streaming 12 s · auto"},
		"without provider": {busy, 50,
			"gpt-6.1-sol   esc stops · streaming 12 s · auto"},
		"with a short name": {busy, 45,
			"gpt-6.1-s…  esc stops · streaming 12 s · auto"},
		"ask before the model":        {asking, 40, "gpt-6.1-s…  esc stops · streaming 12 s"},
		"auto not before the model":   {busy, 40, "       esc stops · streaming 12 s · auto"},
		"hint and state stay":         {busy, 26, "esc stops · streaming 12 s"},
		"as far as they can":          {busy, 20, "esc stops · streami…"},
		"the hint the longest":        {busy, 15, "      esc stops"},
		"a long hint":                 {Info{Model: "openai/gpt", Mode: "auto", Context: -1, Hint: "browse: j k move · space fold"}, 30, "     browse: j k move … · auto"},
		"a long hint, nothing else":   {Info{Context: -1, Hint: "browse: j k move"}, 3, "br…"},
		"whole keys go":               {Info{Context: -1, Hint: "browse: esc back · j k move · y copy"}, 30, " browse: esc back · j k move …"},
		"a state, nothing else":       {Info{Context: -1, State: "streaming"}, 3, "st…"},
		"no time without a state":     {Info{Model: "m", Context: -1, Elapsed: time.Hour}, 20, "m"},
		"yolo stays longest":          {yolo, 4, "yolo"},
		"too narrow for anything":     {yolo, 3, "yo…"},
		"no room at all":              {busy, 0, ""},
		"a long model name":           {Info{Model: strings.Repeat("long", 9), Context: -1}, 10, "longlongl…"},
		"a local model costs nothing": {Info{Model: "m", Context: -1, Priced: true}, 10, "m    $0.00"},
		"hostile names":               {Info{Model: "a\x1b]0;x\x07\nb", Context: -1}, 20, "a␛]0;x␇␊b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ansi.Strip(View(c.info, nil, c.width, theme.Dark()))
			if strings.Contains(got, "  ") && ansi.StringWidth(got) != c.width {
				t.Errorf("%q does not reach the right edge", got)
			}
			if got := spaced(got); got != spaced(c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, spaced(c.want))
			}
		})
	}
}

// spaced reduces the gap between left and right to three spaces, because its
// width depends on the terminal.
func spaced(s string) string {
	left, right, ok := strings.Cut(s, "  ")
	if !ok {
		return s
	}
	return left + "   " + strings.TrimLeft(right, " ")
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{tokens(0), ""}, {tokens(1), "1 token"}, {tokens(999), "999 tokens"}, {tokens(1000), "1.0k tokens"}, {tokens(99_950), "100k tokens"}, {tokens(999_500), "1.0M tokens"},
		{gauge(0), "░░░░░░░░"}, {gauge(0.001), "▏░░░░░░░"}, {gauge(0.42), "███▍░░░░"}, {gauge(0.5), "████░░░░"}, {gauge(1), "████████"}, {gauge(7), "████████"},
		{cost(Info{Cost: 1}), "≥$1.00"}, {cost(Info{}), ""}, {cost(Info{Priced: true, Cost: 0.00001}), "<$0.0001"}, {cost(Info{Priced: true, Cost: 0.0042}), "$0.0042"}, {cost(Info{Priced: true, Cost: 12.345}), "$12.35"},
		{format.Elapsed(59 * time.Second), "59 s"}, {format.Elapsed(65 * time.Second), "1 min 05 s"}, {format.Elapsed(2*time.Hour + 61*time.Second), "2 h 01 min"},
		{format.Rate(0), ""}, {format.Rate(3.26), "3.3 tok/s"}, {format.Rate(120.4), "120 tok/s"},
		{format.Percent(0), "0%"}, {format.Percent(-1), ""}, {format.Percent(0.999), "100%"},
		{state(Info{State: "thinking", Elapsed: time.Second / 2}), "thinking"}, {state(Info{Elapsed: time.Hour}), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestModesStandOut(t *testing.T) {
	th := theme.Dark()
	seen := map[string]string{}
	for _, m := range []string{"ask", "auto", "yolo"} {
		line := View(Info{Mode: m, Context: -1}, nil, 10, th)
		look := strings.ReplaceAll(line, m, "")
		if other, ok := seen[look]; ok {
			t.Errorf("%s looks like %s: %q", m, other, line)
		}
		seen[look] = m
	}
}

// The configuration selects the segments and their order on each side.
func TestShown(t *testing.T) {
	waiting := Info{Model: "m", Mode: "yolo", Context: 0.5, Tokens: 7, State: "waiting for you", Waiting: true, Hint: "esc"}
	told := calm
	told.Command = "main*"
	for _, c := range []struct {
		name  string
		info  Info
		shown []string
		want  string
	}{
		{"all", told, nil, "openai/gpt-6.1-sol · main*   context 3% · 910 tokens · $0.00 · ask mode"},
		{"in another order", told, []string{"mode", "command", "cost", "model"}, "main* · openai/gpt-6.1-sol   ask mode · $0.00"},
		{"twice is once", calm, []string{"model", "model"}, "openai/gpt-6.1-sol"},
		{"none", calm, []string{}, ""},
		{"a command is shown unasked", told, []string{"model"}, "openai/gpt-6.1-sol · main*"},
		{"activity left out", busy, []string{"model"}, "openai/gpt-6.1-sol   esc stops"},
		{"what cannot be left out", waiting, []string{"model"}, "m   esc · waiting for you · yolo mode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := spaced(ansi.Strip(View(c.info, c.shown, 100, theme.Dark()))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A nearly full context window is highlighted in color; without colors the gauge shows it.
func TestCrowded(t *testing.T) {
	th := theme.Dark()
	full := Info{Context: 0.9}
	if got := View(full, nil, 120, th); !strings.Contains(got, th.Warn.Render("context ███████▎ 90%")) {
		t.Errorf("got %q", got)
	}
	if got := View(full, nil, 120, theme.Plain()); strings.Contains(got, "\x1b[3") || !strings.Contains(got, "███████▎") {
		t.Errorf("without color %q", got)
	}
}

// Segments are omitted in order at common widths.
func TestWidths(t *testing.T) {
	for width, want := range map[int]string{
		20:  "esc stops · streami…",
		50:  "gpt-6.1-sol   esc stops · streaming 12 s · auto",
		80:  "openai/gpt-6.1-sol · high   esc stops · streaming 12 s · 1 queued · auto",
		120: "openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · ctx 42% · $0.31 · auto",
		240: "openai/gpt-6.1-sol · high · tools by prompt   esc stops · streaming 12 s · 84 tok/s · 1 queued · context ███▍░░░░ 42% · 18.2k tokens · $0.31 · auto mode",
	} {
		got := ansi.Strip(View(busy, nil, width, theme.Plain()))
		if ansi.StringWidth(got) > width || spaced(got) != want {
			t.Errorf("at %d\n%s\nwant\n%s", width, spaced(got), want)
		}
	}
}

// For any width and content, the line is neither wider than the terminal nor broken.
func TestNeverWider(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"", "x", "日本語のモデル", "👨‍👩‍👧‍👦", "a\nb", "\x1b[31m", strings.Repeat("w", 50), "é"}
	word := func() string { return words[r.IntN(len(words))] }
	for range 1000 {
		i := Info{
			Model: word(), Effort: word(), Badge: word(), Mode: word(), State: word(), Hint: word(), Context: r.Float64()*3 - 1, Tokens: r.IntN(1e7),
			Cost: r.Float64() * 100, Priced: r.IntN(2) == 0, Elapsed: time.Duration(r.Int64N(int64(time.Hour))), Rate: r.Float64() * 1000, Queue: r.IntN(3),
		}
		width := r.IntN(150)
		line := View(i, nil, width, theme.Dark())
		if w := ansi.StringWidth(line); w > width || strings.Contains(line, "\n") {
			t.Fatalf("%d cells in a width of %d: %q of %+v", w, width, line, i)
		}
	}
}

func TestLineTellsWhatViewTells(t *testing.T) {
	var l Line
	dark, light := theme.Dark(), theme.Light()
	later := busy
	later.Elapsed += time.Second
	for _, c := range []struct {
		info  Info
		width int
		th    *theme.Theme
	}{{Info{Model: "m", Elapsed: time.Hour}, 80, dark}, {busy, 80, dark}, {busy, 80, dark}, {later, 80, dark}, {later, 40, dark}, {later, 40, light}, {Info{Context: -1}, 40, light}} {
		if got, want := l.View(c.info, c.width, c.th), View(c.info, nil, c.width, c.th); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	sooner := busy
	if n := testing.AllocsPerRun(100, func() {
		sooner.Elapsed = (sooner.Elapsed + time.Millisecond) % time.Second
		l.View(sooner, 80, dark)
	}); n != 0 {
		t.Errorf("%v allocations for a line that stays", n)
	}
}

func BenchmarkView(b *testing.B) {
	th := theme.Dark()
	b.ReportAllocs()
	for b.Loop() {
		View(busy, nil, 120, th)
	}
}
