package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llmtest"
	"parley/ui/app/flows"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys Keys
		want string // expected in the error; "" for no error
	}{
		{"none", nil, ""},
		{"another key", Keys{"model": {"ctrl+x x"}}, ""},
		{"several", Keys{"model": {"f5", "alt+m"}}, ""},
		{"a former name", Keys{"config": {"f5"}}, ""},
		{"no key at all", Keys{"model": {}}, ""},
		{"unknown action", Keys{"modle": {"f5"}}, "keys.modle: no such action: parley help chat lists the commands"},
		{"no key", Keys{"model": {"ctrl-m"}}, `keys.model = "ctrl-m": a key is written like`},
		{"three keys", Keys{"model": {"ctrl+x a b"}}, "two in a row"},
		{"a letter would be missing", Keys{"model": {"m"}}, "needed for typing"},
		{"the usual key of another", Keys{"model": {"f2"}}, `this key runs "next-model"`},
		{"it was freed", Keys{"model": {"f2"}, "next-model": {"f3"}}, ""},
		{"twice the same", Keys{"model": {"f5"}, "new": {"f5"}}, "has the same key"},
		{"what enter sends too", Keys{"model": {"ctrl+m"}}, "terminals send the same for enter"},
		{"the leader itself", Keys{"model": {"ctrl+x"}}, `"ctrl+x`},
		{"a leader of one's own", Keys{"model": {"ctrl+o m"}, "config": {"ctrl+o s"}, "fold-output": {"alt+o"}}, ""},
		{"a leader that does something", Keys{"model": {"ctrl+o m"}}, `this key runs "fold-output"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.keys.Validate(flows.Commands())
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
			var c *KeyConflict
			if errors.As(err, &c) && c.First == c.Second {
				t.Errorf("%q conflicts with itself", c.First)
			}
		})
	}
}

func TestOwnKeys(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) { o.Keys = Keys{"model": {"ctrl+o m"}, "fold-output": {"alt+o"}, "help": {}} }, llmtest.Say("ok"))
	s.Press("ctrl+o").WaitForText("ctrl+o …")
	s.Press("m").WaitForText("fake/two")
	s.Press("esc")
	s.Press("ctrl+x", "m").WaitForText("No command on ctrl+x m")
	s.Type("?").WaitForText("Input & messages")
	for range 9 {
		s.Press("pgdown")
	}
}

// TestOtherLayouts: on a keyboard without Latin letters, sequences are keys in the same place, and
// the terminal reports that place.
func TestOtherLayouts(t *testing.T) {
	s := setUp(t, 80, 24)
	for layout, m := range map[string]rune{"Cyrillic": 'ь', "Greek": 'μ', "Hebrew": 'צ'} {
		s.Send(tea.KeyPressMsg{Code: 'ч', BaseCode: 'x', Mod: tea.ModCtrl})
		if k := s.View().KeyboardEnhancements; !k.ReportAlternateKeys || !k.ReportAllKeysAsEscapeCodes {
			t.Errorf("%s: after a leader, keys are asked for with %+v", layout, k)
		}
		s.Send(tea.KeyPressMsg{Code: tea.KeyLeftShift, Mod: tea.ModShift}) // does not count as the second key
		s.Send(tea.KeyPressMsg{Code: m, Text: string(m), BaseCode: 'm'}).WaitForText("Model")
		if k := s.View().KeyboardEnhancements; !k.ReportAlternateKeys || k.ReportAllKeysAsEscapeCodes {
			t.Errorf("%s: keys are asked for with %+v", layout, k)
		}
		s.Send(tea.KeyPressMsg{Code: 'с', BaseCode: 'c', Mod: tea.ModCtrl}).WaitForText("Ask anything")
		s.Type(string(m)).WaitForText(band + string(m))
		s.Send(tea.KeyPressMsg{Code: 'с', BaseCode: 'c', Mod: tea.ModCtrl}).WaitForText("Ask anything")
	}
	s.Type("bc")
	s.Send(tea.KeyPressMsg{Code: 'ф', BaseCode: 'a', Mod: tea.ModCtrl}).Type("a").WaitForText("abc")
	s.Send(tea.KeyPressMsg{Code: 'ю', ShiftedCode: '.', BaseCode: '.', Mod: tea.ModAlt | tea.ModShift}).Type("d").WaitForText("abcd")
}
