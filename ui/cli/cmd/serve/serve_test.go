package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/schema/fit"
	"parley/session"
	"parley/session/archive"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/rule"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/ability"
	. "parley/ui/cli/cmd/serve"
	"parley/ui/cli/cmdutil"
	"parley/ui/client"
	"parley/ui/print"
)

func init() { permission.Register() }

const canary = "sk-canary-0123456789abcdef" // a configured key

// services are those of parley's configuration.
var services providers.Config

// A service is a running parley mcp serve whose models are scripted.
type service struct {
	in    *io.PipeWriter
	out   *io.PipeReader
	home  string // has the conversations
	ended chan error

	gone  context.Context // ends the connections of clients over HTTP
	leave func()
}

// start runs the command with arguments. All models answer with the turns of model.
func start(t *testing.T, model llm.Model, args ...string) *service {
	t.Helper()
	t.Setenv("PARLEY_SERVING", "") // Setenv restores what the command sets
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	stored := cmdutil.Conversations{
		Open: func() (*session.Store, error) { return session.OpenStore(getenv) },
		Mask: func() func(string) string { return sanitize.NewMask([]string{canary}, 1).Excerpt },
	}
	library, err := stored.Open()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Env: &ability.Env{
			Streams: &cmdutil.Streams{Out: outWrite}, Load: func() error { return nil }, Discover: func(context.Context) {},
			Services: func() providers.Config { return services }, OpenOptions: func() providers.OpenOptions { return providers.OpenOptions{Getenv: getenv} },
		},
		In: inRead, Stored: stored, Archive: archive.New(), Version: "1", Print: print.Run,
		Open: func(_ context.Context, dir, names string, schema []byte, models ...string) (*client.Opened, []llm.Endpoint, error) {
			if models[0] == "unknown" {
				return nil, nil, &llm.Error{Fault: llm.ModelNotFound, Message: "no model unknown"}
			}
			var endpoints []llm.Endpoint
			for _, name := range models {
				endpoints = append(endpoints, llm.Endpoint{Model: free{model}, Name: name, Origin: "fake", Strategy: "native"})
			}
			set, err := tools.Open(dir)
			if err != nil {
				return nil, nil, err
			}
			policy := tools.NewPolicy("ask")
			policy.SetWorkspace(set.Root())
			policy.AddRules([]rule.Rule{{Effect: act.Deny, Tool: "read", Match: "secret.txt", Source: rule.FromConfig}})
			of := session.Options{Model: endpoints[0], Log: library.Create(session.Info{Dir: dir}), Policy: policy, Schemas: fit.Repairer{}}
			if names != "none" {
				if of.Tools, err = set.Only(strings.Split(names, ",")...); err != nil {
					return nil, nil, err
				}
			}
			if schema != nil {
				if of.AnswerSchema, err = (fit.Repairer{}).Parse(schema); err != nil {
					return nil, nil, err
				}
			}
			s := session.New(of)
			return &client.Opened{App: app.Options{Session: s, Library: library}, Tools: set, Close: func() {
				if err := errors.Join(s.Close(), set.Close()); err != nil {
					t.Error(err)
				}
			}}, endpoints, nil
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.Run = func(serve func(context.Context) error) error { return serve(ctx) }
	root := &cobra.Command{Use: "parley", SilenceErrors: true, SilenceUsage: true}
	o.Add(root)
	root.SetArgs(append([]string{"serve"}, args...))
	gone, leave := context.WithCancel(context.Background())
	s := &service{gone: gone, leave: leave, in: in, out: out, home: home, ended: make(chan error, 1)}
	go func() {
		s.ended <- root.Execute()
		outWrite.Close()
	}()
	t.Cleanup(func() {
		in.Close()
		cancel()
		leave()
		go io.Copy(io.Discard, out)
		<-s.ended
		close(s.ended)
		if err := library.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// free makes the price of a model known.
type free struct{ llm.Model }

func (f free) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range f.Model.Stream(ctx, req) {
			if u, ok := e.(llm.Usage); ok {
				u.Priced = true
				e = u
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// write sends lines to the server.
func (s *service) write(lines ...string) {
	for _, line := range lines {
		io.WriteString(s.in, line+"\n")
	}
}

// A network sends the token that the server has printed, until the client is gone.
type network struct {
	token string
	gone  context.Context
}

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(n.gone, cancel)
	r = r.Clone(ctx)
	r.Header.Set("Authorization", n.token)
	return http.DefaultTransport.RoundTrip(r)
}

// transports are the two ways to a server: how it is started, and how a client connects.
var transports = map[string]struct {
	args    []string
	connect func(t *testing.T, s *service) sdk.Transport
}{
	"stdio": {nil, func(_ *testing.T, s *service) sdk.Transport { return &sdk.IOTransport{Reader: s.out, Writer: s.in} }},
	"http": {[]string{"--port", "0"}, func(t *testing.T, s *service) sdk.Transport {
		url, token := s.address(t)
		return &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: network{token, s.gone}}, MaxRetries: -1}
	}},
}

// address returns the address that a server over HTTP has printed, and the value of the header Authorization.
func (s *service) address(t *testing.T) (url, token string) {
	t.Helper()
	lines := bufio.NewScanner(s.out)
	lines.Scan()
	url = lines.Text()
	lines.Scan()
	token, ok := strings.CutPrefix(lines.Text(), "Authorization: ")
	if !ok {
		t.Fatalf("printed %q, then %q", url, lines.Text())
	}
	return url, token
}

// connect connects a client of the SDK; told gets the notifications about progress.
func connect(t *testing.T, to sdk.Transport, told func(string)) *sdk.ClientSession {
	t.Helper()
	o := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told(r.Params.Message) }}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// called returns the texts of a result, joined with lines.
func called(ctx context.Context, c *sdk.ClientSession, name string, args map[string]any) (text string, r *sdk.CallToolResult, err error) {
	p := &sdk.CallToolParams{Name: name, Arguments: args}
	p.SetProgressToken("1")
	if r, err = c.CallTool(ctx, p); err != nil {
		return "", r, err
	}
	var all []string
	for _, part := range r.Content {
		all = append(all, part.(*sdk.TextContent).Text)
	}
	return strings.Join(all, "\n"), r, nil
}

// TestTools: the tools of the server work with the Go SDK over both transports. Results have no keys.
func TestTools(t *testing.T) {
	for name, way := range transports {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"main.go": "package whale", "secret.txt": "mine"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
				t.Skip(err)
			}
			model := llmtest.New(llmtest.Call(llm.Part{Name: "read", Input: `{"path":"main.go"}`}), llmtest.Say("It is ", "a "+canary+" whale."),
				llmtest.Say(`{"name":"`+canary+`"}`), llmtest.Say("first"), llmtest.Say("second"))
			s := start(t, model, append(way.args, "--folder", dir)...)
			told := make(chan string, 100)
			c := connect(t, way.connect(t, s), func(text string) { told <- text })
			ask := func(name string, args map[string]any) string {
				t.Helper()
				text, r, err := called(t.Context(), c, name, args)
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprintf("%s\n%v %v", text, r.IsError, r.StructuredContent)
			}
			got := ask("ask", map[string]any{"prompt": "what is it?", "model": "fake/a", "files": []string{"main.go"}})
			if !strings.HasPrefix(got, "It is a [redacted] whale.\nsession ") || !strings.HasSuffix(got, " tokens · fake/a\nfalse <nil>") {
				t.Errorf("answered %q", got)
			}
			id, _, _ := strings.Cut(strings.TrimPrefix(got, "It is a [redacted] whale.\nsession "), " ")
			if sent := model.Requests(); len(sent[0].Tools) != 4 || !strings.Contains(sent[0].Messages[0].Text(), "package whale") || !strings.Contains(sent[1].Messages[2].Parts[0].Text, "package whale") {
				t.Errorf("sent %v", sent)
			}
			for _, want := range []string{"fake/a is answering", "calls read", "fake/a is answering"} {
				if got := <-told; got != want {
					t.Errorf("told %q, want %q", got, want)
				}
			}
			schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}}
			if got := ask("ask", map[string]any{"prompt": "name it", "model": "fake/a", "schema": schema}); !strings.HasSuffix(got, "false map[name:[redacted]]") {
				t.Errorf("a schema: %q", got)
			}
			if got := ask("compare", map[string]any{"prompt": "again", "models": []string{"fake/a", "fake/b"}}); !strings.Contains(got, "## fake/a · session ") || !strings.Contains(got, "## fake/b · session ") || !strings.Contains(got, "first") || !strings.Contains(got, "second") {
				t.Errorf("compared %q", got)
			}
			if got := ask("search_sessions", map[string]any{"query": "whale"}); !strings.Contains(got, id+"  ") || strings.Contains(got, canary) {
				t.Errorf("found %q", got)
			}
			if got := ask("read_session", map[string]any{"session": id}); !strings.Contains(got, "It is a [redacted] whale.") {
				t.Errorf("read %q", got)
			}
			for _, tt := range []struct {
				tool, want string
				args       map[string]any
			}{
				{"ask", "prompt is empty", nil},
				{"ask", "Model not found: no model unknown\nRun the tool models to list models, and choose one with the argument model", map[string]any{"prompt": "x", "model": "unknown"}},
				{"ask", "outside the workspace", map[string]any{"prompt": "x", "files": []string{"../x"}}},
				{"ask", "symbolic link", map[string]any{"prompt": "x", "files": []string{"link"}}},
				{"ask", "secret.txt is not allowed to be read", map[string]any{"prompt": "x", "files": []string{"secret.txt"}}},
				{"ask", "not a JSON Schema", map[string]any{"prompt": "x", "schema": map[string]any{"type": 1}}},
				{"ask", "arguments of ask: ", map[string]any{"prompt": 1}},
				{"ask", "ask has no argument modle: use files, model, prompt, schema", map[string]any{"prompt": "x", "modle": "fake/a"}},
				{"compare", "comparing needs two or more models", map[string]any{"prompt": "x", "models": []string{"fake/a"}}},
				{"compare", "5 answers are too many", map[string]any{"prompt": "x", "models": []string{"fake/a", "fake/a", "fake/a", "fake/a", "fake/a"}}},
				{"search_sessions", "query is empty", nil},
				{"read_session", "session is empty", nil},
				{"read_session", `no conversation matches "nothing"`, map[string]any{"session": "nothing"}},
			} {
				if got := ask(tt.tool, tt.args); !strings.Contains(got, tt.want) || !strings.HasSuffix(got, "\ntrue <nil>") {
					t.Errorf("%s %v: %q, want %q", tt.tool, tt.args, got, tt.want)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestVersions: clients of all versions work over both transports, those that begin with server/discover too.
func TestVersions(t *testing.T) {
	for name, way := range transports {
		for _, version := range []string{"2026-07-28", "2025-11-25", "2024-11-05"} {
			s := start(t, llmtest.New(llmtest.Say("yes")), way.args...)
			c, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), way.connect(t, s), &sdk.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Errorf("%s, %s: %v", name, version, err)
				continue
			}
			got, _, err := called(t.Context(), c, "ask", map[string]any{"prompt": "x", "model": "fake/a"})
			if used := c.InitializeResult().ProtocolVersion; used != version || err != nil || !strings.HasPrefix(got, "yes") {
				t.Errorf("%s, %s: answered %q in %s, %v", name, version, got, used, err)
			}
		}
	}
}

// TestModels: the list of models has those of the services that can be used, and names the others.
func TestModels(t *testing.T) {
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"whale-1"},{"id":"shark-2"}]}`)
	}))
	defer local.Close()
	services = providers.Config{Providers: map[string]providers.Provider{
		"here": {Kind: "openai", BaseURL: local.URL + "/v1", APIKey: canary}, "away": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1", APIKey: canary},
	}}
	defer func() { services = providers.Config{} }()
	s := start(t, llmtest.New())
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	for query, want := range map[string][]string{"": {"here/whale-1", "here/shark-2", "Not listed: "}, "whale": {"here/whale-1", "Not listed: "}, "crab": {"No model matches"}} {
		got, r, err := called(t.Context(), c, "models", map[string]any{"query": query})
		for _, part := range want {
			if err != nil || r.IsError || !strings.Contains(got, part) {
				t.Errorf("%q: %q, %v; want %q", query, got, err, part)
			}
		}
		if strings.Contains(got, canary) || query != "" && strings.Contains(got, "shark") {
			t.Errorf("%q: %q", query, got)
		}
	}
}

// TestFailedAnswers: a client reads why models did not answer, and what to do.
func TestFailedAnswers(t *testing.T) {
	fail := llmtest.Fail(&llm.Error{Fault: llm.InvalidRequest, Message: "no such key " + canary})
	s := start(t, llmtest.New(fail, fail, fail, llmtest.Say("yes")))
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	for _, tt := range []struct {
		tool, want string
		args       map[string]any
		failed     bool
	}{
		{"ask", "no such key [redacted]", map[string]any{"model": "fake/a"}, true},
		{"compare", "no such key [redacted]", map[string]any{"models": []string{"fake/a", "fake/b"}}, true},
		{"ask", "yes\nsession ", map[string]any{"model": "fake/a", "schema": nil}, false},
		{"ask", "files cannot be read: start parley mcp serve with --folder", map[string]any{"model": "fake/a", "files": []string{"x"}}, true},
	} {
		tt.args["prompt"] = "x"
		got, r, err := called(t.Context(), c, tt.tool, tt.args)
		if err != nil || !strings.Contains(got, tt.want) || r.IsError != tt.failed {
			t.Errorf("%s %v: %q, %+v, %v; want %q", tt.tool, tt.args, got, r, err, tt.want)
		}
	}
}

// TestFilesAreBounded: files that a client names are few, regular and not large.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(16<<20+1), large.Close()); err != nil {
		t.Fatal(err)
	}
	s := start(t, llmtest.New(), "--folder", dir)
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	for want, files := range map[string][]string{
		"33 files are too many: attach up to 32": slices.Repeat([]string{"large"}, 33),
		"large has more than 16 MB":              {"large"},
		"missing: ":                              {"missing"},
	} {
		if got, r, err := called(t.Context(), c, "ask", map[string]any{"prompt": "x", "model": "fake/a", "files": files}); err != nil || !r.IsError || !strings.Contains(got, want) {
			t.Errorf("%d files: %q, %v; want %q", len(files), got, err, want)
		}
	}
}

// TestPages: a long conversation is read page by page, and a search returns its first messages.
func TestPages(t *testing.T) {
	answer := "whale " + strings.Repeat("é", 20000) + " the end"
	s := start(t, llmtest.New(slices.Repeat([]llmtest.Turn{llmtest.Say(answer)}, 11)...))
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	ask := func(tool string, args map[string]any) string {
		t.Helper()
		got, _, err := called(t.Context(), c, tool, args)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask("ask", map[string]any{"prompt": "a whale", "model": "fake/a"})
	_, id, _ := strings.Cut(got, "\nsession ")
	id, _, _ = strings.Cut(id, " ")
	whole, offset := "", 0
	for {
		page := ask("read_session", map[string]any{"session": id, "offset": offset})
		page, next, more := strings.Cut(page, "\nThe conversation continues at offset ")
		whole += page
		if n, err := fmt.Sscan(next, &offset); !more {
			break
		} else if n != 1 || len(page) > 32<<10+3 || offset != len(whole) {
			t.Fatalf("%d bytes, then %q, %v", len(page), next, err)
		}
	}
	if offset == 0 || !strings.Contains(whole, answer) {
		t.Errorf("read %d bytes, the last page from %d", len(whole), offset)
	}
	for _, beyond := range []int{len(whole), len(whole) + 1} {
		if got := ask("read_session", map[string]any{"session": id, "offset": beyond}); got != "There is nothing more" {
			t.Errorf("from %d: %.50q", beyond, got)
		}
	}
	if got := ask("read_session", map[string]any{"session": id, "offset": -1}); !strings.HasPrefix(got, whole[:100]) {
		t.Errorf("from -1: %.50q", got)
	}
	for range 10 { // the words of titles count too
		ask("ask", map[string]any{"prompt": "a whale", "model": "fake/a"})
	}
	if found := strings.Split(strings.TrimSpace(ask("search_sessions", map[string]any{"query": "whale"})), "\n"); len(found) != 21 || found[20] != "13 more: use more words" {
		t.Errorf("found %d lines: %q", len(found), found)
	}
}

// TestWrongStart: what keeps the server from serving is reported at once.
func TestWrongStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"no model unknown", []string{"-m", "unknown"}},
		{"--max-cost -1: use 0 or more", []string{"--max-cost", "-1"}},
		{"--max-cost NaN: use 0 or more", []string{"--max-cost", "NaN"}},
		{"--max-cost +Inf: use 0 or more", []string{"--max-cost", "+Inf"}},
		{"--port -1: use a number from 0 to 65535", []string{"--port", "-1"}},
		{"--port 65536: use a number from 0 to 65535", []string{"--port", "65536"}},
		{"--folder " + file + " is no folder", []string{"--folder", file}},
		{file + "-missing: ", []string{"--folder", file + "-missing"}},
	} {
		s := start(t, llmtest.New(), tt.args...)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: ended with %v", tt.args, err)
		}
		s.ended <- nil
	}
}

// each is a request of the version that has no initialize: its method, its version, its client.
const each = `{"jsonrpc":"2.0","id":1,"method":"%s","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientInfo":{"name":"%s"}}}}`

// TestMessages: each message has the response that the protocol wants, whatever it is.
func TestMessages(t *testing.T) {
	s := start(t, llmtest.New())
	answers := bufio.NewScanner(s.out)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","clientInfo":{"name":"%s"}}}`
	for _, tt := range []struct{ message, want string }{
		{`nonsense`, `"code":-32700`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{`"ping"`, `"code":-32600`},
		{`{"id":1,"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"jsonrpc":"2.0","id":"a","result":{}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `the first request has to be initialize`},
		{fmt.Sprintf(hello, "2025-11-25", "parley"), `parley does not serve another parley`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `the first request has to be initialize`},
		{fmt.Sprintf(hello, "2024-11-05", "x"), `"protocolVersion":"2024-11-05"`},
		{fmt.Sprintf(hello, "1999-01-01", "x"), `"protocolVersion":"2025-11-25"`},
		{fmt.Sprintf(hello, "2026-07-28", "x"), `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`, `"code":-32601`},
		{fmt.Sprintf(each, "server/discover", "2026-07-28", "x"), `"supportedVersions":["2026-07-28","2025-11-25",`},
		{fmt.Sprintf(each, "server/discover", "2027-01-01", "x"), `"code":-32022,"message":"unsupported version of the protocol: use 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05","data":{"supported":["2026-07-28",`},
		{fmt.Sprintf(each, "tools/list", "2026-07-28", "x"), `"result":{"resultType":"complete"`},
		{fmt.Sprintf(each, "tools/list", "2026-07-28", "parley"), `parley does not serve another parley`},
		{`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"rm\u001b[2J"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":[1]}}`, `params.name has the wrong type`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask","arguments":[1]}}`, `"isError":true`},
	} {
		s.write(`{"jsonrpc":"2.0","method":"notifications/anything"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, tt.message)
		if answers.Scan(); !strings.Contains(answers.Text(), tt.want) {
			t.Errorf("%s: %s, want %s", tt.message, answers.Text(), tt.want)
		}
	}
	go s.write(strings.Repeat("x", 17<<20))
	if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "more than 16 MB") {
		t.Errorf("a long message: %v", err)
	}
	s.ended <- nil
}

// TestCanceled: a client that cancels a call, or leaves, ends the request to the model. What came of the answer is
// stored.
func TestCanceled(t *testing.T) {
	for name, way := range transports {
		for _, leaves := range []bool{false, true} {
			t.Run(fmt.Sprint(name, leaves), func(t *testing.T) {
				canceled, begun := make(chan struct{}), make(chan struct{})
				s := start(t, llmtest.New(func(ctx context.Context, req llm.Request, out *llm.Out) error {
					_ = llmtest.Cut("half an answer")(ctx, req, out)
					close(begun)
					<-ctx.Done()
					close(canceled)
					return context.Cause(ctx)
				}), way.args...)
				c := connect(t, way.connect(t, s), func(string) {})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					<-begun
					switch {
					case !leaves:
						cancel()
					case name == "stdio":
						s.in.Close()
					default:
						s.leave()
					}
				}()
				if text, _, err := called(ctx, c, "ask", map[string]any{"prompt": "x", "model": "fake/a"}); err == nil && !leaves {
					t.Errorf("answered %q", text)
				}
				<-canceled
				if leaves {
					return
				}
				for !strings.Contains(stored(t, c), "half an answer") { // until the turn has ended
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
}

// stored returns the conversation that the word prompt finds.
func stored(t *testing.T, c *sdk.ClientSession) string {
	found, _, err := called(t.Context(), c, "search_sessions", map[string]any{"query": "half"})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTornKey: an excerpt that begins or ends within a key has no part of it.
func TestTornKey(t *testing.T) {
	for n := range len(canary) {
		pad := strings.Repeat("x", n)
		s := start(t, llmtest.New(llmtest.Say(strings.Repeat(canary+" ", 20)+pad+" whale "+pad+strings.Repeat(" "+canary, 20))))
		c := connect(t, transports["stdio"].connect(t, s), func(string) {})
		if _, _, err := called(t.Context(), c, "ask", map[string]any{"prompt": "hi", "model": "fake/a"}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := called(t.Context(), c, "search_sessions", map[string]any{"query": "whale"}); err != nil || !strings.Contains(got, "whale") || strings.Contains(got, "456789") {
			t.Fatalf("%d: %q, %v", n, got, err)
		}
	}
}

// TestSilence: a client hears of a call every 20 seconds, also while the model is silent.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, llmtest.New(func(ctx context.Context, req llm.Request, out *llm.Out) error {
			time.Sleep(50 * time.Second)
			return llmtest.Say("late")(ctx, req, out)
		}))
		go s.write(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"prompt":"x","model":"fake/a"},"_meta":{"progressToken":7}}}`)
		answers := bufio.NewScanner(s.out)
		for _, want := range []string{"serverInfo", `"progressToken":7,"progress":1,"message":"fake/a is answering"`, `"progress":2,"message":"still answering"`, `"progress":3`, `"message":"4 bytes received"`, `"text":"late"`} {
			if answers.Scan(); !strings.Contains(answers.Text(), want) {
				t.Errorf("%s, want %s", answers.Text(), want)
			}
		}
	})
}

// TestFlood: calls beyond the eighth at once are refused, and the others go on.
func TestFlood(t *testing.T) {
	answer := make(chan struct{})
	var turns []llmtest.Turn
	for range 8 {
		turns = append(turns, func(ctx context.Context, req llm.Request, out *llm.Out) error {
			<-answer
			return llmtest.Say("late")(ctx, req, out)
		})
	}
	s := start(t, llmtest.New(turns...))
	answers := bufio.NewScanner(s.out)
	s.write(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	answers.Scan()
	call := func(id int) {
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":{"prompt":"x","model":"fake/a"}}}`, id))
	}
	for id := range 8 {
		call(id)
	}
	for id := 8; id < 100; id++ {
		call(id)
		if answers.Scan(); !strings.Contains(answers.Text(), "8 calls are running") {
			t.Fatal(answers.Text())
		}
	}
	close(answer)
	for range 8 {
		if answers.Scan(); !strings.Contains(answers.Text(), "late") {
			t.Error(answers.Text())
		}
	}
}

