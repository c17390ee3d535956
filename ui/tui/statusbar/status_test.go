package statusbar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/format"
	"parley/ui/theme"
)

var busy = Info{
	Model: "openai/gpt-6.1-sol", Effort: "high", Badge: "tools by prompt", Folder: "parley", Branch: "main", Mode: "auto", Window: 43_400, Tokens: 18_230,
	Cost: 0.307, Priced: true, State: "answering", Stop: "esc stops", Elapsed: 12 * time.Second, Rate: 84.3, Queue: 1,
}

var edits = Info{Model: "openai/gpt-6.1-sol", Mode: "edits", Window: 32_000, Tokens: 910, Priced: true}

var calm = Info{Model: "openai/gpt-6.1-sol", Folder: "parley", Branch: "main", Mode: "ask", Window: 32_000, Tokens: 910, Priced: true}

func TestView(t *testing.T) {
	drafted := calm
	drafted.Draft, drafted.Tokens = 3400, 3310
	yolo := busy
	yolo.Mode = "yolo"
	hinted := busy
	hinted.Hint, hinted.Stop = "ctrl+x …", ""
	for name, c := range map[string]struct {
		info  Info
		width int
		want  string
	}{
		"idle": {Info{Model: "demo", Mode: "ask"}, 30,
			"demo                       ask"},
		"everything": {busy, 130,
			"openai/gpt-6.1-sol · high · tools by prompt · parley · main   answering 12 s esc stops · 1 queued · 42% of 43k · $0.31 · auto"},
		"a long draft":        {drafted, 76, "openai/gpt-6.1-sol · parley · main   ~3.4k tokens · 10% of 32k · $0.00 · ask"},
		"its size goes first": {drafted, 60, "openai/gpt-6.1-sol · parley · main   10% of 32k · $0.00 · ask"},
		"a branch goes first": {calm, 52, "openai/gpt-6.1-sol · parley   3% of 32k · $0.00 · ask"},
		"then the cost":       {calm, 48, "openai/gpt-6.1-sol · parley   3% of 32k · ask"},
		"then the folder":     {calm, 40, "openai/gpt-6.1-sol   3% of 32k · ask"},
		"then the window":     {calm, 32, "openai/gpt-6.1-sol   3% · ask"},
		"then asking":         {calm, 25, "openai/gpt-6.1-sol   3%"},
		"then the provider":   {calm, 20, "gpt-6.1-sol   3%"},
		"edits allowed":       {edits, 100, "openai/gpt-6.1-sol   3% of 32k · $0.00 · edits allowed"},
		"and in few cells":    {edits, 32, "openai/gpt-6.1-sol   3% · edits"},
		"unknown window":      {Info{Model: "m", Tokens: 1500}, 100, "m   1.5k tokens"},
		"the same, narrower":  {Info{Model: "m", Tokens: 1500}, 20, "m   1.5k tokens"},
		"without stop": {busy, 90,
			"openai/gpt-6.1-sol · high · tools by prompt   answering 12 s · 1 queued · 42% · auto"},
		"without badge": {busy, 80,
			"openai/gpt-6.1-sol · high   answering 12 s · 1 queued · 42% · auto"},
		"without effort": {busy, 62,
			"openai/gpt-6.1-sol   answering 12 s · 1 queued · 42% · auto"},
		"without queue": {busy, 53,
			"openai/gpt-6.1-sol   answering 12 s · 42% · auto"},
		"without provider": {busy, 42,
			"gpt-6.1-sol   answering 12 s · 42% · auto"},
		"without context": {busy, 35,
			"gpt-6.1-s…   answering 12 s · auto"},
		"state and mode stay":         {busy, 24, "   answering 12 s · auto"},
		"as far as they can":          {busy, 14, "answering 12 s"},
		"a hint before them":          {hinted, 27, "   ctrl+x … · answering 12 s"},
		"a long hint":                 {Info{Model: "openai/gpt", Mode: "auto", Hint: "browse: j k move · space fold"}, 30, "     browse: j k move … · auto"},
		"a long hint, nothing else":   {Info{Hint: "browse: j k move"}, 3, "br…"},
		"whole keys go":               {Info{Hint: "browse: esc back · j k move · y copy"}, 30, " browse: esc back · j k move …"},
		"a state, nothing else":       {Info{State: "answering"}, 3, "an…"},
		"no time without a state":     {Info{Model: "m", Elapsed: time.Hour}, 20, "m"},
		"yolo stays longest":          {yolo, 4, "yolo"},
		"too narrow for anything":     {yolo, 3, "yo…"},
		"no room at all":              {busy, 0, ""},
		"a long model name":           {Info{Model: strings.Repeat("long", 9)}, 10, "longlongl…"},
		"a local model costs nothing": {Info{Model: "m", Priced: true}, 10, "m    $0.00"},
		"hostile names":               {Info{Model: "a\x1b]0;x\x07\nb"}, 20, "a␛]0;x␇␊b"},
		"hostile branch":              {Info{Branch: "a\x1b[2J"}, 20, "a␛[2J"},
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
		line := View(Info{Mode: m}, nil, 10, th)
		look := strings.ReplaceAll(line, m, "")
		if other, ok := seen[look]; ok {
			t.Errorf("%s looks like %s: %q", m, other, line)
		}
		seen[look] = m
	}
}

