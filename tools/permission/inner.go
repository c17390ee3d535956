package permission

import (
	"path"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// handsOn matches words before a command that a program runs, as used by many programs.
var handsOn = lazy.NewRegexp(`(?s)^--$|^--(?:execute|run)(?:=(.+))?$|^--?(?:[a-z]+-)*[a-z]*(?:commands?|cmd|exec|rsh|script|editor|pager)(?:=(.+))?$`)

// addHandedOn adds commands that a program not in any table probably runs: the words after --
// or an option such as --exec or --password-command, and the value of -c if it is a command
// line.
func (s *visitor) addHandedOn(words []string, in input) {
	for i := 1; i < len(words); i++ {
		rest := words[i+1:]
		switch m := handsOn.FindStringSubmatch(words[i]); {
		case m != nil && m[1]+m[2] != "":
			rest = append([]string{m[1] + m[2]}, rest...)
		case m == nil && words[i] != "-c":
			continue
		}
		switch {
		case len(rest) == 0 || isDynamic(rest[0]):
		case strings.ContainsAny(rest[0], separators):
			s.innerLines = append(s.innerLines, rest[0])
		case words[i] != "-c" && (path.IsAbs(rest[0]) || !strings.Contains(rest[0], "/")): // otherwise a file of the workspace
			s.addCommand(rest, in)
			return
		}
	}
}

// addInner adds the arguments of this line's commands as commands: once one command runs its
// arguments, any of them may be one.
func (s *visitor) addInner(depth int) {
	data := map[string]bool{}
	for n, cmd := range s.ownCmds {
		if len(cmd.Words) > 1 {
			first := len(s.cmds)
			s.addSuffixes(cmd.Words[1:])
			for i := first; i < len(s.cmds) && s.ownInputs[n].given; i++ {
				s.inputs[i] = input{given: true}
			}
		}
		takesData, joined := false, []string(nil)
		for i, word := range cmd.Words {
			if isValue(cmd.Words, i) {
				continue
			}
			if i > 0 {
				joined = append(joined, word)
			}
			s.opaque = s.opaque || isDynamic(word)
			data[word] = data[word] || takesData
			switch {
			case takesData && s.addUnlessLine(word, depth):
			case i > 0 || strings.ContainsAny(word, separators): // the program alone is not an inner command
				s.addText(word, depth)
			}
			if isAliased(cmd.Words, i) {
				s.addText(cmd.Words[0]+" "+word, depth)
			}
			takesData = takesData || i < maxWrappers && runsNothing(cmd.Words[i:])
		}
		if joined := strings.Join(joined, " "); !s.addUnlessLine(joined, depth) {
			s.addText(joined, depth)
		}
	}
	for _, text := range s.texts {
		if !data[text] {
			s.addText(text, depth)
		}
	}
}

// maxWrappers bounds the words searched for a program that others run.
const maxWrappers = 32

// runsNothing reports whether words are a command that does not run others.
func runsNothing(words []string) bool {
	if isDynamic(words[0]) {
		return false
	}
	why := refusalReason(programName(words[0]))
	return (why == "" || why == reasonKnown) && !isWrapper(words) || startsNothing(words, input{})
}

// addUnlessLine adds the words of text if no shell would run it as a line, and reports whether it
// did.
func (s *visitor) addUnlessLine(text string, depth int) bool {
	if isDynamic(text) || !strings.ContainsAny(text, separators) || s.innerBytes > maxInner || s.tooComplex(text, depth+1) != "" {
		return false
	}
	_, why := s.parseTree(text, depth+1)
	if why != "" {
		s.innerBytes += len(text)
		s.addUnparsed(text)
	}
	return why != ""
}

var (
	mountedDirectory = lazy.NewRegexp(`^\x00("\$(PWD|\{PWD\}|\(pwd\))"?|\$\(pwd\)):[A-Za-z0-9_./:-]*"?$`)
	setVariable      = lazy.NewRegexp(`^\x00("[A-Za-z_][A-Za-z0-9_]*=[^"]*"|[A-Za-z_][A-Za-z0-9_]*="[^"]*")$`)
)

// isValue reports whether the word at i cannot be a program, whatever its value: a directory to
// mount or a variable to set, as in docker run -v "$PWD:/src" -e "A=$B".
func isValue(words []string, i int) bool {
	if mountedDirectory.MatchString(words[i]) {
		return true
	}
	return i > 0 && (words[i-1] == "-e" || words[i-1] == "--env") && setVariable.MatchString(words[i])
}

// isAliased reports whether the word at i is a command for which the line sets an alias.
func isAliased(words []string, i int) bool {
	switch programName(words[0]) {
	case "git":
		return i > 1 && strings.HasPrefix(strings.ToLower(words[i-1]), "alias.")
	case "gh", "glab":
		at := slices.Index(words, "alias")
		return at > 0 && i > at+2 && words[at+1] == "set"
	}
	return false
}

// addText adds text that may be a command line, also after the ! of a shell alias in git, gh
// and hg. The outer line is known not to be simple.
func (s *visitor) addText(text string, depth int) {
	text = strings.TrimLeft(strings.TrimPrefix(text, dynamicMark), "! \t\n")
	if s.innerBytes += len(text); s.innerBytes > maxInner {
		s.opaque = true
		return
	}
	if text == ";" { // ends the command of find -exec
		return
	}
	isLine := strings.ContainsAny(text, separators)
	if _, value, ok := strings.Cut(text, "="); ok && value != "" && (isLine || value[0] == '!') {
		s.addLine(strings.TrimLeft(value, "! \t\n"), depth+1)
	}
	if !isLine {
		if text != "" {
			s.cmds = append(s.cmds, Command{Words: []string{text}, isText: true})
		}
		return
	}
	s.addLine(text, depth+1)
}

// separators separate or expand words of a line.
const separators = " \t\n;&|()`$"
