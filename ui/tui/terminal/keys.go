package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/term"

	"parley/tools/sanitize"
	"parley/ui/clip"
	"parley/ui/tty"
)

// Sequences that turn Kitty's keyboard protocol with alternate keys on and off, and a query
// for it. The query ends with primary device attributes, which every terminal answers, so
// that the wait ends.
const (
	pushKeyboard = "\x1b[>5u"
	popKeyboard  = "\x1b[<u"
	askKeyboard  = "\x1b[?u\x1b[c"
)

// ShowKeys prints what the terminal sends for each pressed key: the bytes, the key
// as parley decodes it, and its action in does. Ctrl+d, or ctrl+c twice, ends it.
func ShowKeys(in, out *os.File, does map[string]string, getenv func(string) string) error {
	if !term.IsTerminal(in.Fd()) || !term.IsTerminal(out.Fd()) {
		return errors.New("standard input and output must be a terminal: parley keys --list needs none")
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	defer term.Restore(in.Fd(), state)
	defer io.WriteString(out, popKeyboard)
	k := &keyTable{out: out, does: does}
	for _, line := range environment(getenv) {
		k.line(line)
	}
	io.WriteString(out, askKeyboard+pushKeyboard)
	input, err := tty.NewInput(in)
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	for keys := tty.NewReader(input); ; {
		sent, key, err := keys.Next(4096)
		if err != nil || k.decode(sent, key) {
			return nil // the terminal is gone, or the last key was pressed
		}
	}
}

// environment returns the facts in the environment that affect keys and copying.
func environment(getenv func(string) string) []string {
	through := "none"
	switch {
	case getenv("TMUX") != "":
		through = "tmux: shift+enter and other new keys need \"set -s extended-keys on\""
	case getenv("STY") != "":
		through = "screen: passes legacy keys only"
	case getenv("ZELLIJ") != "":
		through = "zellij"
	}
	where := "this machine"
	if getenv("SSH_TTY") != "" || getenv("SSH_CONNECTION") != "" {
		where = "ssh: images cannot be pasted"
	}
	lines := []string{
		"terminal:    " + strings.TrimSpace(getenv("TERM")+" "+getenv("TERM_PROGRAM")),
		"multiplexer: " + through,
		"shell on:    " + where,
		"new line:    ctrl+j and \\ before enter work everywhere; press alt+enter and shift+enter to test them",
		"copying:     tries these in order, until one is confirmed",
	}
	for i, route := range clip.New(getenv, "", "", nil).Report(context.Background()) {
		lines = append(lines, fmt.Sprintf("%13d. %s", i+1, route))
	}
	return append(lines, "", "Press keys; ctrl+d exits.")
}

// keyTable writes a line for each key.
type keyTable struct {
	out    io.Writer
	does   map[string]string
	dec    uv.EventDecoder
	ending string // ctrl+c was pressed
}

func (k *keyTable) line(text string) { io.WriteString(k.out, sanitize.Line(text)+"\r\n") }

// decode writes a line for each key in sent, and reports whether one of them was the last.
func (k *keyTable) decode(sent, key []byte) (done bool) {
	for len(key) > 0 {
		n, event := k.dec.Decode(key)
		n = max(n, 1)
		raw := key[:n]
		if raw[0] == '\x1b' {
			raw = sent
		}
		key = key[n:]
		name := k.name(event)
		if name == "" {
			continue
		}
		k.line(fmt.Sprintf("%-28s %-18s %s", fmt.Sprintf("%q", raw), name, k.does[name]))
		if name == "ctrl+d" || name == "ctrl+c" && k.ending == "ctrl+c" {
			return true
		}
		k.ending = name
	}
	return false
}

// name returns parley's name for an event; "" for one that is not shown.
func (k *keyTable) name(event uv.Event) string {
	switch e := event.(type) {
	case uv.KeyPressEvent:
		return Resolve(tea.KeyPressMsg(e), false, func(name string) bool { return k.does[name] != "" }).String()
	case uv.KeyboardEnhancementsEvent:
		return "(the terminal has the kitty keyboard protocol: shift+enter starts a new line)"
	case uv.PrimaryDeviceAttributesEvent:
		return "(the terminal answers queries)"
	case uv.PasteStartEvent, uv.PasteEndEvent, uv.PasteEvent:
		return "(paste)"
	case uv.MultiEvent:
		var names []string
		for _, one := range e {
			if n := k.name(one); n != "" {
				names = append(names, n)
			}
		}
		return strings.Join(names, " ")
	case nil, uv.KeyReleaseEvent:
		return ""
	}
	return fmt.Sprintf("(%T)", event)
}
