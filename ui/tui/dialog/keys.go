package dialog

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// A keyName names an action of dialog keys. Hints show its first key.
type keyName int

const (
	keyAccept keyName = iota // in lists
	keyClose
	keyUp
	keyDown
	keyPageUp
	keyPageDown
	keyTop
	keyBottom
	keyErase
	keyEraseWord
	keyClear
	keyFill // in lists of commands

	keyFavorite // in the list of models
	keyHide
	keyShowHidden

	keyFork // in lists of conversations, rules and branches; these keys must not type or erase text
	keyRename
	keyPin
	keyTrash
	keyUndo

	keyOnce // in approvals
	keySession
	keyAllEdits
	keyAlways
	keyWider
	keyNarrower
	keyEdit
	keyNetwork
	keyDeny
	keyDismiss
	keyDetails

	keyYes // in questions and pages
	keyNo
	keyNext
	keyPrevious
	keyMore // scrolls as keyPageDown does in dialogs without text input
	keyLast // scrolls as keyBottom does
)

// bindings holds the keys of each action and its text in the help.
var bindings = [...]struct {
	does string
	keys []string
}{
	keyAccept:    {"choose", []string{"enter"}},
	keyClose:     {"close", []string{"esc"}},
	keyUp:        {"up", []string{"up", "ctrl+p"}},
	keyDown:      {"down", []string{"down", "ctrl+n"}},
	keyPageUp:    {"page up", []string{"pgup"}},
	keyPageDown:  {"page down", []string{"pgdown"}},
	keyTop:       {"first row", []string{"home", "ctrl+home"}},
	keyBottom:    {"last row", []string{"end", "ctrl+end"}},
	keyErase:     {"delete a character of the filter", []string{"backspace", "ctrl+h"}},
	keyEraseWord: {"delete a word", []string{"ctrl+w", "alt+backspace"}},
	keyClear:     {"clear the filter", []string{"ctrl+u"}},
	keyFill:      {"complete the selected command", []string{"tab", "right"}},

	keyFavorite:   {"favorite on/off", []string{"ctrl+t"}},
	keyHide:       {"hide/unhide", []string{"delete", "alt+d"}},
	keyShowHidden: {"show/hide hidden", []string{"ctrl+o"}},

	keyFork:   {"open a copy", []string{"ctrl+f"}},
	keyRename: {"rename", []string{"ctrl+e"}},
	keyPin:    {"pin/unpin", []string{"ctrl+t"}},
	keyTrash:  {"delete", []string{"delete", "alt+d"}},
	keyUndo:   {"restore what was deleted", []string{"ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-"}},

	keyOnce:     {"allow once", []string{"y"}},
	keySession:  {"allow this session", []string{"a"}},
	keyAllEdits: {"allow all edits in this folder", []string{"shift+tab"}},
	keyAlways:   {"always allow (permission rule)", []string{"p"}},
	keyWider:    {"wider rule", []string{"left", "-"}},
	keyNarrower: {"narrower rule", []string{"right", "+"}},
	keyEdit:     {"edit the arguments", []string{"e"}},
	keyNetwork:  {"allow with network", []string{"w"}},
	keyDeny:     {"deny, with a reason for the model", []string{"n"}},
	keyDismiss:  {"deny", []string{"esc"}},
	keyDetails:  {"details", []string{"ctrl+o"}},

	keyYes:      {"yes", []string{"y"}},
	keyNo:       {"no", []string{"n"}},
	keyNext:     {"next answer or page", []string{"tab", "right"}},
	keyPrevious: {"previous", []string{"shift+tab", "left"}},
	keyMore:     {"page down", []string{"space"}},
	keyLast:     {"last row", []string{"G"}},
}

