package transcript

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/ui/theme"
)

// arrives passes arguments to a call in pieces, as a model does, and renders
// after each.
func arrives(m *Model, id, name, input string, pieces func() int) {
	var b strings.Builder
	for b.Len() < len(input) {
		n := min(max(pieces(), 1), len(input)-b.Len())
		b.WriteString(input[b.Len() : b.Len()+n])
		m.Blocks.SetTool(id, Tool{Name: name, Input: b.String(), Status: Arriving})
		m.View()
	}
}

func inputOf(t testing.TB, pairs ...string) string {
	t.Helper()
	var fields []string
	for i := 0; i < len(pairs); i += 2 {
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		fields = append(fields, fmt.Sprintf("%q: %s", pairs[i], value))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

const goFile = "package main\n\nimport \"fmt\"\n\n/* A comment that\n   goes on */\nfunc main() {\n\tfor i := range 3 {\n\t\tfmt.Println(\"hello\", i) // again\n\t}\n}\n"

// calls lists arguments that are shown in more than one line.
var calls = map[string]func(t testing.TB) (name, input string){
	"write":       func(t testing.TB) (string, string) { return "write", inputOf(t, "path", "main.go", "content", goFile) },
	"write, late": func(t testing.TB) (string, string) { return "write", inputOf(t, "content", goFile, "path", "main.go") },
	"write, long": func(t testing.TB) (string, string) {
		return "write", inputOf(t, "path", "a.txt", "content", strings.Repeat("a line\n", 1020))
	},
	"edit": func(t testing.TB) (string, string) {
		return "edit", inputOf(t, "path", "main.go", "old", "\tx := 1\n\ty := 2", "new", "\tx := 2\n\tif x > 1 {\n\t\treturn\n\t}")
	},
	"edit, removed": func(t testing.TB) (string, string) {
		return "edit", inputOf(t, "path", "main.go", "old", "one\ntwo\n", "new", "")
	},
	"shell": func(t testing.TB) (string, string) {
		return "shell", inputOf(t, "command", "cat <<EOF\n$HOME # no comment\nEOF\nfor f in *.go; do\n  echo \"$f\"\ndone", "timeout", "3")
	},
	"shell, short": func(t testing.TB) (string, string) { return "shell", inputOf(t, "command", "go test ./...") },
	"one long line": func(t testing.TB) (string, string) {
		return "write", inputOf(t, "path", "a.json", "content", strings.Repeat(`{"key":[1,2,3]},`, 560)+"\nend")
	},
	"awkward text": func(t testing.TB) (string, string) {
		return "write", inputOf(t, "path", "a.md", "content", "日本語のテキスト 👨‍👩‍👧‍👦 e\u0301\r\n\x1b[2J\x00\u2028\n\ttab\n")
	},
	"other tool": func(t testing.TB) (string, string) {
		return "fetch", inputOf(t, "url", "https://example.org/", "content", "no\nlines")
	},
}

// Arguments that arrived in pieces look like complete ones, at the end and at
// every moment: folded, unfolded, in any pieces.
func TestArrivingLooksLikeArrived(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, call := range calls {
		for _, open := range []bool{false, true} {
			for _, width := range []int{100, 20} {
				t.Run(fmt.Sprintf("%s/%v/%d", name, open, width), func(t *testing.T) {
					tool, input := call(t)
					show := func(pieces func() int) string {
						m := New(theme.Dark())
						m.SetSize(width, 12)
						if open {
							m.ToggleOutput()
						}
						arrives(m, "1", tool, input, pieces)
						return pages(m)
					}
					want := show(func() int { return len(input) })
					most := max(4, len(input)/60)
					if got := show(func() int { return 1 + rnd.IntN(most) }); got != want {
						t.Errorf("in pieces:\n%s\nwant\n%s", got, want)
					}
				})
			}
		}
	}
}

// The preview of arguments grows at its end.
func TestDraftGrows(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 20)
	for _, c := range []struct{ input, want string }{
		{`{"path":"ma`, "○ edit ma"},
		{`{"path":"main.go`, "○ edit main.go"},
		{`{"path":"main.go","old":"one`, "○ edit main.go|- one"},
		{`{"path":"main.go","old":"one\n\ttw`, "○ edit main.go|- one|-     tw"},
		{`{"path":"main.go","old":"one\n\ttwo\`, "○ edit main.go|- one|-     two"},
		{`{"path":"main.go","old":"one\n\ttwo","new":"`, "○ edit main.go|- one|-     two"},
		{`{"path":"main.go","old":"one\n\ttwo","new":"ei\u006es\n`, "○ edit main.go|- one|-     two|+ eins"},
		{`{"path":"main.go","old":"one\n\ttwo","new":"ei\u006es\n"}`, "○ edit main.go|- one|-     two|+ eins"},
	} {
		m.Blocks.SetTool("1", Tool{Name: "edit", Input: c.input, Status: Arriving})
		if got := visible(m); got != c.want {
			t.Errorf("%s: %q, want %q", c.input, got, c.want)
		}
	}
	m.Blocks.SetTool("1", Tool{Name: "edit", Input: `{"path":"main.go","old":"x","new":"y"}`, Status: Running})
	if got, want := visible(m), "∙ edit main.go  running|- x|+ y"; got != want {
		t.Errorf("mended before it ran: %q, want %q", got, want)
	}
	m.Blocks.SetTool("1", Tool{Name: "edit", Title: "main.go", Input: `{}`, Status: Failed, Output: "x occurs twice"})
	if got, want := visible(m), "✗ edit main.go  failed|x occurs twice"; got != want {
		t.Errorf("after it failed: %q, want %q", got, want)
	}
}

// visible returns the rows that are not blank, without colors and margins.
func visible(m *Model) string {
	var rows []string
	for _, row := range rowsOf(m) {
		if row != "" {
			rows = append(rows, row)
		}
	}
	return strings.Join(rows, "|")
}

// Each piece of the arguments costs according to its length, regardless of earlier ones.
func TestArrivingIsLinear(t *testing.T) {
	cost := func(size int, open bool) float64 {
		input := inputOf(t, "path", "main.go", "content", strings.Repeat(goFile, size/len(goFile)))
		m := New(theme.Dark())
		m.SetSize(100, 40)
		if open {
			m.ToggleOutput()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		arrives(m, "1", "write", input, func() int { return 20 })
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(input))
	}
	for _, open := range []bool{false, true} {
		if small, large := cost(8<<10, open), cost(64<<10, open); large > 1.5*small {
			t.Errorf("unfolded %v: %.0f bytes of memory for each byte of 8 KB, %.0f of 64 KB", open, small, large)
		}
	}
}

// Strings equal those of a JSON decoder, however the input is split, and are
// prefixes of them at each split.
func FuzzArguments(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "x", uint8(3))
	}
	f.Add("\U0001F600\u2028\\\"", "/", uint8(1))
	f.Fuzz(func(t *testing.T, one, two string, piece uint8) {
		if len(one)+len(two) > 2000 || piece == 0 {
			t.Skip()
		}
		input := inputOf(t, "a", one, "b", two)
		var want struct{ A, B string }
		if err := json.Unmarshal([]byte(input), &want); err != nil {
			t.Fatal(err)
		}
		a := argsReader{limitOf: func(string) int { return 1 << 20 }}
		for at := 0; at < len(input); at += int(piece) {
			a.read(input[:min(at+int(piece), len(input))])
			for i, f := range a.fields {
				whole := []string{want.A, want.B}[i]
				if text := f.text.String(); !strings.HasPrefix(whole, text) && f.whole {
					t.Fatalf("%q at %d: %q is no beginning of %q", input, at, text, whole)
				}
			}
		}
		if len(a.fields) != 2 || a.fields[0].text.String() != want.A || a.fields[1].text.String() != want.B {
			t.Fatalf("%q: got %d fields, want %q, %q", input, len(a.fields), want.A, want.B)
		}
	})
}

// Text that is not a JSON object has no fields, and costs a bounded amount of work.
func TestArgumentsThatAreNone(t *testing.T) {
	for _, input := range []string{"", "null", "[]", "x", `"a"`, "{", "{{{", `{"a"`, `{"a":}`, `{]`, `{"a":[}`, strings.Repeat(`{"a":`, 1000), strings.Repeat("[", 1000)} {
		a := argsReader{limitOf: func(string) int { return 10 }}
		a.read(input)
		if len(a.fields) > 0 {
			t.Errorf("%q has the field %q", input, a.fields[0].name)
		}
	}
	a := argsReader{limitOf: func(string) int { return 4 }}
	a.read("{" + strings.Repeat(`"a":"123456",`, 1000))
	if len(a.fields) != maxFields || a.fields[0].text.String() != "1234" {
		t.Errorf("%d fields are kept, the first one with %q", len(a.fields), a.fields[0].text.String())
	}
}

func TestHint(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 10)
	running := Tool{Name: "shell", Title: "make", Status: Running, Started: began, Hint: "esc stops\x1b[2J"}
	m.Blocks.SetTool("1", running)
	m.Tick(began.Add(999 * time.Millisecond))
	if got, want := topRow(m), "∙ shell make  running · esc stops␛[2J"; got != want {
		t.Errorf("before a second is over: %q, want %q", got, want)
	}
	m.Tick(began.Add(3 * time.Second))
	for i := range 9 {
		m.Blocks.AppendToolOutput("1", fmt.Sprintf("line %d\n", i))
	}
	if got, want := visible(m), "∙ shell make  running 3 s · esc stops␛[2J|… 4 earlier lines (ctrl+o)|line 4|line 5|line 6|line 7|line 8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	m.SetSize(30, 10)
	if got, want := topRow(m), "∙ shell make  running 3 s"; got != want {
		t.Errorf("where it is narrow: %q, want %q", got, want)
	}
	running.Status, running.Output = Done, "all"
	m.Blocks.SetTool("1", running)
	m.SetSize(60, 10)
	if got, want := visible(m), "✓ shell make|all"; got != want {
		t.Errorf("after it ended: %q, want %q", got, want)
	}
}

