package gemini_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
)

// TestDowngrade checks that a refused part is dropped once, reported, and remembered.
func TestDowngrade(t *testing.T) {
	warm := llm.Settings{Temperature: number(0.5), TopP: number(0.5), Seed: number(int64(1)), Stop: []string{"x"}, FrequencyPenalty: number(0.5), MaxTokens: 7}
	object := &llm.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	shown := []llm.Message{llm.UserText("Hi"), wrote("gemini-3.5-flash", call("g1", "{}", `"c2ln"`)),
		results(result("g1", "x"), llm.Part{Kind: llm.Media, ID: "g1", MIME: "image/png", Data: png})}
	for _, test := range []struct {
		model     string
		req       llm.Request
		refusal   string
		downgrade string // name in the notice
		sent      string // in the first request only
		after     string // in the second request only
	}{
		{"gemini-3.5-flash", llm.Request{Effort: llm.EffortLow}, "Thinking level is not supported for this model.", "thinkingConfig.thinkingLevel", `"thinkingLevel"`, ""},
		{"gemini-2.5-pro", llm.Request{Effort: llm.EffortLow}, "Budget 2048 is invalid. This model only works in thinking mode.", "thinkingConfig.thinkingBudget", `"thinkingBudget"`, ""},
		{"gemini-3.5-flash", llm.Request{}, `Invalid JSON payload received. Unknown name "includeThoughts" at 'generation_config.thinking_config'`, "thinkingConfig.includeThoughts", `"thinkingConfig"`, ""},
		{"tunedModels/mine", llm.Request{Effort: llm.EffortLow}, "Thinking is not enabled for this model", "thinkingConfig", `"thinkingConfig"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: warm}, "temperature must be 1 on this model", "temperature", `"temperature"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: warm}, `Unknown name "top_p"`, "topP", `"topP"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: warm}, "seed is not supported", "seed", `"seed"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: warm}, "stop_sequences is not supported", "stopSequences", `"stopSequences"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: warm}, "max_output_tokens is out of range", "maxOutputTokens", `"maxOutputTokens"`, ""},
		{"gemini-3.5-flash", llm.Request{Settings: llm.Settings{Detail: "low"}}, "Media resolution is not enabled for models/x", "mediaResolution", `"mediaResolution"`, ""},
		{"gemini-2.0-flash", llm.Request{Settings: warm}, "Penalty is not enabled for models/gemini-2.0-flash", "frequencyPenalty", `"frequencyPenalty"`, ""},
		{"gemini-3.5-flash", llm.Request{AnswerSchema: object}, "JSON mode is not enabled for models/x", "an answer schema", `"responseJsonSchema"`, "Answer with nothing but JSON"},
		{"learnlm-2", llm.Request{System: "Be brief."}, "Developer instruction is not enabled for models/learnlm-2", "a system prompt", `"systemInstruction"`, `{"role":"user","parts":[{"text":"Be brief."},{"text":"Hi"}]}`},
		{"gemini-3.5-flash", llm.Request{Messages: shown}, "Thought signature is not valid.", "these thought signatures", `"c2ln"`, `"skip_thought_signature_validator"`},
		{"gemini-3.5-flash", llm.Request{Messages: shown}, `Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`, "ids of calls", `"id"`, ""},
		{"gemini-3.5-flash", llm.Request{Messages: shown}, `Unknown name "parts" at 'contents[2].parts[0].function_response': Cannot find field.`, "images in results", "", "Returned by the tool weather:"},
	} {
		t.Run(test.downgrade, func(t *testing.T) {
			s := newServer(t, refusal(400, test.refusal), stream(text("Hi"), finish("STOP")))
			m := s.model(gemini.Options{Model: test.model})
			if test.req.Messages == nil {
				test.req.Messages = []llm.Message{llm.UserText("Hi")}
			}
			first := take(t, m.Stream(t.Context(), test.req))
			again := take(t, m.Stream(t.Context(), test.req))
			if first.err != nil || again.err != nil || len(s.bodies) != 3 {
				t.Fatalf("asked %d times: %v, %v", len(s.bodies), first.err, again.err)
			}
			want := test.model + " does not take " + test.downgrade + "; sent again without it"
			if !slices.Contains(first.notices, want) || len(again.notices) > 0 {
				t.Errorf("notices %q, want %q; then %q, want none", first.notices, want, again.notices)
			}
			if !strings.Contains(s.bodies[0], test.sent) || test.after != "" && strings.Contains(s.bodies[0], test.after) {
				t.Errorf("first request %s", s.bodies[0])
			}
			for _, body := range s.bodies[1:] {
				if test.sent != "" && strings.Contains(body, test.sent) || !strings.Contains(body, test.after) {
					t.Errorf("request %s\nwant %q instead of %q", body, test.after, test.sent)
				}
			}
		})
	}
}

// TestStandIn checks the forms of a call without the model's signature: each is tried after the
// previous one was refused, and reported once.
func TestStandIn(t *testing.T) {
	const literal, coded = `"thoughtSignature":"skip_thought_signature_validator"`, `"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="`
	refused := refusal(400, "Function call is missing a thought_signature in functionCall parts.")
	foreign := wrote("gemini-3.5-flash", call("x1", `{"city":"Brno"}`, ""), call("x2", "{}", ""))
	foreign.Origin = "chat/openai"
	history := []llm.Message{llm.UserText("Hi"), foreign, results(result("x1", "sunny"), llm.Part{Kind: llm.Result, ID: "x2", Name: "weather", Text: "no city", Failed: true})}
	s := newServer(t, refusal(400, `Base64 decoding failed for "skip_thought_signature_validator"`), refused, stream(text("Hi"), finish("STOP")))
	m := s.model(gemini.Options{Model: "gemini-3.5-flash"})
	got, again := take(t, m.Stream(t.Context(), llm.Request{Messages: history})), take(t, m.Stream(t.Context(), llm.Request{Messages: history}))
	if got.err != nil || again.err != nil || len(s.bodies) != 4 {
		t.Fatalf("asked %d times: %v, %v", len(s.bodies), got.err, again.err)
	}
	want := []string{
		"gemini-3.5-flash does not take the stand-in for thought signatures; sent again with its base64 form",
		"gemini-3.5-flash does not take the stand-in for thought signatures in base64; sent again with the calls as text",
	}
	if !slices.Equal(got.notices, want) || len(again.notices) > 0 {
		t.Errorf("notices %q, want %q; then %q, want none", got.notices, want, again.notices)
	}
	for i, sent := range []string{literal, coded, `"[used the tool weather: {\"city\":\"Brno\"}]"`, `"[used the tool weather: {\"city\":\"Brno\"}]"`} {
		if n := strings.Count(s.bodies[i], sent); n != 1 {
			t.Errorf("request %d has %q %d times: %s", i, sent, n, s.bodies[i])
		}
	}
	for _, gone := range []string{"functionCall", "functionResponse", "thoughtSignature"} {
		if strings.Contains(s.bodies[2], gone) {
			t.Errorf("as text, with %s: %s", gone, s.bodies[2])
		}
	}
	if last := `{"role":"user","parts":[{"text":"Returned by the tool weather:\nsunny"},{"text":"Error of the tool weather:\nno city"}]}`; !strings.Contains(s.bodies[2], last) {
		t.Errorf("as text %s, want %s", s.bodies[2], last)
	}
}

// TestStandInEnds checks that four refusals end the attempts, with all requests different.
func TestStandInEnds(t *testing.T) {
	signed := []llm.Message{llm.UserText("Hi"), wrote("gemini-3.5-flash", call("g1", "{}", `"c2ln"`)), results(result("g1", "x"))}
	s := newServer(t, refusal(400, "Thought signature is not valid."))
	got := take(t, s.model(gemini.Options{Model: "gemini-3.5-flash"}).Stream(t.Context(), llm.Request{Messages: signed}))
	different := map[string]bool{}
	for _, body := range s.bodies {
		different[body] = true
	}
	if llm.FaultOf(got.err) != llm.InvalidRequest || len(s.bodies) != 4 || len(different) != 4 {
		t.Errorf("%d requests, %d of them different: %v", len(s.bodies), len(different), got.err)
	}
}

// TestDowngradeEnds checks that refusals without a downgrade are returned after few requests.
func TestDowngradeEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		o      gemini.Options
		answer reply
		asked  int
	}{
		{"nothing to leave out", gemini.Options{}, refusal(400, "contents is not specified"), 1},
		{"another status", gemini.Options{}, refusal(403, "include_thoughts"), 1},
		{"it does not help", gemini.Options{}, refusal(400, "include_thoughts"), 2},
		{"a field of the user's", gemini.Options{Body: map[string]any{"generationConfig": map[string]any{"seed": 1}}}, refusal(400, "seed"), 2},
	} {
		s := newServer(t, test.answer)
		got := take(t, s.model(test.o).Stream(t.Context(), hello))
		var e *llm.Error
		if !errors.As(got.err, &e) || len(s.bodies) != test.asked {
			t.Errorf("%s: %v after %d requests, want an error after %d", test.name, got.err, len(s.bodies), test.asked)
		}
	}
}

// TestLeftOut checks that settings without a field in the API are reported once.
func TestLeftOut(t *testing.T) {
	req := hello
	req.Tools = []llm.Tool{weather}
	req.Settings = llm.Settings{PresencePenalty: number(0.1), FrequencyPenalty: number(0.1), Parallel: number(false), User: "u1", Stop: strings.Split("abcdef", "")}
	s := newServer(t, stream(text("Hi"), finish("STOP")))
	m := s.model(gemini.Options{Model: "gemini-2.5-flash"})
	want := []string{
		"gemini-2.5-flash does not support more than 5 stop sequences; not sent",
		"gemini-2.5-flash does not support penalties; not sent",
		"gemini-2.5-flash does not support a limit of one tool call at a time; not sent",
		"gemini-2.5-flash does not support the id of a user; not sent",
	}
	if got := take(t, m.Stream(t.Context(), req)); !slices.Equal(got.notices, want) {
		t.Errorf("notices %q, want %q", got.notices, want)
	}
	if got := take(t, m.Stream(t.Context(), req)); len(got.notices) > 0 {
		t.Errorf("told again: %q", got.notices)
	}
	if strings.Contains(s.bodies[0], "enalty") {
		t.Errorf("penalties were sent: %s", s.bodies[0])
	}
}

// Requests refused at the same time are all sent again, although only the first one learns the
// reason, and no more is dropped than the server refused.
func TestDowngradeTogether(t *testing.T) {
	var refused, all sync.WaitGroup
	refused.Add(3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "thinkingLevel"):
			refused.Done()
			refused.Wait() // until all were sent
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"code":400,"message":"Thinking level is not supported in thinking_config","status":"INVALID_ARGUMENT"}}`)
		case !strings.Contains(string(body), "includeThoughts"):
			t.Errorf("sent %s", body)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"candidates":[{"content":{"parts":[{"text":"fine"}]},"finishReason":"STOP"}]}`+"\n\n")
		}
	}))
	defer server.Close()
	m := gemini.New(gemini.Options{Provider: "mock", Model: "gemini-3.5-flash", BaseURL: server.URL})
	for range 3 {
		all.Go(func() {
			req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Effort: llm.EffortLow}
			for _, err := range m.Stream(t.Context(), req) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
