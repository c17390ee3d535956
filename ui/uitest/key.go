package uitest

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// modifiers by the names that Bubble Tea gives them.
var modifiers = map[string]tea.KeyMod{
	"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift,
	"meta": tea.ModMeta, "hyper": tea.ModHyper, "super": tea.ModSuper,
}

// special keys by the names that Bubble Tea gives them.
var special = map[string]rune{
	"enter": tea.KeyEnter, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "esc": tea.KeyEscape, "space": tea.KeySpace,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	"insert": tea.KeyInsert, "delete": tea.KeyDelete,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f6": tea.KeyF6,
	"f7": tea.KeyF7, "f8": tea.KeyF8, "f9": tea.KeyF9, "f10": tea.KeyF10, "f11": tea.KeyF11, "f12": tea.KeyF12,
}

// Key returns the press of the key that Bubble Tea calls name: its String is name
// again, whatever the order of the modifiers.
func Key(name string) (tea.KeyPressMsg, error) {
	var mod tea.KeyMod
	rest := name
	for {
		word, after, found := strings.Cut(rest, "+")
		if !found || word == "" || after == "" { // "+" itself is a key
			break
		}
		m, ok := modifiers[word]
		if !ok {
			return tea.KeyPressMsg{}, fmt.Errorf("key %q: no modifier %q", name, word)
		}
		mod |= m
		rest = after
	}
	if code, ok := special[rest]; ok {
		k := tea.KeyPressMsg{Code: code, Mod: mod}
		if code == tea.KeySpace && mod == 0 {
			k.Text = " "
		}
		return k, nil
	}
	if utf8.RuneCountInString(rest) != 1 {
		return tea.KeyPressMsg{}, fmt.Errorf("key %q: no key %q", name, rest)
	}
	k := typed(rest)
	k.Mod |= mod
	if mod&^tea.ModShift != 0 {
		k.Text = "" // only what prints has text
	}
	return k, nil
}

// typed returns the press of the key that writes char.
func typed(char string) tea.KeyPressMsg {
	if char == "\n" || char == "\r\n" {
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	r, size := utf8.DecodeRuneInString(char)
	if size < len(char) {
		return tea.KeyPressMsg{Code: tea.KeyExtended, Text: char}
	}
	if lower := unicode.ToLower(r); lower != r {
		return tea.KeyPressMsg{Code: lower, ShiftedCode: r, Mod: tea.ModShift, Text: char}
	}
	return tea.KeyPressMsg{Code: r, Text: char}
}