// HelpSections lists the keys of dialogs.
func HelpSections() []Section {
	all := []Section{{Title: "Lists"}, {Title: "Model list"}, {Title: "Conversations, rules and branches"}, {Title: "Approvals"}, {Title: "Questions and pages"}}
	first := []keyName{keyFavorite, keyFork, keyOnce, keyYes} // first action of each section but the first section
	at := 0
	for n, b := range bindings {
		if slices.Contains(first, keyName(n)) {
			at++
		}
		all[at].Rows = append(all[at].Rows, [2]string{strings.Join(b.keys, ", "), b.does})
	}
	return all
}

// ShowHiddenKeys returns the keys that show the hidden rows of a Picker.
func ShowHiddenKeys() string { return strings.Join(bindings[keyShowHidden].keys, ", ") }

// String returns the key shown in hints.
func (n keyName) String() string { return bindings[n].keys[0] }

// pressed reports whether press is a key of one of names.
func pressed(press tea.KeyPressMsg, names ...keyName) bool {
	name := press.String()
	return slices.ContainsFunc(names, func(n keyName) bool { return slices.Contains(bindings[n].keys, name) })
}

// A scrollMode selects scroll keys besides those that always scroll.
type scrollMode struct {
	reading  bool // the dialog has no text input, so letters scroll too
	covering bool // ctrl+p and ctrl+n do not scroll: the palette and others open over the dialog
}

// moveOf returns the scroll action of a key, keyUp to keyBottom, or -1 for none.
func moveOf(press tea.KeyPressMsg, mode scrollMode) keyName {
	for n := keyUp; n <= keyBottom; n++ {
		if pressed(press, n) && !(mode.covering && strings.HasPrefix(press.String(), "ctrl+") && n <= keyDown) {
			return n
		}
	}
	switch {
	case mode.reading && pressed(press, keyMore):
		return keyPageDown
	case mode.reading && pressed(press, keyLast):
		return keyBottom
	}
	return -1
}

// A hint names the action of a key in the last line of a dialog.
type hint struct{ key, does string }

// hint returns a hint for the action does.
func (n keyName) hint(does string) hint { return keyHint(n.String(), does) }

// keyHint returns a hint for the action does, with the short name of a key.
func keyHint(key, does string) hint {
	short := map[string]string{"delete": "del", "down": "↓"}
	return hint{cmp.Or(short[key], key), does}
}

// scrollHint returns a hint for the arrow keys.
func scrollHint(does string) hint { return hint{"↑ ↓", does} }

const hintSeparator = " · "

// joinHints returns the hints as one line.
func joinHints(hints ...hint) string {
	parts := make([]string, len(hints))
	for i, h := range hints {
		parts[i] = h.key + " " + h.does
	}
	return strings.Join(parts, hintSeparator)
}

// keyHints returns a line of hints for keys that work.
func (b *base) keyHints(hints ...hint) string { return b.keyHint(b.theme.Dim, hints...) }

// keyHint returns a line of hints. It omits hints that do not fit, but keeps the hint for esc as
// long as any fits. Keys that work are bold.
func (b *base) keyHint(style lipgloss.Style, hints ...hint) string {
	const gap = 3
	width := func(one hint) int { return ansi.StringWidth(joinHints(one)) + gap }
	room := b.footWidth() + gap
	esc := slices.IndexFunc(hints, func(one hint) bool { return one.key == keyClose.String() })
	if esc >= 0 {
		if room -= width(hints[esc]); room < 0 {
			return style.Render(ansi.Truncate(joinHints(hints[esc]), b.footWidth(), ""))
		}
	}
	strong := style
	if style.GetForeground() == b.theme.Dim.GetForeground() {
		strong = b.theme.Strong
	}
	var kept []string
	for i, one := range hints {
		if w := width(one); i == esc || w <= room {
			kept = append(kept, strings.TrimRight(strong.Render(one.key)+" "+style.Render(one.does), " "))
			if i != esc {
				room -= w
			}
		}
	}
	if len(kept) == 0 {
		return style.Render(ansi.Truncate(joinHints(hints[:min(1, len(hints))]...), b.footWidth(), ""))
	}
	return strings.Join(kept, strings.Repeat(" ", gap))
}
