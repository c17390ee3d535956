// testdata/schemas.json is written by hand.

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/schema"
	"parley/providers/schema/fit"
	"parley/session"
	"parley/tools/process"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/print"
)

// A sample is a schema with a valid answer and one that cannot be repaired.
type sample struct {
	Name              string
	Schema, Good, Bad json.RawMessage

	want *llm.Schema
}

func samples(t *testing.T) []sample {
	t.Helper()
	data, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		want, err := fit.Repairer{}.Parse(s.Schema)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		list[i].want = want
	}
	return list
}

// TestSamples checks that the answers of all samples are valid or invalid as declared.
func TestSamples(t *testing.T) {
	for _, s := range samples(t) {
		if err := schema.Validate(s.Schema, s.Good); err != nil {
			t.Errorf("%s: the good answer: %v", s.Name, err)
		}
		if schema.Validate(s.Schema, schema.Coerce(s.Schema, s.Bad)) == nil {
			t.Errorf("%s: the bad answer is good enough", s.Name)
		}
	}
}

const prose = "I would rather tell you a story. It has {curly} words, [and more]."

// manners lists ways in which models answer: the texts for the first, the second and each further request.
var manners = []struct {
	name    string
	answers func(good, bad string) []string
	status  int
}{
	{"right", func(good, _ string) []string { return []string{good} }, exit.OK},
	{"indented", func(good, _ string) []string {
		var b bytes.Buffer
		json.Indent(&b, []byte(good), "", "\t")
		return []string{"\n" + b.String() + "\n\n"}
	}, exit.OK},
	{"slightly broken", func(good, _ string) []string { return []string{mistyped(good)} }, exit.OK},
	{"in a fence", func(good, _ string) []string { return []string{"```json\n" + good + "\n```"} }, exit.OK},
	{"with prose", func(good, _ string) []string {
		return []string{"Here is the value you want:\n\n```json\n" + good + "\n```\n\nTell me if {you} need more.", good}
	}, exit.OK},
	{"wrong, then right", func(good, bad string) []string { return []string{bad, good} }, exit.OK},
	{"prose, then wrong, then right", func(good, bad string) []string { return []string{prose, bad, good} }, exit.OK},
	{"always wrong", func(_, bad string) []string { return []string{bad} }, exit.Schema},
	{"never JSON", func(_, _ string) []string { return []string{prose, "", prose} }, exit.Schema},
}

// mistyped adds a comma and a comment, which JSON does not allow, and removes the closing bracket.
func mistyped(good string) string {
	end := len(good) - 1
	if end < 2 || good[end] != '}' && good[end] != ']' {
		return good
	}
	return good[:end] + ", // that is all\n"
}

// models lists model ids that are typical of their service.
var models = map[string]string{
	"openai": "gpt-4o", "openai-responses": "gpt-6.1-sol", "gemini": "gemini-3.1-pro-preview", "anthropic": "claude-opus-5-5",
	"grok": "grok-4.7", "glm": "glm-5.3", "qwen": "qwen3.8-max", "deepseek": "deepseek-v4-pro", "minimax": "MiniMax-M3",
	"openrouter": "google/gemini-4-argon", "moonshot": "kimi-k3", "mistral": "mistral-large-4", "groq": "openai/gpt-oss-120b",
	"ollama": "qwen3:8b", "llamacpp": "gemma", "vllm": "Qwen/Qwen3-32B", "lmstudio": "glm-4.6v",
}

// long asks every family for every sample in every manner, instead of each sample in one manner.
var long = os.Getenv("PARLEY_LONG") == "1"

