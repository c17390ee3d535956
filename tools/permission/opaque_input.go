package permission

import (
	"slices"
	"strings"

	"parley/tools/lazy"
)

// runsInput reports whether the program may run commands from its input.
func (o *opaqueArgs) runsInput(args []string, in input) bool {
	switch {
	case !in.given:
		return false
	case o.takesInputForFile(args):
		return true
	case !o.readsInput:
		return false
	}
	operands, reads := 0, len(o.inputOptions) == 0
	for i := 0; i < len(args); i++ {
		word := args[i]
		reads = reads || slices.ContainsFunc(o.inputOptions, func(option string) bool { return o.isOption(word, option) })
		switch {
		case o.isNoInput(word):
			return false
		case word == "--":
			operands += len(args) - i - 1
			i = len(args)
		case o.takesNext(word):
			i++
		case !strings.HasPrefix(word, "-") && !matchesAny(o.noOperand, word):
			operands++
		}
	}
	if !reads || o.maxOperands > 0 && operands >= o.maxOperands {
		return false
	}
	return !in.visible || matchesAny(o.inputText, in.text) || matchesAny(o.anyWord, in.text)
}

// inputAsFile matches words that name the standard input as a file.
var inputAsFile = lazy.NewRegexp(`^(-|-[A-Za-z]+=?-|--[a-z-]+=-)$`)

// takesInputForFile reports whether the program's words name its standard input as a file of
// code. For a program that stops at its first operand, or has single-dash options, - does not
// count.
func (o *opaqueArgs) takesInputForFile(args []string) bool {
	if !o.runsFiles || o.stopsAtOperand || o.singleDash {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, inputAsFile.MatchString)
}

// isNoInput reports whether a word, not being an option's value, means that the program
// does not read its standard input.
func (o *opaqueArgs) isNoInput(word string) bool {
	if len(o.noInput) == 0 {
		return false
	}
	letters, _ := o.splitLetters(word)
	return matchesAny(o.noInput, word) || slices.ContainsFunc(letters, func(letter string) bool { return matchesAny(o.noInput, letter) })
}

// takesNext reports whether a word is an option whose value is the next word.
func (o *opaqueArgs) takesNext(word string) bool {
	switch {
	case slices.Contains(o.valued, word), o.singleDash && slices.Contains(o.valued, strings.TrimPrefix(word, "-")):
		return true
	case slices.Contains(o.glued, word), len(word) < 3:
		return false
	case strings.HasPrefix(word, "--"):
		return slices.ContainsFunc(o.valued, func(option string) bool { return strings.HasPrefix(option, word) })
	}
	_, takesNext := o.splitLetters(word)
	return takesNext
}

// splitLetters splits -abc into options like getopt: an option with a value takes the rest of
// the word, or the next word if nothing is left.
func (o *opaqueArgs) splitLetters(word string) (options []string, takesNext bool) {
	if o.singleDash || !strings.HasPrefix(word, "-") || strings.HasPrefix(word, "--") {
		return nil, false
	}
	for i := 1; i < len(word); i++ {
		option := "-" + word[i:i+1]
		options = append(options, option)
		switch {
		case slices.Contains(o.valued, option):
			return options, i+1 == len(word)
		case slices.Contains(o.glued, option):
			return options, false
		}
	}
	return options, false
}
