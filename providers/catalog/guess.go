package catalog

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// Guess returns facts for a model id of any gateway or local server, such as
// "deepseek/deepseek-v4-pro", "qwen3:8b" or "gpt-6-sol-2026-01". Provider names the owner of the
// matched model. It returns false if no similar model is known.
//
// Ids that differ only in a vendor prefix, case, punctuation, or a date, quantization or routing
// suffix name the same model and give all its facts. A newer version of a known model, such as
// gpt-7-sol, gives the facts of the last known version without its price. If only the family is
// known, it gives the facts of the nearest member without sizes and price, which differ within
// families. The last two cases set Inferred.
func Guess(id string) (Model, bool) {
	want := words(id)
	if len(want) == 0 {
		return Model{}, false
	}
	if best, ok := sameModel(id, want); ok {
		return best.row.as(best.row.provider), true
	}
	var nearest *name
	most := 1 // one common word, such as "gpt", is not enough
	names, wantFamily := namesWith(want[0]), family(want)
	for i, n := range names {
		common := commonPrefix(wantFamily, family(n.words))
		if common > most || nearest != nil && common == most && len(n.words) < len(nearest.words) {
			nearest, most = &names[i], common
		}
	}
	if nearest == nil || !slices.ContainsFunc(want[:most], version.MatchString) { // the generation is unknown
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

// previousVersion returns the name of the latest earlier version of the same model; nil if there is
// none.
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

// isEarlier reports whether a and b differ only in their versions and a is the earlier one.
func isEarlier(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	order := 0
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if !version.MatchString(a[i]) || !version.MatchString(b[i]) {
			return false
		}
		if order == 0 {
			order = slices.Compare(versionNumbers(a[i]), versionNumbers(b[i]))
		}
	}
	return order < 0
}

// version matches a number in a name that distinguishes generations.
var version = lazy.NewRegexp(`^\d{1,2}(?:\.\d{1,2})*$`)

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

// sameModel returns a name of the same model: the one of the vendor in id, else the first in the
// order of the catalog, which has vendors before gateways.
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

// name is the id of a row, split into words.
type name struct {
	row   row
	words []string
}

// namesByWord caches the results of namesWith: Guess is usually called for a whole list.
var namesByWord sync.Map

// namesWith returns, in catalog order, the names that begin with word. It returns all names if word
// is a number, since another version is just as near. It splits only ids that contain the word:
// splitting all would take longer than the rest of opening a model.
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
	if len(names) > 0 { // bounds the cache: ids of servers may begin with any word
		namesByWord.Store(word, names)
	}
	return names
}

// dashed matches a version written with a dash, as Anthropic does.
var dashed = lazy.NewRegexp(`\b(\d{1,2})-(\d{1,2})(?:-|$)`)

// words splits an id into words, without vendor prefix and suffix marks. It runs for many ids of the
// catalog, so it tries regular expressions only on ids that may match.
func words(id string) []string {
	id = strings.ToLower(id)
	id = id[strings.LastIndex(id, "/")+1:]
	if _, after, ok := strings.Cut(id, "anthropic."); ok { // Bedrock: us.anthropic.claude-…
		id = after
	}
	if strings.Contains(id, "-q") || strings.Contains(id, ":q") || strings.Contains(id, "iq") {
		id = quantized.ReplaceAllString(id, "")
	}
	id = strings.ReplaceAll(strings.ReplaceAll(id, "_", "-"), "@", "-")
	if hasDashedDigits(id) {
		id = dashed.ReplaceAllString(id, "$1.$2-")
	}
	list := runs(id)
	for len(list) > 1 && isSuffixMark(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	return list
}

// runs splits an id into runs of letters, and numbers with the letters after them. A dotted version
// stays whole.
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

// suffixMarks are words at the end of an id that do not change which model it names.
var suffixMarks = []string{
	"latest", "preview", "free", "beta", "nitro", "floor", "exacto", "versatile", "instruct", "it", "gguf",
	"awq", "gptq", "fp8", "fp16", "bf16", "int4", "int8",
}

// isSuffixMark reports whether word, at the end of an id, is one of suffixMarks or a date.
func isSuffixMark(word string) bool {
	switch digits := prefixLength(word, isDigit); {
	case digits == len(word):
		return digits == 2 || digits >= 4 && digits <= 8
	case digits > 0 && len(word) == len("01.02"):
		return digits == 2 && word[2] == '.' && prefixLength(word[3:], isDigit) == 2
	}
	return slices.Contains(suffixMarks, word)
}

// quantized matches a quantization suffix, such as -q4_K_M.
var quantized = lazy.NewRegexp(`[-:]i?q\d(?:_.*)?$`)

// size matches a number of parameters, such as 8b or 2.4t.
var size = lazy.NewRegexp(`^\d+(?:\.\d+)?[bt]$`)

// family returns words with each size replaced by the same word.
func family(words []string) []string {
	list := slices.Clone(words)
	for i, w := range list {
		if isDigit(rune(w[0])) && size.MatchString(w) {
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
