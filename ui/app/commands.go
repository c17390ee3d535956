package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/session"
)

// A Command is something a user can do. One table of them serves keys, palette, plain lines, help and manual.
type Command struct {
	Name         string // typed after a slash
	Aliases      []string
	Keys         []string // keys that run it, such as "ctrl+x m"
	Group        Group
	Arg          string // name of its argument, in capitals; "" if it takes none
	Help         string
	Unavailable  func() string // returns why it cannot run now, "" if it can; nil: it always can
	Args         func() []Item // lists the possible arguments; nil if there is no such list
	Path         Path          // kind of path that its argument may be or end with; "" for none
	MultilineArg string        // first word of an argument that may have several lines; "" for none; "*" for any
	Editors      bool          // offered to editors over the Agent Client Protocol
	Run          func(arg string) Effect
}

// A Path is a kind of path in a command's argument; front ends complete it.
type Path string

const (
	PathFile             Path = "file"
	PathDirectory        Path = "folder"
	PathSiblingDirectory Path = "beside" // a directory; without a parent in the typed text, a sibling of the working directory
)

// A Group is a group of commands. The groups are in the order of the help.
type Group string

const (
	Messages      Group = "Input & messages"
	Conversations Group = "Conversations"
	ModelsGroup   Group = "Models"
	View          Group = "View"
	Program       Group = "App"
)

// Groups lists all groups in order.
var Groups = []Group{Messages, Conversations, ModelsGroup, View, Program}

// Named reports whether name is the name or an alias of c.
func (c *Command) Named(name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

// Names returns the name and the aliases of c.
func (c *Command) Names() []string { return append([]string{c.Name}, c.Aliases...) }

// Command returns the command with this name; if there is none, a command that does nothing.
func (a *App) Command(name string) *Command {
	for i := range a.Commands {
		if a.Commands[i].Name == name {
			return &a.Commands[i]
		}
	}
	return &Command{Run: func(string) Effect { return nil }}
}

// elsewhere maps commands of other programs to the line that does the same in parley, or to the way to do it.
var elsewhere = map[string]string{
	"agents":         "No agents here: /persona sets a system prompt, /compare asks several models",
	"feedback":       "parley sends no reports: /doctor shows what one needs",
	"import":         "parley sessions import, in a shell, reads conversations of other programs",
	"keymap":         "/settings keys",
	"logout":         "parley connect --remove PROVIDER, in a shell, removes a key",
	"plan":           "/mode plan",
	"review":         "/review-changes", // a prompt file of this name comes first
	"vim":            "/settings ui.vim",
	"version":        "parley --version, in a shell, prints the version",
	"terminal-setup": "ctrl+j starts a new line in every terminal, shift+enter where it is reported",
}

// Elsewhere returns what a command of other programs runs here, or the way to do the same; "" for any other name.
func Elsewhere(name string) string {
	hint := elsewhere[name]
	if strings.HasPrefix(hint, "/") {
		return "Runs " + hint
	}
	return hint
}

// parseCommand splits "/name argument"; ok is false if text has another form. A line break after the word that lines may
// follow counts as a space.
func parseCommand(text string, commands []Command) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	name, arg, _ = strings.Cut(rest, " ")
	if word := multilineArg(commands, name); word != "" {
		if lines, found := strings.CutPrefix(arg, word+"\n"); found {
			arg = word + " " + lines
		}
	}
	if !ok || strings.Contains(rest, "\n") && !takesLines(commands, name, arg) {
		return "", "", false
	}
	return name, strings.TrimSpace(arg), true
}

// AllowsMultiline reports whether text is a command whose argument may have several lines.
func AllowsMultiline(text string, commands []Command) bool {
	name, arg, ok := parseCommand(text, commands)
	return ok && takesLines(commands, name, arg)
}

// multilineArg returns the MultilineArg of a command.
func multilineArg(commands []Command, name string) string {
	for _, c := range commands {
		if c.Named(name) {
			return c.MultilineArg
		}
	}
	return ""
}

// takesLines reports whether the command accepts arg even if it has several lines.
func takesLines(commands []Command, name, arg string) bool {
	word, _, _ := strings.Cut(arg, " ")
	allowed := multilineArg(commands, name)
	return word != "" && (allowed == word || allowed == "*")
}

// usesKey is the store key for the counts of CommandUses.
const usesKey = "command_uses"

// CommandUses counts how often each command was run by name, over all runs.
type CommandUses struct {
	store  *session.Store
	counts map[string]int // nil until loaded
}

// Count counts one use of a command.
func (u *CommandUses) Count(name string) Effect {
	u.load()
	u.counts[name]++
	lines := make([]string, 0, len(u.counts))
	for _, name := range slices.Sorted(maps.Keys(u.counts)) {
		lines = append(lines, name+" "+strconv.Itoa(u.counts[name]))
	}
	store, all := u.store, strings.Join(lines, "\n")
	return Async(func(context.Context) Effect {
		_ = store.Set(usesKey, all) // the counts only affect the order of a list
		return nil
	})
}

// Frequent returns the commands run by name more than once, most used first.
func (u *CommandUses) Frequent() []string {
	u.load()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(u.counts)), func(name string) bool { return u.counts[name] < 2 })
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(u.counts[y], u.counts[x]) })
	return names
}

func (u *CommandUses) load() {
	if u.counts != nil {
		return
	}
	u.counts = map[string]int{}
	stored, _ := u.store.Get(usesKey)
	for line := range strings.Lines(stored) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(count); err == nil && n > 0 {
			u.counts[name] = n
		}
	}
}

// These functions return why a command cannot run now; "" if it can.

// BusyText returns a text if a turn is running; "" otherwise.
func (a *App) BusyText() string {
	if a.Busy() {
		return "Stop the running turn first"
	}
	return ""
}

// EmptyText returns a text if the conversation is empty; "" otherwise.
func (a *App) EmptyText() string {
	if a.Session.Empty() {
		return "The conversation is empty"
	}
	return ""
}

// NoBranchesText explains how to create branches if there are none; "" otherwise.
func (a *App) NoBranchesText() string {
	if !a.Session.HasBranches() {
		return "No branches yet. " + a.KeyOf("rewind") + " edits a message"
	}
	return ""
}
