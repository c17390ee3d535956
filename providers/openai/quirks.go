package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Quirks holds what a configuration says of a service, over what its row says.
// The zero value says nothing. See Dialect, whose fields these are.
type Quirks struct {
	MaxTokensField      string            `toml:"max_tokens_field"`      // request field of the output limit
	ReasoningField      string            `toml:"reasoning_field"`       // message field in which thinking goes back
	Echo                string            `toml:"reasoning_echo"`        // which thinking goes back: see echoes
	EmptyReasoning      *bool             `toml:"empty_reasoning"`       // calls without thinking go back with the field empty
	EmptyContentString  *bool             `toml:"empty_content"`         // content of a message that only calls is "", not null
	AssistantAfterTools *bool             `toml:"assistant_after_tools"` // after results of tools only the assistant may speak
	UserIntoToolResult  *bool             `toml:"user_into_tool_result"` // what the user says behind results goes into the last of them
	IDs                 string            `toml:"call_ids"`              // of calls: "short" or "nine"
	RenamedFields       map[string]string `toml:"renamed_fields"`        // request fields under another name
	RefusedSettings     []string          `toml:"refused_settings"`      // settings to leave out
	StreamOptions       *bool             `toml:"stream_usage"`          // counts tokens if stream_options ask for it
	StreamWithTools     *bool             `toml:"stream_with_tools"`     // also while tools are on offer
	PositiveTemperature *bool             `toml:"positive_temperature"`  // temperature must be above 0 and at most 1
	PDFs                *bool             `toml:"pdfs"`                  // takes PDFs
	InlineImagesOnly    *bool             `toml:"inline_images"`         // takes images themselves, but not their addresses
	CacheControl        *bool             `toml:"cache_control"`         // keeps of a prompt what cache_control marks
	ToolChoice          string            `toml:"tool_choices"`          // of tool_choice it takes "all", "words", "mild" or "none"
	Formats             []Format          `toml:"answer_formats"`        // how it is told the schema of an answer, the best first
	StrictSchemas       *bool             `toml:"strict_schemas"`        // knows strict schemas
	CumulativeReasoning *bool             `toml:"cumulative_reasoning"`  // thinking may come as all there is so far
	CleanText           *bool             `toml:"clean_text"`            // never leaks thinking or calls into its text
	SystemRole          string            `toml:"system_role"`           // "system" or "developer"

	EffortQuirks
}

// EffortQuirks holds the quirks of thinking: see Effort.
type EffortQuirks struct {
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

// Apply returns d with what q says put over it.
func (q Quirks) Apply(d Dialect) Dialect {
	override(&d.MaxTokensField, q.MaxTokensField, q.MaxTokensField != "")
	override(&d.ReasoningField, q.ReasoningField, q.ReasoningField != "")
	override(&d.Echo, echoes[q.Echo], q.Echo != "")
	override(&d.IDs, ids[q.IDs], q.IDs != "")
	override(&d.RenamedFields, q.RenamedFields, q.RenamedFields != nil)
	override(&d.RefusedSettings, q.RefusedSettings, q.RefusedSettings != nil)
	override(&d.ToolChoice, choices[q.ToolChoice], q.ToolChoice != "")
	override(&d.Formats, q.Formats, q.Formats != nil)
	override(&d.SystemRole, q.SystemRole, q.SystemRole != "")
	for _, flag := range []struct{ to, said *bool }{
		{&d.EmptyReasoning, q.EmptyReasoning}, {&d.EmptyContentString, q.EmptyContentString}, {&d.AssistantAfterTools, q.AssistantAfterTools}, {&d.UserIntoToolResult, q.UserIntoToolResult}, {&d.PositiveTemperature, q.PositiveTemperature},
		{&d.PDFs, q.PDFs}, {&d.InlineImagesOnly, q.InlineImagesOnly}, {&d.CacheControl, q.CacheControl}, {&d.StrictSchemas, q.StrictSchemas},
		{&d.CumulativeReasoning, q.CumulativeReasoning}, {&d.CleanText, q.CleanText},
	} {
		if flag.said != nil {
			*flag.to = *flag.said
		}
	}
	if q.StreamOptions != nil {
		d.NoStreamOptions = !*q.StreamOptions
	}
	if q.StreamWithTools != nil {
		d.NoStreamWithTools = !*q.StreamWithTools
	}
	e := &d.Effort
	override(&e.Field, q.EffortField, q.EffortField != "")
	override(&e.BudgetField, q.BudgetField, q.BudgetField != "")
	if q.EffortWords != nil {
		copy(e.Words[:], q.EffortWords)
	}
	if q.ThinkingField != "" {
		e.Switch = Switch{q.ThinkingField, toJSON(q.ThinkingOn), toJSON(q.ThinkingOff)}
	}
	return d
}

func override[T any](to *T, value T, said bool) {
	if said {
		*to = value
	}
}

// toJSON returns v as JSON.
func toJSON(v any) string {
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
		{"reasoning_echo", q.Echo, "never calls always tags parts"},
		{"call_ids", q.IDs, "short nine"},
		{"tool_choices", q.ToolChoice, "all words mild none"},
		{"system_role", q.SystemRole, "system developer"},
	} {
		if row.word != "" && !slices.Contains(strings.Fields(row.words), row.word) {
			errs = append(errs, fmt.Errorf("%s: unknown %q; there are %s", row.key, row.word, strings.ReplaceAll(row.words, " ", ", ")))
		}
	}
	for _, f := range q.Formats {
		if f != FormatNone && !slices.Contains(formatNames(), f) {
			errs = append(errs, fmt.Errorf("answer_formats: unknown %q; there are %q and %q", f, formatNames(), FormatNone))
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
