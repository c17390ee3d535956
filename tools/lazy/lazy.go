// Package lazy compiles regular expressions when they are first used:
//
//	var number = lazy.NewRegexp(`[0-9]+`)
//
// The linker lays out such variables, so that the start of the program pays nothing for them. As
// plain variables the 187 expressions of the program would take half as much processor time again as
// all of parley --version, 3.3 MB of allocations and 5 MB of memory; the ten largest are a third of
// that. Other values are made by sync.OnceValue, which costs a start next to nothing.
package lazy

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression that is compiled when it is first used. Several goroutines may
// use it.
type Regexp struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// NewRegexp returns a regular expression. It is not checked: the first use of a wrong one panics.
func NewRegexp(expr string) *Regexp { return &Regexp{expr: expr} }

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.expr) })
	return r.re
}

// The methods are those of regexp.Regexp.

func (r *Regexp) Match(b []byte) bool            { return r.compiled().Match(b) }
func (r *Regexp) MatchString(s string) bool      { return r.compiled().MatchString(s) }
func (r *Regexp) FindString(s string) string     { return r.compiled().FindString(s) }
func (r *Regexp) FindIndex(b []byte) []int       { return r.compiled().FindIndex(b) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.compiled().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

func (r *Regexp) ReplaceAllFunc(b []byte, with func([]byte) []byte) []byte {
	return r.compiled().ReplaceAllFunc(b, with)
}

func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
