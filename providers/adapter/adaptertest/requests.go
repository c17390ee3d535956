package adaptertest

import (
	"encoding/json"
	"iter"
	"slices"

	"parley/providers/llm"
)

// Requests yields requests that an adapter may have to encode, by name: every setting after a
// prompt, after a conversation and in a tool loop, and the settings that affect a history after
// every history. The model's messages have this origin; sign adds the format's State to a part, or
// returns it unchanged.
func Requests(origin string, sign func(llm.Part) llm.Part) iter.Seq2[string, llm.Request] {
	return func(yield func(string, llm.Request) bool) {
		for history, messages := range histories(origin, sign) {
			for setting, set := range requestSettings {
				if !slices.Contains([]string{"prompt", "tools", "loop"}, history) &&
					!slices.Contains([]string{"nothing", "tools", "effort off", "tools and effort high"}, setting) {
					continue
				}
				req := llm.Request{Messages: messages}
				set(&req)
				if !yield(history+"/"+setting, req) {
					return
				}
			}
		}
	}
}

// offeredSchemas lists tools with various schemas: references, unions, lists, maps, numbers with
// bounds, and none at all.
var offeredSchemas = []llm.Tool{
	offered[0],
	{Name: "1 odd.name", Schema: json.RawMessage(`null`)},
	{Name: "edit", Description: "Edits files.", Schema: json.RawMessage(`{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"Edit","additionalProperties":false,
		"properties":{
			"place":{"$ref":"#/$defs/place"},"mode":{"type":["string","null"],"enum":["a","b",null]},"exact":{"const":"yes"},
			"edits":{"type":"array","minItems":1,"maxItems":9,"items":{"type":"object","properties":{"old":{"type":"string","minLength":1,"pattern":"^x"},"new":{"type":"string"}},"required":["old"]}},
			"count":{"type":"integer","minimum":0,"exclusiveMaximum":10,"default":3},"when":{"type":"string","format":"date-time"},
			"either":{"oneOf":[{"type":"string"},{"type":"object","properties":{"n":{"type":"number"}}}]},
			"labels":{"type":"object","additionalProperties":{"type":"string"}}},
		"required":["place"],"$defs":{"place":{"type":"string","description":"Where."}}}`)},
	{Name: "union", Schema: json.RawMessage(`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`)},
}

// requestSettings sets one request setting, or several that belong together, by name.
var requestSettings = func() map[string]func(*llm.Request) {
	number := func(n float64) *float64 { return &n }
	seed, no := int64(1)<<40, false
	tools := func(req *llm.Request) { req.System, req.Tools = "Be brief.", offeredSchemas }
	schema := func(req *llm.Request) {
		req.AnswerSchema = &llm.Schema{Name: "city", JSON: json.RawMessage(`{"$schema":"x","type":"object","properties":{"name":{"type":"string","maxLength":9},"size":{"type":"integer","minimum":1}},"required":["name"]}`)}
	}
	settings := map[string]func(*llm.Request){
		"nothing":          func(*llm.Request) {},
		"system":           func(req *llm.Request) { req.System = "Be brief." },
		"tools":            tools,
		"schema":           schema,
		"schema and tools": func(req *llm.Request) { tools(req); schema(req) },
		"budget":           func(req *llm.Request) { req.Budget = 5000 },
		"budget and limit": func(req *llm.Request) { req.Budget, req.MaxTokens = 9000, 4096 },
		"one by one":       func(req *llm.Request) { tools(req); req.Parallel = &no },
		"everything else": func(req *llm.Request) {
			req.Settings = llm.Settings{
				MaxTokens: 100, Temperature: number(0.5), TopP: number(0.9), Seed: &seed, Stop: []string{"a", "b", "c", "d", "e", "f"},
				FrequencyPenalty: number(0.1), PresencePenalty: number(0.2), Verbosity: "low", User: "u1",
			}
		},
	}
	for _, effort := range llm.Efforts {
		settings["effort "+string(effort)] = func(req *llm.Request) { req.Effort = effort }
		settings["tools and effort "+string(effort)] = func(req *llm.Request) { tools(req); req.Effort = effort }
	}
	for _, choice := range []string{"auto", "none", "required", "edit"} {
		settings["choice "+choice] = func(req *llm.Request) { tools(req); req.ToolChoice = choice }
	}
	return settings
}()

// histories returns conversations by name.
func histories(origin string, sign func(llm.Part) llm.Part) map[string][]llm.Message {
	own := func(parts ...llm.Part) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant, Origin: origin}
		for _, p := range parts {
			m.Parts = append(m.Parts, sign(p))
		}
		return m
	}
	foreign := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Origin: "elsewhere", Parts: parts}
	}
	tool := func(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleTool, Parts: parts} }
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	thinking := llm.Part{Kind: llm.Thinking, Text: "Two calls."}
	read := llm.Part{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a <b> \u00fc.go","n":9007199254740992,"deep":{"list":[1,null,"x",{}]}}`}
	bare := llm.Part{Kind: llm.Call, ID: "call_2", Name: "edit", Input: "{}"}
	image := llm.Part{Kind: llm.Media, ID: "call_2", Name: "p.png", MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	results := tool(llm.Part{Kind: llm.Result, ID: "call_1", Name: "read", Text: `{"$ref":"x"}`},
		llm.Part{Kind: llm.Result, ID: "call_2", Name: "edit", Text: "no such file", Failed: true}, image)
	first := llm.UserText("Read both, please.")
	return map[string][]llm.Message{
		"prompt":  {first},
		"talk":    {first, own(thinking, text("Done.")), llm.UserText("Thanks."), own(text("You're welcome.")), llm.UserText("More")},
		"tools":   {first, own(thinking, text("Let me look."), read, bare), results, own(text("Both are there.")), llm.UserText("Thanks.")},
		"loop":    {first, own(thinking, read, bare), results},
		"long":    {first, own(thinking, read, bare), results, own(read), tool(results.Parts[0], image)},
		"foreign": {first, foreign(text("One moment."), read, bare), results, foreign(text("There.")), llm.UserText("Go on")},
		"running": {first, foreign(read, bare), results},
		"leading": {own(text("Hello.")), llm.UserText("Hi"), llm.UserText("you")},
		"media": {{Role: llm.RoleUser, Parts: []llm.Part{
			text("What are these?"), image,
			{Kind: llm.Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.4")},
			{Kind: llm.Media, Name: "a.go", MIME: "text/x-go; charset=utf-8", Data: []byte("package a")},
			{Kind: llm.Media, Name: "a.zip", MIME: "application/zip", Data: []byte("PK\x00\xff")},
			{Kind: llm.Media, MIME: "image/png", URL: "https://example.com/y.png"},
		}}},
	}
}
