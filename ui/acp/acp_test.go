// testdata/conversation.txt is for the whole program. go test . -run TestEditorConversation
// -editor rewrites parley's messages in it; the editor's messages are written by hand.

package acp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/tools/sandbox"
	. "parley/ui/acp"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/flows"
	"parley/ui/client"
)

func init() {
	permission.Register()
	process.Sandbox.GitRuns = sandbox.GitRuns
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An editor is the client: it records the updates, and answers questions with answer.
type editor struct {
	sdk.Client // nil, because parley does not request terminals
	t          *testing.T
	*sdk.ClientSideConnection
	dir    string
	answer func(sdk.RequestPermissionRequest) string // returns the id of an option; "" to cancel
	leave  func()                                    // closes the editor's side, and waits for parley
	hasty  bool                                      // cancel each prompt with the same write
	files  sdk.FileSystemCapabilities
	buffer string // text of each file in the editor; "" for none
	wrote  []sdk.WriteTextFileRequest

	servers   []client.Server         // of the last opened conversation
	questions []client.ServerQuestion // about servers, for each opened conversation
	notices   []string                // sent before each prompt

	mu   sync.Mutex
	told []sdk.SessionUpdate
	news chan struct{} // signals updates
}

// newEditor serves a client with conversations whose model answers with turns.
func newEditor(t *testing.T, of session.Options, turns ...llmtest.Turn) *editor {
	t.Helper()
	dir := t.TempDir()
	lib, model := session.MemoryStore(), llmtest.New(turns...)
	e := &editor{t: t, news: make(chan struct{}, 1), answer: func(sdk.RequestPermissionRequest) string { return "deny" }}
	open := func(_ context.Context, r client.Request) (*client.Opened, error) {
		e.servers = r.Servers
		o, log := of, lib.Create(session.Info{Dir: r.Dir})
		if r.ID != "" {
			var err error
			if log, err = lib.Resume(r.ID); err != nil {
				return nil, err
			}
		}
		set, err := tools.Open(r.Dir)
		if err != nil {
			return nil, err
		}
		policy := tools.NewPolicy(act.ModeAsk)
		policy.SetWorkspace(r.Dir)
		set.SetPolicy(policy)
		o.Log, o.Tools, o.Policy = log, set, policy
		o.Model = llm.Endpoint{Model: model, Name: "fake/m", Origin: "fake", Strategy: "native", Context: 100_000, Efforts: []llm.Effort{"low", "high"}}
		s := session.New(o)
		return &client.Opened{
			App: app.Options{Machine: app.Machine{ToolSet: func(string) act.Set { return set }}, Flows: flows.Register, Session: s, Library: lib, Directory: r.Dir, Memory: fixedLines{}, Models: app.Models{
				Choices: func() []app.ModelChoice {
					return []app.ModelChoice{{Name: "fake/m", Ready: true}, {Name: "fake/n", Title: "N", Ready: true}, {Name: "other/x"}}
				},
				Open: func(name string) (llm.Endpoint, error) {
					if name != "fake/n" {
						return llm.Endpoint{}, &llm.Error{Fault: llm.ModelNotFound, Message: "no such model"}
					}
					return llm.Endpoint{Model: model, Name: name, Cost: func(llm.Usage) (float64, bool) { return 1, true }}, nil
				},
			}},
			Notice: "the demo answers", Tools: set, Questions: e.questions, Ready: func(_ context.Context, tell func(string)) {
				for _, text := range e.notices {
					tell(text)
				}
			}, Close: func() { s.Close(); set.Close() },
		}, nil
	}
	theirs, ours := pipe(), pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.Background(), client.Options{In: theirs.r, Out: ours.w, Version: "1", Open: open, List: func(dir string) ([]session.Info, error) { return lib.List(session.Query{Dir: dir}) }})
		ours.w.Close()
	}()
	e.dir = dir
	e.ClientSideConnection = sdk.NewClientSideConnection(e, hastyWriter{e, theirs.w}, ours.r)
	e.SetLogger(slog.New(slog.DiscardHandler))
	e.leave = sync.OnceFunc(func() {
		theirs.w.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		<-e.Done()
	})
	t.Cleanup(func() { e.leave(); lib.Close() })
	return e
}

// A hastyWriter cancels each prompt right after it is written, if its editor is hasty.
type hastyWriter struct {
	*editor
	to io.Writer
}

func (w hastyWriter) Write(line []byte) (int, error) {
	var m struct {
		Method string
		Params struct{ SessionID string }
	}
	if json.Unmarshal(line, &m) == nil && m.Method == "session/prompt" && w.hasty {
		line = fmt.Appendf(line, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", m.Params.SessionID)
	}
	return w.to.Write(line)
}

type ends struct {
	r *io.PipeReader
	w *io.PipeWriter
}

func pipe() ends {
	r, w := io.Pipe()
	return ends{r, w}
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, n.Update)
	select {
	case e.news <- struct{}{}:
	default:
	}
	return nil
}

