package common

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/clip"
	"parley/ui/theme"
	"parley/ui/tui/renderer"
)

// screen returns a screen and its clock.
func screen(env map[string]string) (*Screen, *time.Time) {
	now := time.Unix(1e9, 0)
	s := New(DefaultConfig(), func(name string) string { return env[name] }, func() time.Time { return now })
	s.Tick = func(_ time.Duration, msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }
	return s, &now
}

// A toast stays for three seconds, longer if it is long, while it applies.
func TestToast(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"short", 3 * time.Second},
		{strings.Repeat("x", 60), 3 * time.Second},
		{strings.Repeat("x", 62), 3100 * time.Millisecond},
	} {
		s, now := screen(nil)
		var tick time.Duration
		s.Tick = func(d time.Duration, _ tea.Msg) tea.Cmd { tick = d; return nil }
		s.ShowToast(tt.text)
		*now = now.Add(tt.want - 1)
		if got, want := s.ToastText(), strings.ToUpper(tt.text[:1])+tt.text[1:]; got != want || tick != tt.want {
			t.Errorf("got %q for %v, want %q for %v", got, tick, want, tt.want)
		}
		if *now = now.Add(1); s.ToastText() != "" {
			t.Errorf("%q stays", tt.text)
		}
	}
	s, _ := screen(nil)
	applies := true
	s.ShowToastWhile("Wait", func() bool { return applies })
	if s.ToastText() != "Wait" {
		t.Error("a toast that applies is hidden")
	}
	if applies = false; s.ToastText() != "" {
		t.Error("a toast stays although it does not apply")
	}
	s.ShowToast("Done")
	if s.HideToast(); s.ToastText() != "" {
		t.Error("a toast stays after HideToast")
	}
}

// Text is copied in a command, whose result is shown as a toast.
func TestCopy(t *testing.T) {
	for _, tt := range []struct {
		text   string
		result clip.Result
		want   string
	}{
		{"", clip.Result{}, "Nothing to copy"},
		{"x", clip.Result{Bytes: 1, Delivered: []clip.Step{{Route: "wl-copy", Checked: true}}}, "Copied answer to wl-copy (1 byte)"},
		{"x", clip.Result{Bytes: 1, File: "/home/me/x"}, "~"},
		{"x", clip.Result{Superseded: true}, ""},
	} {
		s, _ := screen(nil)
		s.SetClipboard(Clipboard{
			Put: func(string) func(context.Context) clip.Result {
				return func(context.Context) clip.Result { return tt.result }
			},
			AbbrevPath: func(path string) string { return strings.Replace(path, "/home/me", "~", 1) },
		})
		if cmd := s.Copy(tt.text, "answer"); tt.text != "" {
			if _, ok := s.Update(cmd()); !ok {
				t.Error("the result is not handled")
			}
		}
		if got := s.ToastText(); !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%+v: got %q, want %q", tt.result, got, tt.want)
		}
	}
}

// The screen handles its own messages and no others.
func TestUpdate(t *testing.T) {
	s, _ := screen(nil)
	answered := ""
	s.SetClipboard(Clipboard{Answered: func(content string) { answered = content }, Tmux: func(context.Context) (string, bool) { return "foot", true }})
	for _, tt := range []struct {
		msg       tea.Msg
		handled   bool
		toast     string
		unfocused bool
	}{
		{tea.BlurMsg{}, true, "", true},
		{tea.KeyPressMsg{}, false, "", true},
		{tea.FocusMsg{}, true, "", false},
		{ToastMsg("Saved"), true, "Saved", false},
		{ToastExpiredMsg{}, true, "Saved", false},
		{renderer.SuspendUnavailableMsg{}, true, "No shell to suspend to", false},
		{tea.ClipboardMsg{Content: "x"}, true, "No shell to suspend to", false},
	} {
		if _, handled := s.Update(tt.msg); handled != tt.handled || s.ToastText() != tt.toast || s.Unfocused != tt.unfocused {
			t.Errorf("%T: handled %v, toast %q, unfocused %v", tt.msg, handled, s.ToastText(), s.Unfocused)
		}
	}
	if answered != "x" {
		t.Errorf("the clipboard got %q", answered)
	}
	if term, passes := s.Tmux(context.Background()); term != "foot" || !passes {
		t.Errorf("tmux: %q, %v", term, passes)
	}
	var sent []tea.Msg
	s.Send = func(msg tea.Msg) { sent = append(sent, msg) }
	if s.Write("\x1b[c"); len(sent) != 1 {
		t.Fatalf("sent %v", sent)
	}
	if cmd, ok := s.Update(sent[0]); !ok || fmt.Sprint(cmd()) != fmt.Sprint(tea.Raw("\x1b[c")()) {
		t.Error("the sequence is not written")
	}
}

