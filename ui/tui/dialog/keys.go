package dialog

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Keys holds the key bindings of dialogs. The help of a binding has its first key and the text of the
// help dialog.
type Keys struct {
	ListKeys
	ScrollKeys
	FieldKeys
	ModelKeys
	SessionKeys
	ApprovalKeys
	AnswerKeys
}

// ListKeys are the keys of all lists; Fill is only for commands.
type ListKeys struct{ Accept, Close, Fill key.Binding }

// ScrollKeys move through rows.
type ScrollKeys struct{ Up, Down, PageUp, PageDown, Top, Bottom key.Binding }

// FieldKeys edit a text field.
type FieldKeys struct{ Erase, EraseWord, Clear key.Binding }

// ModelKeys change the selected model, or which models are listed.
type ModelKeys struct{ Favorite, Hide, ShowHidden key.Binding }

// SessionKeys change the selected conversation, rule or branch. None of them may type or erase text.
type SessionKeys struct{ Fork, Rename, Pin, Trash, Undo key.Binding }

// ApprovalKeys answer an approval or change what is asked.
type ApprovalKeys struct {
	Once, Session, Always, Wider, Narrower, Edit, Network, Deny, Dismiss, Details key.Binding
}

// AnswerKeys answer a question and turn pages. More and Last are further keys for PageDown and Bottom
// where nothing is typed.
type AnswerKeys struct{ Yes, No, Next, Previous, More, Last key.Binding }

// bind returns a binding of keys. Hints name the first of them.
func bind(does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(keys[0], does))
}

// DefaultKeys returns the keys of a new dialog.
func DefaultKeys() Keys {
	return Keys{
		ListKeys{
			Accept: bind("choose", "enter"), Close: bind("close", "esc"),
			Fill: bind("complete the selected command", "tab", "right"),
		},
		ScrollKeys{
			Up: bind("up", "up", "ctrl+p"), Down: bind("down", "down", "ctrl+n"),
			PageUp: bind("page up", "pgup"), PageDown: bind("page down", "pgdown"),
			Top: bind("first row", "home", "ctrl+home"), Bottom: bind("last row", "end", "ctrl+end"),
		},
		FieldKeys{
			Erase:     bind("delete a character of the filter", "backspace", "ctrl+h"),
			EraseWord: bind("delete a word", "ctrl+w", "alt+backspace"), Clear: bind("clear the filter", "ctrl+u"),
		},
		ModelKeys{
			Favorite: bind("favorite on/off", "ctrl+t"), Hide: bind("hide/unhide", "delete", "alt+d"),
			ShowHidden: bind("show/hide hidden", "ctrl+o"),
		},
		SessionKeys{
			Fork: bind("open a copy", "ctrl+f"), Rename: bind("rename", "ctrl+e"), Pin: bind("pin/unpin", "ctrl+t"),
			Trash: bind("delete", "delete", "alt+d"), Undo: bind("restore what was deleted", "ctrl+_", "ctrl+/", "ctrl+shift+-", "ctrl+-"),
		},
		ApprovalKeys{
			Once: bind("allow once", "y"), Session: bind("allow this session", "a"), Always: bind("always allow (permission rule)", "p"),
			Wider: bind("wider rule", "left", "-"), Narrower: bind("narrower rule", "right", "+"),
			Edit: bind("edit the arguments", "e"), Network: bind("allow with network", "w"),
			Deny: bind("deny, with a reason for the model", "n"), Dismiss: bind("deny", "esc"), Details: bind("details", "ctrl+o"),
		},
		AnswerKeys{
			Yes: bind("yes", "y"), No: bind("no", "n"), Next: bind("next answer or page", "tab", "right"),
			Previous: bind("previous", "shift+tab", "left"), More: bind("page down", "space"), Last: bind("last row", "G"),
		},
	}
}

// HelpSections lists the keys of dialogs, from their bindings.
func (k Keys) HelpSections() []Section {
	return []Section{
		section("Lists", k.Accept, k.Close, k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom, k.Erase, k.EraseWord, k.Clear, k.Fill),
		section("Model list", k.Favorite, k.Hide, k.ShowHidden),
		section("Conversations, rules and branches", k.Fork, k.Rename, k.Pin, k.Trash, k.Undo),
		section("Approvals", k.Once, k.Session, k.Always, k.Wider, k.Narrower, k.Edit, k.Network, k.Deny, k.Dismiss, k.Details),
		section("Questions and pages", k.Yes, k.No, k.Next, k.Previous, k.More, k.Last),
	}
}

// section lists bindings with all of their keys.
func section(title string, bindings ...key.Binding) Section {
	s := Section{Title: title}
	for _, b := range bindings {
		s.Rows = append(s.Rows, [2]string{strings.Join(b.Keys(), ", "), b.Help().Desc})
	}
	return s
}

// reading returns the scroll keys of dialogs where nothing is typed.
func (k Keys) reading() ScrollKeys {
	s := k.ScrollKeys
	s.PageDown.SetKeys(slices.Concat(k.PageDown.Keys(), k.More.Keys())...)
	s.Bottom.SetKeys(slices.Concat(k.Bottom.Keys(), k.Last.Keys())...)
	return s
}

// hint returns b with the help text for the foot of a dialog.
func hint(b key.Binding, does string) key.Binding {
	b.SetHelp(b.Help().Key, does)
	return b
}

// hintText returns a hint for keys that have no binding in Keys.
func hintText(keys, does string) key.Binding { return bind(does, keys) }

// hints joins bindings without styles: keyHint styles the row and keeps its width, where a width of
// the model would show an ellipsis.
var hints = help.Model{ShortSeparator: " · "}

// keyHint returns a line of hints. It leaves out those that do not fit, but keeps the one for esc as
// long as there is room for any.
func (b *base) keyHint(style lipgloss.Style, bindings ...key.Binding) string {
	width := func(one key.Binding) int {
		return ansi.StringWidth(hints.ShortHelpView([]key.Binding{one})) + ansi.StringWidth(hints.ShortSeparator)
	}
	room := b.width + ansi.StringWidth(hints.ShortSeparator)
	esc := slices.IndexFunc(bindings, func(one key.Binding) bool { return one.Enabled() && slices.Contains(one.Keys(), "esc") })
	if esc >= 0 {
		if room -= width(bindings[esc]); room < 0 {
			return style.Render(ansi.Truncate(hints.ShortHelpView(bindings[esc:esc+1]), b.width, ""))
		}
	}
	var kept []key.Binding
	for i, one := range bindings {
		switch w := width(one); {
		case i == esc:
			kept = append(kept, one)
		case one.Enabled() && w <= room:
			kept, room = append(kept, one), room-w
		}
	}
	if len(kept) == 0 {
		return style.Render(ansi.Truncate(hints.ShortHelpView(bindings[:min(1, len(bindings))]), b.width, ""))
	}
	return style.Render(hints.ShortHelpView(kept))
}
