//go:build unix

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/providers/llm"
	"parley/tools/mcp"
	"parley/tools/process"
	"parley/tools/sandbox"
)

// overHTTP is the real server over streamable HTTP.
func overHTTP(t testing.TB) mcp.Config {
	server := realServer()
	return withKey(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
}

// overSSE is the real server over HTTP with SSE, as services were before streamable HTTP.
func overSSE(t testing.TB) mcp.Config {
	server := realServer()
	return withKey(t, sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil))
}

// withKey serves handler to requests with a key.
func withKey(t testing.TB, handler http.Handler) mcp.Config {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-canary-42" {
			http.Error(w, "who are you, "+r.Header.Get("Authorization")+"?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	t.Setenv("MCP_TEST_KEY", "sk-canary-42")
	return mcp.Config{URL: h.URL, Headers: map[string]string{"Authorization": "Bearer ${MCP_TEST_KEY}"}, Trusted: true}
}

// Servers built from the SDK work, over all ways.
func TestRealServer(t *testing.T) {
	for way, config := range map[string]func() mcp.Config{
		"stdio": func() mcp.Config { return self(t, "real") },
		"http":  func() mcp.Config { return overHTTP(t) },
		"sse":   func() mcp.Config { return overSSE(t) },
	} {
		t.Run(way, func(t *testing.T) {
			c := config()
			b := start(t, c, mcp.Options{})
			s := b.state()
			if s.Status != mcp.StatusReady || s.ServerInfo != "real 1.2" || s.Prompts != 1 || s.Resources != 1 || (s.PID != 0) != (way == "stdio") {
				t.Fatalf("got %+v", s)
			}
			calls := []struct {
				tool, input, want string
				failed            bool
			}{
				{"echo", `{"text":"hello"}`, head + "you said hello", false},
				{"echo", `{"text":7}`, "bad arguments for mcp__s__echo", true},
				{"picture", ``, head + "a dot:\n[an image, image/png, 33 bytes]\n[an image of a kind that cannot be shown, 14 bytes]\n" +
					"[audio, audio/wav, 4 bytes: not shown]\n[a resource: file:///x x]\ninside\n[a:c, application/zip, 2 bytes: not shown]\ngrüß\n[a:e, text/plain, 3 bytes: not shown]", false},
				{"fails", ``, head + "no such thing\n[1 control character or escape sequences removed]", true},
				{"numbers", ``, head + `{"n":7}`, false},
				{"absent", ``, `no tool "mcp__s__absent"`, true},
			}
			for _, call := range calls {
				out := b.call(call.tool, call.input)
				if out.Failed != call.failed || !strings.HasPrefix(out.Text, call.want) {
					t.Errorf("%s: got %v, %q, want %q", call.tool, out.Failed, out.Text, call.want)
				}
			}
			if out := b.call("picture", ""); len(out.Media) != 1 || out.Media[0].Kind != llm.Media || out.Media[0].MIME != "image/png" || string(out.Media[0].Data) != string(dot) {
				t.Errorf("got %+v", out.Media)
			}
			if out := b.call("long", ""); len([]rune(out.Text)) > maxText || !strings.Contains(out.Text, "characters left out") {
				t.Errorf("got %d characters", len([]rune(out.Text)))
			}
			b.checkProgress()
			b.checkCancel()
			b.checkMenus()
		})
	}
}

func (b *testServer) checkProgress() {
	b.t.Helper()
	a, err := b.set.Plan(b.t.Context(), "mcp__s__counts", "")
	if err != nil {
		b.t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	out := a.Run(b.t.Context(), func(text string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, text)
	})
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"1 of 3: step\n", "2 of 3: step\n", "3 of 3: step\n"}; out.Failed || !slices.Equal(got, want) {
		b.t.Errorf("got %q, %+v", got, out)
	}
}

func (b *testServer) checkCancel() {
	b.t.Helper()
	a, err := b.set.Plan(b.t.Context(), "mcp__s__waits", "")
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	out := a.Run(ctx, func(string) { cancel() })
	cancel()
	if !out.Failed || !strings.Contains(out.Text, "canceled") {
		b.t.Errorf("got %+v", out)
	}
	if out := b.call("heard", ""); out.Text != head+"it was canceled" {
		b.t.Errorf("got %+v", out)
	}
}

func (b *testServer) checkMenus() {
	b.t.Helper()
	if got, want := fmt.Sprint(b.Prompts()), "[{s review Review it  [{what  true}] true}]"; got != want {
		b.t.Errorf("got %s, want %s", got, want)
	}
	messages, err := b.GetPrompt(b.t.Context(), "s", "review", map[string]string{"what": "main.go"})
	if err != nil || len(messages) != 2 || messages[0].Role != llm.RoleUser || messages[0].Text() != "Review main.go" || messages[1].Role != llm.RoleAssistant {
		b.t.Errorf("got %+v, %v", messages, err)
	}
	if got, want := fmt.Sprint(b.Resources()), "[{s note://one one }]"; got != want {
		b.t.Errorf("got %s, want %s", got, want)
	}
	for arg, want := range map[string][]string{"what": {"main.go", "review of here"}, "fails": nil} {
		if got := b.Complete(b.t.Context(), b.Prompts()[0], arg, map[string]string{"where": "here"}); !slices.Equal(got, want) {
			b.t.Errorf("%s: got %q, want %q", arg, got, want)
		}
	}
	parts, err := b.ReadResource(b.t.Context(), "s", "note://one")
	if err != nil || len(parts) != 2 || !strings.HasPrefix(parts[0].Text, "the first note") || parts[1].MIME != "image/png" {
		b.t.Errorf("got %+v, %v", parts, err)
	}
	for _, server := range []string{"s", "t"} {
		if _, err := b.ReadResource(b.t.Context(), server, "note://two"); err == nil {
			b.t.Error("there is no such resource")
		}
	}
}

