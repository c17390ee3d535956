package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

// everything contains each element of Markdown once.
const everything = "# Heading\n\nText with *emphasis*, **strong**, ~~struck~~ and `code`, a [link](https://example.org/), " +
	"https://bare.example.org/ and ![a picture](p.png).  \nA hard break, and 日本語 with 👩‍⚕️.\n\n" +
	"Setext\n------\n\n- one\n  - nested\n- [x] done\n- [ ] open\n\n3. three\n4. four\n\n   more of four\n\n" +
	"> quoted\n> > twice\n\n```go\n// comment\nfunc f(s string) int { return len(\"x\") + 42 }\n```\n\n```diff\n-old\n+new\n```\n\n" +
	"    indented\n\n| left | centre | right |\n|---|:-:|--:|\n| `a` | **b** | 1 |\n| c | d | 20 |\n\n---\n\n<div>html</div>\n\n" +
	"[ref] and &amp;\n\n[ref]: https://late.example.org/\n"

const editInput = `{"path":"main.go","old":"run(ctx)","new":"if err := run(ctx, i); err != nil {\n\treturn // give up`

// gallery lists the blocks, each in all of its states.
var gallery = []struct {
	name  string
	width int // 0 for the width of the screen
	fill  func(m *Model)
}{
	{"user", 0, func(m *Model) {
		m.Blocks.AddUser("Why does the second test fail?\n\n\tgo test ./session", "image photo.png 1568x1176 412 KB")
	}},
	{"thinking, live", 0, func(m *Model) { m.Blocks.AppendThinking("1", "First I look at the clock.\nThen at the timer.\n") }},
	{"thinking, folded", 0, func(m *Model) { thinks(m) }},
	{"thinking, unfolded", 0, func(m *Model) { thinks(m); m.ToggleThinking() }},
	{"tool, arguments arriving", 0, func(m *Model) { m.Blocks.SetTool("1", Tool{Name: "fetch"}) }},
	{"tool, the path is known", 0, func(m *Model) { m.Blocks.SetTool("1", Tool{Name: "read", Input: `{"path":"ui/ui.go","offs`}) }},
	{"tool, asking", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make install", Status: AwaitingApproval})
	}},
	{"tool, running", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "fetch", Title: "https://example.org/", Status: Running, Started: began, Hint: "esc stops it"})
		m.Tick(began.Add(3 * time.Second))
	}},
	{"tool, done", 0, func(m *Model) { ends(m, Done) }},
	{"plan", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "plan", Title: "1 of 4 done · write a test that fails", Status: Done,
			Output: "Mend the parser:\n\n- [x] read it\n- [>] write a test that fails, for what the user saw and for the two cases beside it\n- [ ] mend it\n- [ ] run all tests"})
	}},
	{"plan, not accepted", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "plan", Title: "1 step", Status: Denied, Output: "The user has not accepted this plan: keep planning, and change nothing yet."})
	}},
	{"tool, done, unfolded", 0, func(m *Model) { ends(m, Done); m.ToggleOutput() }},
	{"tool, failed", 0, func(m *Model) { ends(m, Failed) }},
	{"tool, denied", 0, func(m *Model) { m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make install", Status: Denied}) }},
	{"tool, stopped", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make install", Status: Canceled, Duration: 2 * time.Second})
	}},
	{"shell, a script arriving", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "shell", Input: `{"command":"# look\nfor f in *.go; do\n  echo \"$f\"`})
	}},
	{"shell, a script running, unfolded", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "shell", Input: `{"command":"# look\nfor f in *.go; do\n  echo \"$f\"\ndone"}`, Status: Running})
		m.ToggleOutput()
	}},
	{"shell, live tail", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make test", Status: Running, Started: began, Hint: "esc stops it"})
		for i := range 9 {
			m.Blocks.AppendToolOutput("1", fmt.Sprintf("ok  package%d\n", i))
		}
		m.Tick(began.Add(75 * time.Second))
	}},
	{"edit, arriving", 0, func(m *Model) { m.Blocks.SetTool("1", Tool{Name: "edit", Input: editInput}) }},
	{"write, arriving", 0, func(m *Model) {
		m.Blocks.SetTool("1", Tool{Name: "write", Input: `{"path":"f.py","content":"def f():\n    \"\"\"doc\"\"\"\n    return 1\n`})
	}},
	{"edit, done", 0, edits},
	{"edit, done, unfolded", 0, func(m *Model) { edits(m); m.ToggleOutput() }},
	{"edit, side by side", 140, edits},
	{"group, running", 0, func(m *Model) { lookAround(m, Running) }},
	{"group, done", 0, func(m *Model) { lookAround(m, Done) }},
	{"group, unfolded", 0, func(m *Model) { lookAround(m, Done); m.ToggleOutput() }},
	{"answer", 0, func(m *Model) {
		m.Blocks.AppendAnswer("1", everything)
		m.Blocks.FinishAnswer("1")
	}},
	{"error", 0, func(m *Model) {
		m.Blocks.AddError("openai: 429 quota exceeded", "check the plan and billing · ctrl+x r tries again")
	}},
	{"switch", 0, func(m *Model) {
		m.Blocks.AddMarker(Switch, "model: openai/a → gemini/b · thinking of other models left out")
	}},
	{"retry", 0, func(m *Model) { m.Blocks.SetNote("retry", Retry, "retry 2 in 12 s: rate limit") }},
	{"note", 0, func(m *Model) { m.Blocks.AddNote("the temperature is not sent: the model does not take one") }},
	{"warning", 0, func(m *Model) { m.Blocks.AddMarker(Warn, "the answer reached its length limit") }},
	{"interrupted", 0, func(m *Model) { m.Blocks.AddMarker(Interrupted, "the answer broke off here") }},
	{"compaction", 0, summarised},
	{"compaction, unfolded", 0, func(m *Model) { summarised(m); m.ToggleOutput() }},
	{"footer", 0, func(m *Model) {
		m.Blocks.AddFooter("openai/gpt-6.1-sol · 12k in (80% cached) · 678 out · $0.0412 · first token 0.8 s · 61 tok/s · 12 s")
	}},
}

