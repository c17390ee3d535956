package permission

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"parley/tools/lazy"
)

// numbers tracks arithmetic evaluation in a command line. Bash evaluates the value of a variable
// as an expression, which may contain an index with substitutions. A value can therefore run any
// command unless it is certainly a number.
type numbers struct {
	evaluated map[string]bool // variables in evaluated expressions
	set       map[string]bool // variables that are set; true if only to numbers
	unknown   bool            // an evaluated expression is neither a number nor a variable
}

// setTo records that a variable is set, to a number or to something else.
func (n *numbers) setTo(name string, number bool) {
	if n.set == nil {
		n.set = map[string]bool{}
	}
	if was, ok := n.set[name]; !ok || was {
		n.set[name] = number
	}
}

// areKnown reports whether only numbers are evaluated.
func (n *numbers) areKnown() bool {
	if n.unknown {
		return false
	}
	for name := range n.evaluated {
		number, isSet := n.set[name]
		if isSet && !number || !isSet && !alwaysNumber.MatchString(name) || setByShell.MatchString(name) {
			return false
		}
	}
	return true
}

var (
	wholeNumber     = lazy.NewRegexp(`^[-+]?[0-9]+$`)
	numberRange     = lazy.NewRegexp(`^\{[-+]?[0-9]+\.\.[-+]?[0-9]+(\.\.[-+]?[0-9]+)?\}$`)
	numberLiteral   = lazy.NewRegexp(`\b[0-9][0-9A-Za-z#@_]*`)
	variableName    = lazy.NewRegexp(`[A-Za-z_][A-Za-z0-9_]*`)
	operatorsOnly   = lazy.NewRegexp(`^[-+*/%<>=!&|^~?:,()\[\]@\s]*$`)
	numberParameter = lazy.NewRegexp(`^[#?$!]$`)
	alwaysNumber    = lazy.NewRegexp(`^(RANDOM|SRANDOM|SECONDS|LINENO|EPOCHSECONDS|BASHPID|PPID|UID|EUID)$`)
	setByShell      = lazy.NewRegexp(`^(_|REPLY|MAPFILE|OPTARG|PWD|OLDPWD|DIRSTACK|FUNCNAME|COPROC|BASH_.*)$`)
	isEvaluated     = lazy.NewRegexp(`^(RANDOM|SRANDOM|OPTIND|HISTCMD)$`) // as if declared with -i
	indexedName     = lazy.NewRegexp(`(?s)^([A-Za-z_][A-Za-z0-9_]*)(?:\[(.*)\])?$`)
)

// noteText records an expression, or part of one.
func (n *numbers) noteText(text string) {
	text = numberLiteral.ReplaceAllString(text, "")
	for _, name := range variableName.FindAllString(text, -1) {
		if n.evaluated == nil {
			n.evaluated = map[string]bool{}
		}
		n.evaluated[name] = true
	}
	n.unknown = n.unknown || !operatorsOnly.MatchString(variableName.ReplaceAllString(text, ""))
}

// noteNumber records the evaluated parts of a node.
func (n *numbers) noteNumber(node syntax.Node) {
	syntax.Walk(node, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Word:
			n.unknown = n.unknown || len(node.Parts) > 1 && hasName(node.Parts)
		case *syntax.DblQuoted:
			n.unknown = n.unknown || len(node.Parts) > 1 && hasName(node.Parts)
		case *syntax.Lit:
			n.noteText(node.Value)
		case *syntax.SglQuoted:
			n.noteText(node.Value)
			n.unknown = n.unknown || node.Dollar
		case *syntax.ParamExp:
			switch {
			case node.Length, numberParameter.MatchString(node.Param.Value) && isPlainParameter(node):
				return false
			case !indexedName.MatchString(node.Param.Value), !isPlainParameter(node):
				n.unknown = true
			}
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ExtGlob:
			n.unknown = true
			return false
		case *syntax.BinaryArithm:
			if name, ok := node.X.(*syntax.Word); ok && node.Op == syntax.Assgn && isNumber(node.Y) {
				n.setTo(name.Lit(), true)
			}
		}
		return true
	})
}

