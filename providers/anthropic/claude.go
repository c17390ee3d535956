package anthropic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A mode is how a model is told to think.
type mode int

const (
	modeNone     mode = iota // it does not think, or knows no word for it
	modeBudget               // enabled, with a budget
	modeEither               // adaptive; a budget is taken as well
	modeAdaptive             // adaptive; a budget is refused, or of no use
)

// The values of thinking.type.
const (
	typeEnabled  = "enabled"
	typeDisabled = "disabled"
	typeAdaptive = "adaptive"
	typeBetween  = "between_tools"
)

// facts are what a model's id says about what it takes.
type facts struct {
	name    string // of the model, the same for every spelling of its id
	claude  bool
	limit   int // most output tokens
	mode    mode
	off     string    // thinking.type that switches thinking off; "" if nothing does
	efforts [6]string // output_config.effort in the order of llm.Efforts; "" sends none
	thinks  bool      // thinks although nobody asked
	shows   bool      // shows its thinking only if told to
	fixed   bool      // refuses sampling settings, thinking or not
	free    bool      // cannot be forced to call a tool
	format  bool      // takes a schema of its answer
	binds   bool      // its thinking is good behind the same messages only
	fill    bool      // wants thinking in each message with calls, if only empty
}

// A version is what stands in a model's id, such as 4.5; 5 is 5.0.
type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// newest is the version of ids that name none, such as claude-opus-latest.
var newest = version{99, 0}

// effort words, in the order of llm.Efforts.
var (
	wordsHigh = [6]string{"", "low", "low", "medium", "high", "high"}
	wordsMax  = [6]string{"", "low", "low", "medium", "high", "max"}
	wordsOn   = [6]string{"low", "low", "low", "medium", "high", "max"} // of models that cannot stop, or not quite
)

// generations say what Claude models take, by the words of Anthropic's
// documentation and of its SDK's types. The first row that names the family and
// whose version is not above the model's holds; "" names every family.
var generations = []struct {
	families     string
	major, minor int
	facts
}{
	{"opus", 5, 5, facts{mode: modeAdaptive, efforts: wordsOn, thinks: true, fixed: true, free: true, limit: 128_000}},
	{"sonnet", 5, 5, facts{mode: modeAdaptive, off: typeBetween, efforts: wordsOn, thinks: true, fixed: true, free: true, limit: 128_000}},
	{"opus sonnet haiku", 5, 0, facts{mode: modeAdaptive, off: typeDisabled, efforts: wordsMax, thinks: true, fixed: true, limit: 128_000}},
	{"", 5, 1, facts{mode: modeAdaptive, efforts: wordsOn, thinks: true, fixed: true, free: true, limit: 128_000}},
	{"", 5, 0, facts{mode: modeAdaptive, efforts: wordsOn, thinks: true, fixed: true, limit: 128_000}},
	{"", 4, 7, facts{mode: modeAdaptive, off: typeDisabled, efforts: wordsMax, fixed: true, limit: 128_000}},
	{"", 4, 6, facts{mode: modeEither, off: typeDisabled, efforts: wordsMax, limit: 128_000}},
	{"opus", 4, 5, facts{mode: modeBudget, off: typeDisabled, efforts: wordsHigh, limit: 64_000}},
	{"opus", 4, 0, facts{mode: modeBudget, off: typeDisabled, limit: 32_000}},
	{"", 3, 7, facts{mode: modeBudget, off: typeDisabled, limit: 64_000}},
	{"", 3, 5, facts{limit: 8192}},
	{"", 0, 0, facts{limit: 4096}},
}

// factsOf reads a model's id. On Anthropic's own host every model is a Claude.
func factsOf(id string, own bool) facts {
	family, v, ok := parse(id)
	if !ok && !own {
		// Services that copy the format know enabled and disabled, rarely more.
		return facts{
			name: strings.ToLower(id), mode: modeBudget, off: typeDisabled, limit: 32_000,
			fill: strings.Contains(strings.ToLower(id), "deepseek") && !strings.Contains(strings.ToLower(id), "r1"),
		}
	}
	for _, row := range generations {
		if !v.atLeast(row.major, row.minor) || row.families != "" && !slices.Contains(strings.Fields(row.families), family) {
			continue
		}
		f := row.facts
		f.claude = true
		f.shows = v.atLeast(4, 7)
		f.format = v.atLeast(4, 5) || family == "opus" && v.atLeast(4, 1)
		f.binds = v.atLeast(5, 1)
		f.name = name(family, v)
		if !ok {
			f.name = strings.ToLower(id)
		}
		return f
	}
	return facts{} // the last row fits everything
}

func name(family string, v version) string {
	if v == newest {
		return family
	}
	return strings.TrimPrefix(fmt.Sprintf("%s-%d.%d", family, v.major, v.minor), "-")
}

// parse finds family and version in the id of a Claude, however a platform
// writes it:
//
//	claude-3-5-sonnet-20241022  claude-sonnet-4@20250514  claude-opus-4.5
//	us.anthropic.claude-haiku-4-5-20251001-v1:0  claude-fable-5-1  claude-mythos-preview
func parse(id string) (family string, v version, ok bool) {
	id = strings.ToLower(id)
	at := strings.LastIndex(id, "claude")
	if at < 0 || at > 0 && !strings.ContainsRune("./:@", rune(id[at-1])) && !strings.Contains(id, "anthropic") {
		return "", newest, false
	}
	var numbers []int
	done := false // a date or a word came behind the version
	for _, word := range strings.FieldsFunc(id[at+len("claude"):], separates) {
		n, err := strconv.Atoi(strings.TrimPrefix(word, "v"))
		switch {
		case err == nil && len(word) < 4 && len(numbers) < 2 && !done:
			numbers = append(numbers, n)
			continue
		case err != nil && family == "":
			family = word
		}
		done = len(numbers) > 0
	}
	v = newest
	if len(numbers) > 0 {
		v = version{major: numbers[0]}
	}
	if len(numbers) > 1 {
		v.minor = numbers[1]
	}
	return family, v, true
}

// separates reports whether r stands between the words of an id.
func separates(r rune) bool { return strings.ContainsRune("-._@:/ ", r) }
