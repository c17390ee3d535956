package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clock is what the demo takes for now.
func clock() time.Time { return time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC) }

// Schemas of the tools that parley offers, cut down to what matters here.
var parleyTools = []any{
	function("read", `{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"}},"required":["path"]}`),
	function("list", `{"type":"object","properties":{"path":{"type":"string"}}}`),
	function("glob", `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"]}`),
	function("grep", `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"literal":{"type":"boolean"}},"required":["pattern"]}`),
	function("write", `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`),
	function("edit", `{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean"}},"required":["path","old","new"]}`),
	function("shell", `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
}

func function(name, parameters string) any {
	return map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": json.RawMessage(parameters)}}
}

type completion struct {
	Choices []struct {
		Message struct {
			Content   string `json:"content"`
			Reasoning string `json:"reasoning_content"`
			ToolCalls []any  `json:"tool_calls"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	} `json:"usage"`
}

func post(t *testing.T, ctx context.Context, o Options, fields map[string]any) *http.Response {
	t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://demo.invalid/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Transport(o).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// talk holds a conversation with the demo and answers its calls.
type talk struct {
	t        *testing.T
	messages []any
	tools    []any
	outputs  map[string]string // by tool; what to answer calls with
	calls    []string          // made for the last question, as name{arguments}
	extra    map[string]any    // further request fields
}

func (k *talk) say(text string) string {
	k.t.Helper()
	k.calls = nil
	k.messages = append(k.messages, map[string]any{"role": "user", "content": text})
	for range 5 {
		answer, finish := k.step()
		if finish != "tool_calls" {
			return answer
		}
	}
	k.t.Fatalf("%q: the calls do not end: %v", text, k.calls)
	return ""
}

func (k *talk) step() (answer, finish string) {
	k.t.Helper()
	fields := map[string]any{"model": Model, "messages": k.messages, "tools": k.tools}
	for name, value := range k.extra {
		fields[name] = value
	}
	res := post(k.t, context.Background(), Options{Instant: true, Now: clock, Keys: []Key{
		{"xAI Grok", []string{"XAI_API_KEY"}}, {"DeepSeek", []string{"DEEPSEEK_API_KEY", "OTHER_KEY"}},
	}}, fields)
	defer res.Body.Close()
	var c completion
	if err := json.NewDecoder(res.Body).Decode(&c); err != nil || len(c.Choices) != 1 {
		k.t.Fatalf("answer: %v, %d choices", err, len(c.Choices))
	}
	if c.Usage.Prompt == 0 || c.Usage.Total != c.Usage.Prompt+c.Usage.Completion {
		k.t.Errorf("usage %+v", c.Usage)
	}
	m := c.Choices[0].Message
	k.messages = append(k.messages, map[string]any{"role": "assistant", "content": m.Content, "tool_calls": m.ToolCalls})
	for _, made := range m.ToolCalls {
		call := made.(map[string]any)
		f := call["function"].(map[string]any)
		name := f["name"].(string)
		k.calls = append(k.calls, name+f["arguments"].(string))
		k.messages = append(k.messages, map[string]any{"role": "tool", "tool_call_id": call["id"], "content": k.outputs[name]})
	}
	return m.Content, c.Choices[0].FinishReason
}

func TestTasksBecomeCalls(t *testing.T) {
	for _, tt := range []struct {
		ask  string
		want string // calls, joined by a space; "" for none
	}{
		{"list the files", `list{"path":"."}`},
		{"What files are here?", `list{"path":"."}`},
		{"ls", `list{"path":"."}`},
		{"ls src/app", `list{"path":"src/app"}`},
		{"show me the files in providers", `list{"path":"providers"}`},
		{"which files are in this folder?", `list{"path":"."}`},
		{"read main.go", `read{"path":"main.go"}`},
		{"Please show me `ui/view.go`.", `read{"path":"ui/view.go"}`},
		{"read a.txt and b.txt", `read{"path":"a.txt"} read{"path":"b.txt"}`},
		{"what does main.go do?", `read{"path":"main.go"}`},
		{"summarize README.md, go.mod and Makefile", `read{"path":"README.md"} read{"path":"go.mod"} read{"path":"Makefile"}`},
		{"cat .gitignore", `read{"path":".gitignore"}`},
		{"read /etc/passwd", `read{"path":"/etc/passwd"}`},
		{"search for TODO", `grep{"pattern":"TODO"}`},
		{"search for TODO in ui", `grep{"path":"ui","pattern":"TODO"}`},
		{"grep func main", `grep{"pattern":"func main"}`},
		{`search the code for "f(x)"`, `grep{"literal":true,"pattern":"f(x)"}`},
		{"find all uses of OpenOptions", `grep{"pattern":"OpenOptions"}`},
		{"where is Transport defined?", `grep{"pattern":"Transport"}`},
		{"find *.md", `glob{"pattern":"**/*.md"}`},
		{"find all go files", `glob{"pattern":"**/*.go"}`},
		{"find files named config.toml", `glob{"pattern":"**/config.toml"}`},
		{"run go version", `shell{"command":"go version"}`},
		{"run go vet ./...", `shell{"command":"go vet ./..."}`},
		{"please run `ls -la | head` for me", `shell{"command":"ls -la | head"}`},
		{"$ echo hi", `shell{"command":"echo hi"}`},
		{"create notes.txt with hello", `write{"content":"hello\n","path":"notes.txt"}`},
		{`create a file called notes.txt containing "two\nlines"`, `write{"content":"two\nlines\n","path":"notes.txt"}`},
		{"write hello world to out/notes.txt", `write{"content":"hello world\n","path":"out/notes.txt"}`},
		{"replace foo with bar in x.txt", `read{"path":"x.txt"} edit{"all":true,"new":"bar","old":"foo","path":"x.txt"}`},
		{"in x.txt, change `only` to `just`", `read{"path":"x.txt"} edit{"new":"just","old":"only","path":"x.txt"}`},
		{"replace absent with bar in x.txt", `read{"path":"x.txt"}`},
		{"explain this repository", `list{"path":"."} read{"path":"README.md"} read{"path":"go.mod"}`},

		{"hello", ""},
		{"how do I list the models?", ""},
		{"how do I run it in a pipe?", ""},
		{"why is the sky blue?", ""},
		{"what is 2.5 * 3", ""},
		{"what is openai/gpt-6.1-sol", ""},
		{"search the web for news", ""},
		{"run the tests", ""},
		{"show me what you can do", ""},
		{"what did I ask before?", ""},
	} {
		k := &talk{t: t, tools: parleyTools, outputs: map[string]string{
			"read": "     1\tfoo and foo\n     2\tonly once\n",
			"list": "README.md\t120\ngo.mod\t30\nui/\n",
		}}
		answer := k.say(tt.ask)
		if got := strings.Join(k.calls, " "); got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.ask, got, tt.want)
		}
		if strings.TrimSpace(answer) == "" {
			t.Errorf("%q: no answer", tt.ask)
		}
	}
}