// hasName reports whether parts of a word contain a name, which the other parts could extend.
func hasName(parts []syntax.WordPart) bool {
	return slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		switch part := part.(type) {
		case *syntax.Lit:
			return variableName.MatchString(part.Value)
		case *syntax.SglQuoted:
			return variableName.MatchString(part.Value)
		case *syntax.DblQuoted:
			return hasName(part.Parts)
		}
		return false
	})
}

// isPlainParameter reports whether a parameter expands to its value or an element of it.
func isPlainParameter(p *syntax.ParamExp) bool {
	return !p.Excl && !p.Width && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// isNumber reports whether a word, or nil, is a number.
func isNumber(node syntax.Node) bool {
	word, ok := node.(*syntax.Word)
	if !ok || word == nil {
		return false
	}
	if v := evalWord(word); v.isKnown {
		return wholeNumber.MatchString(v.text)
	}
	return numberRange.MatchString(word.Lit()) || isComputed(word, true)
}

// isComputed reports whether a word is an arithmetic expression, with alone one of numbers
// only, or a parameter that is always a number.
func isComputed(word *syntax.Word, alone bool) bool {
	parts := word.Parts
	if len(parts) == 1 {
		if quoted, ok := parts[0].(*syntax.DblQuoted); ok && !quoted.Dollar {
			parts = quoted.Parts
		}
	}
	if len(parts) != 1 {
		return false
	}
	var n numbers
	switch part := parts[0].(type) {
	case *syntax.ArithmExp:
		if alone {
			n.noteNumber(part)
		}
	case *syntax.ParamExp:
		if n.noteNumber(part); len(n.evaluated) > 0 {
			return false
		}
	default:
		return false
	}
	return n.areKnown()
}

// setVariable records a value of a variable.
func (s *visitor) setVariable(name string, value *syntax.Word) {
	if value != nil && isEvaluated.MatchString(name) {
		s.numbers.noteNumber(value)
	}
	s.opaque = s.opaque || execVariables.MatchString(name)
	switch {
	case isNumber(value):
		s.numbers.setTo(name, true)
	case value != nil && isComputed(value, false): // its variables are checked separately
	default:
		s.numbers.setTo(name, false)
	}
}

// noteAssign records the values that an assignment sets, and the expressions that it evaluates.
func (s *visitor) noteAssign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Index != nil {
		s.numbers.noteNumber(a.Index)
	}
	switch {
	case a.Append && a.Array == nil:
		s.numbers.setTo(a.Name.Value, false)
	case a.Array != nil:
		for _, elem := range a.Array.Elems {
			if elem.Index != nil {
				s.numbers.noteNumber(elem.Index)
			}
			s.setVariable(a.Name.Value, elem.Value)
			s.addValue(elem.Value)
		}
	case a.Value != nil:
		s.setVariable(a.Name.Value, a.Value)
	}
}

// noteNumbers records the expressions that a node evaluates.
func (s *visitor) noteNumbers(node syntax.Node) {
	switch node := node.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		s.numbers.noteNumber(node)
	case *syntax.CStyleLoop:
		s.numbers.noteNumber(node)
	case *syntax.UnaryTest:
		if node.Op == syntax.TsVarSet || node.Op == syntax.TsRefVar {
			if word, ok := node.X.(*syntax.Word); ok {
				s.numbers.noteName(s.wordsOf([]*syntax.Word{word})[0])
			}
		}
	case *syntax.BinaryTest:
		if node.Op >= syntax.TsEql && node.Op <= syntax.TsGtr {
			s.numbers.noteNumber(node.X)
			s.numbers.noteNumber(node.Y)
		}
	case *syntax.WordIter:
		for _, item := range node.Items {
			s.setVariable(node.Name.Value, item)
			s.addValue(item)
		}
		if len(node.Items) == 0 {
			s.setVariable(node.Name.Value, nil)
		}
	case *syntax.ParamExp:
		s.noteParameter(node)
	}
}

