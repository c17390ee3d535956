package tui

import (
	"slices"
	"strings"
	"time"

	"parley/ui/app"
)

// A keymap says which keys and names run which actions.
type keymap struct {
	actions   []action
	keys      map[string]*action
	leaders   map[string]bool // keys that begin a sequence
	leader    string          // one that was pressed
	lastEsc   time.Time
	quitAsked time.Time // by ctrl+c
}

// newKeymap returns the actions with the keys of the configuration, which was
// validated. Escapes are counted by themselves and begin no sequence.
func newKeymap(own Keys) keymap {
	k := keymap{actions: actions(), keys: map[string]*action{}, leaders: map[string]bool{}}
	if changed, err := own.apply(actions()); err == nil {
		k.actions = changed
	}
	for i := range k.actions {
		for _, key := range k.actions[i].Keys {
			k.keys[key] = &k.actions[i]
			if first, _, two := strings.Cut(key, " "); two && first != "esc" {
				k.leaders[first] = true
			}
		}
	}
	return k
}

// keyOf returns the key that runs an action, or its command if it has none.
func (k *keymap) keyOf(name string) string {
	for _, a := range k.actions {
		if a.Name == name && len(a.Keys) > 0 {
			return a.Keys[0]
		}
	}
	return "/" + name
}

// find returns the action that "/name argument" means: by a name, or, where nothing
// follows, by the beginning of the names of one action alone; nil if there is none.
// "/the file" is no /theme.
func (k *keymap) find(text string) (a *action, arg string) {
	name, arg, ok := app.ParseCommand(text)
	if !ok {
		return nil, ""
	}
	at, _ := app.FindCommand(name, k.names())
	if at < 0 || arg != "" && !k.actions[at].Named(name) {
		return nil, ""
	}
	return &k.actions[at], arg
}

// names returns the names of each action, its own first.
func (k *keymap) names() [][]string {
	names := make([][]string, len(k.actions))
	for i, a := range k.actions {
		names[i] = a.Names()
	}
	return names
}

// mistyped says that there is no command like text, if it can hardly be anything
// else: one word, or the name of a command with a slip in it. Any other text that
// begins with a slash is a message.
func (k *keymap) mistyped(text string) string {
	name, arg, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	if !strings.HasPrefix(text, "/") || name == "" || strings.ContainsAny(name, "/\n\t") {
		return ""
	}
	const shortest = 4 // letters of a name in front of more words that is taken for a slip: "/etc is" is none
	near, alone := k.near(name), strings.TrimSpace(arg) == ""
	switch {
	case len(near) > 0 && (alone || len(name) >= shortest):
		return "Unknown command /" + name + ". Did you mean /" + strings.Join(near, " or /") + "? (Start with a space to send it as text)"
	case alone:
		return "Unknown command /" + name + ". " + k.keyOf("palette") + " lists them. (Start with a space to send it as text)"
	}
	return ""
}

// near returns the commands that a name may have meant: those that begin with it, or
// else two that look most like it.
func (k *keymap) near(name string) (near []string) {
	names := k.names()
	_, among := app.FindCommand(name, names)
	const few = 4
	for _, i := range among[:min(len(among), few)] {
		near = append(near, names[i][0])
	}
	if len(near) > 0 {
		return near
	}
	return app.NearestNames(name, slices.Concat(names...), 2)
}