func TestReportsWhatToolsReturned(t *testing.T) {
	for _, tt := range []struct {
		ask, tool, output string
		want              []string
	}{
		{"list the files", "list", "main.go\t1200\nui.go\t90\ndocs/\n", []string{"**2 files** and **1 folder**", "2 of the files are `.go`", "- `docs/`", "- `main.go`"}},
		{"list the files", "list", "", []string{"is empty"}},
		{"read x.go", "read", "     1\tpackage x\n     2\t\n     3\tfunc Open() {}\n     4\ttype Door struct{}\n", []string{"has 4 lines", "`Open`, `Door`", "```go\npackage x\n"}},
		{"read x.md", "read", "     1\t# Title\n     2\t```\n     3\tcode\n     4\t```\n", []string{"`Title`", "````markdown\n# Title\n```"}},
		{"search for TODO", "grep", "a.go\n12: // TODO one\n40: // TODO two\nb.go\n3: TODO\n", []string{"3 lines of 2 files", "| `a.go` | 2 |", "| `b.go` | 1 |"}},
		{"search for TODO", "grep", "No matches.", []string{"I found no `TODO`", "No matches."}},
		{"find *.md", "glob", "README.md\ndocs/a.md\n", []string{"matches 2 files", "- `docs/a.md`"}},
		{"run go version", "shell", "go version go1.26.0 linux/amd64\n", []string{"I ran `go version`", "```\ngo version go1.26.0 linux/amd64\n```"}},
		{"run true", "shell", "", []string{"It printed nothing"}},
		{"run true", "shell", "[no output]\n[exit status 0]", []string{"I ran `true`. It printed nothing"}},
		{"run false", "shell", "oh no\n[exit status 1]", []string{"I ran `false`, and it **failed** with exit status 1", "```\noh no\n```"}},
		{"create n.txt with hi", "write", "Created n.txt (1 line).", []string{"I wrote `n.txt` (1 line)", "```\nhi\n```"}},

		{"read x.go", "read", "There is no file x.go.", []string{"I could not read `x.go`", "There is no file x.go."}},
		{"run rm -rf /", "shell", "The user did not allow this call.", []string{"I did not run `rm -rf /`", "Nothing was changed", "shift+tab"}},
		{"create n.txt with hi", "write", "This was not run: the approval mode is read-only.", []string{"I did not write `n.txt`", "the approval mode is read-only"}},
		{"run ls nope", "shell", "ls: cannot access 'nope': No such file or directory\n[exit status 2]", []string{"it **failed** with exit status 2"}},
		{"create n.txt with hi", "write", "n.txt exists and you have not read it; read it first", []string{"I could not write `n.txt`"}},
		{"create n.txt with hi", "write", "perhaps", []string{"cannot tell whether that worked", "perhaps"}},
		{"read x.md", "read", "     1\tWhat to do if a file does not exist\n", []string{"has 1 line", "does not exist"}},
		{"replace a with b in n.txt", "read", "Error: n.txt does not exist", []string{"I could not read `n.txt`"}},
	} {
		k := &talk{t: t, tools: parleyTools, outputs: map[string]string{tt.tool: tt.output}}
		answer := k.say(tt.ask)
		for _, want := range tt.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%q, with the output %q:\n%s\n\nlacks %q", tt.ask, tt.output, answer, want)
			}
		}
	}
}

