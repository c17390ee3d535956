package transcript

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/tools/diff"
	"parley/ui/theme"
	"parley/ui/tui/diffview"
)

const mixedDiff = `--- a/main.go
+++ b/main.go
@@ -9,8 +9,8 @@ func main() {
 	ctx := context.Background() // the one
 	/* a comment
-	   that goes on */
+	   that goes over */
-	for i := range 3 {
-		run(ctx, "first")
-		log.Print(i)
+	for i := range 30 {
+		run(ctx, "second", i)
 	}
+	stop()
 	wait()
@@ -40,2 +40,2 @@
-last()
+
 end()
`

// Every line of a diff is shown, on its side and with its number.
func TestSplit(t *testing.T) {
	p := renderContext{theme: theme.Plain(), styler: newStyler(theme.Plain()), width: 120, open: true}
	d := diffview.Read(mixedDiff, maxDiffLines)
	var got []string
	for _, line := range p.renderDiff(&d) {
		var plain strings.Builder
		writePlain(&plain, line)
		left, right, _ := strings.Cut(plain.String(), "│")
		got = append(got, strings.TrimRight(left, " ")+" | "+strings.TrimRight(strings.TrimPrefix(right, " "), " "))
	}
	want := []string{
		"   9       ctx := context.Background() // the one |    9       ctx := context.Background() // the one",
		"  10       /* a comment |   10       /* a comment",
		"  11 -        that goes on */ |   11 +        that goes over */",
		"  12 -     for i := range 3 { |   12 +     for i := range 30 {",
		`  13 -         run(ctx, "first") |   13 +         run(ctx, "second", i)`,
		"  14 -         log.Print(i) | ",
		"  15       } |   14       }",
		" |   15 +     stop()",
		"  16       wait() |   16       wait()",
		"     ⋯ | ",
		"  40 - last() |   40 +",
		"  41   end() |   41   end()",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if all := strings.Join(p.renderDiff(&d), "\n"); !strings.Contains(all, theme.NewSGR(p.theme.Text.Bold(true).Underline(true)).On+"over") {
		t.Errorf("without colours the words that changed do not stand out in %q", all)
	}
	for _, c := range []struct {
		name, diff string
		width      int
		split      bool
	}{
		{"wide", mixedDiff, 120, true},
		{"not wide", mixedDiff, 119, false},
		{"only additions", "@@ -0,0 +1,2 @@\n+a\n+b\n", 200, false},
		{"only removals", "@@ -1,2 +0,0 @@\n-a\n-b\n", 200, true},
	} {
		p.width = c.width
		d := diffview.Read(c.diff, maxDiffLines)
		if got := strings.Contains(strings.Join(p.renderDiff(&d), ""), "│"); got != c.split {
			t.Errorf("%s: side by side %v", c.name, got)
		}
	}
}

// A diff of any size takes a limited number of lines and comparisons. The
// details show the rest.
func TestHugeDiff(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/x.go\n+++ b/x.go\n@@ -1,%d +1,%d @@\n", 9000, 9000)
	for i := range 9000 {
		fmt.Fprintf(&b, "-old line %d\n", i)
	}
	for i := range 9000 {
		fmt.Fprintf(&b, "+new line %d\n", i)
	}
	d := diffview.Read(b.String(), maxDiffLines)
	if d.Added != 9000 || d.Removed != 9000 || d.Len()+d.Dropped != 18000 || d.Len() > maxDiffLines {
		t.Errorf("+%d -%d, %d kept, %d left", d.Added, d.Removed, d.Len(), d.Dropped)
	}
	p := renderContext{theme: theme.Dark(), styler: newStyler(theme.Dark()), width: 80, open: true}
	lines := p.renderDiff(&d)
	if last := lines[len(lines)-1]; len(lines) > maxDiffLines+1 || !strings.Contains(last, fmt.Sprintf("… %d more lines (enter)", d.Dropped)) {
		t.Errorf("%d lines, the last one %q", len(lines), last)
	}
	p.open = false
	lines = p.renderDiff(&d)
	if last := lines[len(lines)-1]; len(lines) != foldDiff+1 || !strings.Contains(last, "… 17988 more lines (ctrl+o)") {
		t.Errorf("%d lines, the last one %q", len(lines), last)
	}
	m := New(theme.Plain())
	m.SetSize(60, 10)
	m.Blocks.SetTool("1", Tool{Name: "edit", Title: "x.go", Status: Done, Diff: b.String()})
	m.Browse(true)
	press(m, "enter", "G")
	if rows := rowsOf(m); rows[9] != "9000 + new line 8999" {
		t.Errorf("the details end with %q", rows[9])
	}
}

// In parts, a diff has the same lines, numbers and file as in one piece.
func TestDiffSheets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	var want, got []string
	for file := range 3 {
		fmt.Fprintf(&b, "--- a/f%d.go\n+++ b/f%d.go\n", file, file)
		for hunk := range 4 {
			const n = 300
			was, is := hunk*5000+1, hunk*5000+7
			fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", was, n, is, n)
			for minus, plus := n, n; minus+plus > 0; {
				sign := "-+ "[rnd.IntN(3)]
				if sign != '+' && minus == 0 || sign != '-' && plus == 0 {
					continue
				}
				text := fmt.Sprint("-- ", rnd.IntN(10), strings.Repeat(" and so on", 5*(file%2)))
				b.WriteString(string(sign) + text + "\n")
				line := is
				if sign == '-' {
					line = was
				}
				want = append(want, fmt.Sprintf("f%d.go %c%d %s", file, sign, line, text))
				if sign != '+' {
					minus, was = minus-1, was+1
				}
				if sign != '-' {
					plus, is = plus-1, is+1
				}
			}
		}
	}
	sheets := diffParts(b.String())
	file := ""
	for _, s := range sheets {
		d := diffview.Read(s.text, maxDiffLines)
		if len(s.text) > maxPartBytes+200 || d.Dropped > 0 {
			t.Errorf("a sheet has %d bytes, %d lines too many", len(s.text), d.Dropped)
		}
		file = s.file
		for l := range diff.Lines(s.text) {
			file = cmp.Or(l.File, file)
			if l.Kind == diff.Added || l.Kind == diff.Removed || l.Kind == diff.Context {
				got = append(got, fmt.Sprintf("%s %c%d %s", file, l.Kind, cmp.Or(l.New, l.Old), l.Text()))
			}
		}
	}
	if len(sheets) < 5 || len(got) != len(want) {
		t.Fatalf("%d sheets with %d lines, want %d", len(sheets), len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("line %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// tools adds tool calls in every state and form.
func tools(m *Model) {
	m.Blocks.AddUser("Mend it.")
	for i, name := range []string{"main.go", "run.go", "stop.go"} {
		m.Blocks.SetTool(fmt.Sprint("r", i), Tool{Name: "read", Title: name, Status: Done, Output: "1\tpackage main\n2\t", Duration: time.Millisecond})
	}
	m.Blocks.SetTool("r3", Tool{Name: "read", Title: "gone.go", Status: Failed, Output: "gone.go does not exist"})
	m.Blocks.SetTool("r4", Tool{Name: "grep", Title: "func main", Status: Done, Output: "main.go:3: func main()"})
	m.Blocks.AppendAnswer("a", "I know.")
	m.Blocks.FinishAnswer("a")
	m.Blocks.SetTool("e1", Tool{Name: "edit", Title: "main.go", Status: Done, Duration: 20 * time.Millisecond, Diff: mixedDiff})
	m.Blocks.SetTool("w1", Tool{Name: "write", Title: "new.go", Status: Done, Diff: "--- /dev/null\n+++ b/new.go\n@@ -0,0 +1,3 @@\n+package main\n+\n+var x = \"text\" // 1\n"})
	m.Blocks.SetTool("e2", Tool{Name: "edit", Status: Arriving, Input: `{"path":"run.go","old":"\trun(1)\n\twait()","new":"\trun(2)\n\tif ok {\n\t\tret`})
	m.Blocks.SetTool("w2", Tool{Name: "write", Status: Arriving, Input: `{"path":"notes.py","content":"` + strings.Repeat(`# note\nprint(\"one\", 2)\n`, 8) + `def la`})
	m.Blocks.SetTool("s1", Tool{Name: "shell", Status: Arriving, Input: `{"command":"cd /tmp\nfor f in *.go; do\n  echo \"$f\" # name`})
	m.Blocks.AddUser("And?")
	for i, name := range []string{"a.go", "b.go", "c.go"} {
		m.Blocks.SetTool(fmt.Sprint("q", i), Tool{Name: "read", Title: name, Status: []Status{Done, Running, Arriving}[i], Started: began, Output: []string{"text", "", ""}[i]})
	}
	m.Blocks.SetTool("s2", Tool{Name: "shell", Title: "go test ./...", Status: Running, Started: began, Hint: "esc stops"})
	for i := range 8 {
		m.Blocks.AppendToolOutput("s2", fmt.Sprintf("ok  \tpackage%d\n", i))
	}
	m.Tick(began.Add(4 * time.Second))
}

func TestToolScreens(t *testing.T) {
	for _, th := range []*theme.Theme{theme.Plain(), theme.Dark()} {
		for _, size := range [][2]int{{80, 24}, {50, 15}, {140, 30}} {
			for _, open := range []bool{false, true} {
				if open && (th.Name != "plain" || size[0] == 80) {
					continue
				}
				name := fmt.Sprintf("tools-%s-%dx%d", th.Name, size[0], size[1])
				if open {
					name += "-open"
				}
				t.Run(name, func(t *testing.T) {
					m := New(th)
					m.SetSize(size[0], size[1])
					tools(m)
					if open {
						m.ToggleOutput()
					}
					check(t, m, name)
					golden(t, name, pages(m), th.Name != "plain")
				})
			}
		}
	}
}
