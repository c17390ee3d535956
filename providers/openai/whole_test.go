package openai_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
)

const wholeCall = `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"I look.","reasoning_content":"hm",` +
	`"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}`

// server streams, unless the request disables it.
func server(refuse func(body string) (int, string)) *record {
	r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"fine"}`)}}}
	r.refuse = func(body string) (int, string) {
		if status, answer := refuse(body); status != 0 {
			return status, answer
		}
		if strings.Contains(body, `"stream":false`) {
			return 200, wholeCall
		}
		return 0, ""
	}
	return r
}

// TestWholeWithTools: a server that cannot stream with tools gets requests for whole answers in
// that case only, because its row says so, or because it said so in any words.
func TestWholeWithTools(t *testing.T) {
	const notice = "m does not stream while tools are on offer; its answers come whole"
	said := func(status int, message string) func(string) (int, string) {
		return func(body string) (int, string) {
			if strings.Contains(body, `"stream":true`) && strings.Contains(body, `"tools"`) {
				return status, `{"error":{"code":` + text(status) + `,"message":` + quote(message) + `,"type":"server_error"}}`
			}
			return 0, ""
		}
	}
	for _, test := range []struct {
		name   string
		row    bool
		refuse func(string) (int, string)
		asked  int // number of requests for two turns with tools, and one without
	}{
		{"its row", true, said(400, "never asked"), 3},
		{"llama.cpp of 2025", false, said(500, "Cannot use tools with stream"), 4},
		{"llama-cpp-python", false, said(500, "Automatic streaming tool choice is not supported"), 4},
		{"Bedrock", false, said(400, "This model doesn't support tool use in streaming mode."), 4},
		{"a gateway", false, said(422, "`stream` must be false when tools are given"), 4},
		{"another", false, said(400, "Streaming with function calling is not yet supported"), 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := server(test.refuse)
			c := against(t, "glm", "m", r, func(_ *openai.Options, d *openai.Dialect) { d.NoStreamWithTools = openai.Not(test.row) })
			for round := range 2 {
				got := hear(t, c.Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "f"}}}))
				if got.err != nil || show(got.parts) != "(hm) | I look. | c1:f{\"a\":1}" || got.finish.Reason != llm.Calls {
					t.Fatalf("%s, %+v, %v", show(got.parts), got.finish, got.err)
				}
				if want := map[int][]string{0: {notice}}[round]; !slices.Equal(got.notices, want) {
					t.Errorf("turn %d: notices %q, want %q", round+1, got.notices, want)
				}
				for _, field := range []string{"stream_options", "tool_stream"} {
					if strings.Contains(r.last(t), field) {
						t.Errorf("%s goes with a request that is not streamed", field)
					}
				}
			}
			if got := hear(t, c.Stream(t.Context(), llm.Request{})); got.err != nil || !strings.Contains(r.last(t), `"stream":true`) {
				t.Errorf("without tools: %s, %v", r.last(t), got.err)
			}
			if len(r.raw) != test.asked {
				t.Errorf("asked %d times, want %d", len(r.raw), test.asked)
			}
		})
	}
}

// TestWholeAlways requests whole answers if the server never streams.
func TestWholeAlways(t *testing.T) {
	r := server(func(body string) (int, string) {
		if strings.Contains(body, `"stream":true`) {
			return 400, refusal("stream", "Your organization must be verified to stream this model.")
		}
		return 0, ""
	})
	c := against(t, "openai", "m", r, nil)
	got := hear(t, c.Stream(t.Context(), llm.Request{}))
	if want := []string{"m does not stream; its answers come whole"}; got.err != nil || !slices.Equal(got.notices, want) {
		t.Errorf("notices %q, want %q; %v", got.notices, want, got.err)
	}
	if got := hear(t, c.Stream(t.Context(), llm.Request{})); got.err != nil || len(got.notices) > 0 || len(r.raw) != 3 {
		t.Errorf("asked %d times: %q, %v", len(r.raw), got.notices, got.err)
	}
}

// TestNotAboutStreams ignores errors that only look similar.
func TestNotAboutStreams(t *testing.T) {
	for _, message := range []string{
		"registry.ollama.ai/library/x does not support tools", "upstream tools are not supported", "the stream of tool results ended",
	} {
		r := server(func(string) (int, string) { return 400, `{"error":{"message":` + quote(message) + `}}` })
		got := hear(t, against(t, "openai", "m", r, nil).Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "f"}}}))
		if got.err == nil || len(r.raw) != 1 {
			t.Errorf("%q: asked %d times, %v", message, len(r.raw), got.err)
		}
	}
}

// TestMessageBesideDeltas reads streams that contain the whole answer so far beside the new text, or at
// the end: Perplexity's mode "full" (docs.perplexity.ai/docs/sonar/pro-search/stream-mode), MiniMax-M3
// (github.com/ENTERPILOT/GoModel pull 1068).
func TestMessageBesideDeltas(t *testing.T) {
	chunk := func(choice string) string { return `data: {"choices":[{"index":0,` + choice + "}]}\n\n" }
	for _, test := range []struct{ name, want, stream string }{
		{"in each chunk", "Go is out.", chunk(`"message":{"role":"assistant","content":""},"delta":{"role":"assistant","content":""}`) +
			chunk(`"message":{"role":"assistant","content":"Go "},"delta":{"role":"assistant","content":"Go "}`) +
			chunk(`"message":{"role":"assistant","content":"Go is"},"delta":{"role":"assistant","content":"is"}`) +
			chunk(`"finish_reason":"stop","message":{"role":"assistant","content":"Go is out."},"delta":{"content":" out."}`)},
		{"at the end, with thinking and a call", `(Hm.) | Let me see. | a:f{"x":1}`, chunk(`"delta":{"reasoning_content":"Hm."}`) + chunk(`"delta":{"content":"Let me see."}`) +
			chunk(`"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`) +
			chunk(`"finish_reason":"stop","message":{"content":"Let me see.","reasoning_content":"Hm.","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`)},
		{"at the end, with a call that no delta had", `Let me see. | a:f{"x":1}`, chunk(`"delta":{"content":"Let me see."}`) +
			chunk(`"finish_reason":"tool_calls","message":{"content":"Let me see.","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`)},
		{"at the end, with text that no delta had", `(Hm.) | Go is out.`, chunk(`"delta":{"reasoning_content":"Hm."}`) + chunk(`"finish_reason":"stop","message":{"content":"Go is out.","reasoning_content":"Hm."}`)},
		{"alone", "Go is out.", chunk(`"finish_reason":"stop","message":{"role":"assistant","content":"Go is out."}`)},
		{"alone, with an empty delta", "Go is out.", chunk(`"finish_reason":"stop","message":{"role":"assistant","content":"Go is out."},"delta":{}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts, _, _, err := collect(t, chat(t, "openai", "m", test.stream+"data: [DONE]\n\n").Stream(t.Context(), llm.Request{}))
			if got := show(parts); err != nil || got != test.want {
				t.Errorf("got  %q, %v\nwant %q", got, err, test.want)
			}
		})
	}
}

// TestImages: an image made by the model is part of its answer
// (openrouter.ai/docs/features/multimodal/image-generation).
func TestImages(t *testing.T) {
	const image = `"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]`
	png := llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("png")}
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	for _, test := range []struct {
		name, stream string
		want         []llm.Part
	}{
		{"between words", lines("stop", `{"content":"Here:"}`, `{"content":"",`+image+`}`, `{"content":"Fine?"}`), []llm.Part{text("Here:"), png, text("Fine?")}},
		{"alone", lines("stop", `{`+image+`}`), []llm.Part{png}},
		{"by its address", lines("stop", `{"images":[{"image_url":{"url":"https://x.example/a.png"}},{"image_url":"https://x.example/b.png"}]}`),
			[]llm.Part{{Kind: llm.Media, MIME: "image/*", URL: "https://x.example/a.png"}, {Kind: llm.Media, MIME: "image/*", URL: "https://x.example/b.png"}}},
		{"whole", `{"choices":[{"message":{"content":"Here:",` + image + `},"finish_reason":"stop"}]}`, []llm.Part{text("Here:"), png}},
		{"in another alphabet", lines("stop", `{"images":[{"image_url":{"url":"data:image/png;base64,-_8-"}}]}`), []llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte{0xfb, 0xff, 0x3e}}}},
		{"no image", lines("stop", `{"content":"a","images":[{"image_url":{"url":"data:image/png;base64,#"}},{},7]}`), []llm.Part{text("a")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts, finish, _, err := collect(t, chat(t, "openrouter", "google/gemini-3-pro-image", test.stream).Stream(t.Context(), llm.Request{}))
			if err != nil || finish.Reason != llm.Stop || !reflect.DeepEqual(parts, test.want) {
				t.Errorf("%+v, %v, %v\nwant %+v", parts, finish, err, test.want)
			}
		})
	}
}