func (e *editor) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	if id := e.answer(r); id != "" {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(id))}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

func (e *editor) ReadTextFile(_ context.Context, r sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	if e.buffer == "" {
		return sdk.ReadTextFileResponse{}, sdk.NewInvalidParams("not open")
	}
	return sdk.ReadTextFileResponse{Content: e.buffer}, nil
}

func (e *editor) WriteTextFile(_ context.Context, r sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	e.wrote = append(e.wrote, r)
	return sdk.WriteTextFileResponse{}, nil
}

// begin opens a new conversation.
func (e *editor) begin() sdk.SessionId {
	e.t.Helper()
	if _, err := e.Initialize(e.t.Context(), sdk.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: sdk.ClientCapabilities{Fs: e.files}}); err != nil {
		e.t.Fatal(err)
	}
	r, err := e.NewSession(e.t.Context(), sdk.NewSessionRequest{Cwd: e.dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		e.t.Fatal(err)
	}
	return r.SessionId
}

func (e *editor) prompt(id sdk.SessionId, blocks ...sdk.ContentBlock) sdk.StopReason {
	e.t.Helper()
	r, err := e.Prompt(e.t.Context(), sdk.PromptRequest{SessionId: id, Prompt: blocks})
	if err != nil {
		e.t.Fatal(err)
	}
	return r.StopReason
}

// take returns the updates since the last call, one per line; chunks of one kind are joined.
func (e *editor) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	chunk := ""
	for _, u := range e.told {
		kind, text := "", ""
		switch {
		case u.AgentMessageChunk != nil:
			kind, text = "message", words(u.AgentMessageChunk.Content)
		case u.AgentThoughtChunk != nil:
			kind, text = "thought", words(u.AgentThoughtChunk.Content)
		case u.UserMessageChunk != nil:
			kind, text = "user", words(u.UserMessageChunk.Content)
		case u.AvailableCommandsUpdate != nil:
			continue // sent besides the requested updates
		}
		switch {
		case kind == "":
			b, _ := json.Marshal(u)
			lines = append(lines, strings.ReplaceAll(string(b), e.dir, "DIR"))
		case kind == chunk && kind != "user":
			lines[len(lines)-1] += text
		default:
			lines = append(lines, kind+": "+text)
		}
		chunk = kind
	}
	e.told = nil
	return strings.Join(lines, "\n")
}

func words(b sdk.ContentBlock) string {
	switch {
	case b.Text != nil:
		return b.Text.Text
	case b.Image != nil:
		return "image " + b.Image.MimeType
	case b.ResourceLink != nil:
		return b.ResourceLink.Uri
	}
	return "?"
}

// calls returns a turn that calls a tool.
func calls(id, name, input string) llmtest.Turn {
	return func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: id, Part: llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input}})
		out.Send(llm.Finish{Reason: llm.Calls})
		return nil
	}
}

var text = sdk.TextBlock

func TestAnswer(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.Think("hm", "It is ", "\x1b]52;c;ZXZpbA==\a\u202e42."), llmtest.Say("so"))
	id := e.begin()
	if r := e.prompt(id, text("What?")); r != sdk.StopReasonEndTurn {
		t.Errorf("stop reason %q", r)
	}
	got := e.take()
	if !strings.HasPrefix(got, "thought: the demo answers\n\nhm\nmessage: It is ") || strings.ContainsAny(got, "\x1b\a\u202e") {
		t.Errorf("%q", got)
	}
	e.prompt(id, text("Again"))
	if got := e.take(); strings.Contains(got, "the demo answers") {
		t.Errorf("the notice is told again: %q", got)
	}
}

// fixedLines has one remembered line of the user's and one of the folder.
type fixedLines struct{ app.Memory }

func (fixedLines) Lines(here bool) []string {
	return map[bool][]string{false: {"I use \x1btabs"}, true: {"Run make"}}[here]
}

// TestCommandsOfEditors: commands beside prompts run without a request, and a list is shown as numbered text.
func TestCommandsOfEditors(t *testing.T) {
	e := newEditor(t, session.Options{})
	id := e.begin()
	for line, want := range map[string]string{
		"/memory":      "message: Memory · 4 tokens in each request\n\n1. I use ␛tabs · line 1, 2 tokens\n2. Run make · line 2, 2 tokens",
		"/until false": "No commands can run here",
	} {
		e.take()
		_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{text(line)}})
		got := e.take()
		if err != nil {
			got += err.Error()
		}
		if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestAsk: a question to another model that costs much is asked about first, and one without a model is an error.
