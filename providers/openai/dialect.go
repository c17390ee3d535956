package openai

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/schema"
)

// A Dialect is what one service, and the model that it serves, does differently from
// plain chat completions. The zero value is plain chat completions. A configuration
// can set the fields with a toml tag; see Override.
type Dialect struct {
	Name                string            // of the service; part of Origin
	PerModel            bool              // what a model sends back is good for that model only, so Origin names it
	MaxTokensField      string            `toml:"max_tokens_field"` // request field of the output limit; "" is "max_tokens"
	ReasoningField      string            `toml:"reasoning_field"`  // message field in which thinking goes back; "" is "reasoning_content"
	KeepsReasoningURL   string            // in a base URL, says that thinking is kept over turns and all of it goes back
	EmptyContentString  bool              `toml:"empty_content"`         // content of a message that only calls is "", not null
	AssistantAfterTools bool              `toml:"assistant_after_tools"` // after results of tools only the assistant may speak
	UserIntoToolResult  bool              `toml:"user_into_tool_result"` // a user message after results of tools goes into the last of them
	IDs                 IDs               `toml:"call_ids"`              // what a call's id must look like
	ExtraFields         map[string]any    // go with every request
	ToolFields          map[string]any    // go with every request that offers tools
	SchemaFields        map[string]any    // go with every request for an answer that fits a schema
	WebFields           map[string]any    // go with every request that may search the web
	WebTool             map[string]any    // is offered to it
	WebByResponses      bool              // searches the web on its Responses endpoint only; see NewGrok
	RenamedFields       map[string]string `toml:"renamed_fields"`       // request fields under another name
	NoStreamOptions     Not               `toml:"stream_usage"`         // counts tokens unasked and refuses stream_options
	NoStreamWithTools   Not               `toml:"stream_with_tools"`    // cannot stream while tools are on offer
	PositiveTemperature bool              `toml:"positive_temperature"` // temperature must be above 0 and at most 1
	PDFs                bool              `toml:"pdfs"`                 // takes PDFs
	InlineImagesOnly    bool              `toml:"inline_images"`        // takes images themselves, but not their addresses
	ImageDetail         bool              // takes how closely an image is looked at
	CacheControl        bool              `toml:"cache_control"`  // keeps of a prompt what cache_control marks
	ToolChoice          Choice            `toml:"tool_choices"`   // what of tool_choice it takes
	Formats             []Format          `toml:"answer_formats"` // how it is told the schema of an answer, the best first; nil is FormatSchema
	StrictSchemas       bool              `toml:"strict_schemas"` // knows strict schemas
	Schema              schema.Target     // what schemas must look like; the zero value leaves it to the model's family
	CumulativeReasoning bool              `toml:"cumulative_reasoning"` // thinking may come as all there is so far instead of what is new; see cumulative
	takesAudio          bool              // the model takes sound
	MultipleChoices     bool              // gives n answers to one request, and streams each under an index of its own
	Rules
}

// Rules follow the model wherever it is served.
type Rules struct {
	Echo             Echo     `toml:"reasoning_echo"`
	EmptyReasoning   bool     `toml:"empty_reasoning"` // a message with calls and no thinking carries the field, empty
	Effort           Effort   // how the model is told how much to think
	RefusedSettings  []string `toml:"refused_settings"` // settings that must not be sent; see refuses
	SystemRole       string   `toml:"system_role"`      // role of the system prompt; "" is "system"
	CleanText        bool     `toml:"clean_text"`       // never leaks thinking tags or tool calls into its text
	NoReasoning      bool     // cannot think, and Responses must not ask for it
	ReasoningSummary bool     // Responses shows its thinking in summaries, if asked
	Verbosity        bool     // takes verbosity
}

// Echo says which thinking goes back to the service in later requests.
// reasoning_details, which are signed or encrypted, always go back.
type Echo string

// The kinds of echo.
const (
	EchoNever  Echo = ""       //
	EchoCalls  Echo = "calls"  // that of messages with tool calls
	EchoAlways Echo = "always" // all of it
	EchoTags   Echo = "tags"   // all of it, as <think> text before the content
	EchoParts  Echo = "parts"  // all of it, as thinking parts of the content
)