// noteParameter records the evaluated parts of ${x[index]}, ${x:offset:length} and ${!x}, and the value set by ${x:=y}.
func (s *visitor) noteParameter(p *syntax.ParamExp) {
	evaluated := []syntax.Node{}
	if p.Index != nil {
		evaluated = append(evaluated, p.Index)
	}
	if p.Slice != nil && p.Slice.Offset != nil {
		evaluated = append(evaluated, p.Slice.Offset)
	}
	if p.Slice != nil && p.Slice.Length != nil {
		evaluated = append(evaluated, p.Slice.Length)
	}
	for _, node := range evaluated {
		s.numbers.noteNumber(node)
	}
	if p.Excl && p.Names == 0 && p.Index == nil { // with an index it is the list of keys
		s.numbers.unknown = true
	}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) && p.Param != nil {
		s.setVariable(p.Param.Value, p.Exp.Word)
		s.addValue(p.Exp.Word)
	}
}

// noteName records the index in a variable name that is an argument of a
// command.
func (n *numbers) noteName(word string) {
	m := indexedName.FindStringSubmatch(word)
	if m == nil {
		n.unknown = n.unknown || isDynamic(word) || strings.ContainsAny(word, "[")
		return
	}
	n.noteText(m[2])
}

// noteCommand records variables that a command sets to unknown values, and the expressions that it evaluates.
func (n *numbers) noteCommand(words []string) {
	name, args := programName(words[0]), words[1:]
	switch name {
	case "let", "declare", "typeset", "local", "test", "[", "read", "mapfile", "readarray", "getopts", "unset", "wait", "printf":
	default:
		return
	}
	if len(args) > maxOpaqueWords {
		n.unknown = true
		return
	}
	switch name {
	case "let":
		for _, word := range args {
			n.noteText(word)
		}
	case "declare", "typeset", "local":
		n.noteDeclaration(args)
	default:
		if name == "test" || name == "[" {
			n.noteSplit(args)
		}
		for _, word := range namesOf(name, args) {
			n.noteName(word)
			if m := indexedName.FindStringSubmatch(word); m != nil && name != "unset" && name != "test" && name != "[" {
				n.setTo(m[1], false)
				n.noteSet(m[1])
			}
		}
	}
}

var (
	quotedPart    = lazy.NewRegexp(`"[^"]*"|'[^']*'`)
	splitVariable = lazy.NewRegexp(`\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}|[#?$!]|\{#[^}]*\}|\(\([^()]*\)\))`)
)

// noteSplit records unquoted words in a test: a word may split into several, one of them -v, which
// evaluates the next.
func (n *numbers) noteSplit(args []string) {
	for _, word := range args {
		word, dynamic := strings.CutPrefix(word, dynamicMark)
		if !dynamic {
			continue
		}
		if !strings.Contains(word, `\`) { // a quote after a backslash is literal
			word = quotedPart.ReplaceAllString(word, "")
		}
		for _, m := range splitVariable.FindAllStringSubmatch(word, -1) {
			n.noteText(m[1] + m[2])
		}
		n.unknown = n.unknown || strings.ContainsAny(splitVariable.ReplaceAllString(word, ""), "$`")
	}
}

// noteSet records that a variable is set, in case setting it evaluates the
// value.
func (n *numbers) noteSet(name string) {
	if isEvaluated.MatchString(name) {
		n.noteText(name)
	}
}

// noteDeclaration records variables whose values are evaluated, or are names of other variables.
func (n *numbers) noteDeclaration(args []string) {
	var integer bool
	for _, word := range args {
		if strings.HasPrefix(word, "-") {
			integer = integer || strings.Contains(word, "i")
			n.unknown = n.unknown || strings.Contains(word, "n")
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		n.noteName(strings.TrimSuffix(name, "+"))
		if integer {
			n.noteText(name)
			n.noteText(value)
		}
	}
}

// namesOf returns the words that are, or may be, names of variables.
func namesOf(command string, args []string) (names []string) {
	behind := map[string]string{"printf": "-v", "wait": "-p", "test": "-v", "[": "-v"}[command]
	o := cmp.Or(opaqueArgsOf()[command], &opaqueArgs{})
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch value, glued := strings.CutPrefix(word, behind); {
		case behind != "":
			if glued && value != "" {
				names = append(names, value)
			} else if i > 0 && args[i-1] == behind {
				names = append(names, word)
			}
		case o.takesNext(word):
			i++
		case command == "getopts" && i == 0:
		case strings.HasPrefix(word, "-"):
			names = append(names, strings.TrimLeft(word, "-aeErsu"))
		default:
			names = append(names, word)
		}
	}
	return names
}
