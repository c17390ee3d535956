package app

import (
	"slices"
	"strings"

	"parley/providers/similar"
	"parley/ui/fuzzy"
)

// A LineKind is the meaning of a line that was entered.
type LineKind int

// The meanings of lines.
const (
	PromptLine     LineKind = iota // a message for the model
	CommandLine                    // a command
	PromptFileLine                 // a prompt of a file, a skill, or a prompt of an MCP server: see RunPromptCommand
	ShellLine                      // a command for the user's shell
	MistypedLine                   // no command, but it looks like one
)

// A Line is a line that was entered, taken apart.
type Line struct {
	Kind    LineKind
	Command int    // index of the command
	Name    string // of the command, as typed
	Arg     string // of the command, or the whole command for the shell
	Hint    string // where a command of other programs is here, for a mistyped line
	Problem string // else: that the name is unknown, and what is like it
	Unlike  bool   // nothing is like it
}

// Classify takes a line apart before anything happens with it. A command is named by one of its names or, if nothing
// follows, by the beginning of the names of one command alone: "/the file" is no /theme. The whole name of a prompt,
// which isPrompt knows, comes before the beginning of a command's. Paths such as /etc/hosts are messages, and so are
// several lines unless their command takes them or has a slip in its name.
func Classify(text string, commands []Command, isPrompt func(text string) bool) Line {
	if command, ok := strings.CutPrefix(text, "!"); ok {
		return Line{Kind: ShellLine, Arg: strings.TrimSpace(command)}
	}
	name, arg, ok := parseCommand(text, commands)
	names := make([][]string, len(commands))
	for i, c := range commands {
		names[i] = c.Names()
	}
	l := Line{Kind: CommandLine, Name: name, Arg: arg}
	var among []int
	l.Command, among = fuzzy.Named(name, names)
	found := ok && l.Command >= 0
	if found && slices.ContainsFunc(names[l.Command], func(n string) bool { return strings.EqualFold(n, name) }) {
		return l
	}
	if isPrompt(text) {
		return Line{Kind: PromptFileLine}
	}
	if found && arg == "" {
		return l
	}
	name, arg, ok = splitCommand(text)
	if !ok {
		return Line{}
	}
	if hint := elsewhere[name]; hint != "" && arg == "" {
		return Line{Kind: MistypedLine, Hint: hint}
	}
	var near []string
	const few = 4
	for _, i := range among[:min(len(among), few)] {
		near = append(near, commands[i].Name)
	}
	if len(near) == 0 {
		near = similar.Names(name, slices.Concat(names...), 2)
	}
	if strings.Contains(text, "\n") && (len(near) == 0 || slices.Contains(near, name)) {
		return Line{}
	}
	l = Line{Kind: MistypedLine, Problem: "Unknown command /" + name + ".", Unlike: len(near) == 0}
	if !l.Unlike {
		l.Problem += " Did you mean /" + strings.Join(near, " or /") + "?"
	}
	return l
}

// splitCommand splits text that begins as a command does, "/name argument", whatever its name.
func splitCommand(text string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	name, arg, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(arg), ok && name != "" && !strings.ContainsAny(name, "/.\n\t")
}
