package routes

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf16"
)

var errNotThere = errors.New("returned another text")

// question requests the terminal's clipboard.
const question = "\x1b]52;c;?\x07"

// osc52 returns the sequence that sets the terminal's clipboard (xterm's control
// sequences, "Manipulate Selection Data").
func osc52(text string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
}

// An escapeRoute is a way to send sequences to the terminal.
type escapeRoute struct {
	name string
	here func(*environment) bool
	wrap func(seq string) string
}

// escapeRoutes lists routes in the order in which they are tried. In a multiplexer that
// cannot be asked, more than one may be right.
var escapeRoutes = []escapeRoute{
	{"the terminal (OSC 52)", func(p *environment) bool {
		switch {
		case p.tmux != nil:
			return p.tmux.accepts()
		case p.screen:
			return false // it drops unknown sequences
		}
		return true
	}, func(seq string) string { return seq }},
	{"the terminal through tmux", func(p *environment) bool {
		if p.tmux != nil {
			return p.tmux.passes && !p.tmux.accepts()
		}
		return strings.HasPrefix(p.term, "tmux") // on the other side of an ssh connection
	}, throughTmux},
	{"the terminal through screen", func(p *environment) bool { return p.tmux == nil && p.screen }, throughScreen},
}

// throughTmux wraps a sequence so that tmux passes it on (tmux's FAQ,
// "passthrough escape sequence").
func throughTmux(seq string) string {
	if seq == "" {
		return ""
	}
	return "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
}

// screenChunk is well below the 256 bytes that old versions of screen accept in
// one string; newer ones accept 768 or more.
const screenChunk = 200

// throughScreen wraps a sequence so that GNU screen passes it on. It does so
// only for short strings.
func throughScreen(seq string) string {
	var b strings.Builder
	for seq != "" {
		n := min(screenChunk, len(seq))
		b.WriteString("\x1bP" + seq[:n] + "\x1b\\")
		seq = seq[n:]
	}
	return b.String()
}

// A command copies its standard input to a clipboard.
type command struct {
	name   string
	here   func(*environment) bool
	put    func(outer bool) []string // outer: tmux should pass the text on to the terminal
	get    []string                  // prints the text on the clipboard; nil if no fast command does
	encode func(string) []byte       // encodes the text; nil for UTF-8
	buffer bool                      // the clipboard is tmux's buffer, not the user's
}

func (c *command) bytes(text string) []byte {
	if c.encode != nil {
		return c.encode(text)
	}
	return []byte(text)
}

func argv(words ...string) func(bool) []string { return func(bool) []string { return words } }

// commands lists commands in the order in which they are tried, until one is verified.
var commands = []command{
	{name: "tmux buffer", buffer: true, here: func(p *environment) bool { return p.tmux != nil },
		put: func(outer bool) []string {
			if outer {
				return []string{"tmux", "load-buffer", "-w", "-"}
			}
			return []string{"tmux", "load-buffer", "-"}
		}, get: []string{"tmux", "show-buffer"}},
	// With an explicit type, wl-copy runs no program to detect it.
	{name: "wl-copy", here: local("linux", "WAYLAND_DISPLAY"),
		put: argv("wl-copy", "--type", "text/plain"), get: []string{"wl-paste", "--no-newline", "--type", "text/plain"}},
	{name: "xclip", here: local("linux", "DISPLAY"),
		put: argv("xclip", "-selection", "clipboard", "-in"), get: []string{"xclip", "-selection", "clipboard", "-out"}},
	{name: "xsel", here: local("linux", "DISPLAY"),
		put: argv("xsel", "--clipboard", "--input"), get: []string{"xsel", "--clipboard", "--output"}},
	{name: "pbcopy", here: local("darwin", ""), put: argv("pbcopy"), get: []string{"pbpaste"}},
	{name: "termux-clipboard-set", here: func(p *environment) bool { return !p.ssh && p.getenv("TERMUX_VERSION") != "" }, put: argv("termux-clipboard-set"), get: []string{"termux-clipboard-get"}},
	// No get, because PowerShell takes a second or more.
	{name: "clip.exe", here: func(p *environment) bool { return !p.ssh && (p.wsl || p.system == "windows") }, put: argv("clip.exe"), encode: encodeUTF16},
}

// local returns a predicate that reports whether the command's system matches and the
// variable is set. Over ssh the command would reach a screen that the user does not see.
func local(system, variable string) func(*environment) bool {
	return func(p *environment) bool {
		return !p.ssh && p.system == system && (variable == "" || p.getenv(variable) != "")
	}
}

// encodeUTF16 encodes text for clip.exe, which interprets bytes outside of ASCII in the
// console's code page, unless they look like UTF-16.
func encodeUTF16(text string) []byte {
	if strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0 {
		return []byte(text)
	}
	units := utf16.Encode([]rune(text))
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

// Routes returns the names of the routes that Copy would try, in order. Within tmux it
// runs tmux to find out.
func (b *Board) Routes(ctx context.Context) (names []string) {
	place := b.environment(ctx)
	if place.supportsOSC52() {
		for _, w := range escapeRoutes {
			if w.here(&place) {
				names = append(names, w.name)
			}
		}
	}
	for i := range commands {
		row := &commands[i]
		if _, err := b.findCommand(row.put(false)[0]); err == nil && row.here(&place) {
			names = append(names, row.name)
		}
	}
	return names
}
