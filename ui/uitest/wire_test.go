package uitest

import "testing"

// Each attack is told, so that a screen on which none is found let none through.
func TestForeign(t *testing.T) {
	for _, attack := range attacks {
		switch attack {
		case "\r", "\v": // CR is the renderer's as well
			continue
		}
		if attack[0] == 'a' && attack[1] == '\b' || attack[0] == 'e' { // as BS; marks are capped, not forbidden
			continue
		}
		if len(Foreign("text "+attack+" text")) == 0 {
			t.Errorf("%q passes", attack)
		}
	}
	const screen = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J\x1b[38;2;228;228;228mtext\x1b[m\r\n\x1b[12;40H\x1b[K👨‍👩‍👧 ❤️\x1b]11;?\a\x1b[?2026$p\x1b]2;parley\a"
	if found := Foreign(screen); len(found) > 0 {
		t.Errorf("our own: %q", found)
	}
}

func TestHostile(t *testing.T) {
	seen := map[string]bool{}
	for _, text := range Hostile(400) {
		if seen[text] {
			t.Errorf("twice: %q", text)
		}
		seen[text] = true
	}
}