// An unreadable image is reported.
func TestUnreadableImages(t *testing.T) {
	c := chat(t, "openrouter", "m", lines("stop", `{"content":"a","images":[{"image_url":{"url":"data:image/png;base64,#"}}]}`))
	if got := hear(t, c.Stream(t.Context(), llm.Request{})); got.err != nil || !slices.Equal(got.notices, []string{"the model sent a file that cannot be read (image/png); left out"}) {
		t.Errorf("%q, %v", got.notices, got.err)
	}
}

// TestBlankAnswers: servers of Claude refuse a message of white space (github.com/anomalyco/opencode
// issue 31259), and so every later prompt.
func TestBlankAnswers(t *testing.T) {
	call := llm.Part{Kind: llm.Call, ID: "a", Name: "f", Input: "{}"}
	for _, kind := range []string{"openai", "mistral"} {
		c := chat(t, kind, "m", "")
		own := func(parts ...llm.Part) llm.Message {
			return llm.Message{Role: llm.RoleAssistant, Origin: c.Origin(), Parts: parts}
		}
		blank := llm.Part{Kind: llm.Text, Text: "\n\n"}
		body := send(t, c, llm.Request{Messages: llm.Repair([]llm.Message{llm.UserText("Hi"), own(blank), llm.UserText("Go on"), own(blank, call), llm.UserText("Well?")})})
		if len(body.Messages) < 3 || body.Messages[0]["content"] != "Hi\n\nGo on" || body.Messages[1]["content"] != nil || body.Messages[1]["tool_calls"] == nil {
			t.Errorf("%s: %v", kind, body.Messages)
		}
	}
}

