// Package lazy has values that are made when they are first used. The linker lays out variables
// like these, so that they cost a start of the program nothing, not even code:
//
//	var number = lazy.NewRegexp(`[0-9]+`)
//	var words = lazy.Value[[]string]{New: func() []string { return strings.Fields(list) }}
//
// What sync.OnceValue returns is made when its package is initialized, as maps are.
package lazy

import (
	"regexp"
	"sync"
)

// A Value is made by New when Get is first called. Several goroutines may call it.
type Value[T any] struct {
	New   func() T
	once  sync.Once
	value T
	made  bool
}

// Get returns the value. If New panicked, it panics as well: a zero value would pass for the one that
// was to be made.
func (v *Value[T]) Get() T {
	v.once.Do(func() { v.value, v.made = v.New(), true })
	if !v.made {
		panic("lazy: New panicked")
	}
	return v.value
}

// A Regexp is a regular expression that is compiled when it is first used, as those of
// internal/lazyregexp of the standard library are.
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
