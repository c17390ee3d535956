// The expected requests are in testdata/*.json: go test ./providers/gemini -update rewrites them.
// Read the diff.

package gemini_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
)

var update = flag.Bool("update", false, "write the golden files")

func number[T any](n T) *T { return &n }

var weather = llm.Tool{Name: "weather", Description: "Tells the weather.", Schema: json.RawMessage(
	`{"$schema":"x","type":"object","properties":{"place":{"$ref":"#/$defs/place"},"unit":{"const":"celsius"}},"$defs":{"place":{"type":"string"}}}`)}

func call(id, input, state string) llm.Part {
	p := llm.Part{Kind: llm.Call, ID: id, Name: "weather", Input: input}
	if state != "" {
		p.State = json.RawMessage(state)
	}
	return p
}

// repeated returns a call with the id of an earlier one.
func repeated(p llm.Part) llm.Part {
	p.Repeated = true
	return p
}

func said(text, state string) llm.Part {
	p := llm.Part{Kind: llm.Text, Text: text}
	if state != "" {
		p.State = json.RawMessage(state)
	}
	return p
}

func result(id, text string) llm.Part {
	return llm.Part{Kind: llm.Result, ID: id, Name: "weather", Text: text}
}

func wrote(model string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Origin: gemini.Family.Traits(gemini.Options{Model: model}).Origin, Parts: parts}
}

func results(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: parts}
}

var png = []byte("\x89PNG")

// TestRequest compares the body of each kind of request with a file in testdata, in the form that
// the API gets. Run with -update to write the files.
func TestRequest(t *testing.T) {
	steps := func(model string) []llm.Message {
		return []llm.Message{
			llm.UserText("Weather in Florence and Rome?"),
			wrote(model, llm.Part{Kind: llm.Thinking, Text: "Two calls."},
				call("g1", `{"place":"Florence","id":9007199254740993}`, `"c2lnMQ=="`), call("g2", `{}`, "")),
			results(result("g1", "20 C"), llm.Part{Kind: llm.Result, ID: "g2", Text: `{"$ref":"x"}`, Failed: true}),
			wrote(model, call("unnamed_x", "", `"c2lnMg=="`)),
			results(result("unnamed_x", "rain"), llm.Part{Kind: llm.Media, ID: "unnamed_x", MIME: "image/png", Data: png}),
			wrote(model, said("It rains.", ""), said("", `"c2lnMw=="`)),
			llm.UserText("Thanks."),
		}
	}
	foreign := []llm.Message{
		llm.UserText("One?"),
		{Role: llm.RoleAssistant, Origin: "chat/openai", Parts: []llm.Part{call("a", "{}", "")}},
		results(result("a", "1")),
		llm.UserText("Two?"),
		{Role: llm.RoleAssistant, Origin: "chat/openai", Parts: []llm.Part{said("Wait.", ""), call("b", "{}", ""), call("c", "{}", "")}},
		results(result("b", "2"), result("c", "3")),
		{Role: llm.RoleAssistant, Origin: "chat/openai", Parts: []llm.Part{call("d", "{}", "")}},
		results(result("d", "4")),
	}
	object := &llm.Schema{Name: "city", JSON: json.RawMessage(`{"$schema":"x","type":"object","properties":{"name":{"type":"string"}}}`)}
	for _, test := range []struct {
		name, model string
		req         llm.Request
		body        map[string]any
	}{
		{"own-history", "gemini-3.1-pro-preview", llm.Request{System: "Be brief.", Messages: steps("gemini-3.1-pro-preview"), Tools: []llm.Tool{weather}}, nil},
		{"own-history-without-ids", "gemini-2.5-flash", llm.Request{System: "Be brief.", Messages: steps("gemini-2.5-flash"), Tools: []llm.Tool{weather}}, nil},
		{"foreign-history", "gemini-3.1-pro-preview", llm.Request{Messages: foreign}, nil},
		{"foreign-history-unchecked", "gemini-2.5-flash", llm.Request{Messages: foreign}, nil},
		{"gemma-without-system", "gemma-4-31b-it", llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText("Hi")}, Effort: llm.EffortMedium}, nil},
		{"first-turn-of-the-model", "gemini-2.0-flash", llm.Request{Messages: []llm.Message{wrote("gemini-2.0-flash", said("Hello.", "")), wrote("gemini-2.0-flash", said("Anyone?", "")), llm.UserText("Hi"), llm.UserText("you")}}, nil},
		{"media", "gemini-2.5-pro", llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{
			{Kind: llm.Media, MIME: "image/png", Data: png}, {Kind: llm.Media, MIME: "text/x-go; charset=utf-8", Name: "a.go", Data: []byte("package a")},
			{Kind: llm.Media, MIME: "application/zip", Name: "a.zip", Data: []byte("PK\x00\xff")}, {Kind: llm.Media, URL: "https://youtu.be/x", MIME: "video/mp4"},
		}}}}, nil},
		{"settings", "gemini-2.0-flash", llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "1 odd.name", Schema: json.RawMessage(`null`)}}, Settings: llm.Settings{
			MaxTokens: 100, Temperature: number(0.5), TopP: number(0.9), Seed: number(int64(1) << 40), Stop: []string{"a", "b", "c", "d", "e", "f"},
			FrequencyPenalty: number(0.1), PresencePenalty: number(0.2), ToolChoice: "1 odd.name", Verbosity: "low",
		}}, nil},
		{"answer-schema", "gemini-3.5-flash", llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, AnswerSchema: object, Tools: []llm.Tool{weather}, Settings: llm.Settings{ToolChoice: "none"}}, nil},
		{"answer-schema-beside-tools", "gemini-2.5-flash", llm.Request{System: "S", Messages: []llm.Message{llm.UserText("Hi")}, AnswerSchema: object, Tools: []llm.Tool{weather}, Settings: llm.Settings{ToolChoice: "required"}}, nil},
		{"extra-fields", "gemini-2.5-flash", llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Effort: llm.EffortLow},
			map[string]any{"generationConfig": map[string]any{"topK": 7, "thinkingConfig": map[string]any{"thinkingBudget": 99}}, "safetySettings": []any{}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := gemini.New(gemini.Options{Model: test.model, Body: test.body}).Body(test.req)
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, got, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			file := filepath.Join("testdata", test.name+".json")
			if *update {
				if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(pretty.Bytes(), want) {
				t.Errorf("got %s\nwant %s", pretty.Bytes(), want)
			}
		})
	}
}