// TestBudget: once the calls of a client have cost as much as they may, no model is asked. Their conversations are
// removed if that was asked for, and their cost stays.
func TestBudget(t *testing.T) {
	paid := llmtest.Script(llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: "answer"}}, llm.Usage{Input: 10, Output: 10, Cost: 0.6, Priced: true}, llm.Finish{Reason: llm.Stop})
	model := llmtest.New(paid, paid, paid)
	s := start(t, model, "--max-cost", "1", "--ephemeral")
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	for i, want := range []string{"answer\n20 tokens · $0.60 · fake/a", "answer\nsession limit of $0.40 reached: $0.60 used\n20 tokens · $0.60 · fake/a", "the budget of $1.00 is spent: the user can start parley mcp serve with a higher --max-cost"} {
		if got, _, err := called(t.Context(), c, "ask", map[string]any{"prompt": "x", "model": "fake/a"}); err != nil || got != want {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
	library, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": s.home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	if sum, err := library.Ledger().Spent(time.Time{}, time.Time{}, ""); err != nil || sum.Requests != 2 || sum.Usage.Cost != 1.2 {
		t.Errorf("the ledger has %+v, %v", sum, err)
	}
	if got, _, err := called(t.Context(), c, "search_sessions", map[string]any{"query": "answer"}); err != nil || !strings.HasPrefix(got, "Nothing found") {
		t.Errorf("stored: %q, %v", got, err)
	}
}

