package terminal

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/ui/clip/routes"
)

func init() { routes.Register() }

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ conversation, state, want string }{
		{"", "", "parley"},
		{"a fix", "", "a fix – parley"},
		{"", "waiting for you", "waiting for you – parley"},
		{"a fix\x1b]", "waiting", "waiting – a fix␛] – parley"},
	} {
		if got := Title(tt.conversation, tt.state); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		running, waiting bool
		want             tea.ProgressBarState
	}{{false, true, tea.ProgressBarNone}, {true, false, tea.ProgressBarIndeterminate}, {true, true, tea.ProgressBarWarning}} {
		got := tea.ProgressBarNone
		if bar := Progress(tt.running, tt.waiting); bar != nil {
			got = bar.State
		}
		if got != tt.want {
			t.Errorf("running %v, waiting %v: got %v, want %v", tt.running, tt.waiting, got, tt.want)
		}
	}
}

func TestIsModifier(t *testing.T) {
	for _, code := range []rune{tea.KeyLeftShift, tea.KeyRightMeta, tea.KeyIsoLevel5Shift, tea.KeyCapsLock, tea.KeyScrollLock, tea.KeyNumLock} {
		if !IsModifier(code) {
			t.Errorf("%v modifies others", tea.KeyPressMsg{Code: code})
		}
	}
	for _, code := range []rune{'a', tea.KeyEnter, tea.KeyLeftShift - 1, tea.KeyIsoLevel5Shift + 1, tea.KeyCapsLock - 1, tea.KeyNumLock + 1} {
		if IsModifier(code) {
			t.Errorf("%v does not modify others", tea.KeyPressMsg{Code: code})
		}
	}
}

// The facts about the terminal come from its environment.
func TestEnvironment(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want []string
	}{
		{nil, []string{"terminal:    ", "multiplexer: none", "shell on:    this machine"}},
		{map[string]string{"TERM": "xterm", "TERM_PROGRAM": "ghostty", "ZELLIJ": "0", "SSH_TTY": "/dev/pts/1"}, []string{"terminal:    xterm ghostty", "multiplexer: zellij", "shell on:    ssh: images cannot be pasted"}},
		{map[string]string{"TERM": "screen", "STY": "1", "SSH_CONNECTION": "x"}, []string{"terminal:    screen", "multiplexer: screen: passes legacy keys only", "shell on:    ssh: images cannot be pasted"}},
		{map[string]string{"TERM": "screen", "STY": "1", "TMUX": "x"}, []string{"terminal:    screen", `multiplexer: tmux: shift+enter and other new keys need "set -s extended-keys on"`, "shell on:    this machine"}},
	} {
		got := environment(func(name string) string { return tt.env[name] })
		if !slices.Equal(got[:3], tt.want) || !strings.HasPrefix(got[5], "            1. ") || got[len(got)-1] != "Press keys; ctrl+d exits." {
			t.Errorf("%v: got %q, want %q", tt.env, got, tt.want)
		}
	}
}
