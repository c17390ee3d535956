package gemini

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
	"parley/providers/wire"
)

// compile encodes req as a request body. The notices say what was omitted; see adapter.Sender.
func (m *Model) compile(req llm.Request, whole bool) (body map[string]any, notices []string) {
	learned := m.o.Learned.All()

	req = req.VerbosityInPrompt()
	config, notices := m.generationConfig(req)
	searches, told := m.searches(req, learned)
	notices = append(notices, told...)
	system := req.System
	if req.AnswerSchema != nil {
		_, spoken := learned[downgradeSchema]
		if (len(req.Tools) > 0 || searches) && !m.traits.isGemini3() {
			spoken = true
			notices = append(notices, m.o.Model+" supports an answer schema only without tools; sent in the prompt")
		}
		if spoken {
			system += "\n\nAnswer with nothing but JSON that fits this schema:\n" + string(req.AnswerSchema.JSON)
		} else {
			config["responseMimeType"] = "application/json"
			config["responseJsonSchema"] = schema.For(req.AnswerSchema.JSON, answerTarget())
		}
	}
	system = strings.TrimLeft(system, "\n")
	if isVertex(m.o.BaseURL) { // Vertex refuses the ids of calls
		learned = maps.Clone(learned)
		if learned == nil {
			learned = map[string]string{}
		}
		learned[downgradeIDs] = ""
	}
	body = map[string]any{}
	_, silent := learned[downgradeSystem]
	first := "" // system prompt as a message, for models without system prompts
	switch {
	case system == "":
	case m.traits.gemma || silent:
		first = system
	default:
		body["systemInstruction"] = map[string]any{"parts": []any{textPart(system)}}
	}
	contents, h := m.contents(req.Messages, first, learned, whole)
	body["contents"] = contents
	for _, file := range h.omitted {
		notices = append(notices, adapter.LeftOut(m.o.Model, file))
	}
	addTools(body, req)
	if searches && !adapter.HasWebTool(m.o.Body) {
		addWebSearch(body)
	}
	for _, field := range applyDowngrades(config, learned) {
		notices = append(notices, adapter.NotSent(m.o.Model, field))
	}
	if len(config) > 0 {
		body["generationConfig"] = config
	}
	fields, _, told := m.o.Fields(req)
	wire.Merge(body, fields)
	return body, append(notices, told...)
}

// addTools adds the tools of req.
func addTools(body map[string]any, req llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	functions := adapter.Tools(req.Tools, func(t llm.Tool) map[string]any {
		return map[string]any{"name": wireName(t.Name), "parametersJsonSchema": schema.For(t.Schema, schema.Gemini)}
	})
	body["tools"] = []any{map[string]any{"functionDeclarations": functions}}
	if choice := toolConfig(req.ToolChoice); choice != nil {
		body["toolConfig"] = map[string]any{"functionCallingConfig": choice}
	}
}

// searches reports whether the answer to req may search the web, and returns notices for the user:
// before Gemini 3, Google's tools and functions exclude each other.
func (m *Model) searches(req llm.Request, learned map[string]string) (yes bool, notices []string) {
	_, refused := learned[downgradeWeb]
	switch {
	case !req.Web || refused || m.traits.gemma:
		return false, nil
	case len(req.Tools) > 0 && !m.traits.isGemini3():
		return false, []string{m.o.Model + " searches the web only where no tools are on offer; web search is off"}
	}
	return true, nil
}

// addWebSearch adds Google's search tool: ai.google.dev/gemini-api/docs/google-search. Beside
// functions, its calls must be requested; they come and go back as parts.
func addWebSearch(body map[string]any) {
	tools, functions := body["tools"].([]any)
	body["tools"] = append(tools, map[string]any{"googleSearch": map[string]any{}})
	if functions {
		adapter.SetField(body, "toolConfig.includeServerSideToolInvocations", true)
	}
}

// answerTarget returns the schema target of answers, whose root need not be an object.
func answerTarget() schema.Target {
	t := schema.Gemini
	t.ObjectRoot = false
	return t
}

// toolConfig encodes the tool choice; nil leaves it to the model.
func toolConfig(tool string) map[string]any {
	switch tool {
	case "", "auto":
		return nil
	case "none":
		return map[string]any{"mode": "NONE"}
	case "required":
		return map[string]any{"mode": "ANY"}
	}
	return map[string]any{"mode": "ANY", "allowedFunctionNames": []string{wireName(tool)}}
}

// maxStops is the number of stop sequences that the API accepts.
const maxStops = 5

// generationConfig encodes the user's settings.
func (m *Model) generationConfig(req llm.Request) (config map[string]any, notices []string) {
	config = map[string]any{}
	s := req.Settings
	refuse := func(what string) {
		notices = append(notices, adapter.LeftOut(m.o.Model, what))
	}
	thinking, notice := m.thinkingConfig(req)
	if notice != "" {
		notices = append(notices, notice)
	}
	if thinking != nil {
		config["thinkingConfig"] = thinking
	}
	if s.MaxTokens > 0 {
		config["maxOutputTokens"] = s.MaxTokens
	}
	if s.Temperature != nil {
		config["temperature"] = *s.Temperature
	}
	if s.TopP != nil {
		config["topP"] = *s.TopP
	}
	switch s.Detail { // detail of images; "auto" is the service's default
	case "low":
		config["mediaResolution"] = "MEDIA_RESOLUTION_LOW"
	case "high":
		config["mediaResolution"] = "MEDIA_RESOLUTION_HIGH"
	}
	if s.Seed != nil {
		seed := *s.Seed & math.MaxInt32 // the field has 32 bits
		if config["seed"] = seed; seed != *s.Seed {
			notices = append(notices, fmt.Sprintf("%s takes a seed of 31 bits, using %d", m.o.Model, seed))
		}
	}
	if len(s.Stop) > 0 {
		config["stopSequences"] = s.Stop[:min(len(s.Stop), maxStops)]
	}
	if len(s.Stop) > maxStops {
		refuse(fmt.Sprintf("more than %d stop sequences", maxStops))
	}
	for name, value := range map[string]*float64{"frequencyPenalty": s.FrequencyPenalty, "presencePenalty": s.PresencePenalty} {
		switch {
		case value == nil:
		case m.traits.atLeast(2, 5): // "Penalty is not enabled for this model"
			refuse("penalties")
		default:
			config[name] = *value
		}
	}
	if s.Parallel != nil && !*s.Parallel && len(req.Tools) > 0 {
		refuse("a limit of one tool call at a time")
	}
	if s.User != "" {
		refuse("the id of a user")
	}
	return config, notices
}
