package anthropic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A thinkingMode is the form in which a model's thinking is requested.
type thinkingMode int

const (
	modeNone     thinkingMode = iota // the model does not think, or has no setting for it
	modeBudget                       // enabled, with a budget
	modeEither                       // adaptive; a budget is accepted too
	modeAdaptive                     // adaptive; a budget is refused or useless
)

// The values of thinking.type.
const (
	typeEnabled  = "enabled"
	typeDisabled = "disabled"
	typeAdaptive = "adaptive"
	typeBetween  = "between_tools"
)

// facts holds a model's features, derived from its id.
type facts struct {
	name            string // of the model, the same for every spelling of its id
	claude          bool
	maxOutput       int // most output tokens
	mode            thinkingMode
	offType         string    // thinking.type that switches thinking off; "" for none
	efforts         [6]string // output_config.effort in the order of llm.Efforts; "" omits it
	thinksByDefault bool      // thinks unless told not to
	showsOnRequest  bool      // shows its thinking only on request
	fixedSampling   bool      // refuses sampling settings, with and without thinking
	noForcedTool    bool      // cannot be forced to call a tool
	schemaFormat    bool      // accepts an answer schema
	newestSearch    bool      // supports the newest version of the web search
	bindsThinking   bool      // its thinking is valid only after the same messages
	needsThinking   bool      // every message with calls needs thinking, even empty
}

// A version is the version in a model's id, such as 4.5; 5 is 5.0.
type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// newest is the version of ids without one, such as claude-opus-latest.
var newest = version{99, 0}

// effort words, in the order of llm.Efforts.
var (
	effortsHigh     = [6]string{"", "low", "low", "medium", "high", "high"}
	effortsMax      = [6]string{"", "low", "low", "medium", "high", "max"}
	effortsAlwaysOn = [6]string{"low", "low", "low", "medium", "high", "max"} // for models that cannot switch thinking off, or not completely
)

// generations describes the Claude models, according to Anthropic's documentation and the types of
// its SDK. The first row whose families include the model's and whose version is not above the
// model's applies; "" includes every family.
var generations = []struct {
	families     string
	major, minor int
	facts
}{
	{"opus", 5, 5, facts{mode: modeAdaptive, efforts: effortsAlwaysOn, thinksByDefault: true, fixedSampling: true, noForcedTool: true, maxOutput: 128_000}},
	{"sonnet", 5, 5, facts{mode: modeAdaptive, offType: typeBetween, efforts: effortsAlwaysOn, thinksByDefault: true, fixedSampling: true, noForcedTool: true, maxOutput: 128_000}},
	{"opus sonnet haiku", 5, 0, facts{mode: modeAdaptive, offType: typeDisabled, efforts: effortsMax, thinksByDefault: true, fixedSampling: true, maxOutput: 128_000}},
	{"", 5, 1, facts{mode: modeAdaptive, efforts: effortsAlwaysOn, thinksByDefault: true, fixedSampling: true, noForcedTool: true, maxOutput: 128_000}},
	{"", 5, 0, facts{mode: modeAdaptive, efforts: effortsAlwaysOn, thinksByDefault: true, fixedSampling: true, maxOutput: 128_000}},
	{"", 4, 7, facts{mode: modeAdaptive, offType: typeDisabled, efforts: effortsMax, fixedSampling: true, maxOutput: 128_000}},
	{"", 4, 6, facts{mode: modeEither, offType: typeDisabled, efforts: effortsMax, maxOutput: 128_000}},
	{"opus", 4, 5, facts{mode: modeBudget, offType: typeDisabled, efforts: effortsHigh, maxOutput: 64_000}},
	{"opus", 4, 0, facts{mode: modeBudget, offType: typeDisabled, maxOutput: 32_000}},
	{"", 3, 7, facts{mode: modeBudget, offType: typeDisabled, maxOutput: 64_000}},
	{"", 3, 5, facts{maxOutput: 8192}},
	{"", 0, 0, facts{maxOutput: 4096}},
}

// factsOf returns the facts for a model's id. On Anthropic's own host every model is a Claude.
func factsOf(o Options) facts {
	id, own := o.Model, o.IsHost(anthropicHost)
	family, v, ok := parseModelID(id)
	if !ok && !own {
		// Services that copy the format support enabled and disabled, rarely more.
		return facts{
			name: strings.ToLower(id), mode: modeBudget, offType: typeDisabled, maxOutput: 32_000,
			needsThinking: strings.Contains(strings.ToLower(id), "deepseek") && !strings.Contains(strings.ToLower(id), "r1"),
		}
	}
	for _, row := range generations {
		if !v.atLeast(row.major, row.minor) || row.families != "" && !slices.Contains(strings.Fields(row.families), family) {
			continue
		}
		f := row.facts
		f.claude = true
		f.showsOnRequest = v.atLeast(4, 7)
		f.newestSearch = own && v.atLeast(4, 6)
		f.schemaFormat = v.atLeast(4, 5) || family == "opus" && v.atLeast(4, 1)
		f.bindsThinking = v.atLeast(5, 1)
		f.name = modelName(family, v)
		if !ok {
			f.name = strings.ToLower(id)
		}
		return f
	}
	return facts{} // unreachable: the last row matches everything
}

func modelName(family string, v version) string {
	if v == newest {
		return family
	}
	return strings.TrimPrefix(fmt.Sprintf("%s-%d.%d", family, v.major, v.minor), "-")
}

// parseModelID finds the family and version in the id of a Claude model, in the notations of all
// platforms:
//
//	claude-3-5-sonnet-20241022  claude-sonnet-4@20250514  claude-opus-4.5
//	us.anthropic.claude-haiku-4-5-20251001-v1:0  claude-fable-5-1  claude-mythos-preview
func parseModelID(id string) (family string, v version, ok bool) {
	id = strings.ToLower(id)
	at := strings.LastIndex(id, "claude")
	if at < 0 || at > 0 && !strings.ContainsRune("./:@", rune(id[at-1])) && !strings.Contains(id, "anthropic") {
		return "", newest, false
	}
	var numbers []int
	done := false // a date or a word followed the version
	for _, word := range strings.FieldsFunc(id[at+len("claude"):], isSeparator) {
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

// isSeparator reports whether r separates the words of an id.
func isSeparator(r rune) bool { return strings.ContainsRune("-._@:/ ", r) }