// Other programs offer the same abilities under other names.
func TestDerivesNamesFromSchemas(t *testing.T) {
	k := &talk{t: t, tools: []any{
		function("read_file", `{"type":"object","properties":{"file_path":{"type":"string"},"reason":{"type":"string"}},"required":["file_path","reason"]}`),
		function("bash", `{"type":"object","properties":{"cmd":{"type":"string"}}}`),
	}, outputs: map[string]string{"read_file": "hi", "bash": "hi"}}
	k.say("read a.txt")
	if want := `read_file{"file_path":"a.txt","reason":"asked for by the person"}`; strings.Join(k.calls, " ") != want {
		t.Errorf("calls %v, want %s", k.calls, want)
	}
	k.say("run date")
	if want := `bash{"cmd":"date"}`; strings.Join(k.calls, " ") != want {
		t.Errorf("calls %v, want %s", k.calls, want)
	}
}

func TestNeverPretends(t *testing.T) {
	for name, tools := range map[string][]any{"none": nil, "others": parleyTools[:1]} {
		k := &talk{t: t, tools: tools}
		answer := k.say("run go version")
		if len(k.calls) > 0 || !strings.Contains(answer, "I cannot do it") {
			t.Errorf("tools %s: calls %v, answer %q", name, k.calls, answer)
		}
	}
	k := &talk{t: t}
	if answer := k.say("Write an essay on Kant's ethics"); !strings.Contains(answer, "I do not know that") || !strings.Contains(answer, "OPENAI_API_KEY") {
		t.Errorf("unknown question: %q", answer)
	}
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct{ ask, want string }{
		{"hi there", "Hello!"},
		{"Who are you?", "offline demo"},
		{"why is the sky blue?", "Rayleigh"},
		{"how do I add an API key?", "| xAI Grok | `XAI_API_KEY` |\n| DeepSeek | `DEEPSEEK_API_KEY` or `OTHER_KEY` |\n"},
		{"which providers can I use?", "DEEPSEEK_API_KEY"},
		{"how can I use claude or gpt", "## Adding a provider"},
		{"how do I use a local model with ollama?", "[providers.ollama]"},
		{"how do I switch the model?", "ctrl+x m"},
		{"what are the approval modes?", "read-only"},
		{"how do I use it in a pipe", "git diff | parley"},
		{"which tools are there?", "`grep`"},
		{"what keyboard shortcuts are there", "ctrl+j"},
		{"where do I put settings?", "config.toml"},
		{"how much does it cost?", "--max-cost"},
		{"how do I start a new conversation?", "/new"},
		{"is this private?", "What leaves this machine"},
		{"what can you do?", "parley"},
		{"show me what you can do", "```python"},
		{"what is 2 + 3 * 4?", "= **14**"},
		{"what is 15% of 80", "**12**"},
		{"12.5 km in miles", "**7.76713"},
		{"100 f to c", "**37.777"},
		{"what day is it?", "Friday, 20 November 2026"},
		{"what time is it?", "15:04"},
		{"what is the capital of France?", "**Paris**"},
		{"hello world in rust", "println!"},
		{"say \"good night\"", "good night"},
		{"count to 5", "1, 2, 3, 4, 5."},
		{"what does this say?\n\n<stdin>\none line\nanother line line\n</stdin>", "**2 lines** and **5 words**"},
	} {
		k := &talk{t: t, tools: parleyTools}
		if got := k.say(tt.ask); !strings.Contains(got, tt.want) {
			t.Errorf("%q:\n%s\n\nlacks %q", tt.ask, got, tt.want)
		}
		if len(k.calls) > 0 {
			t.Errorf("%q calls %v", tt.ask, k.calls)
		}
	}
}

