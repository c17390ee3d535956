//go:build linux

package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panels"
	"parley/ui/tui/terminal"
	"parley/ui/uitest"
)

// hostiles returns the number of hostile texts to test.
func hostiles() int {
	switch {
	case long:
		return 5000
	case llmtest.Race:
		return 80
	}
	return 200
}

// hostile returns a screen on which everything from outside is hostile: a stored
// conversation with its title, answers, thinking, calls, results, diffs and file
// names; a second conversation; the names of the current model and of the models
// in the picker; the notice; the workspace; and a model that continues like that.
func hostile(dir string, n int) (Options, *llmtest.Fake, error) {
	texts := uitest.Hostile(n)
	set, err := tools.Open(dir)
	if err != nil {
		return Options{}, nil, err
	}
	for _, text := range texts[:40] {
		name := strings.NewReplacer("/", "_", "\x00", "").Replace(text)
		if err := os.WriteFile(filepath.Join(dir, name[:min(len(name), 200)]), []byte(text), 0o600); err != nil {
			return Options{}, nil, err
		}
	}
	lib := session.MemoryStore()
	nodes := told(texts)
	id, err := lib.Import(session.Info{Title: texts[1], Dir: "/" + texts[2], Model: texts[3], Head: len(nodes)}, nodes)
	if err != nil {
		return Options{}, nil, err
	}
	if _, err := lib.Import(session.Info{Title: texts[4], Preview: texts[5], Dir: dir, Head: 40}, nodes[:40]); err != nil {
		return Options{}, nil, err
	}
	log, err := lib.Resume(id)
	if err != nil {
		return Options{}, nil, err
	}
	fake := llmtest.New(turns(texts)...)
	endpoint := func(name string) llm.Endpoint {
		return llm.Endpoint{Model: fake, Name: name, Origin: "fake", Strategy: texts[6], Efforts: []llm.Effort{llm.Effort(texts[7])}}
	}
	var choices []app.ModelChoice
	for i, text := range texts[:60] {
		choices = append(choices, app.ModelChoice{Name: text, Title: text, Abilities: text, Window: text, Input: text, Output: text, Why: text, Ready: i%2 == 0})
	}
	return Options{Config: Default(), Panels: panels.New, App: app.Options{
		Flows: flows.Register, Session: session.New(session.Options{Model: endpoint(texts[0]), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log}),
		FirstScreen: app.FirstScreen{Notice: texts[8], Version: texts[8]}, Workspace: texts[9], Directory: dir, Library: lib,
		Models: app.Models{
			Recent:  texts[:5],
			Choices: func() []app.ModelChoice { return choices },
			Open:    func(name string) (llm.Endpoint, error) { return endpoint(name), nil },
		},
		Opening: app.Opening{
			New:    func() (*session.Session, error) { return nil, errors.New(texts[10]) },
			Resume: func(string) (*session.Session, string, error) { return nil, "", errors.New(texts[11]) },
			Fork:   func(string, int) (*session.Session, string, error) { return nil, "", errors.New(texts[12]) },
		},
	}}, fake, nil
}

// told returns a conversation that consists of texts.
func told(texts []string) []session.Node {
	var nodes []session.Node
	add := func(n session.Node) {
		n.Seq, n.Parent, n.At = len(nodes)+1, len(nodes), time.Unix(1e9, 0)
		nodes = append(nodes, n)
	}
	for i, text := range texts {
		input, _ := json.Marshal(map[string]string{"path": text, text: text, "command": text})
		id := fmt.Sprint("call", i)
		add(session.Node{Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{
			{Kind: llm.Text, Text: text}, {Kind: llm.Media, Name: text, MIME: "image/png", Data: []byte("x")},
		}}})
		add(session.Node{Message: llm.Message{Role: llm.RoleAssistant, Model: "m/" + text, Parts: []llm.Part{
			{Kind: llm.Thinking, Text: text}, {Kind: llm.Text, Text: text},
			{Kind: llm.Call, ID: id, Name: []string{text, "edit", "shell"}[i%3], Input: string(input)},
			{Kind: llm.Source, URL: "http://example.com/" + text, Text: text, Name: text},
		}}})
		add(session.Node{
			Message: llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Name: text, Text: text, Failed: i%2 == 0}}},
			Results: map[string]store.Outcome{id: {Diff: "--- a/" + text + "\n+++ b/x\n@@ -1 +1 @@\n-" + text + "\n+" + text + "\n"}},
		})
		add(session.Node{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}})
	}
	return nodes
}

