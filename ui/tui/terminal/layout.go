package terminal

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Resolve returns key with the name under which it is bound, on any keyboard layout: as typed, else
// with the shifted key instead of shift, else as the key at the same position of the US layout. For
// typing, only the first applies: Resolve tries the others for keys with ctrl or alt, and for any
// key if sequence is set. An unbound key keeps the typed name.
func Resolve(key tea.KeyPressMsg, sequence bool, bound func(name string) bool) tea.KeyPressMsg {
	typed := key
	typed.BaseCode = 0
	if bound(typed.String()) || !sequence && key.Mod&(tea.ModCtrl|tea.ModAlt) == 0 {
		return typed
	}
	shifted := key.ShiftedCode
	if shifted == key.BaseCode {
		shifted = 0 // Ultraviolet gives both fields the same key if the terminal reports one
	}
	without := key.Mod &^ tea.ModShift
	for i, other := range [...]tea.KeyPressMsg{
		{Code: cmp.Or(shifted, withShift(key.Code)), Mod: without},
		{Code: key.BaseCode, Mod: key.Mod},
		{Code: withShift(key.BaseCode), Mod: without},
	} {
		if other.Code != 0 && (i == 1 || without != key.Mod) && bound(other.String()) {
			return other
		}
	}
	return typed
}

// withShift returns the shifted character of a key of the US layout, or r if it is a shifted
// character already; 0 for letters and keys of other layouts.
func withShift(r rune) rune {
	const plain, shifted = "`1234567890-=[]\\;',./", `~!@#$%^&*()_+{}|:"<>?`
	if i := strings.IndexRune(plain, r); i >= 0 {
		return rune(shifted[i])
	}
	if strings.ContainsRune(shifted, r) {
		return r
	}
	return 0
}

// IsModifier reports whether a key, such as shift, only modifies others.
func IsModifier(code rune) bool {
	return tea.KeyLeftShift <= code && code <= tea.KeyIsoLevel5Shift || tea.KeyCapsLock <= code && code <= tea.KeyNumLock
}