func TestDefer(t *testing.T) {
	s, _ := screen(nil)
	s.Defer(nil)
	s.Defer(tea.Quit)
	if got := s.TakeDeferred(); len(got) != 1 {
		t.Errorf("got %d commands, want 1", len(got))
	}
	if got := s.TakeDeferred(); len(got) != 0 {
		t.Errorf("%d commands are returned twice", len(got))
	}
}

// A panic of a goroutine or a command is a report, also in a batch or a sequence.
func TestGuard(t *testing.T) {
	boom := errors.New("boom")
	fail := func() tea.Msg { panic(boom) }
	for name, run := range map[string]func(s *Screen){
		"a function":  func(s *Screen) { s.Guard(func() { panic(boom) }) },
		"a goroutine": func(s *Screen) { s.Go(func() { panic(boom) }) },
		"a command":   func(s *Screen) { s.Guarded(fail)() },
		"a batch": func(s *Screen) {
			for _, cmd := range s.Guarded(func() tea.Msg { return tea.BatchMsg{nil, fail} })().(tea.BatchMsg) {
				if cmd != nil {
					cmd()
				}
			}
		},
		"a sequence": func(s *Screen) {
			cmds := []tea.Cmd{fail}
			s.Sequence(cmds...)
			cmds[0]()
		},
	} {
		s, _ := screen(nil)
		var got any
		s.Crash = func(p any, stack []byte) {
			if got = p; len(stack) == 0 {
				t.Errorf("%s: no stack", name)
			}
		}
		run(s)
		if s.Running.Wait(); got != boom {
			t.Errorf("%s: got %v", name, got)
		}
	}
	s, _ := screen(nil)
	if s.Guarded(nil) != nil {
		t.Error("no command became one")
	}
	if got := s.Guarded(func() tea.Msg { return "x" })(); got != "x" {
		t.Errorf("got %v", got)
	}
}

