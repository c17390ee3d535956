package terminal

import (
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"parley/ui/tty"
	"parley/ui/uitest"
)

// pressed returns Bubble Tea's key for input from a terminal.
func pressed(t *testing.T, sent string) (key tea.KeyPressMsg) {
	t.Helper()
	events := make(chan uv.Event)
	go func() {
		defer close(events)
		in := tty.NewReader(&uitest.Line{Pieces: []any{sent}})
		if err := uv.NewTerminalReader(in, "xterm-kitty").StreamEvents(context.Background(), events); err != nil {
			t.Error(err)
		}
	}()
	for event := range events {
		key = tea.KeyPressMsg(event.(uv.KeyPressEvent))
	}
	return key
}

// TestResolve: the typed key counts first, then the shifted key, then the position on the US layout.
func TestResolve(t *testing.T) {
	bound := map[string]bool{
		"ctrl+c": true, "ctrl+d": true, "ctrl+x": true, "ctrl+a": true, "ctrl+w": true, "ctrl+q": true, "ctrl+z": true, "ctrl+shift+-": true,
		"alt+<": true, "alt+>": true, "alt+,": true, "alt+.": true, "alt+p": true, "m": true, "?": true, ".": true, "shift+tab": true, "alt+/": true,
	}
	for _, c := range []struct {
		name, sent string
		sequence   bool // after ctrl+x
		want       string
	}{
		{"Cyrillic ctrl+c", "\x1b[1089::99;5u", false, "ctrl+c"},
		{"Cyrillic ctrl+d", "\x1b[1074::100;5u", false, "ctrl+d"},
		{"Cyrillic ctrl+x", "\x1b[1095::120;5u", false, "ctrl+x"},
		{"Cyrillic ctrl+a, num lock", "\x1b[1092::97;133u", false, "ctrl+a"},
		{"Cyrillic alt+p", "\x1b[1079::112;3u", false, "alt+p"},
		{"Cyrillic alt+<", "\x1b[1073:1041:44;4u", false, "alt+<"},
		{"Cyrillic ctrl+shift+c is no ctrl+c", "\x1b[1089:1057:99;6u", false, "ctrl+shift+с"},
		{"Greek ctrl+c", "\x1b[968::99;5u", false, "ctrl+c"},
		{"Greek alt+p", "\x1b[960::112;3u", false, "alt+p"},
		{"Hebrew ctrl+d", "\x1b[1490::100;5u", false, "ctrl+d"},
		{"Hebrew ctrl+w", "\x1b[39::119;5u", false, "ctrl+w"},
		{"Hebrew ctrl+a", "\x1b[1513::97;5u", false, "ctrl+a"},
		{"without alternate keys", "\x1b[1089;5u", false, "ctrl+с"},
		{"French ctrl+a", "\x1b[97::113;5u", false, "ctrl+a"},
		{"French alt+.", "\x1b[59:46:44;4u", false, "alt+."},
		{"US alt+<", "\x1b[44:60;4u", false, "alt+<"},
		{"US alt+>", "\x1b[46:62;4u", false, "alt+>"},
		{"alt+< without alternate keys", "\x1b[44;4u", false, "alt+<"},
		{"xterm's alt+<", "\x1b[27;4;60~", false, "alt+<"},
		{"alt+, has no shift", "\x1b[44;3u", false, "alt+,"},
		{"legacy alt+<", "\x1b<", false, "alt+<"},
		{"what is bound with shift", "\x1b[45:95;6u", false, "ctrl+shift+-"},
		{"shift+tab", "\x1b[9;2u", false, "shift+tab"},
		{"text is text", "ь", false, "ь"},
		{"reported text is text", "\x1b[1100::109u", false, "ь"},
		{"reported capitals as well", "\x1b[1100:1068:109;2u", false, "Ь"},
		{"Cyrillic m after ctrl+x", "\x1b[1100::109u", true, "m"},
		{"Greek m after ctrl+x", "\x1b[956::109u", true, "m"},
		{"Hebrew m after ctrl+x", "\x1b[1510::109u", true, "m"},
		{"US ? after ctrl+x", "\x1b[47:63;2u", true, "?"},
		{"German ? after ctrl+x", "\x1b[223:63:45;2u", true, "?"},
		{"a Hebrew ? after ctrl+x", "?", true, "?"},
		{"Hebrew . after ctrl+x", "\x1b[1509::46u", true, "."},
	} {
		t.Run(c.name, func(t *testing.T) {
			uitest.Cut(t, c.sent)
			got := Resolve(pressed(t, c.sent), c.sequence, func(name string) bool { return bound[name] })
			if got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