func TestEveryTopicIsWritten(t *testing.T) {
	for _, topic := range topics {
		if answerText(topic.name) == "" {
			t.Errorf("nothing is written about %s", topic.name)
		}
	}
}

func TestRemembersTheConversation(t *testing.T) {
	k := &talk{t: t, tools: parleyTools}
	for _, turn := range []struct{ ask, want string }{
		{"what did I ask before?", "first message"},
		{"what is my name?", "You have not told me your name"},
		{"my name is Grace", "**Grace**"},
		{"I am tired", "I do not know that"},
		{"what's my name?", "your name is **Grace**"},
		{"what did I ask before?", "3. “my name is Grace”"},
	} {
		if got := k.say(turn.ask); !strings.Contains(got, turn.want) {
			t.Errorf("%q:\n%s\n\nlacks %q", turn.ask, got, turn.want)
		}
	}
}

func TestSaysOnceWhatItIs(t *testing.T) {
	k := &talk{t: t, tools: parleyTools, outputs: map[string]string{"list": "a.go\t1\n"}}
	for i, ask := range []string{"list the files", "list the files", "hello"} {
		answer := k.say(ask)
		if got, want := strings.HasSuffix(answer, footer), i == 0; got != want {
			t.Errorf("answer %d ends with the line: %v, want %v", i, got, want)
		}
	}
	fresh := &talk{t: t}
	if answer := fresh.say("who are you?"); strings.Count(answer, declaration) != 1 {
		t.Errorf("says it more than once: %q", answer)
	}
}