// TestKimiDetails: Kimi K3 sends its thinking in indexed pieces, and accepts it back joined and
// without the indexes (github.com/anomalyco/models.dev pull 7607).
func TestKimiDetails(t *testing.T) {
	c := chat(t, "moonshot", "kimi-k3", lines("tool_calls",
		`{"reasoning_content":"Let ","reasoning_details":[{"index":0,"type":"summary","summary":"Let "}]}`,
		`{"reasoning_content":"me.","reasoning_details":[{"index":0,"type":"summary","summary":"me."}]}`,
		`{"reasoning_details":[{"index":1,"type":"encrypted","encrypted":"gA+"}]}`, `{"reasoning_details":[{"index":1,"type":"encrypted","encrypted":"/=="}]}`,
		`{"tool_calls":[{"index":0,"id":"f:0","function":{"name":"f","arguments":"{}"}}]}`))
	parts, _, _, err := collect(t, c.Stream(t.Context(), llm.Request{}))
	if got := show(parts); err != nil || got != "(Let me.) | f:0:f{}" {
		t.Fatalf("%q, %v", got, err)
	}
	const want = `[{"summary":"Let me.","type":"summary"},{"encrypted":"gA+/==","type":"encrypted"}]`
	body := send(t, c, llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: c.Origin(), Parts: parts}}})
	if got := text(body.Messages[0]["reasoning_details"]); got != want {
		t.Errorf("goes back as %s, want %s", got, want)
	}
}

// TestOddFields: a cost written as a string counts, an invalid one is unknown, and unusual values do
// not affect the fields after them.
func TestOddFields(t *testing.T) {
	for cost, want := range map[string]llm.Usage{
		`"0.25"`: {Input: 3, Output: 1, Cost: 0.25, Priced: true}, `"free"`: {Input: 3, Output: 1}, `null`: {Input: 3, Output: 1}, `[1]`: {Input: 3, Output: 1}, `{"total_cost":"much"}`: {Input: 3, Output: 1},
	} {
		stream := `data: {"usage":{"cost":` + cost + `,"prompt_tokens":3,"completion_tokens":1},"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
		parts, _, usage, err := collect(t, chat(t, "openai", "m", stream).Stream(t.Context(), llm.Request{}))
		if err != nil || show(parts) != "Hi" || usage != want {
			t.Errorf("%s: %q, %+v, %v", cost, show(parts), usage, err)
		}
	}
	parts, finish, _, err := collect(t, chat(t, "openai", "m", `data: {"choices":[{"delta":{"content":[7,{"type":7,"text":"Hi"}]},"finish_reason":"stop"}]}`+"\n\n").Stream(t.Context(), llm.Request{}))
	if err != nil || show(parts) != "Hi" || finish.Reason != llm.Stop {
		t.Errorf("odd content: %q, %v, %v", show(parts), finish, err)
	}
}