func TestAsk(t *testing.T) {
	for answer, asked := range map[string]int{"yes": 2, "no": 1, "": 1} {
		requests := 0
		count := func(ctx context.Context, r llm.Request, out *llm.Out) error {
			requests++
			return llmtest.Say("so")(ctx, r, out)
		}
		e := newEditor(t, session.Options{ConfirmCost: 0.001}, count, count)
		question := ""
		e.answer = func(r sdk.RequestPermissionRequest) string {
			question = *r.ToolCall.Title
			return answer
		}
		id := e.begin()
		e.prompt(id, text("first"))
		e.prompt(id, text("/ask fake/n why?"))
		if requests != asked || !strings.HasSuffix(question, " to fake/n. Ask it?") {
			t.Errorf("%q to %q: %d requests", answer, question, requests)
		}
		for _, line := range []string{"/ask", "/consult"} {
			_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{text(line)}})
			if err == nil || !strings.Contains(err.Error(), "which model? Name it after the command, as provider/model") {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// TestPermissions: an option has its stated effect, now and for the next call.
func TestPermissions(t *testing.T) {
	for _, tt := range []struct {
		answer  string
		asked   int // number of questions for two writes to the same file
		written bool
	}{
		{"allow", 2, true},
		{"session", 1, true},
		{"always", 1, true},
		{"deny", 2, false},
		{"", 2, false},
		{"no such option", 2, false},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			e := newEditor(t, session.Options{}, calls("1", "write", `{"path":"a.txt","content":"one\n"}`), calls("2", "write", `{"path":"a.txt","content":"two\n"}`), llmtest.Say("done"))
			var asked []sdk.RequestPermissionRequest
			e.answer = func(r sdk.RequestPermissionRequest) string {
				asked = append(asked, r)
				return tt.answer
			}
			e.prompt(e.begin(), text("write"))
			_, err := os.Stat(filepath.Join(e.dir, "a.txt"))
			if written := err == nil; written != tt.written || len(asked) != tt.asked {
				t.Fatalf("asked %d times, written: %v", len(asked), written)
			}
			var names []string
			for _, o := range asked[0].Options {
				names = append(names, fmt.Sprintf("%s %s: %s", o.OptionId, o.Kind, o.Name))
			}
			want := []string{"allow allow_once: Allow once", "session allow_always: Allow all edits in this folder", "always allow_always: Always allow in this folder: write:a.txt", "deny reject_once: Deny"}
			if !slices.Equal(names, want) {
				t.Errorf("options %q", names)
			}
		})
	}
}

// TestModelQuestions: a question of the model is a request for permission with its choices, again for each further one
// of several; the user may also answer later, or not.
func TestModelQuestions(t *testing.T) {
	const input = `{"questions":[{"question":"Which\u001b[31m one?","choices":["A: first","B"]},{"question":"And?","several":true,"choices":["c","d","e"]}]}`
	for name, tt := range map[string]struct {
		answers, asked []string
		want           string
	}{
		"choices": {[]string{"1", "2", "0", "done"}, []string{"0 A – first (recommended)|1 B|own Another answer, in my next message|none No answer",
			"0 c (recommended)|1 d|2 e|own Another answer, in my next message|none No answer", "done Done, 1 chosen|0 c (recommended)|1 d|own Another answer, in my next message|none No answer"}, "→ B\n\nAnd?\n→ e\n→ c"},
		"own":       {[]string{"own", "none"}, nil, "I answer in my next message: end your turn and wait for it.\n\nThe user did not answer"},
		"canceled":  {[]string{""}, nil, "The user did not answer"},
		"malformed": {[]string{"-1"}, nil, "The user did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			result := ""
			e := newEditor(t, session.Options{}, calls("1", act.AskTool, input), func(ctx context.Context, r llm.Request, out *llm.Out) error {
				result = r.Messages[len(r.Messages)-1].Parts[0].Text
				return llmtest.Say("done")(ctx, r, out)
			})
			var asked []string
			e.answer = func(r sdk.RequestPermissionRequest) string {
				var names []string
				for _, o := range r.Options {
					names = append(names, string(o.OptionId)+" "+o.Name)
				}
				if strings.ContainsRune(*r.ToolCall.Title, 0x1b) {
					t.Errorf("title %q", *r.ToolCall.Title)
				}
				asked = append(asked, strings.Join(names, "|"))
				return tt.answers[len(asked)-1]
			}
			e.prompt(e.begin(), text("ask"))
			if len(asked) != len(tt.answers) || tt.asked != nil && !slices.Equal(asked[:3], tt.asked) {
				t.Errorf("asked %q", asked)
			}
			if !strings.Contains(result, tt.want) {
				t.Errorf("result %q", result)
			}
		})
	}
}

