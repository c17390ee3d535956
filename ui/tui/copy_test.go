package tui

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llmtest"
	"parley/ui/clip"
)

// bare is an environment with nothing but a terminal that supports OSC 52.
func bare(folder string) func(string) string {
	return func(name string) string {
		return map[string]string{"TERM": "xterm-256color", "XDG_STATE_HOME": folder}[name]
	}
}

// copied lists the texts sent to the terminal's clipboard.
func (s *stage) copied() (texts []string) {
	for _, msg := range s.Messages() {
		raw, ok := msg.(tea.RawMsg)
		if !ok {
			continue
		}
		body, ok := strings.CutPrefix(fmt.Sprint(raw.Msg), "\x1b]52;c;")
		if !ok {
			continue
		}
		text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(body, "\x07"))
		if err != nil {
			s.m.Crash(err, nil)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// Every key that copies sends the source text to the same routes, and reports
// the result.
func TestCopies(t *testing.T) {
	t.Parallel()
	const answer = "# 標題\n\nSome *text* 👩‍👩‍👧‍👦.\n\n```go\nfmt.Println(\"hi\")\n```\n"
	tests := []struct {
		name string
		keys []string
		want string
		say  string
	}{
		{"the last answer", []string{"ctrl+x", "y"}, strings.TrimSpace(answer), "Copied answer "},
		{"the last code block", []string{"ctrl+x", "c"}, "fmt.Println(\"hi\")\n", "Copied code "},
		{"a block", []string{"tab", "y"}, strings.TrimSpace(answer), "Copied answer "},
		{"the code of a block", []string{"tab", "Y"}, "fmt.Println(\"hi\")\n", "Copied code "},
		{"blocks", []string{"tab", "v", "k", "y"}, "go on\n\n" + strings.TrimSpace(answer), "Copied 2 blocks "},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			state := t.TempDir()
			s := setUpWith(t, 120, 24, func(o *Options) { o.App.Getenv = bare(state) }, llmtest.Say(answer))
			s.ask("go on", "Println")
			s.idle()
			s.Press(c.keys...).WaitForText(c.say)
			s.WaitForText("not confirmed")
			if got := s.copied(); len(got) != 1 || strings.TrimSpace(got[0]) != strings.TrimSpace(c.want) {
				t.Errorf("the terminal got %q, want %q", got, c.want)
			}
		})
	}
}

// TestCopiesWhatIsSeen: the clipboard gets nothing that a screen does not show, such
// as the end of a paste before another command.
func TestCopiesWhatIsSeen(t *testing.T) {
	t.Parallel()
	var sent string
	board := clip.New(bare(t.TempDir()), "", "", func(seq string) { sent += seq })
	result := board.Copy("ls \x1b[201~\u202e\u200b👩‍👩‍👧\nrm x\n")(t.Context())
	body := strings.TrimSuffix(strings.TrimPrefix(sent, "\x1b]52;c;"), "\x07")
	if text, err := base64.StdEncoding.DecodeString(body); err != nil || string(text) != "ls [201~👩‍👩‍👧\nrm x\n" {
		t.Errorf("the terminal got %q, %v", text, err)
	}
	if got, want := result.Message("answer"), "3 hidden characters removed"; !strings.HasSuffix(got, want) {
		t.Errorf("said %q, want %q at the end", got, want)
	}
}

// A terminal's answer without a question changes nothing.
func TestUnaskedClipboard(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Send(tea.ClipboardMsg{Content: "secret", Selection: 'c'})
	if strings.Contains(s.Screen(), "secret") || slices.Contains(s.copied(), "secret") {
		t.Errorf("the screen took it:\n%s", s.Screen())
	}
}