// TestPromptAfterResults: after a canceled turn, the prompt follows the results as a separate turn,
// and consecutive prompts are one turn.
func TestPromptAfterResults(t *testing.T) {
	body, err := gemini.New(gemini.Options{Model: "gemini-3.1-pro-preview"}).Body(llm.Request{Messages: []llm.Message{
		llm.UserText("Weather?"), llm.UserText("In Rome."),
		wrote("gemini-3.1-pro-preview", call("g1", `{"place":"Rome"}`, `"c2ln"`)),
		results(result("g1", "canceled")),
		llm.UserText("Never mind."), llm.UserText("In Florence?"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Contents []struct {
			Role  string
			Parts []map[string]any
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var turns []string
	for _, c := range got.Contents {
		turn := c.Role
		for _, p := range c.Parts {
			for _, kind := range []string{"text", "functionCall", "functionResponse"} {
				if p[kind] != nil {
					turn += " " + kind
				}
			}
		}
		turns = append(turns, turn)
	}
	want := []string{"user text text", "model functionCall", "user functionResponse", "user text text"}
	if !slices.Equal(turns, want) {
		t.Errorf("turns: %q, want %q", turns, want)
	}
}

// TestExtraTools checks that configured tools are added to parley's.
func TestExtraTools(t *testing.T) {
	for name, extra := range map[string]any{
		"tables of TOML": []map[string]any{{"google_search": map[string]any{}}},
		"a list":         []any{map[string]any{"google_search": map[string]any{}}},
	} {
		got, err := gemini.New(gemini.Options{Model: "gemini-3.5-flash", Body: map[string]any{"tools": extra}}).Body(llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{weather}})
		var body struct{ Tools []map[string]json.RawMessage }
		if err != nil || json.Unmarshal(got, &body) != nil || len(body.Tools) != 2 || body.Tools[0]["functionDeclarations"] == nil || body.Tools[1]["google_search"] == nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestSurrogates checks that a lone surrogate in a call, which the API refuses, is replaced, and
// that every other call goes back unchanged.
func TestSurrogates(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.50,"a":"\ud83d\ude00"}`: `"args":{"b":1.50,"a":"\ud83d\ude00"}`,
		`{"b":1,"a":"\ud83d"}`:          "\"args\":{\"b\":1,\"a\":\"\uFFFD\"}",
		`{"b":12345678901234567890}`:    `"args":{"b":12345678901234567890}`,
		`{"b":1,"a":"\u00e9"}`:          `"args":{"b":1,"a":"\u00e9"}`,
	} {
		body, err := gemini.New(gemini.Options{Model: "gemini-2.5-pro"}).Body(llm.Request{Messages: []llm.Message{
			llm.UserText("Hi"), wrote("gemini-2.5-pro", call("a", in, "")), results(result("a", "x")),
		}})
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: got %s, want %s in it (%v)", in, body, want, err)
		}
	}
}