// TestServers: the MCP servers of a client are used in the conversation.
func TestServers(t *testing.T) {
	e := newEditor(t, session.Options{})
	e.begin()
	const list = `[{"name":"p","command":"run","args":["a"],"env":[{"name":"K","value":"v"}]},
		{"type":"http","name":"h","url":"https://h.example/mcp","headers":[{"name":"X","value":"y"}]},
		{"type":"sse","name":"s","url":"https://s.example/sse","headers":[]}]`
	r := sdk.NewSessionRequest{Cwd: e.dir}
	if err := json.Unmarshal([]byte(list), &r.McpServers); err != nil {
		t.Fatal(err)
	}
	if _, err := e.NewSession(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := []client.Server{
		{Name: "p", Command: "run", Args: []string{"a"}, Env: map[string]string{"K": "v"}},
		{Name: "h", URL: "https://h.example/mcp", Headers: map[string]string{"X": "y"}},
		{Name: "s", URL: "https://s.example/sse", Headers: map[string]string{}},
	}
	if !reflect.DeepEqual(e.servers, want) {
		t.Errorf("got %+v", e.servers)
	}
}

// TestServerQuestions: each server of the client needs permission once per conversation, with the first prompt,
// and the question contains only printable text.
func TestServerQuestions(t *testing.T) {
	for _, tt := range []struct {
		answer, want string // the allowed servers
		status       sdk.ToolCallStatus
	}{
		{"session", "allowed once", sdk.ToolCallStatusCompleted},
		{"always", "allowed always", sdk.ToolCallStatusCompleted},
		{"deny", "", sdk.ToolCallStatusFailed},
		{"", "", sdk.ToolCallStatusFailed},
		{"nonsense", "", sdk.ToolCallStatusFailed},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			e := newEditor(t, session.Options{}, llmtest.Say("one"), llmtest.Say("two"))
			got, asked := "", 0
			e.questions = []client.ServerQuestion{{Name: "fi\x1bles", Location: "npx files\u202e .", Given: []string{"API_KEY"}, Allow: func(always bool) error {
				if got = "allowed once"; always {
					got = "allowed always"
				}
				return nil
			}}}
			e.notices = []string{"MCP server files: exited"}
			e.answer = func(r sdk.RequestPermissionRequest) string {
				asked++
				b, _ := json.Marshal(r)
				if s := string(b); !strings.Contains(s, "Start MCP server fi") || !strings.Contains(s, "npx files") || !strings.Contains(s, "given API_KEY") || strings.ContainsAny(s, "\u202e") || strings.Contains(s, `\u001b`) {
					t.Errorf("asked %s", s)
				}
				return tt.answer
			}
			id := e.begin()
			if asked > 0 {
				t.Error("asked before the first prompt")
			}
			e.prompt(id, text("hi"))
			if told := e.take(); !strings.Contains(told, `"status":"`+string(tt.status)) || !strings.Contains(told, "message: MCP server files: exited\n\none") {
				t.Errorf("told %s", told)
			}
			e.prompt(id, text("hi"))
			if asked != 1 || got != tt.want {
				t.Errorf("asked %d times, %q, want %q", asked, got, tt.want)
			}
		})
	}
}

