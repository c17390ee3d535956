// Package classify tells what an entered line is, before anything happens with it.
package classify

import (
	"slices"
	"strings"

	"parley/providers/similar"
	"parley/ui/app"
	"parley/ui/fuzzy"
)

// A Kind is the kind of an entered line.
type Kind int

// The kinds of lines.
const (
	Prompt     Kind = iota // a message for the model
	Command                // a command
	PromptFile             // a prompt of a file or an MCP server, or a skill: see app.Prompts
	Shell                  // a command for the user's shell
	Mistyped               // not a command, but similar to one
)

// A Line is a parsed line of input.
type Line struct {
	Kind    Kind
	Command int    // index of the command
	Name    string // name of the command as typed
	Arg     string // argument of the command, or the whole shell command
	Hint    string // for a mistyped line: where to find that command of other programs
	Problem string // otherwise: the name is unknown, with similar names
	Unlike  bool   // no similar name exists
}

// Entered parses an entered line before anything happens with it. A command is given by one of its names or, without an
// argument, by an unambiguous prefix: "/the file" is not /theme. The full name of a prompt, as reported by isPrompt,
// takes precedence over a prefix of a command. Paths such as /etc/hosts are messages. So are several lines, unless the
// command takes them or its name is mistyped.
func Entered(text string, commands []app.Command, isPrompt func(text string) bool) Line {
	if command, ok := strings.CutPrefix(text, "!"); ok {
		return Line{Kind: Shell, Arg: strings.TrimSpace(command)}
	}
	name, arg, ok := parseCommand(text, commands)
	names := make([][]string, len(commands))
	for i, c := range commands {
		names[i] = c.Names()
	}
	l := Line{Kind: Command, Name: name, Arg: arg}
	var among []int
	l.Command, among = fuzzy.Named(name, names)
	found := ok && l.Command >= 0
	if found && slices.ContainsFunc(names[l.Command], func(n string) bool { return strings.EqualFold(n, name) }) {
		return l
	}
	if isPrompt(text) {
		return Line{Kind: PromptFile}
	}
	switch hint := elsewhere(name); {
	case !ok || hint == "":
	case strings.HasPrefix(hint, "/"):
		return Entered(strings.TrimSpace(hint+" "+arg), commands, isPrompt)
	case arg == "":
		return Line{Kind: Mistyped, Hint: hint}
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
	l = Line{Kind: Mistyped, Problem: "Unknown command /" + name + ".", Unlike: len(near) == 0}
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

// elsewhere returns the line that does in parley what a command of other programs does, or the way to do the same; "" for
// any other name.
func elsewhere(name string) string {
	switch name {
	case "agents":
		return "No agents here: /persona sets a system prompt, /compare asks several models"
	case "feedback":
		return "parley sends no reports: /doctor shows what one needs"
	case "import":
		return "parley sessions import, in a shell, reads conversations of other programs"
	case "keymap":
		return "/settings keys"
	case "logout":
		return "parley connect --remove PROVIDER, in a shell, removes a key"
	case "plan":
		return "/mode plan"
	case "review":
		return "/review-changes" // a prompt file of this name comes first
	case "vim":
		return "/settings ui.vim"
	case "version":
		return "parley --version, in a shell, prints the version"
	case "terminal-setup":
		return "ctrl+j starts a new line in every terminal, shift+enter where it is reported"
	}
	return ""
}

// Elsewhere returns what a command of other programs runs here, or the way to do the same; "" for any other name.
func Elsewhere(name string) string {
	hint := elsewhere(name)
	if strings.HasPrefix(hint, "/") {
		return "Runs " + hint
	}
	return hint
}

// parseCommand splits "/name argument"; ok is false if text has another form. A line break after the word that lines may
// follow counts as a space.
func parseCommand(text string, commands []app.Command) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	name, arg, _ = strings.Cut(rest, " ")
	if word := multilineArg(commands, name); word != "" && word != "*" {
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
func AllowsMultiline(text string, commands []app.Command) bool {
	name, arg, ok := parseCommand(text, commands)
	return ok && takesLines(commands, name, arg)
}

// multilineArg returns the MultilineArg of a command.
func multilineArg(commands []app.Command, name string) string {
	for _, c := range commands {
		if c.Named(name) {
			return c.MultilineArg
		}
	}
	return ""
}

// takesLines reports whether the command accepts arg even if it has several lines.
func takesLines(commands []app.Command, name, arg string) bool {
	word, _, _ := strings.Cut(arg, " ")
	allowed := multilineArg(commands, name)
	return word != "" && (allowed == word || allowed == "*")
}
