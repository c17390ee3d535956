package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Quirks are what a configuration says of a service, over what its row says.
// The zero value says nothing. See Dialect, whose fields these are.
type Quirks struct {
	Limit   string            `toml:"limit"`       // request field of the output limit
	Thinks  string            `toml:"thinks"`      // message field in which thinking goes back
	Echo    string            `toml:"echo"`        // which thinking goes back: see echoes
	Fill    *bool             `toml:"fill"`        // calls without thinking go back with the field empty
	Blank   *bool             `toml:"blank"`       // content of a message that only calls is "", not null
	Bridge  *bool             `toml:"bridge"`      // after results of tools only the assistant may speak
	Joins   *bool             `toml:"joins"`       // what the user says behind results goes into the last of them
	IDs     string            `toml:"ids"`         // of calls: "short" or "nine"
	Renames map[string]string `toml:"renames"`     // request fields under another name
	Refuses []string          `toml:"refuses"`     // settings to leave out
	Usage   *bool             `toml:"usage"`       // counts tokens if stream_options ask for it
	Streams *bool             `toml:"streams"`     // also while tools are on offer
	Warm    *bool             `toml:"warm"`        // temperature must be above 0 and at most 1
	Files   *bool             `toml:"files"`       // takes PDFs
	Inline  *bool             `toml:"inline"`      // takes images themselves, but not their addresses
	Caches  *bool             `toml:"caches"`      // keeps of a prompt what cache_control marks
	Choice  string            `toml:"choice"`      // of tool_choice it takes "all", "words", "mild" or "none"
	Answers []Format          `toml:"answers"`     // how it is told the schema of an answer, the best first
	Strict  *bool             `toml:"strict"`      // knows strict schemas
	Grows   *bool             `toml:"grows"`       // thinking may come as all there is so far
	Clean   *bool             `toml:"clean"`       // never leaks thinking or calls into its text
	System  string            `toml:"system_role"` // "system" or "developer"

	EffortField   string   `toml:"effort_field"`   // where the word for effort goes; a dot goes into an object
	EffortWords   []string `toml:"effort_words"`   // for off, minimal, low, medium, high, max; "" sends none
	BudgetField   string   `toml:"budget_field"`   // where a budget of thinking goes, in tokens
	ThinkingField string   `toml:"thinking_field"` // switches thinking
	ThinkingOn    any      `toml:"thinking_on"`    // its value for on
	ThinkingOff   any      `toml:"thinking_off"`   // and for off
}

var (
	echoes  = map[string]Echo{"never": EchoNever, "calls": EchoCalls, "always": EchoAlways, "tags": EchoTags, "parts": EchoParts}
	ids     = map[string]IDs{"short": IDsShort, "nine": IDsNine}
	choices = map[string]Choice{"all": ChoiceAll, "words": ChoiceWords, "mild": ChoiceMild, "none": ChoiceNone}
)

// Over returns d with what q says put over it.
func (q Quirks) Over(d Dialect) Dialect {
	put(&d.Limit, q.Limit, q.Limit != "")
	put(&d.Thinks, q.Thinks, q.Thinks != "")
	put(&d.Echo, echoes[q.Echo], q.Echo != "")
	put(&d.IDs, ids[q.IDs], q.IDs != "")
	put(&d.Renames, q.Renames, q.Renames != nil)
	put(&d.Refuses, q.Refuses, q.Refuses != nil)
	put(&d.Choice, choices[q.Choice], q.Choice != "")
	put(&d.Formats, q.Answers, q.Answers != nil)
	put(&d.System, q.System, q.System != "")
	for _, flag := range []struct{ to, said *bool }{
		{&d.Fill, q.Fill}, {&d.Blank, q.Blank}, {&d.Bridge, q.Bridge}, {&d.Joins, q.Joins}, {&d.Warm, q.Warm},
		{&d.Files, q.Files}, {&d.Inline, q.Inline}, {&d.Caches, q.Caches}, {&d.Strict, q.Strict},
		{&d.Grows, q.Grows}, {&d.Clean, q.Clean},
	} {
		if flag.said != nil {
			*flag.to = *flag.said
		}
	}
	if q.Usage != nil {
		d.NoUsage = !*q.Usage
	}
	if q.Streams != nil {
		d.Whole = !*q.Streams
	}
	e := &d.Effort
	put(&e.Field, q.EffortField, q.EffortField != "")
	put(&e.Tokens, q.BudgetField, q.BudgetField != "")
	if q.EffortWords != nil {
		copy(e.Words[:], q.EffortWords)
	}
	if q.ThinkingField != "" {
		e.Switch = Switch{q.ThinkingField, literal(q.ThinkingOn), literal(q.ThinkingOff)}
	}
	return d
}

func put[T any](to *T, value T, said bool) {
	if said {
		*to = value
	}
}

// literal is v as JSON.
func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

// Validate reports what cannot be meant, with the key in front.
func (q Quirks) Validate() error {
	var errs []error
	for _, row := range []struct {
		key, word string
		words     string
	}{
		{"echo", q.Echo, "never calls always tags parts"},
		{"ids", q.IDs, "short nine"},
		{"choice", q.Choice, "all words mild none"},
		{"system_role", q.System, "system developer"},
	} {
		if row.word != "" && !slices.Contains(strings.Fields(row.words), row.word) {
			errs = append(errs, fmt.Errorf("%s: unknown %q; there are %s", row.key, row.word, strings.ReplaceAll(row.words, " ", ", ")))
		}
	}
	for _, f := range q.Answers {
		if f != FormatNone && !slices.Contains(formatNames(), f) {
			errs = append(errs, fmt.Errorf("answers: unknown %q; there are %q and %q", f, formatNames(), FormatNone))
		}
	}
	if n := len(q.EffortWords); n != 0 && n != len(llm.Efforts) {
		errs = append(errs, fmt.Errorf("effort_words: %d words for the %d efforts %v", n, len(llm.Efforts), llm.Efforts))
	}
	if (q.ThinkingOn != nil || q.ThinkingOff != nil) && q.ThinkingField == "" {
		errs = append(errs, errors.New("thinking_field: missing, though there are values for it"))
	}
	if q.ThinkingField != "" && (q.ThinkingOn == nil || q.ThinkingOff == nil) {
		errs = append(errs, errors.New("thinking_on, thinking_off: both are needed beside thinking_field"))
	}
	return errors.Join(errs...)
}
