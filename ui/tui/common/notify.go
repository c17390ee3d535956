package common

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
)

// notice returns the sequence that notifies a user in another window, in one of the ways in
// Notices; "" for "off". Terminals that do not support it show nothing, and none answers.
func notice(way, text string) string {
	switch way {
	case "bell":
		return "\a"
	case "osc9":
		return "\x1b]9;" + text + "\x1b\\"
	case "osc777":
		return "\x1b]777;notify;parley;" + text + "\x1b\\"
	case "osc99":
		return "\x1b]99;;" + text + "\x1b\\"
	}
	return ""
}

// Notices lists the values of Config.Notify.
var Notices = []string{"auto", "off", "bell", "osc9", "osc777", "osc99"}

// noticeFor returns name, or for "auto" the way that suits the terminal. The
// fallback is the bell, which all terminals support and multiplexers pass on.
func noticeFor(name string, env func(string) string) string {
	if name != "auto" {
		return name
	}
	term, program := env("TERM"), env("TERM_PROGRAM")
	switch {
	case env("TMUX") != "" || strings.HasPrefix(term, "screen"):
		return "bell"
	case term == "xterm-kitty":
		return "osc99"
	case program == "ghostty", program == "iTerm.app", program == "WezTerm", program == "WarpTerminal":
		return "osc9"
	case strings.HasPrefix(term, "foot"), strings.HasPrefix(term, "rxvt-unicode"):
		return "osc777"
	}
	return "bell"
}

// Notify sends a desktop notification or bell, if the terminal has reported the loss of
// focus.
func (s *Screen) Notify(text string) tea.Cmd {
	if !s.Unfocused {
		return nil
	}
	const most = 80
	text = strings.Map(func(r rune) rune { // remove characters with a meaning in the sequences
		if r == ';' || r == '\\' || r < ' ' {
			return ' '
		}
		return r
	}, sanitize.Line(text))
	if r := []rune(text); len(r) > most {
		text = string(r[:most])
	}
	seq := notice(s.notice, text)
	if seq == "" {
		return nil
	}
	return tea.Raw(seq)
}
