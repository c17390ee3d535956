package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/catalog"
)

// Schemas of parley's tools, reduced to the parts used here.
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

type answered struct {
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

func post(t *testing.T, ctx context.Context, s server, fields map[string]any) *http.Response {
	t.Helper()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://demo.invalid/v1/chat/completions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.RoundTrip(req)
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
	outputs  map[string]string // results of calls by tool
	calls    []string          // calls for the last prompt, as name{arguments}
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
	res := post(k.t, context.Background(), server{true, []catalog.Provider{
		{Name: "xAI Grok", KeyEnv: []string{"XAI_API_KEY"}}, {Name: "DeepSeek", KeyEnv: []string{"DEEPSEEK_API_KEY", "OTHER_KEY"}},
	}}, fields)
	defer res.Body.Close()
	var c answered
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
		want string // space-separated calls; "" for none
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
		{"search for TODO", `grep{"literal":true,"pattern":"TODO"}`},
		{"search for TODO in ui", `grep{"literal":true,"path":"ui","pattern":"TODO"}`},
		{"grep func main", `grep{"literal":true,"pattern":"func main"}`},
		{`search the code for "f(x)"`, `grep{"literal":true,"pattern":"f(x)"}`},
		{"find all uses of OpenOptions", `grep{"literal":true,"pattern":"OpenOptions"}`},
		{"where is Transport defined?", `grep{"literal":true,"pattern":"Transport"}`},
		{"find *.md", `glob{"pattern":"**/*.md"}`},
		{"find all go files", `glob{"pattern":"**/*.go"}`},
		{"find files named config.toml", `glob{"pattern":"**/config.toml"}`},
		{"run go version", `shell{"command":"go version"}`},
		{"run go vet ./...", `shell{"command":"go vet ./..."}`},
		{"please run `ls -la | head` for me", `shell{"command":"ls -la | head"}`},
		{"$ echo hi", `shell{"command":"echo hi"}`},
		{"create notes.txt with hello", `write{"content":"hello\n","path":"notes.txt"}`},
		{"create a file called notes.txt containing \"two\nlines\"", `write{"content":"two\nlines\n","path":"notes.txt"}`},
		{"write hello world to out/notes.txt", `write{"content":"hello world\n","path":"out/notes.txt"}`},
		{"replace foo with bar in x.txt", `read{"path":"x.txt"} edit{"all":true,"new":"bar","old":"foo","path":"x.txt"}`},
		{"in x.txt, change `only` to `just`", `read{"path":"x.txt"} edit{"all":true,"new":"just","old":"only","path":"x.txt"}`},
		{"replace foo by bar in ./x.txt.", `read{"path":"./x.txt"} edit{"all":true,"new":"bar","old":"foo","path":"./x.txt"}`},
		{"explain this repository", `list{} read{"path":"README.md"}`},

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

// Answers show the tools' results, and never claim that they succeeded.
func TestReportsWhatToolsReturned(t *testing.T) {
	for _, tt := range []struct {
		ask, tool, output string
		want              []string
	}{
		{"list the files", "list", "main.go\t1200\ndocs/\n", []string{"```\nmain.go\t1200\ndocs/\n```"}},
		{"list the files", "list", "", []string{"(no output)"}},
		{"read x.go", "read", "     1\tpackage x\n     2\t\n     3\tfunc Open() {}\n", []string{"```go\npackage x\n\nfunc Open() {}\n```"}},
		{"read x.md", "read", "     1\t# Title\n     2\t```\n     3\tcode\n     4\t```\n", []string{"````md\n# Title\n```\ncode\n```\n````"}},
		{"read x.go", "read", strings.Repeat("line\n", 500), []string{"line\n…\n```"}},
		{"search for TODO", "grep", "a.go\n    12: // TODO one\n", []string{"`TODO`", "    12: // TODO one"}},
		{"find *.md", "glob", "README.md\ndocs/a.md\n", []string{"docs/a.md"}},
		{"run go version", "shell", "go version go1.26.0 linux/amd64\n", []string{"`go version`", "```\ngo version go1.26.0 linux/amd64\n```"}},
		{"run false", "shell", "oh no\n[exit status 1]", []string{"```\noh no\n[exit status 1]\n```"}},
		{"create n.txt with hi", "write", "Created n.txt (1 line).", []string{"Created n.txt (1 line)."}},
		{"read x.go", "read", "There is no file x.go.", []string{"There is no file x.go."}},
		{"run rm -rf /", "shell", "The user did not allow this call. They said: no", []string{"nothing was done", "They said: no", "shift+tab"}},
		{"create n.txt with hi", "write", "This was not run: the approval mode is read-only.", []string{"nothing was done", "the approval mode is read-only"}},
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

// A step is not taken once a call was denied.
func TestStopsWhenDenied(t *testing.T) {
	k := &talk{t: t, tools: parleyTools, outputs: map[string]string{"read": "This was not run: the approval mode is read-only."}}
	if k.say("replace a with b in x.txt"); len(k.calls) != 1 {
		t.Errorf("calls %v", k.calls)
	}
}

// A history may hold calls of other models: of tools that do not exist, without
// results, with broken arguments, for a prompt that calls for the same tool.
func TestContinuesHistoriesOfOtherModels(t *testing.T) {
	call := func(id, name, arguments string) any {
		return map[string]any{"id": id, "function": map[string]any{"name": name, "arguments": arguments}}
	}
	for _, ask := range []string{"read a.go", "replace a with b in a.go", "list the files", "hello", "tell me of quarks"} {
		k := &talk{t: t, tools: parleyTools, outputs: map[string]string{"edit": "Edited."}, messages: []any{
			map[string]any{"role": "user", "content": ask},
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call("a", "nothing", "{"), call("b", "read", "[]"), call("c", "list", `{"path":7}`)}},
			map[string]any{"role": "tool", "tool_call_id": "b", "content": "```"},
		}}
		answer, finish := k.step()
		for range 3 {
			if finish == "tool_calls" {
				answer, finish = k.step()
			}
		}
		if answer == "" || finish != "stop" {
			t.Errorf("%q: finish %q, answer %q", ask, finish, answer)
		}
	}
}

func TestNeverPretends(t *testing.T) {
	for name, tools := range map[string][]any{"none": nil, "`read`": parleyTools[:1]} {
		k := &talk{t: t, tools: tools}
		answer := k.say("run go version")
		if len(k.calls) > 0 || !strings.Contains(answer, "I cannot do that") || !strings.Contains(answer, "These are: "+name+".") {
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
		{"say hi", "Hello!"},
		{"Who are you?", "offline demo"},
		{"why is the sky blue?", "Rayleigh"},
		{"how do I add an API key?", "| xAI Grok | `XAI_API_KEY` |\n| DeepSeek | `DEEPSEEK_API_KEY` or `OTHER_KEY` |\n"},
		{"how do I add a provider?", "## Adding a provider"},
		{"which providers can I use?", "DEEPSEEK_API_KEY"},
		{"how can I use claude or gpt", "## Adding a provider"},
		{"how do I use a local model with ollama?", "[providers.ollama]"},
		{"how do I add a local server?", "[providers.ollama]"},
		{"how do I switch the model?", "ctrl+x m"},
		{"how do I list the models?", "ctrl+x m"},
		{"what are the approval modes?", "read-only"},
		{"how do I use it in a pipe", "git diff | parley"},
		{"how do I run it in a script?", "git diff | parley"},
		{"which tools are there?", "`grep`"},
		{"what keyboard shortcuts are there", "ctrl+j"},
		{"where do I put settings?", "config.toml"},
		{"how much does it cost?", "--max-cost"},
		{"how do I start a new conversation?", "/new"},
		{"how do I continue a session?", "parley -c"},
		{"how do I …", "Ask me about any of these"},
		{"how do I quit", "ctrl+d"},
		{"How can I exit parley?", "ctrl+d"},
		{"what is the exit status?", "git diff | parley"},
		{"how do I undo", "/undo"},
		{"how do I stop an answer", "**esc** stops"},
		{"how do I stop it from asking me first", "read-only"},
		{"how do I attach a file", "@path"},
		{"how do I add an image?", "@path"},
		{"how do I switch the model", "ctrl+x m"},
		{"how do I find a conversation", "ctrl+x l"},
		{"how do I copy an answer", "ctrl+x y"},
		{"how do I add a provider", "## Adding a provider"},
		{"is this private?", "What leaves this machine"},
		{"what can you do?", "parley"},
		{"please help", "parley"},
		{"show me what you can do", "```python"},
		{"show me a table", "|:---|:---:|"},
		{"can you write some code?", "```go"},
		{"hello world in rust", "println!"},
		{"show me thinking", "ctrl+t"},
		{"search the web for news", "I am offline"},
		{"run the tests", "Which command?"},
		{"what does this say?\n\n<stdin>\none line\nanother line line\n</stdin>", "lines: **2**, words: **5**"},
		{strings.Repeat("list the files ", 1000), "lines: **1**, words: **3000**"},
		{"a\nb\nc\nd\n", "lines: **4**, words: **4**"},
	} {
		k := &talk{t: t, tools: parleyTools}
		if got := k.say(tt.ask); !strings.Contains(got, tt.want) {
			t.Errorf("%q:\n%s\n\nlacks %q", tt.ask, got, tt.want)
		}
		if len(k.calls) > 0 {
			t.Errorf("%q calls %v", tt.ask, k.calls)
		}
	}
	k := &talk{t: t}
	if got := k.say("show me something long"); strings.Count(got, "\n") < 100 {
		t.Errorf("the long answer has %d lines", strings.Count(got, "\n"))
	}
}

// TestOffers sends every phrase that the demo suggests.
func TestOffers(t *testing.T) {
	offered := regexp.MustCompile("(?m)^(?:\\| |- \\*\\*)`([^`]+)`(.*)")
	for _, name := range []string{"unknown", "40-greeting"} {
		found := offered.FindAllStringSubmatch(named(name).body, -1)
		if len(found) < 6 {
			t.Errorf("%s offers %d phrases", name, len(found))
		}
		for _, m := range found {
			if cell, _, _ := strings.Cut(m[2], " | "); strings.Contains(cell, "`") {
				t.Errorf("%s: more than one phrase in %s", name, m[0])
			}
			k := &talk{t: t, tools: parleyTools, outputs: map[string]string{"read": "     1\tfoo\n"}}
			if answer := k.say(m[1]); strings.Contains(answer, "I do not know that") {
				t.Errorf("%s offers %q, which it does not know", name, m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(named("80-parley").body, -1) {
		if answer := (&talk{t: t, tools: parleyTools}).say(m[1]); strings.Contains(answer, "I do not know that") {
			t.Errorf("80-parley offers %q, which it does not know", m[1])
		}
	}
}

// Scripts are read when they are first needed: what is wrong with one is found
// here. All names in braces mean something.
func TestScripts(t *testing.T) {
	c := &chat{request: request{Tools: []tool{{}}}, keyed: []catalog.Provider{{}}}
	for _, s := range scripts() {
		name := s.name
		known := map[string]bool{"file": true}
		for _, pattern := range s.when {
			for _, group := range pattern.SubexpNames() {
				known[group] = true
			}
		}
		texts := s.body + s.thinking
		for _, step := range s.steps {
			texts += step.arguments
		}
		for _, m := range placeholder.FindAllStringSubmatch(texts, -1) {
			if !known[m[1]] && c.value(m[0]) == m[0] {
				t.Errorf("%s: nothing is known of %s", name, m[0])
			}
		}
		if found := name[0] >= '0' && name[0] <= '9'; found != (len(s.when) > 0) || s.body == "" {
			t.Errorf("%s: %d patterns, body %q", name, len(s.when), s.body)
		}
	}
	for _, text := range []string{"no header", "---\nwhen: (\n---\nx", "---\ncall: read {\n---\nx", "---\nwhy: x\n---\nx"} {
		if err := new(script).parse(text); err == nil {
			t.Errorf("%q is a script", text)
		}
	}
}

// Text of the user is text: it fills no other place of a script.
func TestGroupsAreNotExpanded(t *testing.T) {
	k := &talk{t: t, tools: parleyTools}
	k.say("create a.txt with {path} {keys} \"")
	if want := `write{"content":"{path} {keys} \n","path":"a.txt"}`; strings.Join(k.calls, " ") != want {
		t.Errorf("calls %v, want %s", k.calls, want)
	}
}

func TestKnowsWhatWasAskedBefore(t *testing.T) {
	k := &talk{t: t, tools: parleyTools}
	for _, turn := range []struct{ ask, want string }{
		{"what did I ask before?", "- nothing"},
		{"my name is Grace", ""},
		{"what's my name?", "- “my name is Grace”"},
		{"what did I ask before?", "- “what did I ask before?”\n- “my name is Grace”\n- “what's my name?”"},
	} {
		if got := k.say(turn.ask); !strings.Contains(got, turn.want) {
			t.Errorf("%q:\n%s\n\nlacks %q", turn.ask, got, turn.want)
		}
	}
}

// A summary lists prompts and calls, those of older summaries too, does nothing
// of what the conversation asks for, and is known to the next question.
func TestSummarizes(t *testing.T) {
	const told = "- asked “read main.go”\n- called `read {\"path\":\"main.go\"}`"
	k := &talk{t: t}
	first := k.say("<conversation>\nPerson:\nread main.go\n\nAssistant:\n[calls read {\"path\":\"main.go\"}]\n\n" +
		"Tools:\n[read returned: package main]\n\nAssistant:\n- `no call`\n- “no prompt”\n\n</conversation>\n\nSummarize this conversation.")
	if !strings.HasSuffix(first, "oldest first:\n\n"+told) {
		t.Errorf("got:\n%s\n\nwant it to end with:\n%s", first, told)
	}
	long := "Person:\n" + strings.Repeat("hello ", 10_000) + "\n\n</conversation>\n\nSummarize this conversation."
	for _, again := range []string{
		"<summary>\n" + first + "\n</summary>\n\n<conversation>\n" + long + " It goes on from the summary: make one summary of both.",
		"<conversation>\nSummary of what was said before:\n" + first + "\n\n" + long,
	} {
		k := &talk{t: t, tools: parleyTools}
		second := k.say(again)
		if !strings.Contains(second, told+"\n- asked “hello hello") || len(second) > 400 {
			t.Errorf("summary of both:\n%s", second)
		}
	}
	k = &talk{t: t, tools: parleyTools}
	if k.say("The conversation up to here was summarized to save room.\n\n" + first + "\n\nlist the files"); len(k.calls) != 1 {
		t.Errorf("behind a summary: calls %v", k.calls)
	}
	if got := k.say("what did I ask before?"); !strings.Contains(got, told+"\n- “list the files”") {
		t.Errorf("after a summary:\n%s", got)
	}
}

// A prompt that got no answer comes together with the next one.
func TestAnswersTheLastOfJoinedPrompts(t *testing.T) {
	k := &talk{t: t, tools: parleyTools}
	if k.say("tell me of quarks\n\nlist the files"); len(k.calls) != 1 {
		t.Errorf("calls %v", k.calls)
	}
}

// A question beside the work is answered without the note before it, which speaks of tools.
func TestAnswersAsides(t *testing.T) {
	k := &talk{t: t, tools: parleyTools}
	const note = "This is a question beside the work, which continues without your answer to it. Answer from what the conversation holds, without calling tools.\n\n"
	if got, want := k.say(note+"what is the capital of France?"), "I do not know that"; !strings.Contains(got, want) {
		t.Errorf("got:\n%s\n\nwant %q in it", got, want)
	}
}

func TestSaysOnceWhatItIs(t *testing.T) {
	k := &talk{t: t, tools: parleyTools, outputs: map[string]string{"list": "a.go\t1\n"}}
	for i, ask := range []string{"list the files", "list the files", "hello"} {
		answer := k.say(ask)
		if got, want := strings.HasSuffix(answer, named("footer").body), i == 0; got != want {
			t.Errorf("answer %d ends with the line: %v, want %v", i, got, want)
		}
	}
	fresh := &talk{t: t}
	if answer := fresh.say("who are you?"); strings.Count(answer, declaration) != 1 {
		t.Errorf("says it more than once: %q", answer)
	}
}

func TestRequestSettings(t *testing.T) {
	prompt := []any{map[string]any{"role": "user", "content": "why is the sky blue?"}}
	ask := func(fields map[string]any) answered {
		t.Helper()
		fields["messages"] = prompt
		res := post(t, context.Background(), server{instant: true}, fields)
		defer res.Body.Close()
		var c answered
		if err := json.NewDecoder(res.Body).Decode(&c); err != nil || len(c.Choices) == 0 {
			t.Fatalf("%v: %v", fields, err)
		}
		return c
	}
	plain := ask(map[string]any{})
	if m := plain.Choices[0]; m.Message.Reasoning == "" || m.FinishReason != "stop" {
		t.Errorf("plain: %+v", m)
	}
	if c := ask(map[string]any{"reasoning_effort": "none"}); c.Choices[0].Message.Reasoning != "" {
		t.Error("it thinks although it must not")
	}
	if c := ask(map[string]any{"reasoning_effort": "high"}); len(c.Choices[0].Message.Reasoning) <= len(plain.Choices[0].Message.Reasoning) {
		t.Error("it does not think more when asked to")
	}
	if c := ask(map[string]any{"max_tokens": 40}); c.Choices[0].FinishReason != "length" || c.Usage.Completion != 40 {
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
	c := ask(map[string]any{"response_format": map[string]any{
		"type": "json_schema", "json_schema": map[string]any{"schema": json.RawMessage(schema)},
	}})
	if err := json.Unmarshal([]byte(c.Choices[0].Message.Content), &object); err != nil || object.Hue != "blue" || object.N == nil || len(object.Tags) != 1 {
		t.Errorf("by a schema: %v, %+v", err, object)
	}
}

// example returns an instance of a schema as the demo answers with it.
func example(t *testing.T, schema, text string) string {
	t.Helper()
	var s any
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatal(err)
	}
	left := maxValues
	data, err := json.Marshal(instance(s, text, &left))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Instances keep to the bounds of their schema.
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
		if got := example(t, tt.schema, "I'm the demo"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.schema, got, tt.want)
		}
	}
	if got := example(t, `{"type":"string","minLength":20}`, "short"); len(got) != 22 {
		t.Errorf("got %q", got)
	}
	many := strings.Repeat(`{"type":"array","minItems":1000,"items":`, 5) + "{}" + strings.Repeat("}", 5)
	if got := example(t, many, ""); len(got) > 10*maxValues {
		t.Errorf("%d bytes", len(got))
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
		res, err := Transport(true, nil).RoundTrip(req)
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
	res := post(t, context.Background(), server{instant: true}, fields)
	defer res.Body.Close()
	var want answered
	if err := json.NewDecoder(res.Body).Decode(&want); err != nil {
		t.Fatal(err)
	}
	fields["stream"] = true
	streamed := post(t, context.Background(), server{instant: true}, fields)
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
		res := post(t, t.Context(), server{}, map[string]any{
			"stream": true, "messages": []any{map[string]any{"role": "user", "content": "show me something long"}},
		})
		first := make([]byte, 1)
		if _, err := res.Body.Read(first); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != modelPace.first {
			t.Errorf("first byte after %v, want %v", got, modelPace.first)
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
			res := post(t, ctx, server{}, map[string]any{
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
		res := post(t, context.Background(), server{instant: true}, map[string]any{"messages": messages, "tools": parleyTools})
		defer res.Body.Close()
		var c answered
		if err := json.NewDecoder(res.Body).Decode(&c); err != nil || len(c.Choices) != 1 {
			t.Fatalf("%d: %v", res.StatusCode, err)
		}
		if m := c.Choices[0]; m.Message.Content == "" && len(m.Message.ToolCalls) == 0 {
			t.Errorf("%q, %q: nothing to say", ask, output)
		}
	})
}