// The configuration selects the segments and their order on each side.
func TestShown(t *testing.T) {
	waiting := Info{Model: "m", Mode: "yolo", Window: 100, Tokens: 7, State: "waiting for you", Waiting: true, Hint: "esc"}
	told := calm
	told.Command = "main*"
	for _, c := range []struct {
		name  string
		info  Info
		shown []string
		want  string
	}{
		{"all", told, nil, "openai/gpt-6.1-sol · parley · main · main*   3% of 32k · $0.00 · ask"},
		{"the words before there were folder and branch", told, []string{"model", "effort", "badge", "command", "activity", "speed", "queue", "jobs", "context", "tokens", "cost", "mode"},
			"openai/gpt-6.1-sol · main*   3% of 32k · 910 tokens · $0.00 · ask"},
		{"in another order", told, []string{"mode", "command", "cost", "branch", "model"}, "main* · main · openai/gpt-6.1-sol   ask · $0.00"},
		{"twice is once", calm, []string{"model", "model"}, "openai/gpt-6.1-sol"},
		{"none", calm, []string{}, ""},
		{"a command is shown unasked", told, []string{"model"}, "openai/gpt-6.1-sol · main*"},
		{"activity left out", busy, []string{"model"}, "openai/gpt-6.1-sol"},
		{"speed", busy, []string{"speed"}, "   84 tok/s"},
		{"what cannot be left out", waiting, []string{"model"}, "m   esc · waiting for you · yolo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := spaced(ansi.Strip(View(c.info, c.shown, 100, theme.Dark()))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A nearly full context window is highlighted.
func TestCrowded(t *testing.T) {
	th := theme.Dark()
	for tokens, style := range map[int]lipgloss.Style{79: th.Dim, 80: th.Warn, 94: th.Warn, 95: th.Bad, 120: th.Bad} {
		want := style.Render(fmt.Sprintf("%d%% of 100", tokens))
		if got := View(Info{Window: 100, Tokens: tokens}, nil, 80, th); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Segments are omitted in order at common widths.
func TestWidths(t *testing.T) {
	for width, want := range map[int]string{
		20:  "   answering 12 s",
		50:  "openai/gpt-6.1-sol   answering 12 s · 42% · auto",
		80:  "openai/gpt-6.1-sol · high   answering 12 s · 1 queued · 42% · auto",
		120: "openai/gpt-6.1-sol · high · tools by prompt · parley   answering 12 s esc stops · 1 queued · 42% of 43k · $0.31 · auto",
		240: "openai/gpt-6.1-sol · high · tools by prompt · parley · main   answering 12 s esc stops · 1 queued · 42% of 43k · $0.31 · auto",
	} {
		got := ansi.Strip(View(busy, nil, width, theme.Plain()))
		if ansi.StringWidth(got) > width || spaced(got) != spaced(want) {
			t.Errorf("at %d\n%s\nwant\n%s", width, spaced(got), spaced(want))
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
			Model: word(), Effort: word(), Badge: word(), Mode: word(), State: word(), Hint: word(), Folder: word(), Branch: word(), Stop: word(), Window: r.IntN(1e7), Tokens: r.IntN(1e7),
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
	}{{Info{Model: "m", Elapsed: time.Hour}, 80, dark}, {busy, 80, dark}, {busy, 80, dark}, {later, 80, dark}, {later, 40, dark}, {later, 40, light}, {Info{}, 40, light}} {
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