// TestFamilies tests every family with every sample, each in one of the manners: standard output is the JSON or empty.
// Programs get the schema in the same words, so they share the samples: each gets as many as there are manners, and
// together they cover all. The same holds for services with OpenAI's Chat Completions format.
func TestFamilies(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // directory where programs run
	list := samples(t)
	sharing := map[string]int{}
	for row, kind := range providers.Kinds() {
		share := list
		if with := sharesWith(kind); with != "" && !long {
			share = nil
			for i := range len(manners) {
				share = append(share, list[(sharing[with]*len(manners)+i)%len(list)])
			}
			sharing[with]++
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			switch {
			case kind == "demo":
				offline(t, list)
				return
			case strings.HasSuffix(kind, "-cli"):
				if _, err := exec.LookPath("sh"); err != nil {
					t.Skip("the fake programs are shell scripts")
				}
			}
			h := &house{kind: kind, t: t, cases: map[string]*visit{}}
			for i, s := range share {
				manner := manners[(i+row)%len(manners)]
				t.Run(s.Name+", "+manner.name, func(t *testing.T) {
					out, errs, status := ask(t, h.open(fmt.Sprintf("case-%d", i), s, manner.answers(string(s.Good), string(s.Bad))), s, i)
					want := ""
					if manner.status == exit.OK {
						want = strings.ReplaceAll(string(s.Good), "\u2028", `\u2028`) + "\n" // a terminal must not see a line end
					}
					if out != want || status != manner.status {
						t.Errorf("got %q, status %d; want %q, %d\n%s", out, status, want, manner.status, errs)
					}
				})
			}
		})
	}
	for with, n := range sharing {
		if n*len(manners) < len(list) {
			t.Errorf("%d %s in %d manners are not asked for all of %d samples", n, with, len(manners), len(list))
		}
	}
}

// sharesWith returns the group that a family shares the samples with; "" for a family that gets all of them, as the one
// that represents its format.
func sharesWith(kind string) string {
	switch {
	case strings.HasSuffix(kind, "-cli"):
		return "programs"
	case slices.Contains([]string{"openai", "openai-responses", "gemini", "anthropic", "demo"}, kind):
		return ""
	}
	return "services"
}

// offline asks the demo, which may fail if it does not understand a prompt.
func offline(t *testing.T, list []sample) {
	model, err := providers.Open(providers.Default(), "demo/parley", providers.OpenOptions{Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	fit := 0
	for i, s := range list {
		out, errs, status := ask(t, model, s, i)
		switch {
		case status == exit.Schema && out == "":
		case status != exit.OK || schema.Validate(s.Schema, []byte(out)) != nil || strings.Count(out, "\n") != 1:
			t.Errorf("%s: got %q, status %d\n%s", s.Name, out, status, errs)
		default:
			fit++
		}
	}
	if fit < len(list)*2/3 {
		t.Errorf("the demo answers %d of %d", fit, len(list))
	}
}

// ask runs one turn as parley -p --schema does.
func ask(t *testing.T, model llm.Endpoint, s sample, i int) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	of := session.New(session.Options{Model: model, AnswerSchema: s.want, Schemas: fit.Repairer{}})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	turn := of.Turn(ctx, llm.Part{Kind: llm.Text, Text: fmt.Sprintf("Make something up. (case-%d)", i)})
	status = print.Run(of, turn, cancel, cmdutil.PrintOptions{Out: &out, Err: &errs, Schema: true})
	return out.String(), errs.String(), status
}

// A house is a fake service of one family.
type house struct {
	kind  string
	t     *testing.T
	mu    sync.Mutex
	cases map[string]*visit
	model llm.Endpoint
}

// A visit holds the requests and answers of one case.
type visit struct {
	sample
	answers []string
	n       int
}

// open prepares the answers of a case and returns the model to ask.
func (h *house) open(name string, s sample, answers []string) llm.Endpoint {
	conf := providers.Provider{Kind: h.kind, APIKey: "test-key"}
	if strings.HasSuffix(h.kind, "-cli") {
		conf = providers.Provider{Kind: h.kind, Command: process.CommandLine{Words: []string{h.program(name, answers)}}}
		return h.dial(conf)
	}
	h.mu.Lock()
	h.cases[name] = &visit{sample: s, answers: answers}
	h.mu.Unlock()
	if h.model.Model == nil {
		srv := httptest.NewServer(h)
		h.t.Cleanup(srv.Close)
		conf.BaseURL = srv.URL + "/v1"
		h.model = h.dial(conf)
	}
	return h.model
}

func (h *house) dial(conf providers.Provider) llm.Endpoint {
	h.t.Helper()
	name := models[h.kind]
	if name == "" {
		name = "some-model"
	}
	model, err := providers.Open(providers.Config{Providers: map[string]providers.Provider{"mock": conf}}, "mock/"+name, providers.OpenOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return model
}

var (
	caseName = regexp.MustCompile(`case-[0-9]+`)
	asks     = regexp.MustCompile(`"json_schema"|"responseJsonSchema"|fits this (JSON )?[sS]chema`)
)

// ServeHTTP answers a request in the wire format. The request must describe the form of the answer.
func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !asks.Match(body) {
		h.t.Errorf("the request asks for no schema (%v): %s", err, body)
	}
	h.mu.Lock()
	v := h.cases[caseName.FindString(string(body))]
	answer := v.answers[min(v.n, len(v.answers)-1)]
	v.n++
	h.mu.Unlock()
	if packed(body) && json.Valid([]byte(answer)) && answer[0] != '{' {
		answer = `{"value":` + answer + `}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events(h.kind, answer) {
		fmt.Fprintf(w, "data: %s\n\n", event)
	}
}

// packed reports whether a request asks for a value that is not an object wrapped in one, as services require if
// answers must be objects.
func packed(body []byte) bool {
	type packed struct {
		Type       string
		Properties map[string]json.RawMessage
	}
	var req struct {
		Format struct {
			Named struct{ Schema packed } `json:"json_schema"`
		} `json:"response_format"`
		Text struct{ Format struct{ Schema packed } }
		Out  struct{ Format struct{ Schema packed } } `json:"output_config"`
	}
	json.Unmarshal(body, &req)
	for _, p := range []packed{req.Format.Named.Schema, req.Text.Format.Schema, req.Out.Format.Schema} {
		if p.Type == "object" && len(p.Properties) == 1 && p.Properties["value"] != nil {
			return true
		}
	}
	return false
}

// events returns a text in the wire format of a kind.
func events(kind, text string) []string {
	quoted, _ := json.Marshal(text)
	said := string(quoted)
	switch kind {
	case "openai-responses":
		item := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":` + said + `,"annotations":[]}]}`
		return []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":` + said + `}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
			`{"type":"response.completed","response":{"id":"r","status":"completed","output":[` + item + `]}}`,
		}
	case "gemini":
		return []string{
			`{"candidates":[{"content":{"parts":[{"text":` + said + `}],"role":"model"},"index":0}]}`,
			`{"candidates":[{"finishReason":"STOP","index":0}]}`,
		}
	case "anthropic":
		return []string{
			`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + said + `}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
			`{"type":"message_stop"}`,
		}
	}
	return []string{
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":` + said + `}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`[DONE]`,
	}
}

