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

// A Dialect holds the differences of a service, and of a model it serves, from plain chat
// completions. The zero value is plain chat completions. A configuration can set the fields with a
// toml tag; see Override.
type Dialect struct {
	Name                string            // name of the service; part of Origin
	PerModel            bool              // state from a model is valid only for that model, so Origin names it
	MaxTokensField      string            `toml:"max_tokens_field"` // request field of the output limit; "" is "max_tokens"
	ReasoningField      string            `toml:"reasoning_field"`  // message field for thinking that goes back; "" is "reasoning_content"
	KeepsReasoningURL   string            // part of a base URL whose server keeps thinking over turns and requires all of it back
	EmptyContentString  bool              `toml:"empty_content"`         // content of a message with calls only is "", not null
	AssistantAfterTools bool              `toml:"assistant_after_tools"` // only an assistant message may follow tool results
	UserIntoToolResult  bool              `toml:"user_into_tool_result"` // a user message after tool results is put into the last result
	IDs                 IDs               `toml:"call_ids"`              // required form of call ids
	ExtraFields         map[string]any    // sent with every request
	ToolFields          map[string]any    // sent with every request with tools
	SchemaFields        map[string]any    // sent with every request for an answer that fits a schema
	WebFields           map[string]any    // sent with every request that may search the web
	WebTool             map[string]any    // web search tool, added to those requests
	WebByResponses      bool              // web search works only on its Responses endpoint; see NewGrok
	RenamedFields       map[string]string `toml:"renamed_fields"`       // request fields to their name at this service
	NoStreamOptions     Not               `toml:"stream_usage"`         // reports usage without stream_options and refuses that field
	NoStreamWithTools   Not               `toml:"stream_with_tools"`    // cannot stream if the request has tools
	PositiveTemperature bool              `toml:"positive_temperature"` // temperature must be above 0 and at most 1
	PDFs                bool              `toml:"pdfs"`                 // accepts PDFs
	InlineImagesOnly    bool              `toml:"inline_images"`        // accepts image data, but no image URLs
	ImageDetail         bool              // accepts the detail field of images
	CacheControl        bool              `toml:"cache_control"`  // caches the prompt up to the cache_control marks
	ToolChoice          Choice            `toml:"tool_choices"`   // supported tool_choice values
	Formats             []Format          `toml:"answer_formats"` // supported schema formats, the best first; nil is FormatSchema
	StrictSchemas       bool              `toml:"strict_schemas"` // supports strict schemas
	Schema              schema.Target     // constraints on schemas; the zero value uses those of the model's family
	CumulativeReasoning bool              `toml:"cumulative_reasoning"` // a chunk may repeat all thinking so far; see cumulative
	takesAudio          bool              // the model accepts sound
	MultipleChoices     bool              // can give n answers to one request, streaming each under a different index
	Rules
}

// Rules are the rules of a model, wherever it is served.
type Rules struct {
	Echo             Echo     `toml:"reasoning_echo"`
	EmptyReasoning   bool     `toml:"empty_reasoning"` // a message with calls but no thinking has the field with an empty value
	Effort           Effort   // request fields for the effort
	RefusedSettings  []string `toml:"refused_settings"` // settings not to be sent; see refuses
	SystemRole       string   `toml:"system_role"`      // role of the system prompt; "" is "system"
	CleanText        bool     `toml:"clean_text"`       // the text never contains thinking tags or tool calls
	NoReasoning      bool     // the model has no thinking, and Responses must not request it
	ReasoningSummary bool     // Responses returns summaries of thinking on request
	Verbosity        bool     // accepts verbosity
}

// Echo selects the thinking that goes back to the service in later requests. reasoning_details,
// which are signed or encrypted, always go back.
type Echo string

// Values of Echo.
const (
	EchoNever  Echo = ""       //
	EchoCalls  Echo = "calls"  // thinking of messages with tool calls
	EchoAlways Echo = "always" // all thinking
	EchoTags   Echo = "tags"   // all thinking, as <think> text before the content
	EchoParts  Echo = "parts"  // all thinking, as thinking parts of the content
)

// IDs is the required form of tool call ids.
type IDs string

// Values of IDs. A service gets its own ids back unchanged, unless it requires the form of all ids.
const (
	IDsShort IDs = ""     // letters, digits, _ and -, at most 40
	IDsNine  IDs = "nine" // exactly nine letters and digits
)

// Choice selects the tool_choice values that a service supports. Other values are omitted or
// expressed in another way.
type Choice string