// turns answer with texts, split every three bytes, then call tools with them, and
// then fail with them.
func turns(texts []string) []llmtest.Turn {
	var turns []llmtest.Turn
	for _, name := range []string{"shell", "write", "list", texts[13]} {
		input, _ := json.Marshal(map[string]string{"command": strings.Join(texts[:20], "; ")})
		if name == "write" {
			input, _ = json.Marshal(map[string]string{"path": strings.ReplaceAll(texts[15], "/", "_") + "\x1b[4242m", "content": strings.Join(texts[:30], "\n")})
		}
		if name == "list" {
			input = []byte("{}")
		}
		turns = append(turns, llmtest.Call(llm.Part{Name: name, Input: string(input)}))
	}
	turns = append(turns, func(_ context.Context, _ llm.Request, out *llm.Out) error {
		for i, text := range texts {
			for kind, block := range map[llm.Kind]string{llm.Thinking: "t", llm.Text: "a"} {
				for len(text) > 0 {
					n := min(3, len(text)) // shorter than most runes and any sequence
					out.Send(llm.Delta{Block: fmt.Sprint(block, i/20), Part: llm.Part{Kind: kind, Text: text[:n]}})
					text = text[n:]
				}
			}
			out.Send(llm.Notice{Text: text})
		}
		out.Send(llm.Finish{Reason: llm.Stop, Model: texts[16]})
		return nil
	})
	return append(turns, llmtest.Fail(&llm.Error{
		Fault: llm.InvalidRequest, Provider: texts[17], Message: strings.Join(texts[:50], " "), URL: "http://" + texts[18], Key: texts[19], Code: texts[20],
	}))
}

// A step consists of keys, text that the screen shows after them, and keys to
// press then.
type step struct{ keys, until, then string }

// tour visits every place of the screen with text from outside. Each step
// begins and ends without a dialog.
var tour = []step{
	{"?", "Input & messages", ""}, {"ctrl+p", "Commands", ""}, {"ctrl+x m", "Model", ""}, {"ctrl+x l", "current", ""}, {"ctrl+x l", "current", "enter"},
	{"esc esc", "Edit which", ""}, {"ctrl+x u", "Usage", ""}, {"ctrl+x n", "", ""}, {"ctrl+o", "", ""}, {"ctrl+t", "", ""},
}

// TestHostileTexts: text from outside has no effect on the terminal but to be
// displayed. Every frame is checked before the renderer, which drops some input
// and could hide problems.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{100, 200}, {37, 11}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			o, fake, err := hostile(t.TempDir(), hostiles())
			if err != nil {
				t.Fatal(err)
			}
			at := &clock{now: time.Unix(1e9, 0)} // two presses of esc belong together, however slow the machine is
			o.App.Now = at.Now
			m := newModel(o)
			m.Tick = func(_ time.Duration, msg tea.Msg) tea.Cmd { // tests do not wait
				if _, ok := msg.(overlay.DrawnMsg); !ok {
					return nil
				}
				return func() tea.Msg { return msg }
			}
			m.Crash = func(p any, stack []byte) { t.Errorf("panic: %v\n%s", p, stack) }
			d := uitest.New(t, m, size[0], size[1])
			m.Send = func(msg tea.Msg) { d.Deliver(msg) }
			t.Cleanup(func() { d.Send(terminal.SignalMsg{}); m.Running.Wait() })
			seen := map[string]bool{}
			look := func() {
				t.Helper()
				for _, line := range strings.Split(d.Styled(), "\n") {
					if seen[line] {
						continue
					}
					seen[line] = true
					if found := uitest.Foreign(line); len(found) > 0 {
						t.Errorf("%q in %q", found, line)
					}
				}
				if title := d.View().WindowTitle; title != sanitize.Line(title) || !strings.HasSuffix(title, "parley") { // the user's words, made printable
					t.Errorf("title %q", title)
				}
			}
			for _, s := range tour {
				at.Add(time.Second) // separates it from earlier keys
				d.Press(strings.Fields(s.keys)...)
				if s.until != "" {
					d.Shows(s.until)
				}
				look()
				if s.then == "" && !strings.Contains(d.Screen(), "Ask anything") {
					d.Press("pgdown")
					look()
					s.then = "esc"
				}
				d.Press(strings.Fields(s.then)...).Shows("Ask anything")
			}
			for at := ""; at != d.Screen(); look() { // up to the top
				at = d.Screen()
				d.Press("pgup")
				if size[1] < 100 {
					break // the other test sees all of it
				}
			}
			if size[1] > 100 && len(seen) < 8*hostiles() {
				t.Errorf("only %d different lines were seen on the way to the top", len(seen))
			}
			d.Press("ctrl+end")
			for _, requests := range []int{5, 6} {
				d.Type("go").Press("enter")
				d.WaitFor(func() bool {
					look()
					if strings.Contains(d.Screen(), "deny") {
						d.Press("ctrl+o", "pgdown", "pgdown")
						look()
						d.Press("esc")
					}
					return len(fake.Requests()) >= requests
				})
				(&stage{Driver: d}).idle()
				look()
			}
			if n := len(fake.Requests()); n != 6 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