func thinks(m *Model) {
	m.Blocks.AppendThinking("1", "First I look at the clock.\nThen at the timer.")
	m.Blocks.FinishThinking("1", 12*time.Second)
}

func ends(m *Model, s Status) {
	m.Blocks.SetTool("1", Tool{Name: "shell", Title: "make all", Status: s, Duration: 65 * time.Second,
		Output: "one\ntwo\nthree\nfour\nfive\nsix\nseven"})
}

func edits(m *Model) {
	m.Blocks.SetTool("1", Tool{Name: "edit", Title: "main.go", Status: Done, Duration: 40 * time.Millisecond, Diff: sampleDiff})
}

func lookAround(m *Model, last Status) {
	m.Blocks.SetTool("1", Tool{Name: "read", Title: "a.go", Status: Done, Output: "package a"})
	m.Blocks.SetTool("2", Tool{Name: "read", Title: "b.go", Status: Done, Output: "package b"})
	m.Blocks.SetTool("3", Tool{Name: "list", Title: ".", Status: Done, Output: "a.go\nb.go"})
	m.Blocks.SetTool("4", Tool{Name: "grep", Title: "deadline", Status: last})
}

func summarised(m *Model) { m.Blocks.SetSummary("s", "We looked at the *session* package.", 12) }

// screens lists screens that the user opens over a short conversation.
var screens = []struct{ name, keys string }{
	{"new lines below", ""},
	{"browsing", "tab k"},
	{"selection", "tab v k k"},
	{"search", "tab / 'timer"},
	{"search, gone to the next", "tab / 'the enter n"},
	{"details", "tab k k enter"},
}

func brief(m *Model) {
	m.Blocks.AddUser("What about the timer?")
	thinks(m)
	ends(m, Done)
	edits(m)
	m.Blocks.AppendAnswer("1", "It is the *timer*, and not the clock:\n\n"+strings.Repeat("- the `timer` fires\n", 6))
	m.Blocks.FinishAnswer("1")
	m.Blocks.AddFooter("a/b · 12 in · 3 out")
}