// TestCompleteInTime: a server that proposes no values in time does not keep the user waiting.
func TestCompleteInTime(t *testing.T) {
	b := start(t, self(t, "real"), mcp.Options{WithTimeout: func(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
		if limit == completeTimeout {
			return context.WithTimeoutCause(ctx, 10*time.Millisecond, cause) // it never answers
		}
		return within(5*time.Minute)(ctx, limit, cause)
	}})
	if got := b.Complete(t.Context(), b.Prompts()[0], "hangs", nil); got != nil {
		t.Errorf("got %q", got)
	}
	if s := b.state(); s.Status != mcp.StatusReady {
		t.Errorf("got %+v", s)
	}
}

// A program gets no more of the environment than a command does, and what its
// configuration names.
func TestServerEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "GITHUB_TOKEN", "DATABASE_URL"} {
		t.Setenv(name, "sk-canary-43")
	}
	t.Setenv("MCP_TEST_KEY", "sk-canary-42")
	c := self(t, "real")
	c.Env["TOKEN"], c.Env["WORD"] = "${MCP_TEST_KEY}", "plain-word"
	got := start(t, c, mcp.Options{}).call("env", "").Text
	for _, want := range []string{"PATH=", "WORD=[redacted]", "TOKEN=[redacted]"} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "canary") {
		t.Errorf("got %s", got)
	}
	delete(c.Env, "WORD")
	c.Env["TOKEN"] = "${MCP_TEST_UNSET}"
	if s := start(t, c, mcp.Options{}).state(); s.Status != mcp.StatusFailed || s.Reason != "env.TOKEN: the variable ${MCP_TEST_UNSET} is not set" {
		t.Errorf("got %+v", s)
	}
}

// Tools that come later are news.
func TestNewToolIsSeenFirst(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			c := self(t, "real")
			if way == "http" {
				c = overHTTP(t)
			}
			c.Trusted = false
			told := make(chan string, 100)
			b := start(t, c, mcp.Options{OnChange: func(server string) { told <- server }})
			if err := b.Approve("s", b.state().Fingerprint); err != nil {
				t.Fatal(err)
			}
			b.offer()
			if out := b.call("grow", ""); out.Failed {
				t.Fatalf("got %+v", out)
			}
			s := b.until("changed", func(s mcp.State) bool { return s.Status == mcp.StatusChanged })
			var news []string
			for _, tool := range s.Tools {
				if tool.Change != "" {
					news = append(news, tool.Title+" "+tool.Change)
				}
			}
			if !slices.Equal(news, []string{"grown new"}) || <-told != "s" {
				t.Errorf("got %q", news)
			}
			if err := b.Approve("s", s.Fingerprint); err != nil {
				t.Fatal(err)
			}
			b.offer()
			if out := b.call("grown", ""); out.Text != head+"fresh" {
				t.Errorf("got %+v", out)
			}
		})
	}
}

// Nothing that a server started outlives Close.
func TestCloseEndsEverything(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere only the process group can be told")
	}
	t.Parallel() // it waits
	b := start(t, self(t, "real"), mcp.Options{})
	out := b.call("spawn", "")
	pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out.Text, head)))
	if err != nil {
		t.Fatalf("got %+v", out)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("%d is not there: %v", pid, err)
	}
	server := b.state().PID
	before := time.Now()
	b.Close()
	t.Logf("closed after %s", time.Since(before))
	for _, p := range []int{pid, server} {
		if err := syscall.Kill(p, 0); err == nil {
			t.Errorf("%d lives", p)
		}
	}
	if s := b.state(); s.Status != mcp.StatusFailed || s.PID != 0 {
		t.Errorf("got %+v", s)
	}
	if out := b.call("echo", `{"text":"x"}`); !out.Failed {
		t.Errorf("got %+v", out)
	}
}

// Confine decides how the program runs, and is told when it ends.
func TestConfine(t *testing.T) {
	backend := sandbox.Probe()
	if !backend.Available() {
		t.Skipf("there is no sandbox: %s", backend.Reason)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	var given []string
	c := self(t, "real")
	b := start(t, c, mcp.Options{Confine: func(_ string, c mcp.Config, env []string) (*process.SandboxPolicy, error) {
		given = env
		return &process.SandboxPolicy{Workspace: workspace, Env: env, ReadPaths: append(sandbox.ReadablePaths(env), c.Command.Words[0]), Network: c.Network}, nil
	}})
	if s := b.state(); s.Status != mcp.StatusReady {
		t.Fatalf("got %+v", s)
	}
	if !slices.Contains(given, "PARLEY_TEST_SERVER=real") {
		t.Errorf("got %q", given)
	}
	if out := b.call("open", `{"text":`+strconv.Quote(secret)+`}`); !out.Failed || !strings.Contains(out.Text, "denied") {
		t.Errorf("got %+v", out)
	}
	if out := b.call("open", `{"text":"/etc/hostname"}`); out.Failed {
		t.Errorf("got %+v", out)
	}
	server := b.state().PID
	b.Close()
	if err := syscall.Kill(server, 0); err == nil {
		t.Errorf("%d lives", server)
	}
}
