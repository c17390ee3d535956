package schema

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// assertions holds the check of each keyword for a single value; a check returns true for types
// that the keyword does not apply to. A library would need half a millisecond to resolve each
// schema and does not bound its work; a test compares these checks with its results.
var assertions = map[string]func(c *checker, s *object, key string, v any) bool{
	"type":             func(_ *checker, s *object, _ string, v any) bool { return fitsType(s, v) },
	"enum":             (*checker).inEnum,
	"const":            (*checker).isConst,
	"minimum":          compareLimit(numberOf, atLeast),
	"maximum":          compareLimit(numberOf, atMost),
	"exclusiveMinimum": compareLimit(numberOf, func(got, want float64) bool { return got > want }),
	"exclusiveMaximum": compareLimit(numberOf, func(got, want float64) bool { return got < want }),
	"multipleOf":       isMultipleOf,
	"minLength":        compareLimit(runeCount, atLeast),
	"maxLength":        compareLimit(runeCount, atMost),
	"pattern":          (*checker).inPattern,
	"minItems":         compareLimit(itemCount, atLeast),
	"maxItems":         compareLimit(itemCount, atMost),
	"uniqueItems":      (*checker).hasUniqueItems,
	"minProperties":    compareLimit(memberCount, atLeast),
	"maxProperties":    compareLimit(memberCount, atMost),
	"required":         hasRequired,
	"dependentRequired": func(_ *checker, s *object, key string, v any) bool {
		o, ok := v.(*object)
		on := s.object(key)
		return !ok || !slices.ContainsFunc(on.keys, func(name string) bool { return o.has(name) && !hasAll(o, on.list(name)) })
	},
}

// compareLimit returns an assertion that compares the measure of a value with the keyword's number.
func compareLimit(measure func(v any) (float64, bool), holds func(got, want float64) bool) func(*checker, *object, string, any) bool {
	return func(_ *checker, s *object, key string, v any) bool {
		got, ok := measure(v)
		want, bounded := toFloat(s.values[key])
		return !ok || !bounded || holds(got, want)
	}
}

func atLeast(got, want float64) bool { return got >= want }
func atMost(got, want float64) bool  { return got <= want }

// numberOf returns v as a number, clamped to the range of float64; false if v is not a number.
func numberOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, _ := n.Float64()
	return max(-math.MaxFloat64, min(f, math.MaxFloat64)), true
}

func runeCount(v any) (float64, bool) {
	s, ok := v.(string)
	return float64(utf8.RuneCountInString(s)), ok
}

func itemCount(v any) (float64, bool) {
	l, ok := v.([]any)
	return float64(len(l)), ok
}

func memberCount(v any) (float64, bool) {
	o, ok := v.(*object)
	if !ok {
		return 0, false
	}
	return float64(len(o.keys)), true
}

func hasRequired(_ *checker, s *object, key string, v any) bool {
	o, ok := v.(*object)
	return !ok || hasAll(o, s.list(key))
}

func hasAll(o *object, names []any) bool {
	return !slices.ContainsFunc(names, func(name any) bool { return !o.has(name.(string)) })
}

// isMultipleOf divides the numbers as written, since as floats 0.3 is not a multiple of 0.1.
func isMultipleOf(_ *checker, s *object, key string, v any) bool {
	n, ok := v.(json.Number)
	f, bounded := toFloat(s.values[key])
	if !ok || !bounded || len(n) > 400 {
		return true
	}
	if x, err := n.Float64(); err != nil || math.Abs(x) > 1e300 || x != 0 && math.Abs(x) < 1e-300 {
		return true
	}
	a, ok1 := new(big.Rat).SetString(n.String())
	b, ok2 := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return !ok1 || !ok2 || b.Sign() == 0 || a.Quo(a, b).IsInt()
}

func (c *checker) inEnum(s *object, _ string, v any) bool {
	enum := s.list("enum")
	if !c.spend(len(enum) / comparedPerStep) {
		c.unchecked++
		return true
	}
	return slices.ContainsFunc(enum, func(listed any) bool { return equal(listed, v) })
}

func (c *checker) isConst(s *object, key string, v any) bool { return equal(s.values[key], v) }