// Every block in every state and every theme. Styles are written as tags with
// their names in the theme, so that pages differ only where themes do. At the end
// is the sequence of each tag, so that no style changes unnoticed.
func TestGallery(t *testing.T) {
	for _, name := range theme.Names() {
		for _, size := range [][2]int{{80, 24}, {50, 15}} {
			file := fmt.Sprintf("gallery-%s-%dx%d", name, size[0], size[1])
			t.Run(file, func(t *testing.T) {
				th, _ := theme.ByName(name)
				names := namesOf(th)
				var b strings.Builder
				for _, c := range gallery {
					m := New(th)
					m.SetSize(max(size[0], c.width), 200)
					c.fill(m)
					check(t, m, c.name)
					fmt.Fprintf(&b, "== %s\n%s\n", c.name, strings.TrimRight(styled(names, m.View()), "\n"))
				}
				for _, c := range screens {
					m := New(th)
					m.SetSize(size[0], size[1])
					brief(m)
					if c.keys == "" {
						m.Scroll(-3)
						m.Blocks.AppendAnswer("2", "more")
					}
					for _, key := range strings.Fields(c.keys) {
						if key == "tab" {
							m.Browse(true)
							continue
						}
						press(m, key)
					}
					check(t, m, c.name)
					fmt.Fprintf(&b, "== %s\n%s\n", c.name, strings.TrimRight(styled(names, m.View()), "\n"))
				}
				golden(t, file, b.String()+legend(names, b.String()), true)
			})
		}
	}
}

// namesOf maps the sequences of a theme to the names of their styles.
func namesOf(th *theme.Theme) map[string]string {
	names := map[string]string{theme.NewSGR(th.Voice).On: "voice"}
	name := func(style lipgloss.Style, name string) {
		if on := theme.NewSGR(style).On; names[on] == "" || names[on] == "voice" {
			names[on] = name
		}
	}
	inks := styles(th)
	for t, word := range toneNames[:numRoles] {
		name(inks[t], word)
		name(inks[t].Bold(true).Underline(true), word+"!")
	}
	c := th.Syntax
	for _, side := range []struct {
		on         string
		sign       lipgloss.Style
		line, word lipgloss.Style
	}{{"", th.Dim, lipgloss.NewStyle(), lipgloss.NewStyle()}, {" on added", th.Good, th.Diff.Added, th.Diff.AddedWord}, {" on removed", th.Bad, th.Diff.Removed, th.Diff.RemovedWord}} {
		for i, ink := range []lipgloss.Style{th.Text, th.Faint, side.sign.Bold(true), c.Comment, c.Keyword, c.String, c.Number, c.Function, c.Type} {
			word := []string{"text", "faint", "sign", "comment", "keyword", "string", "number", "function", "type"}[i] + side.on
			name(ink.Background(side.line.GetBackground()), word)
			name(ink.Bold(true).Underline(true).Background(side.line.GetBackground()), word+"!")
		}
		name(th.Text.Background(side.word.GetBackground()), "word"+side.on)
		name(side.sign.Bold(true).Underline(true), "word"+side.on)
	}
	names[sgrFound], names[sgrCurrent] = "found", "here"
	for _, base := range []role{roleText, roleStrong, roleDim} {
		for bits := 1; bits < 8; bits++ {
			s, words := styles(th)[base], toneNames[base]
			if bits&1 != 0 {
				s, words = s.Bold(true), words+" bold"
			}
			if bits&2 != 0 {
				s, words = s.Italic(true), words+" italic"
			}
			if bits&4 != 0 {
				s, words = s.Strikethrough(true), words+" struck"
			}
			if open := theme.NewSGR(s).On; names[open] == "" {
				names[open] = words
			}
		}
	}
	return names
}

// styled writes styles as tags: {dim …}, or a description of the sequence if names has no name for it.
func styled(names map[string]string, view string) string {
	var b strings.Builder
	end := ""
	for i, part := range strings.Split(view, "\x1b[") {
		codes, rest, _ := strings.Cut(part, "m")
		if i == 0 {
			b.WriteString(part)
			continue
		}
		b.WriteString(end)
		end = ""
		if codes != "" && codes != "0" {
			name := names["\x1b["+codes+"m"]
			if name == "" {
				name = codes
			}
			b.WriteString("{" + name + " ")
			end = "}"
		}
		b.WriteString(rest)
	}
	return b.String() + end
}

// legend lists the sequences of the tags in a page.
func legend(names map[string]string, page string) string {
	var lines []string
	for open, name := range names {
		if open != "" && strings.Contains(page, "{"+name+" ") {
			lines = append(lines, name+" "+strings.TrimPrefix(open, "\x1b["))
		}
	}
	slices.Sort(lines)
	return "== what the tags are\n" + strings.Join(lines, "\n") + "\n"
}

var toneNames = [numRoles]string{"text", "dim", "faint", "accent", "accent-dim", "voice", "voice-dim", "strong", "good", "warn", "bad"}