// IDs says what the id of a tool call must look like.
type IDs string

// The kinds of ids. Ids that a service made itself go back to it as they are,
// unless it is strict about all of them.
const (
	IDsShort IDs = ""     // letters, digits, _ and -, at most 40
	IDsNine  IDs = "nine" // exactly nine letters and digits
)

// Choice says which words of tool_choice a service takes. The others are left
// out, or put in another way.
type Choice string

// The kinds of choice.
const (
	ChoiceAll   Choice = ""      // auto, none, required, and the name of a tool
	ChoiceWords Choice = "words" // auto, none and required
	ChoiceMild  Choice = "mild"  // auto and none
	ChoiceNone  Choice = "none"  // not even the field
)

// An Effort spells llm.Effort. Words and Budgets stand in the order of
// llm.Efforts: off, minimal, low, medium, high, max.
type Effort struct {
	Field       string    `toml:"effort_field"` // where the word goes; "" is "reasoning_effort"; a dot goes into an object
	Words       [6]string `toml:"effort_words"` // "" sends none
	Budgets     [6]int    // of thinking, in tokens; 0 sends none
	BudgetField string    `toml:"budget_field"` // where a budget goes; "" is "thinking_budget", if there are Budgets, and else nowhere
	Switch      Switch    // for off, and for on where there is no word
	AlwaysOn    bool      // the model thinks whatever it is told
	WithTools   string    // the only word with which the service also accepts tools
}

// A Switch turns thinking on and off.
type Switch struct {
	Field string   `toml:"thinking_field"`
	On    jsonText `toml:"thinking_on"`
	Off   jsonText `toml:"thinking_off"`
}

// Kinds lists the services DialectFor knows.
var Kinds = kinds()

func kinds() (list []string) {
	for _, s := range services {
		list = append(list, s.kind)
	}
	return list
}

// DialectFor returns what is special about a model at a service. The service is
// a kind of the configuration; rules that follow the model are found by its id,
// whatever a gateway puts before it.
func DialectFor(kind, model string) (Dialect, bool) {
	s, ok := serviceOf(kind)
	if !ok {
		return Dialect{}, false
	}
	d := s.dialect
	d.Name = kind
	d.ExtraFields, d.ToolFields, d.SchemaFields = maps.Clone(d.ExtraFields), maps.Clone(d.ToolFields), maps.Clone(d.SchemaFields)
	own := d.Rules
	if f, ok := familyOf(model); ok {
		d.Rules = f
		d.RefusedSettings = slices.Concat(own.RefusedSettings, f.RefusedSettings)
	}
	if s.ownEcho {
		d.Echo, d.EmptyReasoning = own.Echo, own.EmptyReasoning
	}
	if s.efforts != nil {
		d.Effort = effortOf(s.efforts, model)
	}
	d.IDs = idsOf(model, d.IDs)
	d.Verbosity = d.Verbosity && s.verbosity
	d.takesAudio = matchesGlobs(audioModels, baseModel(model))
	d.CacheControl = matchesGlobs(s.cacheGlobs, strings.ToLower(model))
	if i := slices.IndexFunc(s.modelFields, func(f modelFields) bool { return matchesGlobs(f.globs, baseModel(model)) }); i >= 0 {
		d.ExtraFields = maps.Clone(s.modelFields[i].fields)
	}
	if !s.ownServers {
		d.SystemRole, d.Effort.WithTools = "", ""
	} else if d.SystemRole != "" {
		d.MaxTokensField = "max_completion_tokens"
	}
	if baseModel(model) != strings.ToLower(model) {
		d.Effort.WithTools = "" // a gateway asks by another route
	}
	return d, true
}

// serviceOf returns the row of a kind.
func serviceOf(kind string) (service, bool) {
	for _, s := range services {
		if s.kind == kind {
			return s, true
		}
	}
	return service{}, false
}

