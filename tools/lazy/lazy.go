// Package lazy compiles regular expressions when they are first used:
//
//	var number = lazy.NewRegexp(`[0-9]+`)
//
// The linker initializes such variables, so that they cost nothing at start. As plain variables, the
// program's 187 expressions would add half of the processor time of parley --version, 3.3 MB of
// allocations and 5 MB of memory; the ten largest account for a third of that. Other values use
// sync.OnceValue, which costs almost nothing at start.
package lazy

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression that is compiled on first use. It is safe for concurrent use.
type Regexp struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// NewRegexp returns a regular expression. An invalid one panics on first use.
func NewRegexp(expr string) *Regexp { return &Regexp{expr: expr} }

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.expr) })
	return r.re
}

// The methods below are those of regexp.Regexp.

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