// program writes a fake of the program, which prints its answers in order.
func (h *house) program(name string, answers []string) string {
	path := filepath.Join(h.t.TempDir(), name)
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	for i := range 3 {
		var lines strings.Builder
		for _, line := range spoken(h.kind, answers[min(i, len(answers)-1)]) {
			lines.WriteString(line + "\n")
		}
		write(fmt.Sprintf("%s.%d", path, i), lines.String())
	}
	write(path+".n", "0\n")
	llmtest.Executable(h.t, path, "#!/bin/sh\nwhile read -r _; do :; done\nread -r n <\"$0.n\"\necho $((n + 1)) >\"$0.n\"\nexec cat \"$0.$n\"\n")
	return path
}

// spoken returns a text in the output format of a program.
func spoken(kind, text string) []string {
	quoted, _ := json.Marshal(text)
	said := string(quoted)
	switch kind {
	case "codex-cli":
		return []string{`{"type":"thread.started","thread_id":"t"}`, `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":` + said + `}}`, `{"type":"turn.completed"}`}
	case "copilot-cli":
		return []string{`{"type":"assistant.message","data":{"messageId":"m","content":` + said + `}}`, `{"type":"result","exitCode":0}`}
	case "antigravity-cli":
		if text == "" { // no output is a fault, see TestAntigravitySilence
			said = `"…"`
		}
		return []string{`{"event":"init","conversation_id":"c"}`, `{"event":"result","result":{"status":"SUCCESS","response":` + said + `}}`}
	case "grok-cli":
		return []string{`{"type":"thought","data":"Hm."}`, `{"type":"text","data":` + said + `}`, `{"type":"end","stopReason":"end_turn"}`}
	case "gemini-cli":
		return slices.DeleteFunc([]string{
			`{"type":"init","session_id":"s-1","model":"m"}`,
			`{"type":"message","role":"assistant","content":` + said + `,"delta":true}`,
			`{"type":"result","status":"success","stats":{"input_tokens":1,"output_tokens":1}}`,
		}, func(line string) bool { return text == "" && strings.Contains(line, `"delta"`) })
	}
	return []string{
		`{"type":"system","subtype":"init","session_id":"s-1","model":"m","tools":[]}`,
		`{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":` + said + `}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":` + said + `,"session_id":"s-1"}`,
	}
}