// idsOf returns what ids of calls must look like for a model at a service with the rule usual. The
// templates of Mistral's models refuse other ids wherever they are rendered; Kimi expects its own back.
func idsOf(model string, usual IDs) IDs {
	switch id := baseModel(model); {
	case matchesGlobs("*stral* *xtral*", id):
		return IDsNine
	case matchesGlobs("*kimi*", id):
		return IDsShort
	}
	return usual
}

// searching lists globs of models that search the web for every answer.
const searching = "sonar* *-search-preview* *-search-api*"

// searchesWeb reports whether the service searches the web for a model.
func (d Dialect) searchesWeb(model string) bool {
	return d.WebFields != nil || d.WebTool != nil || d.WebByResponses || matchesGlobs(searching, baseModel(model))
}

// DialectOf returns the dialect of the model that o describes, with the tables of the configuration over
// what its kind says. A server that renders chat templates itself may have one of Mistral's under a name
// that does not show it. The kind "openai" is that of many servers, and some put several answers into one:
// only OpenAI's own is known to give several.
func DialectOf(o Options) Dialect {
	d, ok := DialectFor(o.Kind, o.Model)
	if !ok {
		d.Name = o.Kind
	}
	if o.Templates {
		d.IDs = idsOf(o.Model, IDsNine)
	}
	if s, _ := serviceOf(o.Kind); s.choicesHost != "" && !o.IsHost(s.choicesHost) {
		d.MultipleChoices = false
	}
	for _, table := range o.Dialects {
		d, _ = Override(table).Apply(d) // which was validated
	}
	return d
}

// familyOf finds the rules of a model by its id.
func familyOf(model string) (Rules, bool) {
	id := baseModel(model)
	for _, row := range families {
		if matchesGlobs(row.globs, id) {
			return row.Rules, true
		}
	}
	return Rules{}, false
}

func effortOf(rows []modelEffort, model string) Effort {
	id := baseModel(model)
	for _, row := range rows {
		if matchesGlobs(row.globs, id) {
			return row.Effort
		}
	}
	return Effort{}
}

// baseModel returns a model's id without the publisher a gateway puts before it: "openai/", or
// "openai." as Bedrock has it, there perhaps after a region.
func baseModel(model string) string {
	id := strings.ToLower(model[strings.LastIndexAny(model, `/\`)+1:])
	for {
		publisher, rest, ok := strings.Cut(id, ".")
		if !ok || !strings.Contains(rest, "-") || publisher == "" || strings.ContainsFunc(publisher, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return id // a dot of a version, or of a file
		}
		id = rest
	}
}

// matchesGlobs reports whether one of the globs, separated by spaces, fits all of id.
func matchesGlobs(globs, id string) bool {
	for glob := range strings.FieldsSeq(globs) {
		if plain := glob[0] != '*' && glob[0] != '?' && glob[0] != '[' && glob[0] != '\\'; plain && (id == "" || id[0] != glob[0]) {
			continue // most of them
		}
		if ok, _ := path.Match(glob, id); ok {
			return true
		}
	}
	return false
}

// wireID returns the id of a call as the service takes it. Own says that the service
// minted it itself: then it may have any form, and has to keep it.
func (d Dialect) wireID(id string, own bool) string {
	switch {
	case d.IDs == IDsNine && len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool { return !adapter.IsAlnum(r, "") }):
		return id
	case d.IDs == IDsNine:
		return adapter.Hash(id)[:9]
	case own && id != "", id != "" && len(id) <= 40 && adapter.CleanName(id) == id:
		return id
	}
	return callPrefix + adapter.Hash(id)[:24]
}

// callID returns the id under which a call is sent, which no call before it has: others may number those
// of every answer from 0. The service's own stay as they are.
func (h *history) callID(id string) string {
	sent := h.d.wireID(id, h.sameOrigin)
	if h.sameOrigin && sent == id && h.ids.IsUsed(id) {
		return id
	}
	for n := 2; h.ids.IsUsed(sent); n++ {
		sent = h.d.wireID(id+"#"+strconv.Itoa(n), false)
	}
	return h.ids.Call(id, sent, callPrefix)
}
