package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Guess returns facts for a model id met behind any gateway or local server,
// such as "deepseek/deepseek-v4-pro", "qwen3:8b" or "gpt-6-sol-2026-01".
// Provider tells whose facts they are.
//
// Ids that differ only in the vendor before them, letter case, punctuation, or
// a date, quantization or routing mark behind them name the same model, and
// give all its facts. Of a newer version of a known model, such as gpt-7-sol, the
// facts are those of the last one known, without its price. Where only the family
// is known, they are those of its nearest member, without sizes and price, which
// differ within families. Inferred marks both.
func Guess(id string) (Model, bool) {
	want := words(id)
	if len(want) == 0 {
		return Model{}, false
	}
	if best, ok := sameModel(id, want); ok {
		return best.row.as(best.row.provider), true
	}
	var nearest *name
	most := 1 // one word in common, such as "gpt", says nothing
	names, kin := namesWith(want[0]), family(want)
	for i, n := range names {
		common := commonPrefix(kin, family(n.words))
		if common > most || nearest != nil && common == most && len(n.words) < len(nearest.words) {
			nearest, most = &names[i], common
		}
	}
	if nearest == nil || !slices.ContainsFunc(want[:most], version().MatchString) { // of no known generation
		if last := previousVersion(want); last != nil {
			m := last.row.as(last.row.provider)
			m.Inferred, m.Price = true, Price{}
			return m, true
		}
	}
	if nearest == nil {
		return Model{}, false
	}
	m := nearest.row.as(nearest.row.provider)
	m.Inferred = true
	m.Context, m.MaxInput, m.MaxOutput, m.Price = 0, 0, 0, Price{}
	return m, true
}

// previousVersion returns the last row that names the same model in an earlier version,
// nil if there is none.
func previousVersion(want []string) *name {
	var last *name
	names := namesWith(want[0])
	for i := range names {
		n := &names[i]
		if isEarlier(n.words, want) && (last == nil || isEarlier(last.words, n.words)) {
			last = n
		}
	}
	return last
}

// isEarlier reports whether a and b are the same but for their versions, and that
// of a comes first.
func isEarlier(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	order := 0
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if !version().MatchString(a[i]) || !version().MatchString(b[i]) {
			return false
		}
		if order == 0 {
			order = slices.Compare(versionNumbers(a[i]), versionNumbers(b[i]))
		}
	}
	return order < 0
}

// version matches a number in a name that tells one generation from another.
var version = pattern(`^\d{1,2}(?:\.\d{1,2})*$`)

// versionNumbers returns the numbers of a version: 5 comes before 5.1.
func versionNumbers(version string) []int {
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return list
		}
		list = append(list, n)
	}
	return list
}

// sameModel returns the row that names the same model, if there is one: the one of
// the vendor that id names, else the first in the catalog's order, which has
// vendors before gateways.
func sameModel(id string, want []string) (*name, bool) {
	vendor, _, _ := strings.Cut(id, "/")
	var found *name
	names := namesWith(want[0])
	for i := range names {
		n := &names[i]
		if !slices.Equal(n.words, want) {
			continue
		}
		if n.row.id == id || n.row.provider == vendor {
			return n, true
		}
		if found == nil {
			found = n
		}
	}
	return found, found != nil
}

// name is the id of a row, taken apart.
type name struct {
	row   row
	words []string
}

// namesByWord holds what namesWith returned, by the word: who guesses for one id of a list does so
// for the others.
var namesByWord sync.Map

// namesWith returns, in the catalog's order, the names that begin with a word; all of them
// for a number, which may be a version, and then another one is as near. Only ids that hold
// the word are taken apart: all would cost more than the rest of opening a model.
func namesWith(word string) []name {
	number := isDigit(rune(word[0]))
	if number {
		word = ""
	}
	if known, ok := namesByWord.Load(word); ok {
		return known.([]name)
	}
	var names []name
	for _, e := range entries() {
		for _, r := range e.rows() {
			if !strings.Contains(strings.ToLower(r.id), word) {
				continue
			}
			if w := words(r.id); number || w[0] == word {
				names = append(names, name{r, w})
			}
		}
	}
	if len(names) > 0 { // ids of servers may hold any word
		namesByWord.Store(word, names)
	}
	return names
}

// pattern compiles an expression when it is first needed.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// dashed matches a version written with a dash, as Anthropic does.
var dashed = pattern(`\b(\d{1,2})-(\d{1,2})(?:-|$)`)

// words takes an id apart, without the vendor before it and the marks behind. All ids of the
// catalog are, to find a name among them: expressions are for those that may match.
func words(id string) []string {
	id = strings.ToLower(id)
	id = id[strings.LastIndex(id, "/")+1:]
	if _, after, ok := strings.Cut(id, "anthropic."); ok { // Bedrock: us.anthropic.claude-…
		id = after
	}
	if strings.Contains(id, "-q") || strings.Contains(id, ":q") || strings.Contains(id, "iq") {
		id = quantized().ReplaceAllString(id, "")
	}
	id = strings.ReplaceAll(strings.ReplaceAll(id, "_", "-"), "@", "-")
	if hasDashedDigits(id) {
		id = dashed().ReplaceAllString(id, "$1.$2-")
	}
	list := runs(id)
	for len(list) > 1 && isSuffixMark(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	return list
}

// runs returns the runs of letters in an id, and the numbers with the letters behind them.
// Versions stay whole, however they are written: 5.5 and 5-5 are the same.
func runs(id string) (list []string) {
	for len(id) > 0 {
		n := 0
		if isDigit(rune(id[0])) {
			n = prefixLength(id, isDigit)
			for n+1 < len(id) && id[n] == '.' && isDigit(rune(id[n+1])) {
				n += 1 + prefixLength(id[n+1:], isDigit)
			}
		}
		n += prefixLength(id[n:], func(r rune) bool { return r >= 'a' && r <= 'z' })
		if n > 0 {
			list = append(list, id[:n])
		}
		id = id[max(n, 1):]
	}
	return list
}

// hasDashedDigits reports whether there is a dash between two digits.
func hasDashedDigits(id string) bool {
	for i := 1; i+1 < len(id); i++ {
		if id[i] == '-' && isDigit(rune(id[i-1])) && isDigit(rune(id[i+1])) {
			return true
		}
	}
	return false
}

// suffixMarks holds words at the end of an id that do not make another model of it.
var suffixMarks = strings.Fields("latest preview free beta nitro floor exacto versatile instruct it gguf awq gptq fp8 fp16 bf16 int4 int8")

// isSuffixMark reports whether a word at the end of an id makes no other model of it: one of
// suffixMarks, or a date.
func isSuffixMark(word string) bool {
	switch digits := prefixLength(word, isDigit); {
	case digits == len(word):
		return digits == 2 || digits >= 4 && digits <= 8
	case digits > 0 && len(word) == len("01.02"):
		return digits == 2 && word[2] == '.' && prefixLength(word[3:], isDigit) == 2
	}
	return slices.Contains(suffixMarks, word)
}

// quantized matches the mark of a quantization, such as -q4_K_M.
var quantized = pattern(`[-:]i?q\d(?:_.*)?$`)

// size matches a number of parameters, such as 8b or 2.4t.
var size = pattern(`^\d+(?:\.\d+)?[bt]$`)

// family returns words with every size alike.
func family(words []string) []string {
	list := slices.Clone(words)
	for i, w := range list {
		if isDigit(rune(w[0])) && size().MatchString(w) {
			list[i] = "size"
		}
	}
	return list
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
