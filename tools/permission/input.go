package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// input describes the standard input of a command.
type input struct {
	given   bool   // the line redirects or pipes the input
	visible bool   // the input is literal text in the line
	text    string // the text, if visible
}

// walk visits a node, and tracks which nodes get an input from the line. nil ends a node.
func (s *visitor) walk(node syntax.Node) bool {
	if node == nil {
		s.given = s.given[:len(s.given)-1]
		return true
	}
	given := s.given[len(s.given)-1]
	switch node := node.(type) {
	case *syntax.Stmt:
		redirected := slices.ContainsFunc(node.Redirs, isInput)
		given = given || redirected || s.piped[node]
		if call, ok := node.Cmd.(*syntax.CallExpr); ok && redirected && len(call.Args) > 0 && call.Args[0].Lit() == "exec" {
			for i := range s.given { // the following nodes get it too
				s.given[i] = true
			}
		}
	case *syntax.FuncDecl, *syntax.CoprocClause:
		given = true
	case *syntax.ProcSubst:
		given = given || node.Op == syntax.CmdOut
	}
	s.given = append(s.given, given)
	return s.visit(node)
}

// isInput reports whether a redirection provides a nonempty standard input.
func isInput(redir *syntax.Redirect) bool {
	switch redir.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return (redir.N == nil || redir.N.Value == "0") && redir.Word.Lit() != "/dev/null"
	}
	return false
}

// noteRedirects records the text of a here-document or here-string that is the standard
// input of a command, unless another redirection replaces it.
func (s *visitor) noteRedirects(stmt *syntax.Stmt) {
	to, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	for _, redir := range stmt.Redirs {
		if !isInput(redir) {
			continue
		}
		delete(s.visibleInputs, to)
		switch {
		case redir.Op == syntax.WordHdoc && isStaticText(redir.Word):
			s.setVisibleInput(to, evalWord(redir.Word).text)
		case redir.Hdoc != nil && isStaticText(redir.Hdoc):
			s.setVisibleInput(to, strings.ReplaceAll(s.sourceOf(redir.Hdoc), "\\\n", ""))
		}
	}
}

// notePipe records the input that a statement gets from a pipe.
func (s *visitor) notePipe(pipe *syntax.BinaryCmd) {
	if s.piped == nil {
		s.piped = map[*syntax.Stmt]bool{}
	}
	s.piped[pipe.Y] = true
	if to, ok := pipe.Y.Cmd.(*syntax.CallExpr); ok && printsStaticText(pipe.X) {
		printed := s.wordsOf(pipe.X.Cmd.(*syntax.CallExpr).Args[1:])
		for len(printed) > 0 && strings.HasPrefix(printed[0], "-") && strings.Trim(printed[0][1:], "neE") == "" { // options of echo
			printed = printed[1:]
		}
		s.setVisibleInput(to, strings.Join(printed, "\n"))
	}
}

func (s *visitor) setVisibleInput(to *syntax.CallExpr, text string) {
	if s.visibleInputs == nil {
		s.visibleInputs = map[*syntax.CallExpr]string{}
	}
	s.visibleInputs[to] = text
}

// isStaticText reports whether the parts of a word are literal text.
func isStaticText(word *syntax.Word) bool {
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

// printsStaticText reports whether a statement only prints literal words.
func printsStaticText(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	for i, arg := range call.Args {
		v := evalWord(arg)
		if !v.isStatic() || i == 0 && v.text != "echo" && v.text != "printf" || strings.ContainsAny(v.text, `\%`) {
			return false
		}
	}
	return true
}