// Without motion nothing changes by itself.
func TestMotion(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 10)
	m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make", Status: Running, Started: began})
	m.SetMotion(false)
	m.Tick(began.Add(2 * time.Second))
	still := m.View()
	m.Tick(began.Add(9 * time.Second))
	if got := topRow(m); got != "∙ shell make  running" || m.window.dirty || m.View() != still {
		t.Errorf("moved to %q", got)
	}
	m.SetMotion(true)
	if got, want := topRow(m), "∙ shell make  running 9 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A fold counts the output of the command, and not the notes after it.
func TestFoldCountsNoNotes(t *testing.T) {
	output := "1\n2\n3\n4\n5\n6\n7\n"
	for name, tt := range map[string]struct {
		status        Status
		output, notes string
		want          string
	}{
		"stopped":          {Failed, output, "[2 characters removed]\n[canceled after 2s]", "✗ ! seq  failed|… 2 earlier lines (ctrl+o)|3|4|5|6|7|[2 characters removed]|[canceled after 2s]"},
		"done":             {Done, output, "[exit status 0]", "✓ ! seq|1|2|3|4|5|… 2 more lines (ctrl+o)"},
		"short":            {Done, "1\n2\n3\n4\n5\n", "[exit status 0]", "✓ ! seq|1|2|3|4|5"},
		"nothing written":  {Failed, "", "[no output]\n[canceled after 2s]", "✗ ! seq  failed|[no output]|[canceled after 2s]"},
		"told by no words": {Failed, "[exit status 0]\n", "[canceled after 2s]", "✗ ! seq  failed|[exit status 0]|[canceled after 2s]"},
	} {
		m := New(theme.Plain())
		m.SetSize(60, 12)
		m.Blocks.SetTool("1", Tool{Name: "!", Title: "seq", Status: tt.status, Output: tt.output + tt.notes, Notes: tt.notes})
		if got := visible(m); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