// TestDiffs: a change is shown with the question, and after it was made.
func TestDiffs(t *testing.T) {
	e := newEditor(t, session.Options{}, calls("1", "edit", `{"path":"a.txt","old":"two","new":"zwei"}`), llmtest.Say("done"))
	if err := os.WriteFile(filepath.Join(e.dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shown []sdk.ToolCallContent
	e.answer = func(r sdk.RequestPermissionRequest) string {
		shown = r.ToolCall.Content
		return "allow"
	}
	e.prompt(e.begin(), text("edit"))
	b, _ := json.Marshal(shown)
	const diff = `{"newText":"one\nzwei\nthree\n","oldText":"one\ntwo\nthree\n","path":"DIR/a.txt","type":"diff"}`
	if got := strings.ReplaceAll(string(b), e.dir, "DIR"); !strings.Contains(got, diff) {
		t.Errorf("asked with %s", got)
	}
	got := e.take()
	for _, want := range []string{`"sessionUpdate":"tool_call"`, `"kind":"edit"`, `"locations":[{"path":"DIR/a.txt"}]`, `"content":[` + diff + `]`, `"status":"completed"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestUnsaved: for a file with unsaved changes in the editor, the editor's text is used, if the
// editor provides it.
func TestUnsaved(t *testing.T) {
	for _, tt := range []struct {
		name        string
		files       sdk.FileSystemCapabilities
		buffer      string
		seen        string // text that the model gets with the prompt
		wrote, disk string
	}{
		{"files are the editor's", sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, "typed one\n", "typed one\n", "typed two\n", "one\n"},
		{"files are read from it", sdk.FileSystemCapabilities{ReadTextFile: true}, "typed one\n", "typed one\n", "", "typed two\n"},
		{"the file is not open", sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, "", "one\n", "", "two\n"},
		{"it does not offer them", sdk.FileSystemCapabilities{WriteTextFile: true}, "typed one\n", "one\n", "", "two\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := ""
			edit := calls("1", "edit", `{"path":"a.txt","old":"one","new":"two"}`)
			e := newEditor(t, session.Options{}, func(ctx context.Context, r llm.Request, out *llm.Out) error {
				seen = r.Messages[len(r.Messages)-1].Parts[0].Text
				return edit(ctx, r, out)
			}, llmtest.Say("done"))
			file := filepath.Join(e.dir, "a.txt")
			if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			e.files, e.buffer = tt.files, tt.buffer
			e.answer = func(sdk.RequestPermissionRequest) string { return "allow" }
			id := e.begin()
			e.prompt(id, text("look"), sdk.ResourceLinkBlock("a.txt", "file://"+filepath.ToSlash(file)))
			wrote := ""
			for _, w := range e.wrote {
				if wrote += w.Content; w.Path != file || w.SessionId != id {
					t.Errorf("wrote %s of %s", w.Path, w.SessionId)
				}
			}
			disk, _ := os.ReadFile(file)
			if !strings.Contains(seen, tt.seen) || strings.Contains(seen, "typed") != strings.Contains(tt.seen, "typed") || wrote != tt.wrote || string(disk) != tt.disk {
				t.Errorf("seen %q, the editor wrote %q, on disk %q", seen, wrote, disk)
			}
		})
	}
}

// TestCancel: a canceled prompt ends immediately, with the text received so far, and the
// conversation can continue.
func TestCancel(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.Hang("half"), llmtest.Say("whole"))
	id := e.begin()
	canceled := make(chan error, 1)
	go func() {
		for range e.news {
			if e.mu.Lock(); slices.ContainsFunc(e.told, func(u sdk.SessionUpdate) bool { return u.AgentMessageChunk != nil }) {
				e.mu.Unlock()
				break
			}
			e.mu.Unlock()
		}
		canceled <- e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id})
	}()
	if r := e.prompt(id, text("hi")); r != sdk.StopReasonCancelled {
		t.Errorf("stop reason %q", r)
	}
	if err := <-canceled; err != nil {
		t.Error(err)
	}
	if r := e.prompt(id, text("go on")); r != sdk.StopReasonEndTurn {
		t.Errorf("then %q", r)
	}
}

// TestCancelAtOnce: a cancel right after its prompt stops that prompt, and no other.
func TestCancelAtOnce(t *testing.T) {
	const n = 50
	var e *editor
	turn := func(ctx context.Context, req llm.Request, out *llm.Out) error {
		if !e.hasty {
			return llmtest.Say("whole")(ctx, req, out)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("nobody canceled")
		}
	}
	e = newEditor(t, session.Options{}, slices.Repeat([]llmtest.Turn{turn}, n)...)
	id := e.begin()
	for i := range n {
		e.hasty = i%2 == 0
		want := map[bool]sdk.StopReason{true: sdk.StopReasonCancelled, false: sdk.StopReasonEndTurn}[e.hasty]
		if r := e.prompt(id, text("hi")); r != want {
			t.Fatalf("prompt %d: stop reason %q, want %q", i, r, want)
		}
	}
}

// TestCancelWhileAsked: canceling the prompt denies an open question, and withdraws one of the model.
func TestCancelWhileAsked(t *testing.T) {
	for name, input := range map[string]string{"write": `{"path":"a.txt","content":"x"}`, act.AskTool: `{"questions":[{"question":"Which?","choices":["a","b"]}]}`} {
		e := newEditor(t, session.Options{}, calls("1", name, input), llmtest.Say("done"))
		id := e.begin()
		e.answer = func(sdk.RequestPermissionRequest) string {
			if err := e.Cancel(context.Background(), sdk.CancelNotification{SessionId: id}); err != nil {
				t.Error(err)
			}
			return ""
		}
		if r := e.prompt(id, text("write")); r != sdk.StopReasonCancelled {
			t.Errorf("%s: stop reason %q", name, r)
		}
		if _, err := os.Stat(filepath.Join(e.dir, "a.txt")); err == nil {
			t.Error("it was written")
		}
	}
}

// TestLeave: an editor that closes during a prompt ends it.
func TestLeave(t *testing.T) {
	began := make(chan struct{})
	ended := make(chan struct{})
	e := newEditor(t, session.Options{}, func(ctx context.Context, _ llm.Request, _ *llm.Out) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	id := e.begin()
	go func() {
		_, _ = e.Prompt(context.Background(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{text("hi")}})
	}()
	<-began
	e.leave()
	<-ended
}

// TestClose: a closed conversation accepts no prompts, and can be resumed.
func TestClose(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.Say("one"), llmtest.Say("two"))
	id := e.begin()
	e.prompt(id, text("hi"))
	if _, err := e.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{text("hi")}}); err == nil {
		t.Error("it is closed, and answers")
	}
	e.take()
	if _, err := e.ResumeSession(t.Context(), sdk.ResumeSessionRequest{SessionId: id, Cwd: e.dir}); err != nil {
		t.Fatal(err)
	}
	if told := e.take(); told != "" {
		t.Errorf("a conversation that is resumed tells %s", told)
	}
	if e.prompt(id, text("again")); !strings.Contains(e.take(), "two") {
		t.Error("it does not answer")
	}
}

func TestStopReasons(t *testing.T) {
	finish := func(reason llm.Reason) llmtest.Turn {
		return func(_ context.Context, _ llm.Request, out *llm.Out) error {
			out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "half"}})
			out.Send(llm.Finish{Reason: reason})
			return nil
		}
	}
	for _, tt := range []struct {
		name string
		turn llmtest.Turn
		of   session.Options
		want sdk.StopReason
		code int
	}{
		{"length", finish(llm.Length), session.Options{}, sdk.StopReasonMaxTokens, 0},
		{"refused", finish(llm.Refused), session.Options{}, sdk.StopReasonRefusal, 0},
		{"requests", calls("1", "list", `{}`), session.Options{MaxSteps: 1}, sdk.StopReasonMaxTurnRequests, 0},
		{"no key", func(context.Context, llm.Request, *llm.Out) error {
			return &llm.Error{Fault: llm.Authentication, Provider: "fake", Message: "bad key"}
		}, session.Options{}, "", -32000},
		{"broken", func(context.Context, llm.Request, *llm.Out) error { return errors.New("bo\x1b[31mom") }, session.Options{}, "", -32603},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEditor(t, tt.of, tt.turn)
			r, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: e.begin(), Prompt: []sdk.ContentBlock{text("hi")}})
			var failed *sdk.RequestError
			if errors.As(err, &failed); r.StopReason != tt.want || (failed == nil) != (tt.code == 0) || failed != nil && failed.Code != tt.code {
				t.Errorf("%q, %v", r.StopReason, err)
			}
			if failed != nil && (strings.Contains(failed.Message, "\x1b") || failed.Message == "Internal error") {
				t.Errorf("%q", failed.Message)
			}
		})
	}
}

// TestPromptParts: the model gets all kinds of content that an editor can put into a prompt.
func TestPromptParts(t *testing.T) {
	var got []llm.Part
	answer := func(ctx context.Context, r llm.Request, out *llm.Out) error {
		got = r.Messages[len(r.Messages)-1].Parts
		return llmtest.Say("ok")(ctx, r, out)
	}
	e := newEditor(t, session.Options{}, slices.Repeat([]llmtest.Turn{answer}, 14)...)
	if err := os.WriteFile(filepath.Join(e.dir, "a.txt"), []byte("in the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
	id := e.begin()
	res := func(text, uri string) sdk.ContentBlock {
		return sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Text: text, Uri: uri}})
	}
	for _, tt := range []struct {
		name   string
		blocks []sdk.ContentBlock
		want   []string // text of the parts; "" for a rejected one
	}{
		{"texts are one", []sdk.ContentBlock{text("Explain "), text("this")}, []string{"Explain this"}},
		{"a file that is linked", []sdk.ContentBlock{text("Explain "), sdk.ResourceLinkBlock("a", "file://"+e.dir+"/a.txt")}, []string{"in the file", "Explain @a.txt"}},
		{"one that is not there", []sdk.ContentBlock{sdk.ResourceLinkBlock("b", "file://"+e.dir+"/b.txt")}, []string{"@b.txt"}},
		{"a page", []sdk.ContentBlock{sdk.ResourceLinkBlock("docs", "https://example.com/x")}, []string{"[docs](https://example.com/x)"}},
		{"a file with its text", []sdk.ContentBlock{res("as edited", "file:///w/b.go"), text("?")}, []string{"as edited", "@/w/b.go?"}},
		{"files named between words", []sdk.ContentBlock{text("Is "), res("one", "file://"+e.dir+"/a.go"), text(" or ("), res("two", "file://"+e.dir+"/b.go"), text(") better?")},
			[]string{"one", "two", "Is @a.go or (@b.go) better?"}},
		{"files named first and last", []sdk.ContentBlock{res("one", "file://"+e.dir+"/a.go"), text("as in"), res("two", "https://example.com/x")},
			[]string{"one", "two", "@a.go as in [x](https://example.com/x)"}},
		{"lines of a file", []sdk.ContentBlock{text("Explain "), res("one", "file://"+e.dir+"/a.go#L5:10")}, []string{"one", "Explain @a.go#L5:10"}},
		{"a file that is empty", []sdk.ContentBlock{text("Fill "), res("", "file://"+e.dir+"/a.go")}, []string{"Fill @a.go"}},
		{"a command behind a file", []sdk.ContentBlock{res("one", "file://"+e.dir+"/a.go"), text("/nosuch")}, []string{"one", "/nosuch"}},
		{"an image", []sdk.ContentBlock{sdk.ImageBlock(png, "image/png"), text("?")}, []string{"image/png", "?"}},
		{"an image that is none", []sdk.ContentBlock{sdk.ImageBlock("%%%", "image/png")}, nil},
		{"sound", []sdk.ContentBlock{sdk.AudioBlock(base64.StdEncoding.EncodeToString([]byte("x")), "audio/wav")}, nil},
		{"nothing", []sdk.ContentBlock{text(" ")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Prompt(t.Context(), sdk.PromptRequest{SessionId: id, Prompt: tt.blocks})
			if (err == nil) != (tt.want != nil) {
				t.Fatal(err)
			}
			if tt.want != nil && len(got) != len(tt.want) {
				t.Fatalf("%d parts, want %q", len(got), tt.want)
			}
			for i, want := range tt.want {
				if said := got[i].Text + got[i].MIME; !strings.Contains(said, want) || i == len(tt.want)-1 && said != want {
					t.Errorf("part %d is %q, want %q", i, got[i].Text+got[i].MIME, want)
				}
			}
		})
	}
}

// TestLoad: a loaded conversation sends the same updates as live, and also the prompts.
func TestLoad(t *testing.T) {
	e := newEditor(t, session.Options{}, calls("1", "list", `{}`), llmtest.Think("hm", "done"))
	id := e.begin()
	e.prompt(id, text("look"))
	live := e.take()
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: e.dir, McpServers: []sdk.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	loaded := e.take()
	if !strings.HasPrefix(loaded, "user: look\n") {
		t.Errorf("%q", loaded)
	}
	for _, want := range []string{`"kind":"read"`, `"status":"completed"`, "thought: hm", "message: done"} {
		if !strings.Contains(live, want) || !strings.Contains(loaded, want) {
			t.Errorf("no %s in\n%s\nor in\n%s", want, live, loaded)
		}
	}
	list, err := e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &e.dir})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || *list.Sessions[0].Title != "look" {
		t.Errorf("%+v, %v", list, err)
	}
	elsewhere := t.TempDir()
	if list, err = e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cwd: &elsewhere}); err != nil || len(list.Sessions) != 0 {
		t.Errorf("elsewhere: %+v, %v", list, err)
	}
	for _, cursor := range []string{"50", strconv.Itoa(math.MaxInt)} {
		if list, err = e.ListSessions(t.Context(), sdk.ListSessionsRequest{Cursor: &cursor}); err != nil || len(list.Sessions) != 0 || list.NextCursor != nil {
			t.Errorf("behind the end: %+v, %v", list, err)
		}
	}
	if _, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: "none", Cwd: e.dir, McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("what is not there is loaded")
	}
}

// TestOptions: modes, models and efforts, and invalid values.
func TestOptions(t *testing.T) {
	e := newEditor(t, session.Options{}, calls("1", "write", `{"path":"a.txt","content":"x"}`), llmtest.Say("done"))
	id := e.begin()
	set := func(option, value string) error {
		_, err := e.SetSessionConfigOption(t.Context(), sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
			SessionId: id, ConfigId: sdk.SessionConfigId(option), Value: sdk.SessionConfigValueId(value),
		}})
		return err
	}
	for _, tt := range []struct {
		option, value string
		ok            bool
	}{
		{"mode", "auto", true}, {"mode", "yolo", false}, {"mode", "plan?", false}, {"effort", "high", true}, {"effort", "default", true}, {"effort", "huge", false},
		{"nothing", "x", false}, {"model", "other/x", false}, {"model", "fake/n", true}, {"mode", "read-only", true},
	} {
		err := set(tt.option, tt.value)
		var failed *sdk.RequestError
		if (err == nil) != tt.ok || err != nil && (!errors.As(err, &failed) || failed.Code != -32602) {
			t.Errorf("%s = %s: %v", tt.option, tt.value, err)
		}
	}
	if _, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "yolo"}); err == nil {
		t.Error("yolo was not named in the configuration")
	}
	e.answer = func(sdk.RequestPermissionRequest) string {
		t.Error("read-only asks")
		return "allow"
	}
	e.prompt(id, text("write"))
	if got := e.take(); !strings.Contains(got, "read-only") || !strings.Contains(got, `"status":"failed"`) {
		t.Error(got)
	}
}

// TestPlan: a plan is sent as a plan, and accepting it leaves plan mode.
func TestPlan(t *testing.T) {
	const plan = `{"text":"- [x] look\n- [>] write\n- [ ] test"}`
	e := newEditor(t, session.Options{}, calls("1", "plan", plan), llmtest.Say("done"))
	id := e.begin()
	if _, err := e.SetSessionMode(t.Context(), sdk.SetSessionModeRequest{SessionId: id, ModeId: "plan"}); err != nil {
		t.Fatal(err)
	}
	e.answer = func(r sdk.RequestPermissionRequest) string {
		b, _ := json.Marshal(r)
		for _, want := range []string{"Accept this plan?", "Accept, edits and sandboxed commands run", "Keep planning", `[\u003e] write`} {
			if !strings.Contains(string(b), want) {
				t.Errorf("no %s in %s", want, b)
			}
		}
		e.take()
		return "session"
	}
	e.prompt(id, text("plan it"))
	got := e.take()
	for _, want := range []string{`"currentModeId":"auto"`, `{"content":"write","priority":"medium","status":"in_progress"}`, `"currentValue":"auto"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestPromptBehindCancel: a prompt right after a cancel is not canceled with the previous one.
func TestPromptBehindCancel(t *testing.T) {
	const n = 50
	var turns []llmtest.Turn
	hangs := make(chan struct{})
	for range n {
		turns = append(turns, func(ctx context.Context, _ llm.Request, _ *llm.Out) error {
			hangs <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}, llmtest.Say("whole"))
	}
	e := newEditor(t, session.Options{}, turns...)
	id := e.begin()
	for i := range n {
		first := make(chan sdk.StopReason, 1)
		go func() { first <- e.prompt(id, text("hi")) }()
		<-hangs
		if err := e.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
			t.Fatal(err)
		}
		if r := e.prompt(id, text("go on")); r != sdk.StopReasonEndTurn {
			t.Fatalf("%d: the prompt behind the cancel: %q", i, r)
		}
		if r := <-first; r != sdk.StopReasonCancelled {
			t.Fatalf("%d: the prompt before the cancel: %q", i, r)
		}
	}
}

// TestEmptyAnswer: an empty answer is reported; otherwise the editor would show an empty turn.
func TestEmptyAnswer(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.Say("one"), llmtest.Say())
	id := e.begin()
	e.prompt(id, text("hi"))
	e.take()
	if r := e.prompt(id, text("hi")); r != sdk.StopReasonEndTurn {
		t.Errorf("stop reason %q", r)
	}
	if got := e.take(); !strings.Contains(got, "message: "+blocks.EmptyAnswer) {
		t.Errorf("%q", got)
	}
}

// A side question is answered in a message that is marked and grows, and does not enter the conversation.
func TestAside(t *testing.T) {
	e := newEditor(t, session.Options{}, llmtest.Say("hello"), llmtest.Say("beca", "use"), llmtest.Script(
		llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "It wa"}}, llm.Retry{Discards: []string{"t"}}, llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "So"}}, llm.Finish{Reason: llm.Stop}), llmtest.Say("next"))
	id := e.begin()
	e.prompt(id, text("hi"))
	e.take()
	if r := e.prompt(id, text("/btw why?")); r != sdk.StopReasonEndTurn {
		t.Errorf("stop reason %q", r)
	}
	if got := e.take(); !strings.HasPrefix(got, "message: **Aside**, not part of the conversation\n\nbecause\n\n(m · ") {
		t.Errorf("%q", got)
	}
	e.prompt(id, text("/btw how?"))
	if got := e.take(); !strings.Contains(got, "conversation\n\nIt wa\n\nThe answer begins again:\n\nSo\n\n(m · ") {
		t.Errorf("%q", got)
	}
	e.prompt(id, text("go on"))
	if r, err := e.LoadSession(t.Context(), sdk.LoadSessionRequest{SessionId: id, Cwd: e.dir, McpServers: []sdk.McpServer{}}); err == nil && strings.Contains(e.take(), "because") {
		t.Errorf("it is part of the conversation: %+v", r)
	}
}
