package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"none", "", ""},
		{"text as it will be read", `{"path":"a.go","content":"package a\n\n\tx\n"}`, "path: a.go|content: package a\n\n\tx"},
		{"other values as JSON", `{"lines":[1,2],"all":true,"at":null}`, "lines: [1,2]|all: true|at: "},
		{"in their order, twice too", `{"b":"1","a":"2","b":"3"}`, "b: 1|a: 2|b: 3"},
		{"still arriving", `{"path":"a.go","con`, `arguments: {"path":"a.go","con`},
		{"not an object", `["a"]`, `arguments: ["a"]`},
		{"not JSON", "\x1b[2J", "arguments: ␛[2J"},
		{"hostile text", `{"a\u001b":"x\u001b[2J"}`, "a␛: x␛[2J"},
		{"no arguments", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []string
			for _, s := range argumentParts(c.in) {
				all = append(all, s.title+": "+s.text)
			}
			if got := strings.Join(all, "|"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A long text is split at line ends, without loss.
func TestSheets(t *testing.T) {
	for name, body := range map[string]string{
		"empty":          "",
		"short":          "one\ntwo",
		"long":           strings.Repeat("a line of text\n", 5000) + "end",
		"one long line":  strings.Repeat("x", 100_000),
		"only newlines":  strings.Repeat("\n", 3*maxPartBytes),
		"just too long":  strings.Repeat("x", maxPartBytes) + "\ny",
		"just not":       strings.Repeat("x", maxPartBytes),
		"a long one and": strings.Repeat("x", 2*maxPartBytes) + "\nshort",
	} {
		var parts []string
		for i, s := range splitParts("title", body, "output") {
			if (s.title == "") != (i > 0) {
				t.Errorf("%s: sheet %d has the title %q", name, i, s.title)
			}
			parts = append(parts, s.text)
		}
		if got := strings.Join(parts, "\n"); got != body {
			t.Errorf("%s: %d bytes became %d", name, len(body), len(got))
		}
	}
}

func rowsOf(m *Model) []string {
	rows := strings.Split(ansi.Strip(m.View()), "\n")
	for i, row := range rows {
		rows[i] = strings.TrimSpace(strings.TrimRight(row, "┃ "))
	}
	return rows
}

func TestDetails(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 10)
	var output strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&output, "line %d\n", i)
	}
	m.Blocks.AddUser("go")
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make all", Input: `{"command":"make all"}`, Status: Done, Output: output.String()})
	m.Blocks.AddNote("end")
	m.Browse(true)
	press(m, "k")
	before := m.View()
	press(m, "enter")
	if got, want := strings.Join(rowsOf(m), "|"), "shell|make all||command|make all||output|line 0|line 1|line 2"; got != want {
		t.Errorf("details begin with %q, want %q", got, want)
	}
	for _, c := range []struct{ keys, top, bottom string }{
		{"j", "make all", "line 3"},
		{"j k", "shell", "line 2"},
		{"d", "", "line 7"},
		{"space u", "make all", "line 6"},
		{"G", "line 2990", "line 2999"},
		{"G k", "line 2989", "line 2998"},
		{"G g", "shell", "line 2"},
		{"/ 'line_2500 enter", "line 2497", "/line 2500                                              1/1"},
		{"/ 'line_1234 enter esc", "line 1231", "line 1240"},
	} {
		press(m, "g")
		press(m, strings.Fields(c.keys)...)
		rows := rowsOf(m)
		if rows[0] != c.top || rows[9] != c.bottom {
			t.Errorf("%s: from %q to %q, want from %q to %q", c.keys, rows[0], rows[9], c.top, c.bottom)
		}
		check(t, m, c.keys)
		press(m, "esc")
		if m.details == nil {
			press(m, "enter")
		}
	}
	if got := press(m, "y"); got != (CopyMsg{strings.TrimRight(output.String(), "\n"), "output"}) {
		t.Errorf("copied %.40q", got)
	}
	press(m, "esc")
	if m.View() != before {
		t.Errorf("back from the details:\n%s\nwant\n%s", m.View(), before)
	}
}

// The output of a running tool continues in its details, without moving the text being read.
func TestDetailsGrow(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 6)
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make", Status: Running})
	for i := range 20 {
		m.Blocks.AppendToolOutput("c", fmt.Sprintf("line %d\n", i))
	}
	m.Browse(true)
	press(m, "enter", "G")
	m.Blocks.AppendToolOutput("c", "more\n")
	if rows := rowsOf(m); rows[5] != "more" {
		t.Errorf("at the end the details do not follow: %q", rows)
	}
	press(m, "k", "k", "k")
	top := rowsOf(m)[0]
	m.Blocks.AppendToolOutput("c", "and more\n")
	if rows := rowsOf(m); rows[0] != top || rows[5] != "1 new line ↓" {
		t.Errorf("the reader was moved from %q: %q", top, rows)
	}
	m.Blocks.SetTool("c", Tool{Name: "shell", Title: "make", Status: Done, Output: "short"})
	if rows := rowsOf(m); rows[0] != top {
		t.Errorf("the final output moves the reader from %q: %q", top, rows)
	}
	press(m, "g")
	if got := strings.Join(rowsOf(m), "|"); got != "shell|make||output|short|" {
		t.Errorf("the final output is not shown: %q", got)
	}
	m.Remove("c")
	if m.details != nil {
		t.Error("the details outlive their block")
	}
	check(t, m, "drop")
}

// The source of a selected code block is opened, whatever is drawn of it; without one, o asks for the sources of the answer.
func TestOpenCode(t *testing.T) {
	m := New(theme.Plain())
	m.SetSize(60, 10)
	m.Blocks.AppendAnswer("a", "words\n\n```mermaid\ngraph TD\n  A --> B\n```\n")
	m.Blocks.FinishAnswer("a")
	m.View()
	m.Browse(true)
	if _, ok := press(m, "o").(SourcesMsg); !ok {
		t.Error("no sources are asked for")
	}
	press(m, "}", "o")
	if got := strings.Join(rowsOf(m), "\n"); !strings.Contains(got, "code\ngraph TD\nA --> B") || strings.Contains(got, "words") {
		t.Errorf("it shows\n%s", got)
	}
	if got, want := press(m, "y"), (CopyMsg{"graph TD\n  A --> B", "code"}); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	if press(m, "esc"); !strings.Contains(strings.Join(rowsOf(m), "\n"), "words") {
		t.Error("esc does not lead back")
	}
}