// TestBudgetAtOnce: calls at once spend no more than calls one after the other.
func TestBudgetAtOnce(t *testing.T) {
	paid := llmtest.Script(llm.Usage{Input: 10, Output: 10, Cost: 0.4, Priced: true}, llm.Delta{Block: "1", Part: llm.Part{Kind: llm.Text, Text: "answer"}}, llm.Finish{Reason: llm.Stop})
	model := llmtest.New(slices.Repeat([]llmtest.Turn{paid}, 8)...)
	s := start(t, model, "--max-cost", "1")
	c := connect(t, transports["stdio"].connect(t, s), func(string) {})
	var all sync.WaitGroup
	var spent atomic.Int32
	for range 8 {
		all.Go(func() {
			if got, _, err := called(t.Context(), c, "ask", map[string]any{"prompt": "x", "model": "fake/a"}); err != nil {
				t.Error(err)
			} else if strings.HasPrefix(got, "the budget of $1.00 is spent") {
				spent.Add(1)
			}
		})
	}
	all.Wait()
	if n := len(model.Requests()); n != 3 || spent.Load() != 5 {
		t.Errorf("%d requests of $0.40 within $1.00, %d calls refused", n, spent.Load())
	}
}

// TestSessions: over HTTP the 64 sessions that were used last stay open, and one that its client ends is gone.
func TestSessions(t *testing.T) {
	s := start(t, llmtest.New(), "--port", "0")
	url, token := s.address(t)
	send := func(method, session, body string) (status int, id string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": token, "Content-Type": "application/json", "Mcp-Session-Id": session} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode, answer.Header.Get("Mcp-Session-Id")
	}
	ping := func(session string) int {
		status, _ := send(http.MethodPost, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return status
	}
	var ids []string
	for range 65 {
		if len(ids) > 1 {
			ping(ids[0])
		}
		_, id := send(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
		ids = append(ids, id)
	}
	for i, want := range map[int]int{0: http.StatusOK, 1: http.StatusNotFound, 2: http.StatusOK, 64: http.StatusOK} {
		if got := ping(ids[i]); got != want {
			t.Errorf("session %d: %d, want %d", i, got, want)
		}
	}
	if status, _ := send(http.MethodDelete, ids[2], ""); status != http.StatusNoContent || ping(ids[2]) != http.StatusNotFound {
		t.Errorf("ended with %d, and is still there", status)
	}
}

// TestRefusedRequests: over HTTP only local addresses and pages are served, and only with the token.
func TestRefusedRequests(t *testing.T) {
	s := start(t, llmtest.New(), "--port", "0")
	url, token := s.address(t)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tt := range []struct {
		name, method, host, origin, token, version, rpc, kind, session, body string
		want                                                                 int
	}{
		{name: "initialize", body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, want: http.StatusOK},
		{name: "a local page", origin: "http://localhost:6274", body: `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, want: http.StatusOK},
		{name: "another name for this computer", host: "evil.example", want: http.StatusForbidden},
		{name: "another page", origin: "https://evil.example", want: http.StatusForbidden},
		{name: "a page that looks local", origin: "https://localhost.evil.example", want: http.StatusForbidden},
		{name: "a page without a name", origin: "null", want: http.StatusForbidden},
		{name: "no token", token: "-", want: http.StatusUnauthorized},
		{name: "another token", token: "Bearer x", want: http.StatusUnauthorized},
		{name: "another version", version: "1999-01-01", want: http.StatusBadRequest},
		{name: "without a session", version: "2026-07-28", rpc: "tools/list", body: fmt.Sprintf(each, "tools/list", "2026-07-28", "x"), want: http.StatusOK},
		{name: "no such method", version: "2026-07-28", rpc: "resources/list", body: fmt.Sprintf(each, "resources/list", "2026-07-28", "x"), want: http.StatusNotFound},
		{name: "another method in the message", version: "2026-07-28", rpc: "tools/call", body: fmt.Sprintf(each, "tools/list", "2026-07-28", "x"), want: http.StatusBadRequest},
		{name: "a form", kind: "text/plain", want: http.StatusUnsupportedMediaType},
		{name: "reading", method: http.MethodGet, want: http.StatusMethodNotAllowed},
		{name: "another session", session: "x", want: http.StatusNotFound},
		{name: "an end without a session", method: http.MethodDelete, want: http.StatusNoContent},
		{name: "before initialize", want: http.StatusBadRequest},
		{name: "too long", body: strings.Repeat("x", 17<<20), want: http.StatusRequestEntityTooLarge},
	} {
		if tt.method == "" {
			tt.method = http.MethodPost
		}
		if tt.body == "" {
			tt.body = ping
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, url, bytes.NewReader([]byte(tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		for name, value := range map[string]string{"Origin": tt.origin, "Authorization": tt.token, "MCP-Protocol-Version": tt.version, "Mcp-Method": tt.rpc, "Content-Type": tt.kind, "Mcp-Session-Id": tt.session} {
			switch {
			case value == "" && name == "Authorization":
				value = token
			case value == "" && name == "Content-Type":
				value = "application/json"
			}
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%s: %s, want %d", tt.name, answer.Status, tt.want)
		}
	}
}
