package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// feed notes a command that reads text of the line, by a here-document or a
// here-string.
func (s *sight) feed(stmt *syntax.Stmt) {
	to, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	for _, redir := range stmt.Redirs {
		text := redir.Hdoc
		if redir.Op == syntax.WordHdoc {
			text = redir.Word
		}
		if text != nil && static(text) {
			s.fills(to)
		}
	}
}

func (s *sight) fills(to *syntax.CallExpr) {
	if s.feeds == nil {
		s.feeds = map[*syntax.CallExpr]bool{}
	}
	s.feeds[to] = true
}

// static reports whether a text is in the line as it will be.
func static(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if _, ok := inner.(*syntax.Lit); !ok {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// says reports whether a statement prints nothing but words that it has.
func says(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	for i, arg := range call.Args {
		v := valued(arg)
		if !v.static() || i == 0 && v.text != "echo" && v.text != "printf" || strings.ContainsAny(v.text, `\%`) {
			return false
		}
	}
	return true
}

// startsOthers are variables by which programs start others, or load them.
var startsOthers = compiled(`^(PS4|PROMPT_COMMAND|BASH_ENV|ENV|BASH_CMDS|BASH_ALIASES|LD_(PRELOAD|AUDIT|LIBRARY_PATH)|GIT_EXEC_PATH|DYLD_.*|GIT_CONFIG_(COUNT|PARAMETERS|KEY_.*|VALUE_.*)|(G|GNU)?MAKEFLAGS|TAR_OPTIONS|PERL5(OPT|DB)|RUBYOPT|PYTHONSTARTUP|PYTHONINSPECT|_?JAVA_(TOOL_)?OPTIONS|LESSOPEN|LESSCLOSE|CARGO_.*_(RUNNER|LINKER)|RUSTC(_WORKSPACE)?_WRAPPER)$`)

// sets notes variables that start programs.
func (s *sight) sets(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		name, code := a.Name.Value, startsOthers().MatchString(a.Name.Value)
		if name == "NODE_OPTIONS" && a.Value != nil {
			v := valued(a.Value)
			code = !v.known || strings.Contains(v.text, "-r") || strings.Contains(v.text, "import") || strings.Contains(v.text, "loader")
		}
		s.hidden = s.hidden || code
	}
}

// directories are variables that hold directories, and no command.
var folders = compiled(`^(PATH|GOPATH|PYTHONPATH|NODE_PATH|MANPATH)$`)