// "auto" takes the notification that a terminal shows.
func TestNotices(t *testing.T) {
	for _, tt := range []struct {
		notify string
		env    map[string]string
		want   string // "" for nothing
	}{
		{"auto", nil, "\a"},
		{"off", nil, ""},
		{"bell", map[string]string{"TERM": "xterm-kitty"}, "\a"},
		{"osc9", nil, "\x1b]9;Done\x1b\\"},
		{"osc777", nil, "\x1b]777;notify;parley;Done\x1b\\"},
		{"osc99", nil, "\x1b]99;;Done\x1b\\"},
		{"auto", map[string]string{"TERM": "xterm-kitty"}, "\x1b]99;;Done\x1b\\"},
		{"auto", map[string]string{"TERM": "xterm-kitty", "TMUX": "x"}, "\a"},
		{"auto", map[string]string{"TERM": "screen-256color", "TERM_PROGRAM": "ghostty"}, "\a"},
		{"auto", map[string]string{"TERM_PROGRAM": "ghostty"}, "\x1b]9;Done\x1b\\"},
		{"auto", map[string]string{"TERM_PROGRAM": "WezTerm"}, "\x1b]9;Done\x1b\\"},
		{"auto", map[string]string{"TERM": "foot-extra"}, "\x1b]777;notify;parley;Done\x1b\\"},
		{"auto", map[string]string{"TERM": "rxvt-unicode-256color"}, "\x1b]777;notify;parley;Done\x1b\\"},
	} {
		s, _ := screen(tt.env)
		c := DefaultConfig()
		c.Notify = tt.notify
		s.SetConfig(c)
		s.Unfocused = true
		got := ""
		if cmd := s.Notify("Done"); cmd != nil {
			got = fmt.Sprint(cmd())
		}
		if want := fmt.Sprint(tea.Raw(tt.want)()); tt.want != "" && got != want || tt.want == "" && got != "" {
			t.Errorf("%s in %v: got %q, want %q", tt.notify, tt.env, got, tt.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		row   string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"日本", 4, "日本"}, {"日本", 3, "日"}, {"\x1b[31mabc\x1b[m", 3, "\x1b[31mabc\x1b[m"}, {"\x1b]0;x\aabc", 3, "\x1b]0;x\aabc"}, {"◆◆", 2, "◆◆"},
	} {
		if got := Truncate(tt.row, tt.width); got != tt.want || ansi.StringWidth(got) > tt.width {
			t.Errorf("%q in %d cells: got %q, want %q", tt.row, tt.width, got, tt.want)
		}
	}
	for row, want := range map[string]bool{"\x1b[": true, "\x1b[3": true, "\x1b[@a": true, "\x1b[~a": true, "\x1b[@ab": false, "\x1b[~ab": false, "\x1b[?aab": false, "\x1b\x1b": false, "…": true, "\xe2": false} {
		if got := fits(row, 1); got != want {
			t.Errorf("%q fits: %v, want %v", row, got, want)
		}
	}
}

// The configuration is checked as a whole: the error names the setting and its possible values.
func TestValidate(t *testing.T) {
	custom := func(name string, own theme.Custom) func(*Config) {
		return func(c *Config) { c.Themes = map[string]theme.Custom{name: own} }
	}
	for _, tt := range []struct {
		set  func(c *Config)
		want string // beginning of the error; "" for none
	}{
		{func(*Config) {}, ""},
		{custom("dark", theme.Custom{}), "ui.themes.dark: parley has a theme of this name"},
		{custom("auto", theme.Custom{}), "ui.themes.auto: parley has a theme of this name"},
		{custom("mine", theme.Custom{Base: "mauve"}), "ui.themes.mine: "},
		{func(c *Config) {
			c.Theme, c.Themes = "mine", map[string]theme.Custom{"mine": {}}
		}, ""},
		{func(c *Config) { c.Favorites = []string{"a/*", "[a"} }, `ui.favorites: "[a" is no pattern`},
		{func(c *Config) { c.Hidden = []string{"[a"} }, `ui.hidden: "[a" is no pattern`},
		{func(c *Config) { c.Theme = "mauve" }, `ui.theme = "mauve": there are auto, `},
		{func(c *Config) { c.Notify = "mail" }, `ui.notify = "mail": there are auto, off, `},
		{func(c *Config) { c.Motion = "" }, `ui.motion = "": there are on, off`},
		{func(c *Config) { c.Images = "x" }, `ui.images = "x": there are auto`},
	} {
		c := DefaultConfig()
		tt.set(&c)
		if err := c.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

// The user's own themes have their names.
func TestThemeNamed(t *testing.T) {
	c := DefaultConfig()
	c.Themes = map[string]theme.Custom{"mine": {}, "also": {}}
	names := c.ThemeNames()
	if names[0] != "auto" || !slices.Equal(names[len(names)-2:], []string{"also", "mine"}) || !slices.Contains(names, "nord") {
		t.Errorf("the names are %q", names)
	}
	for name, want := range map[string]string{"mine": "mine", "nord": "nord", "auto": "", "mauve": ""} {
		got := ""
		if th := c.ThemeNamed(name); th != nil {
			got = th.Name
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := c.Words("mouse"); got != nil {
		t.Errorf("the mouse has the values %q", got)
	}
}