func (c *checker) hasUniqueItems(_ *object, _ string, v any) bool {
	l, _ := v.([]any)
	seen := map[string]bool{}
	for _, item := range l {
		text := string(appendCanonical(nil, item))
		if !c.spend(1 + len(text)/bytesPerStep) {
			c.unchecked++
			return true
		}
		if seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// equal reports whether a and b are equal by the rules of JSON Schema. It stops at the first difference.
func equal(a, b any) bool {
	switch a := a.(type) {
	case *object:
		o, ok := b.(*object)
		return ok && len(a.keys) == len(o.keys) && !slices.ContainsFunc(a.keys, func(key string) bool {
			return !o.has(key) || !equal(a.values[key], o.values[key])
		})
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equal)
	case json.Number:
		n, ok := b.(json.Number)
		return ok && string(appendCanonicalNumber(nil, a.String())) == string(appendCanonicalNumber(nil, n.String()))
	}
	return a == b
}

// appendCanonical appends a text that is equal for equal values and different for others.
func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case *object:
		b = append(b, '{')
		for _, key := range slices.Sorted(slices.Values(v.keys)) {
			b = appendCanonical(append(strconv.AppendQuote(b, key), ':'), v.values[key])
			b = append(b, ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendCanonical(b, item), ',')
		}
		return append(b, ']')
	case json.Number:
		return appendCanonicalNumber(b, v.String())
	}
	return append(b, encode(v)...)
}

// appendCanonicalNumber appends the digits of a number without zeros at either end, and the
// exponent of the last digit: as floats, similar long ids would be equal.
func appendCanonicalNumber(b []byte, n string) []byte {
	digits, negative := strings.CutPrefix(n, "-")
	digits, power, _ := strings.Cut(strings.ToLower(digits), "e")
	exponent, err := strconv.ParseInt(cmp.Or(power, "0"), 10, 32)
	if err != nil {
		return append(b, n...)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= int64(len(fraction))
	short := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(short))
	if short == "" {
		return append(b, '0')
	}
	if negative {
		b = append(b, '-')
	}
	return strconv.AppendInt(append(append(b, short...), 'e'), exponent, 10)
}

func (c *checker) inPattern(s *object, key string, v any) bool {
	text, ok := v.(string)
	return !ok || c.matches(s.text(key), text) != invalid
}

// matches returns whether text matches pattern; unknown if the pattern cannot be compiled or
// matching it costs more steps than are left.
func (c *checker) matches(pattern, text string) verdict {
	e, ok := c.expressions[pattern]
	if !ok {
		e, _ = compile(pattern)
		c.expressions[pattern] = e
	}
	if e == nil {
		return unknown
	}
	if cost := e.cost(text); cost > float64(c.stepsLeft) || !c.spend(int(cost)) {
		c.unchecked++
		return unknown
	}
	if e.MatchString(text) {
		return valid
	}
	return invalid
}

// An expression is a compiled pattern with bounds for the cost of matching it.
type expression struct {
	*regexp.Regexp
	size    int     // approximate number of instructions; each may run for every byte
	maxRead float64 // most bytes of a text that it reads; +Inf if unbounded
}

// cost returns the steps that matching text may take.
func (e *expression) cost(text string) float64 {
	return float64(e.size) * min(float64(len(text)), e.maxRead) / wordsPerStep
}

// compile compiles a pattern of JSON Schema, which is written in JavaScript's dialect. It returns
// false for patterns that Go's linear-time matcher does not support, such as look-around, and for
// those whose repetitions make the program too large.
func compile(pattern string) (*expression, bool) {
	if len(pattern) > 2000 {
		return nil, false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || programSize(parsed) > maxProgram {
		return nil, false
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, false
	}
	e := &expression{re, programSize(parsed), math.Inf(1)}
	if isAnchored(parsed) {
		e.maxRead = utf8.UTFMax * (1 + maxRunes(parsed))
	}
	return e, true
}

// maxProgram bounds the size of compiled patterns. That of "^[a-z]{1,1000}$" is 1002.
const maxProgram = 20e3

func programSize(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// isAnchored reports whether a pattern matches only at the beginning of a text.
func isAnchored(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return isAnchored(re.Sub[0])
	}
	return false
}

// maxRunes returns the length of the longest match in runes; +Inf if unbounded.
func maxRunes(re *syntax.Regexp) float64 {
	n := 0.0
	for _, sub := range re.Sub {
		if re.Op == syntax.OpAlternate {
			n = max(n, maxRunes(sub))
		} else {
			n += maxRunes(sub)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return float64(len(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpPlus:
		return math.Inf(1)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return math.Inf(1)
		}
		if re.Max == 0 {
			return 0
		}
		return n * float64(re.Max)
	}
	return n
}
