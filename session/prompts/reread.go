package prompts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readsAgain are builtins that evaluate their arguments as code: as a subscript, which may run
// commands, or as a command.
var readsAgain = []string{"eval", "trap", "source", ".", "read", "unset", "mapfile", "readarray", "wait", "getopts", "shift", "exit", "return"}

// wrappers run the command after them.
var wrappers = []string{"command", "builtin", "exec", "env", "sudo", "nohup"}

// runners run the command after their own arguments, which only they can
// separate from it.
var runners = []string{"doas", "timeout", "nice", "ionice", "setsid", "stdbuf", "flock", "chroot", "strace", "xargs", "parallel", "find"}

// shells run the word after -c as a command, and remote runs all words.
var (
	shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "su"}
	remote = []string{"ssh", "watch"}
)

// rereadIn names the construct in n itself in which a shell evaluates values again; "" for none. Arithmetic
// always counts, because values may reach it through variables.
func rereadIn(n syntax.Node) string {
	const arithmetic = "arithmetic"
	switch n := n.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.CStyleLoop:
		return arithmetic
	case *syntax.LetClause:
		return "let"
	case *syntax.DeclClause:
		if n.Variant.Value != "export" {
			return n.Variant.Value
		}
	case *syntax.Assign:
		if n.Index != nil && !isStatic(n.Index) {
			return arithmetic
		}
	case *syntax.ArrayElem:
		if n.Index != nil && !isStatic(n.Index) {
			return arithmetic
		}
	case *syntax.ParamExp:
		switch {
		case n.Excl:
			return "${!NAME}"
		case n.Exp != nil && n.Exp.Op == syntax.OtherParamOps:
			return "${NAME@…}"
		case n.Index != nil && !isStatic(n.Index), n.Slice != nil && !(isStatic(n.Slice.Offset) && isStatic(n.Slice.Length)):
			return arithmetic
		}
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			return "[[ … " + n.Op.String() + " … ]]"
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return "[[ " + n.Op.String() + " … ]]"
		}
	case *syntax.CallExpr:
		return rereadByCall(n.Args)
	}
	return ""
}

// isStatic reports whether arithmetic is a number, or all elements, so that values cannot be in it.
func isStatic(x syntax.ArithmExpr) bool {
	if x == nil {
		return true
	}
	word, ok := x.(*syntax.Word)
	return ok && word.Lit() != "" && strings.Trim(word.Lit(), "0123456789@*") == ""
}

// rereadByCall names a command that evaluates its arguments again; "" for none.
func rereadByCall(args []*syntax.Word) string {
	for i, w := range args {
		name, first := programName(w), programName(args[0])
		switch behind := i == 0 || slices.Contains(runners, first) || slices.Contains(wrappers, first); {
		case slices.Contains(shells, name) && isOpenCode(args[i+1:]):
			return name + " -c"
		case behind && slices.Contains(remote, name) && slices.ContainsFunc(args[i+1:], isOpen):
			return name
		}
	}
	for len(args) > 0 && (slices.Contains(wrappers, args[0].Lit()) || strings.HasPrefix(args[0].Lit(), "-") || strings.Contains(args[0].Lit(), "=")) {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	name := programName(args[0])
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args[1:], func(w *syntax.Word) bool { return slices.Contains(flags, w.Lit()) })
	}
	switch {
	case slices.Contains(readsAgain, name) && slices.ContainsFunc(args[1:], isOpen):
		return name
	case name == "test" || name == "[":
		if has("-v", "-R") {
			return name + " -v"
		}
	case name == "printf" && len(args) > 1 && strings.HasPrefix(args[1].Lit(), "-v"):
		return "printf -v"
	}
	return ""
}

// programName returns the name of the program in a word, without directory; "" if it is only
// known at run time.
func programName(w *syntax.Word) string {
	name := w.Lit()
	return name[strings.LastIndexByte(name, '/')+1:]
}

// isOpenCode reports whether a shell with these arguments runs a word that isOpen as a command:
// the first operand after -c.
func isOpenCode(args []*syntax.Word) bool {
	code, valued := false, false
	for _, w := range args {
		flag := w.Lit()
		switch isFlag := len(flag) > 1 && strings.ContainsRune("-+", rune(flag[0])); {
		case valued: // value of -o
			valued = false
		case isFlag:
			code = code || flag[0] == '-' && flag[1] != '-' && strings.Contains(flag, "c") || flag == "--command"
			valued = strings.HasSuffix(flag, "o") || strings.HasSuffix(flag, "O")
		case code:
			return isOpen(w)
		}
	}
	return false
}

// isOpen reports whether a word contains a value, or may get one through a variable or a command.
func isOpen(w *syntax.Word) bool {
	open := false
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			open = true
		case *syntax.Lit:
			open = open || strings.Contains(n.Value, stand)
		case *syntax.SglQuoted:
			open = open || strings.Contains(n.Value, stand)
		}
		return !open
	})
	return open
}

// plainSigns are allowed, with letters and digits, where a shell evaluates a value again.
const plainSigns = "_-+=:,./@%"

// isPlain reports whether a shell takes a value literally, however often it is evaluated.
func isPlain(value string) bool {
	return strings.Trim(value, plainSigns+"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}
