// testdata/*.golden hold the expected screens. go test ./ui/tui/transcript -update
// rewrites them. Read the diff.

package transcript

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

var update = flag.Bool("update", false, "write the golden files anew")

var began = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

const sampleDiff = `--- a/main.go
+++ b/main.go
@@ -9,7 +9,8 @@ func main() {
 	ctx := context.Background()
 	for i := range 3 {
-		run(ctx)
+		if err := run(ctx, i); err != nil {
+			return
+		}
 	}
--- an odd line
 	stop()
 	wait()
\ No newline at end of file
@@ -40,2 +41,9 @@
 	last()
+	one()
+	two()
+	three()
+	four()
+	five()
+	six()
+	seven()
 }
`

// conversation adds every kind of block.
func conversation(m *Model) {
	m.Blocks.AddUser("Why does the second test fail? It says something about a deadline that has passed before anything was sent.\n\n\tgo test ./session")
	m.Blocks.AppendThinking("1", "The test waits for a timer. ")
	m.Blocks.AppendThinking("1", strings.Repeat("It could be the clock. ", 30))
	m.Blocks.FinishThinking("1", 12*time.Second)
	m.Blocks.AppendAnswer("2", "Let me **run** it:\n\n```go\nfunc TestDeadline(t *testing.T) {}\n```\n")
	m.Blocks.FinishAnswer("2")
	m.Blocks.SetTool("c1", Tool{Name: "shell", Title: "go test ./session", Status: Done, Duration: 3200 * time.Millisecond,
		Output: "=== RUN TestOne\n=== RUN TestTwo\nsession_test.go:12:\tdeadline\n" + strings.Repeat("line\n", 30)})
	m.Blocks.SetTool("c2", Tool{Name: "edit", Title: "main.go", Status: Done, Duration: 40 * time.Millisecond, Diff: sampleDiff})
	m.Blocks.SetTool("c3", Tool{Name: "write", Title: "notes.txt", Status: Denied})
	m.Blocks.SetTool("c4", Tool{Name: "shell", Title: "make", Status: Failed, Duration: 65 * time.Second, Output: "one\ntwo\nthree\nfour\nfive\nsix\nmake: *** [all] Error 2\n"})
	m.Blocks.SetTool("c5", Tool{Name: "fetch", Title: "https://example.org/a", Status: Canceled, Duration: time.Second})
	m.Blocks.AddFooter("openai/gpt-6.1-sol · 12,345 in · 678 out · $0.04 · 0.8 s to first token · 61 tok/s")
	m.Blocks.AddNote("the reply was cut after 4,096 tokens")
	m.Blocks.SetNote("switch", Switch, "now gemini/gemini-4-argon: 2 thinking blocks become text")
	m.Blocks.SetNote("retry", Retry, "rate limit: again in 12 s")
	m.Blocks.SetNote("retry", Retry, "rate limit: again in 11 s")
	m.Blocks.SetNote("budget", Warn, "80% of today's budget is spent")
	m.Blocks.AddError("openai: 429 quota exceeded", "check the plan and billing; press r or ctrl+x r to try again")
	m.Blocks.AddUser("Go on.")
	m.Blocks.AppendThinking("3", "First I look at the clock.\nThen at the timer.\n")
	m.Blocks.AppendAnswer("4", "It is the *timer*.")
	m.Blocks.SetTool("c6", Tool{Name: "shell", Input: `{"command":"tail -f log","time`, Status: Arriving})
	m.Blocks.SetTool("c7", Tool{Name: "shell", Title: "sleep 5", Status: AwaitingApproval})
	m.Blocks.SetTool("c8", Tool{Name: "shell", Title: "tail -f log", Status: Running, Started: began})
	m.Blocks.AppendToolOutput("c8", strings.Repeat("0123456789 abcdefghij ", 6)+"\n")
	for i := range 9 {
		m.Blocks.AppendToolOutput("c8", fmt.Sprintf("output line %d\n", i))
	}
	m.Tick(began.Add(3 * time.Second))
}

// pages returns the screens from the top to the bottom.
func pages(m *Model) string {
	var b strings.Builder
	m.Top()
	for n := 1; ; n++ {
		fmt.Fprintf(&b, "-- screen %d\n%s\n", n, m.View())
		if m.AtBottom() {
			return b.String()
		}
		m.Page(1)
	}
}

func TestScreens(t *testing.T) {
	for _, c := range []struct {
		name   string
		theme  *theme.Theme
		w, h   int
		open   bool
		colour bool
	}{
		{"plain-80x24", theme.Plain(), 80, 24, false, false},
		{"plain-50x15", theme.Plain(), 50, 15, false, false},
		{"plain-50x15-open", theme.Plain(), 50, 15, true, false},
		{"dark-80x24", theme.Dark(), 80, 24, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := New(c.theme)
			m.SetSize(c.w, c.h)
			conversation(m)
			if c.open {
				m.ToggleThinking()
				m.ToggleOutput()
			}
			golden(t, c.name, pages(m), c.colour)
		})
	}
}

// Views that the user opens, each on its own screen.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name string
		keys string
	}{
		{"search", "/ 'timer"},
		{"not found", "/ 'nowhere"},
		{"found in what is folded", "/ 'another enter"},
		{"selection", "v k k"},
		{"details of a call", "g ] j j j j enter"},
		{"details of thinking", "g j j j enter"},
		{"details of a diff", "/ 'run(ctx enter esc enter"},
		{"search in details", "g j j j enter / 'clock enter n"},
		{"summary", "g"},
		{"summary unfolded", "g space"},
		{"attachments", "g ]"},
		{"interrupted", "G"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			for _, size := range [][2]int{{80, 24}, {50, 15}, {20, 8}} {
				m := New(theme.Plain())
				m.SetSize(size[0], size[1])
				m.Blocks.SetSummary("s", "We looked at the *session* package.\n\nThe first test was mended.", 12)
				m.Blocks.AddUser("What does this show?", "image photo.png 1568x1176 412 KB", "file notes with a long name.txt 3 KB")
				conversation(m)
				m.Blocks.AppendThinking("5", "There is another way.")
				m.Blocks.FinishThinking("5", 2*time.Second)
				m.Blocks.AppendAnswer("6", "The timer of the ti")
				m.Blocks.FinishAnswer("6")
				m.Blocks.AddMarker(Interrupted, "interrupted")
				m.Browse(true)
				press(m, strings.Fields(c.keys)...)
				check(t, m, c.keys)
				fmt.Fprintf(&b, "-- %d×%d %s\n%s\n", size[0], size[1], m.Hint(), emphasised(m.View()))
			}
			golden(t, strings.ReplaceAll(c.name, " ", "-"), b.String(), false)
		})
	}
}

// emphasised puts matches in brackets, and the selected match in double brackets.
func emphasised(view string) string {
	var b strings.Builder
	end := ""
	for i, part := range strings.Split(view, "\x1b[") {
		codes, text, _ := strings.Cut(part, "m")
		if i == 0 {
			codes, text = "", part
		}
		b.WriteString(end)
		end = ""
		switch "\x1b[" + codes + "m" {
		case sgrFound:
			b.WriteString("[")
			end = "]"
		case sgrCurrent:
			b.WriteString("[[")
			end = "]]"
		}
		b.WriteString(text)
	}
	return b.String() + end
}

func golden(t *testing.T, name, got string, colour bool) {
	t.Helper()
	if !colour {
		got = ansi.Strip(got)
	}
	got = strings.ReplaceAll(got, "\x1b", "␛")
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update accepts it). got\n%s\nwant\n%s", file, got, want)
	}
}