func TestArithmetic(t *testing.T) {
	for _, tt := range []struct {
		text string
		want float64
		err  error
	}{
		{"1+2", 3, nil},
		{"2 + 3 * 4", 14, nil},
		{"(2+3)*4", 20, nil},
		{"2^3^2", 512, nil},
		{"-2^2", -4, nil},
		{"2**10", 1024, nil},
		{"7 % 4", 3, nil},
		{"--3", 3, nil},
		{"sqrt(16) + 1", 5, nil},
		{"1,000 * 3", 3000, nil},
		{".5 + 1.", 1.5, nil},
		{"1/0", 0, errZero},
		{"1+", 0, errSyntax},
		{"(1", 0, errSyntax},
		{"1 2 x", 0, errSyntax},
		{"", 0, errSyntax},
		{strings.Repeat("(", 10_000), 0, errSyntax},
	} {
		got, err := evaluate(tt.text)
		if !errors.Is(err, tt.err) || err == nil && got != tt.want {
			t.Errorf("%.20q = %v, %v; want %v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
	for value, want := range map[float64]string{0: "0", 0.1 + 0.2: "0.3", 100: "100", -2.5: "-2.5", 1e20: "1e+20"} {
		if got := number(value); got != want {
			t.Errorf("number(%v) = %q, want %q", value, got, want)
		}
	}
}

func TestRequestSettings(t *testing.T) {
	ask := []any{map[string]any{"role": "user", "content": "why is the sky blue?"}}
	answer := func(fields map[string]any) completion {
		t.Helper()
		fields["messages"] = ask
		res := post(t, context.Background(), Options{Instant: true, Now: clock}, fields)
		defer res.Body.Close()
		var c completion
		if err := json.NewDecoder(res.Body).Decode(&c); err != nil || len(c.Choices) == 0 {
			t.Fatalf("%v: %v", fields, err)
		}
		return c
	}
	plain := answer(map[string]any{})
	if m := plain.Choices[0]; m.Message.Reasoning == "" || m.FinishReason != "stop" {
		t.Errorf("plain: %+v", m)
	}
	if c := answer(map[string]any{"reasoning_effort": "none"}); c.Choices[0].Message.Reasoning != "" {
		t.Error("it thinks although it must not")
	}
	if c := answer(map[string]any{"reasoning_effort": "high"}); len(c.Choices[0].Message.Reasoning) <= len(plain.Choices[0].Message.Reasoning) {
		t.Error("it does not think more when asked to")
	}
	if c := answer(map[string]any{"max_tokens": 40}); c.Choices[0].FinishReason != "length" || c.Usage.Completion != 40 {
		t.Errorf("limit of 40: %s after %d tokens", c.Choices[0].FinishReason, c.Usage.Completion)
	}
	var object struct {
		Why  string   `json:"why"`
		Sure bool     `json:"sure"`
		N    *int     `json:"n"`
		Tags []string `json:"tags"`
		Hue  string   `json:"hue"`
	}
	schema := `{"type":"object","properties":{"why":{"type":"string"},"sure":{"type":"boolean"},"n":{"type":["null","integer"]},` +
		`"tags":{"type":"array","items":{"type":"string"}},"hue":{"enum":["blue","red"]}}}`
	c := answer(map[string]any{"response_format": map[string]any{
		"type": "json_schema", "json_schema": map[string]any{"schema": json.RawMessage(schema)},
	}})
	if err := json.Unmarshal([]byte(c.Choices[0].Message.Content), &object); err != nil || object.Hue != "blue" || object.N == nil || len(object.Tags) != 1 {
		t.Errorf("by a schema: %v, %+v", err, object)
	}
}

// TestSchemas: what bounds a value is kept.
func TestSchemas(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{`{"type":"string","maxLength":3}`, `"I'm"`},
		{`{"type":"string","format":"date"}`, `"2026-01-01"`},
		{`{"type":"integer","minimum":3}`, `3`},
		{`{"type":"integer","exclusiveMinimum":3}`, `4`},
		{`{"type":"integer","maximum":-2}`, `-2`},
		{`{"type":"integer","exclusiveMaximum":0}`, `-1`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0.5`},
		{`{"type":"integer","minimum":1,"multipleOf":5}`, `5`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[0,0]`},
		{`{"type":"array","items":{"type":"integer"},"maxItems":0}`, `[]`},
		{`{"const":"fixed"}`, `"fixed"`},
		{`{"const":null}`, `null`},
		{`{"enum":[2,1]}`, `2`},
		{`{"anyOf":[{"type":"boolean"},{"type":"string"}]}`, `false`},
		{`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"object"}},"required":["a"]}`, `{"a":false}`},
		{`{"type":"object","properties":{"a":{"type":"object"}}}`, `{"a":{}}`},
		{`{}`, `null`},
	} {
		var s schema
		if err := json.Unmarshal([]byte(tt.schema), &s); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(s.example("I'm the demo")); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v; want %s", tt.schema, got, err, tt.want)
		}
	}
	long := schema{Type: "string", MinLength: 20}
	if got, _ := long.example("short").(string); len(got) != 20 {
		t.Errorf("got %q", got)
	}
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`, 200},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url"}]}]}`, 200},
		{"GET", "/v1/models", ``, 200},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, 400},
		{"POST", "/v1/chat/completions", `{`, 400},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":7}]}`, 400},
		{"POST", "/v1/embeddings", `{}`, 404},
		{"GET", "/v1/chat/completions", ``, 404},
	} {
		req, err := http.NewRequest(tt.method, "http://demo.invalid"+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := Transport(Options{Instant: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != tt.status {
			t.Errorf("%s %s %s: %d, want %d", tt.method, tt.path, tt.body, res.StatusCode, tt.status)
		}
		res.Body.Close()
	}
}

// The pieces of a stream are the whole answer, and come one after the other.
func TestStreamsWhatItWouldSayWhole(t *testing.T) {
	fields := map[string]any{"messages": []any{map[string]any{"role": "user", "content": "show me what you can do"}}}
	res := post(t, context.Background(), Options{Instant: true, Now: clock}, fields)
	defer res.Body.Close()
	var want completion
	if err := json.NewDecoder(res.Body).Decode(&want); err != nil {
		t.Fatal(err)
	}
	fields["stream"] = true
	streamed := post(t, context.Background(), Options{Instant: true, Now: clock}, fields)
	defer streamed.Body.Close()
	var text, thinking strings.Builder
	var last string
	finish, events := "", 0
	for scan := bufio.NewScanner(streamed.Body); scan.Scan(); {
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			continue
		}
		last = data
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
		}
		if data == "[DONE]" {
			continue
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		events++
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
			thinking.WriteString(c.Delta.Reasoning)
			finish += c.FinishReason
		}
	}
	m := want.Choices[0]
	if text.String() != m.Message.Content || thinking.String() != m.Message.Reasoning || finish != "stop" || last != "[DONE]" {
		t.Errorf("streamed %d bytes of text, %d of thinking, finish %q, end %q", text.Len(), thinking.Len(), finish, last)
	}
	if events < 200 {
		t.Errorf("%d events: not a stream", events)
	}
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		res := post(t, t.Context(), Options{}, map[string]any{
			"stream": true, "messages": []any{map[string]any{"role": "user", "content": "count to 100"}},
		})
		first := make([]byte, 1)
		if _, err := res.Body.Read(first); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != human.first {
			t.Errorf("first byte after %v, want %v", got, human.first)
		}
		rest, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		rate := float64(strings.Count(string(rest), "data: ")) / time.Since(start).Seconds()
		if rate < 60 || rate > 90 {
			t.Errorf("%.0f tokens a second, want 60 to 90", rate)
		}
	})
}

