package tools

import (
	"bytes"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A grepFilter decides quickly that a text has no match, for an expression whose compiled form is prog. It is a
// deterministic automaton whose states are made when they are reached. It takes assertions such as ^ for true,
// and a part of a character for the whole, so that it may take a text for one with a match, but never the
// other way around.
type grepFilter struct {
	prog   *syntax.Prog
	needed []byte // text in every match
	start  *filterState
	stays  [256]bool // bytes that lead from start to start
	states map[string]*filterState
	steps  int // steps that may still be computed
}

// A filterState is a set of instructions that wait for a character.
type filterState struct {
	waiting []uint32
	match   bool // a match may end here
	next    [256]*filterState
}

// Limits of one filter. Texts for which it would need more are taken for such with a match.
const (
	maxFilterWork   = 2_000_000 // instructions visited to compute steps
	maxFilterStates = 500       // of 2 KB
)

func newGrepFilter(prog *syntax.Prog, needed string) *grepFilter {
	f := &grepFilter{prog: prog, needed: []byte(needed), states: map[string]*filterState{}, steps: maxFilterWork / len(prog.Inst)}
	f.start = f.state(nil)
	return f
}

// mayMatch reports whether content may have a match.
func (f *grepFilter) mayMatch(content []byte) bool {
	if f.start.match || !bytes.Contains(content, f.needed) {
		return f.start.match
	}
	for s, i := f.start, 0; i < len(content); i++ {
		if s == f.start {
			for ; f.stays[content[i]]; i++ {
				if i == len(content)-1 {
					return false
				}
			}
		}
		next := s.next[content[i]]
		if next == nil {
			if f.steps--; f.steps < 0 || len(f.states) > maxFilterStates {
				return true
			}
			next = f.step(s, content[i])
		}
		if s = next; s.match {
			return true
		}
	}
	return false
}

// step computes the state after the byte b in state s.
func (f *grepFilter) step(s *filterState, b byte) *filterState {
	var after []uint32
	for _, at := range s.waiting {
		i := &f.prog.Inst[at]
		switch {
		case b < utf8.RuneSelf:
			if i.MatchRune(rune(b)) {
				after = append(after, i.Out)
			}
		case len(i.Rune) > 0 && i.Rune[len(i.Rune)-1] >= utf8.RuneSelf || syntax.Flags(i.Arg)&syntax.FoldCase != 0:
			after = append(after, i.Out, at) // the last byte of the character, or not
		}
	}
	s.next[b] = f.state(after)
	f.stays[b] = f.stays[b] || s == f.start && s.next[b] == s
	return s.next[b]
}

// state returns the state in which a match may begin, or continue at one of after.
func (f *grepFilter) state(after []uint32) *filterState {
	s := &filterState{}
	seen := make([]bool, len(f.prog.Inst))
	for todo := append(after, uint32(f.prog.Start)); len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch i := &f.prog.Inst[at]; i.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, i.Out, i.Arg)
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			todo = append(todo, i.Out)
		case syntax.InstMatch:
			s.match = true
		case syntax.InstFail:
		default:
			s.waiting = append(s.waiting, at)
		}
	}
	slices.Sort(s.waiting)
	key := fmt.Sprint(s.match, s.waiting)
	if f.states[key] == nil {
		f.states[key] = s
	}
	return f.states[key]
}

// neededBy returns the longest text that every match of an expression contains.
func neededBy(e *syntax.Regexp) (text string) {
	switch {
	case e.Op == syntax.OpLiteral && e.Flags&syntax.FoldCase == 0:
		return string(e.Rune)
	case e.Op == syntax.OpConcat:
		for _, sub := range e.Sub {
			if t := neededBy(sub); len(t) > len(text) {
				text = t
			}
		}
	case e.Op == syntax.OpCapture, e.Op == syntax.OpPlus:
		return neededBy(e.Sub[0])
	}
	return text
}
