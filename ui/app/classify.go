package app

import (
	"slices"
	"strings"

	"parley/providers/similar"
	"parley/ui/fuzzy"
)

// A LineKind is the kind of an entered line.
type LineKind int

// The kinds of lines.
const (
	PromptLine     LineKind = iota // a message for the model
	CommandLine                    // a command
	PromptFileLine                 // a prompt of a file or an MCP server, or a skill: see RunPromptCommand
	ShellLine                      // a command for the user's shell
	MistypedLine                   // not a command, but similar to one
)

// A Line is a parsed line of input.
type Line struct {
	Kind    LineKind
	Command int    // index of the command
	Name    string // name of the command as typed
	Arg     string // argument of the command, or the whole shell command
	Hint    string // for a mistyped line: where to find that command of other programs
	Problem string // otherwise: the name is unknown, with similar names
	Unlike  bool   // no similar name exists
}

// Classify parses a line before anything happens with it. A command is given by one of its names or, without an
// argument, by an unambiguous prefix: "/the file" is not /theme. The full name of a prompt, as reported by isPrompt,
// takes precedence over a prefix of a command. Paths such as /etc/hosts are messages. So are several lines, unless the
// command takes them or its name is mistyped.
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
	switch hint := elsewhere[name]; {
	case !ok || hint == "":
	case strings.HasPrefix(hint, "/"):
		return Classify(strings.TrimSpace(hint+" "+arg), commands, isPrompt)
	case arg == "":
		return Line{Kind: MistypedLine, Hint: hint}
	}
	if found && arg == "" {
		return l
	}
	name, _, ok = splitCommand(text)
	if !ok {
		return Line{}
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

// splitCommand splits text of the form "/name argument", for any name.
func splitCommand(text string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	name, arg, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(arg), ok && name != "" && !strings.ContainsAny(name, "/.\n\t")
}