func TestCancelAndCloseEndAtOnce(t *testing.T) {
	for _, how := range []string{"cancel", "close"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			res := post(t, ctx, Options{}, map[string]any{
				"stream": true, "messages": []any{map[string]any{"role": "user", "content": "show me what you can do"}},
			})
			time.AfterFunc(2*time.Second, func() {
				if how == "cancel" {
					cancel()
					return
				}
				res.Body.Close()
			})
			start := time.Now()
			_, err := io.ReadAll(res.Body)
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took != 2*time.Second {
				t.Errorf("%s: %v after %v", how, err, took)
			}
			res.Body.Close()
		})
	}
}

// Whatever is asked, and whatever tools return, an answer comes, and its
// streamed pieces are valid JSON.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"list the files", "replace a with b in c.txt", "`", "what is ((((1", "1 f to c", "say \xff", "read ``` and ../x"} {
		f.Add(seed, "     1\ta\n[more]", 3)
	}
	f.Fuzz(func(t *testing.T, ask, output string, rounds int) {
		messages := []any{map[string]any{"role": "user", "content": ask}}
		for i := range min(max(rounds, 0), 4) {
			id := fmt.Sprint("c", i)
			messages = append(messages,
				map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
					"id": id, "function": map[string]any{"name": "read", "arguments": `{"path":"a"}`},
				}}},
				map[string]any{"role": "tool", "tool_call_id": id, "content": output})
		}
		res := post(t, context.Background(), Options{Instant: true, Now: clock}, map[string]any{"messages": messages, "tools": parleyTools})
		defer res.Body.Close()
		var c completion
		if err := json.NewDecoder(res.Body).Decode(&c); err != nil || len(c.Choices) != 1 {
			t.Fatalf("%d: %v", res.StatusCode, err)
		}
		if m := c.Choices[0]; m.Message.Content == "" && len(m.Message.ToolCalls) == 0 {
			t.Errorf("%q, %q: nothing to say", ask, output)
		}
	})
}