// Values of Choice.
const (
	ChoiceAll   Choice = ""      // auto, none, required, and the name of a tool
	ChoiceWords Choice = "words" // auto, none and required
	ChoiceMild  Choice = "mild"  // auto and none
	ChoiceNone  Choice = "none"  // not even the field itself
)

// An Effort maps llm.Effort to request fields. Words and Budgets are in the order of llm.Efforts:
// off, minimal, low, medium, high, max.
type Effort struct {
	Field       string    `toml:"effort_field"` // field for the word; "" is "reasoning_effort"; a dot descends into an object
	Words       [6]string `toml:"effort_words"` // "" omits the field
	Budgets     [6]int    // of thinking, in tokens; 0 omits the field
	BudgetField string    `toml:"budget_field"` // field for a budget; "" is "thinking_budget" if Budgets is set, else none
	Switch      Switch    // for off, and for on if there is no word
	AlwaysOn    bool      // thinking cannot be switched off
	WithTools   string    // only word that the service accepts in a request with tools
}

// A Switch turns thinking on and off.
type Switch struct {
	Field string   `toml:"thinking_field"`
	On    jsonText `toml:"thinking_on"`
	Off   jsonText `toml:"thinking_off"`
}

// Kinds lists the services that DialectFor knows.
var Kinds = kinds()

func kinds() (list []string) {
	for _, s := range services {
		list = append(list, s.kind)
	}
	return list
}

// DialectFor returns the dialect of a model at a service. The service is a kind of the
// configuration. The rules of the model are found by its id without a gateway's prefix.
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
		d.Effort.WithTools = "" // a gateway requests it by another route
	}
	return d, true
}

// serviceOf returns the table row of a kind.
func serviceOf(kind string) (service, bool) {
	for _, s := range services {
		if s.kind == kind {
			return s, true
		}
	}
	return service{}, false
}

// idsOf returns the required form of call ids for a model at a service that requires usual. Templates
// of Mistral's models refuse other ids on every server; Kimi expects its own ids back.
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

// searchesWeb reports whether the service can search the web for a model.
func (d Dialect) searchesWeb(model string) bool {
	return d.WebFields != nil || d.WebTool != nil || d.WebByResponses || matchesGlobs(searching, baseModel(model))
}

// DialectOf returns the dialect of the model that o describes, with the configured tables applied over the
// dialect of its kind. A server that renders chat templates may use one of Mistral's under a model name
// that does not show it. The kind "openai" is used for many servers, and some of them merge several answers
// into one, so only OpenAI's own host counts as able to give several.
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
		d, _ = Override(table).Apply(d) // o.Dialects is valid
	}
	return d
}

// familyOf returns the rules of a model, found by its id.
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

// baseModel returns a model's id without the publisher that a gateway prepends: "openai/", or
// "openai." at Bedrock, there possibly after a region.
func baseModel(model string) string {
	id := strings.ToLower(model[strings.LastIndexAny(model, `/\`)+1:])
	for {
		publisher, rest, ok := strings.Cut(id, ".")
		if !ok || !strings.Contains(rest, "-") || publisher == "" || strings.ContainsFunc(publisher, func(r rune) bool { return r < 'a' || r > 'z' }) {
			return id // the dot belongs to a version or a file name
		}
		id = rest
	}
}

// matchesGlobs reports whether one of the space-separated globs matches all of id.
func matchesGlobs(globs, id string) bool {
	for glob := range strings.FieldsSeq(globs) {
		if plain := glob[0] != '*' && glob[0] != '?' && glob[0] != '[' && glob[0] != '\\'; plain && (id == "" || id[0] != glob[0]) {
			continue // skips most globs
		}
		if ok, _ := path.Match(glob, id); ok {
			return true
		}
	}
	return false
}

// wireID returns the id of a call in the form that the service accepts. Own means that the service
// generated the id: then it stays unchanged in any form.
func (d Dialect) wireID(id string, own bool) string {
	switch {
	case d.IDs == IDsNine && len(id) == 9 && adapter.CleanName(id) == id && !strings.ContainsAny(id, "_-"):
		return id
	case d.IDs == IDsNine:
		return adapter.Hash(id)[:9]
	case own && id != "", id != "" && len(id) <= 40 && adapter.CleanName(id) == id:
		return id
	}
	return callPrefix + adapter.Hash(id)[:24]
}

// callID returns the id to send for a call, made unique among earlier calls: some services number the
// calls of every answer from 0. Ids of the service itself stay unchanged.
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
