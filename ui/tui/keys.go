package tui

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/ui/app"
	"parley/ui/tui/composer"
	"parley/ui/tui/terminal"
)

// Keys is the [keys] section of the configuration. It maps the name of an action,
// which is also its /command, to the keys that run it instead of the default
// ones. An empty list leaves the action to the palette.
type Keys map[string]Chords

// Chords holds the keys of one action, such as "ctrl+x m" or "f2".
type Chords []string

// UnmarshalTOML accepts one key or a list of keys.
func (c *Chords) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		*c = Chords{v}
		return nil
	case []any:
		*c = Chords{}
		for _, one := range v {
			key, ok := one.(string)
			if !ok {
				return fmt.Errorf("%v is not a key: write a string such as \"ctrl+x m\"", one)
			}
			*c = append(*c, key)
		}
		return nil
	}
	return fmt.Errorf("%v is not a key: write a string such as \"ctrl+x m\", or a list of them", v)
}

// A KeyConflict reports that two actions use the same key. Default reports that
// one of them has it by default.
type KeyConflict struct {
	Key, First, Second string // names of actions; First has its default keys if Default
	Default            bool
}

func (c *KeyConflict) Error() string {
	if c.Default {
		return fmt.Sprintf("keys.%s = %q: this key runs %q: give that one another key, or none with %s = []", c.Second, c.Key, c.First, c.First)
	}
	return fmt.Sprintf("keys.%s = %q: keys.%s has the same key", c.Second, c.Key, c.First)
}

// Keys returns the configuration keys in conflict.
func (c *KeyConflict) Keys() (here, there string) {
	if c.Default {
		return "keys." + c.Second, ""
	}
	return "keys." + c.Second, "keys." + c.First
}

// isKey reports whether text is a key in configuration syntax.
func isKey(text string) bool {
	for _, modifier := range []string{"ctrl+", "alt+", "shift+", "super+", "meta+"} {
		if key, ok := strings.CutPrefix(text, modifier); ok {
			return isKey(key)
		}
	}
	if r, n := utf8.DecodeRuneInString(text); n > 0 && n == len(text) {
		return r > ' ' && r != 0x7f
	}
	if number, ok := strings.CutPrefix(text, "f"); ok {
		n, err := strconv.Atoi(number)
		return err == nil && 1 <= n && n <= 99 && number == strconv.Itoa(n)
	}
	return slices.Contains([]string{"enter", "esc", "tab", "space", "backspace", "delete", "insert", "up", "down", "left", "right", "home", "end", "pgup", "pgdown"}, text)
}

// sameKey returns the name of the key that terminals send for key, if it is another key or the
// composer needs it; "" for any other key.
func sameKey(key string) string {
	switch key {
	case "enter", "ctrl+m":
		return "enter"
	case "ctrl+i":
		return "tab"
	case "ctrl+h":
		return "backspace"
	case "ctrl+[":
		return "esc"
	case "ctrl+j":
		return "a new line"
	case "space":
		return "a space"
	case "backspace", "delete", "left", "right":
		return key
	}
	return ""
}

// Validate returns an error for the first invalid or conflicting key.
func (k Keys) Validate(shared []app.Command) error {
	_, err := k.apply(actions(shared))
	return err
}

// renamed returns k with the keys for an alias of a, such as its former name, under its name.
func (k Keys) renamed(a action) Keys {
	for _, alias := range a.Aliases {
		if keys, ok := k[alias]; ok && k[a.Name] == nil {
			k = maps.Clone(k)
			delete(k, alias)
			k[a.Name] = keys
		}
	}
	return k
}

// apply replaces keys of actions with those of the configuration.
func (k Keys) apply(list []action) ([]action, error) {
	index := map[string]int{}
	for i := range list {
		index[list[i].Name] = i
		k = k.renamed(list[i])
	}
	names := slices.Sorted(maps.Keys(k))
	for _, name := range names {
		i, ok := index[name]
		if !ok {
			return nil, fmt.Errorf("keys.%s: no such action: parley help chat lists the commands", name)
		}
		for _, key := range k[name] {
			parts := strings.Split(key, " ")
			if len(parts) > 2 || slices.ContainsFunc(parts, func(p string) bool { return !isKey(p) }) {
				return nil, fmt.Errorf("keys.%s = %q: a key is written like \"f2\" or \"ctrl+alt+k\", and two in a row like \"ctrl+x m\"", name, key)
			}
			if same := sameKey(parts[0]); same != "" && list[i].when == nil {
				return nil, fmt.Errorf("keys.%s = %q: terminals send the same for %s, which typing needs", name, key, same)
			}
			if len(parts[0]) == 1 && len(parts) == 1 && list[i].when == nil {
				return nil, fmt.Errorf("keys.%s = %q: this key is needed for typing: add ctrl+ or alt+, or use two keys such as \"ctrl+x %s\"", name, key, key)
			}
		}
		list[i].Keys = k[name]
	}
	owner := map[string]string{}
	for _, own := range []bool{false, true} { // default keys first, so that First has them
		for _, a := range list {
			if _, set := k[a.Name]; set != own {
				continue
			}
			for _, key := range a.Keys {
				taken := func(other string) (string, bool) {
					name, ok := owner[other]
					return name, ok && name != a.Name
				}
				first, clash := taken(key)
				if lead, _, two := strings.Cut(key, " "); two && !clash && lead != "esc" {
					first, clash = taken(lead) // the second key would never be reached
				}
				if clash {
					return nil, k.conflict(key, first, a.Name)
				}
				owner[key] = a.Name
			}
		}
	}
	for key, name := range owner {
		lead, _, two := strings.Cut(key, " ")
		if other, clash := owner[lead]; two && clash && lead != "esc" {
			return nil, k.conflict(key, other, name)
		}
	}
	return list, nil
}

// conflict returns a KeyConflict whose Second is set by the configuration.
func (k Keys) conflict(key, a, b string) *KeyConflict {
	_, first := k[a]
	_, second := k[b]
	if !second {
		a, b = b, a
	}
	return &KeyConflict{Key: key, First: a, Second: b, Default: !first || !second}
}

// ShowKeys shows the bytes that the terminal sends for each pressed key, and the key's action.
func ShowKeys(in, out *os.File, keys Keys, shared []app.Command, getenv func(string) string) error {
	return terminal.ShowKeys(in, out, functions(keys, shared), getenv)
}

// functions maps each key to its help text on the screen.
func functions(keys Keys, shared []app.Command) map[string]string {
	list := actions(shared)
	if own, err := keys.apply(actions(shared)); err == nil {
		list = own
	}
	does := composer.Keys()
	for _, a := range list {
		for _, key := range a.Keys {
			lead, _, two := strings.Cut(key, " ")
			if two && does[lead] == "" {
				does[lead] = "begins a sequence"
			} else if !two {
				does[key] = strings.TrimPrefix(does[key]+"; "+a.Help, "; ")
			}
		}
	}
	return does
}

// ListBindings lists the keys of every action, for users who want to change them.
func ListBindings(keys Keys, shared []app.Command) ([][2]string, error) {
	list, err := keys.apply(actions(shared))
	if err != nil {
		return nil, err
	}
	var rows [][2]string
	for _, a := range list {
		rows = append(rows, [2]string{a.Name, strings.Join(a.Keys, ", ")})
	}
	return rows, nil
}
