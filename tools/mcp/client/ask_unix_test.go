//go:build unix

package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/act"
	"parley/tools/mcp"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// asking is a server that asks the client for whatever there is to ask for. It is told of each of
// its requests first.
func asking(t testing.TB, told ...func()) mcp.Config {
	s := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	add := func(name string, f func(context.Context, *sdk.ServerSession) (any, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			got, err := f(ctx, r.Session)
			if err != nil {
				return nil, nil, err
			}
			text, _ := json.Marshal(got)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil, nil
		})
	}
	form := func(properties string) func(context.Context, *sdk.ServerSession) (any, error) {
		return func(ctx context.Context, session *sdk.ServerSession) (any, error) {
			r, err := session.Elicit(ctx, &sdk.ElicitParams{Message: "Who are\x1b[2J you?", RequestedSchema: json.RawMessage(`{"type":"object","required":["name"],"properties":` + properties + `}`)})
			if err != nil {
				return nil, err
			}
			return map[string]any{"action": r.Action, "content": r.Content}, nil
		}
	}
	add("form", form(`{"name":{"type":"string","title":"Your\u001b[2J name"},"age":{"type":"integer","minimum":0}}`))
	add("secret", form(`{"name":{"type":"string","title":"Your password"}}`))
	add("page", func(ctx context.Context, session *sdk.ServerSession) (any, error) {
		r, err := session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "Pay", URL: "https://pay.example/1", ElicitationID: "1"})
		return r, err
	})
	add("sample", func(ctx context.Context, session *sdk.ServerSession) (any, error) {
		r, err := session.CreateMessage(ctx, &sdk.CreateMessageParams{SystemPrompt: "Be\x1b[2J kind.", MaxTokens: 1 << 40, Messages: []*sdk.SamplingMessage{
			{Role: "user", Content: &sdk.TextContent{Text: "a"}}, {Role: "user", Content: &sdk.TextContent{Text: "b"}},
		}})
		if err != nil {
			return nil, err
		}
		return []any{r.Model, r.Content.(*sdk.TextContent).Text}, nil
	})
	add("roots", func(ctx context.Context, session *sdk.ServerSession) (any, error) {
		r, err := session.ListRoots(ctx, nil)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, root := range r.Roots {
			all = append(all, root.Name+" "+root.URI)
		}
		slices.Sort(all)
		return all, nil
	})
	answers := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, f := range told {
			f()
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		for session := range s.Sessions() { // of clients that had no time to say that they leave
			_ = session.Close()
		}
		h.Close()
	})
	return mcp.Config{URL: h.URL, Trusted: true, Sampling: "ask"}
}

// answers has every question answered by f, which the tests' own deadline ends.
func (b *testServer) answers(calls string, f func(*mcp.Question)) act.Outcome {
	b.t.Helper()
	done := make(chan act.Outcome, 1)
	go func() { done <- b.call(calls, "") }()
	for {
		select {
		case out := <-done:
			if q := b.NextQuestion(); q != nil { // one that was refused waits for nobody
				f(q)
			}
			return out
		case <-b.changed:
			for q := b.NextQuestion(); q != nil; q = b.NextQuestion() {
				f(q)
			}
		}
	}
}

func TestQuestions(t *testing.T) {
	b := start(t, asking(t), mcp.Options{Interactive: true})
	cases := []struct {
		tool   string
		answer func(q *mcp.Question)
		want   string
	}{
		{"form", func(q *mcp.Question) {
			if q.Server != "s" || q.Text != "Who are you?" || len(q.Fields) != 2 || q.Fields[0].Title != "Your name" || !q.Fields[0].Required || q.Fields[1].Required {
				t.Errorf("got %+v", q)
			}
			q.Answer(map[string]any{"name": "Ada", "age": int64(36)})
			q.Cancel() // is too late
		}, `{"action":"accept","content":{"age":36,"name":"Ada"}}`},
		{"form", (*mcp.Question).Decline, `{"action":"decline","content":null}`},
		{"form", (*mcp.Question).Cancel, `{"action":"cancel","content":null}`},
		{"secret", func(q *mcp.Question) {
			if q.Refused != "it asks for Your password, and what is secret is not for servers to ask" {
				t.Errorf("got %+v", q)
			}
		}, `{"action":"decline","content":null}`},
		{"page", func(q *mcp.Question) {
			if q.URL != "https://pay.example/1" || q.Text != "Pay" {
				t.Errorf("got %+v", q)
			}
			q.Answer(nil)
		}, `{"action":"accept"}`},
		{"sample", func(q *mcp.Question) {
			if q.Sample == nil || q.Sample.MaxTokens != samplingLimit || q.SampleText() != "── System prompt\n> Be kind.\n\n── User\n> a\n> \n> b" {
				t.Errorf("got %+v", q)
			}
			q.Reply(mcp.Reply{Action: mcp.ActionAccept, Text: "hi", Model: "demo/parley"})
		}, `["demo/parley","hi"]`},
		{"sample", (*mcp.Question).Decline, "the user did not allow this"},
	}
	for _, c := range cases {
		if out := b.answers(c.tool, c.answer); !strings.Contains(out.Text, c.want) {
			t.Errorf("%s: got %s, want %s", c.tool, out.Text, c.want)
		}
	}
}

// The time of a call stands still while the user answers.
func TestQuestionTakesTime(t *testing.T) {
	b := start(t, asking(t), mcp.Options{Interactive: true})
	s := b.byName["s"]
	out := b.answers("form", func(q *mcp.Question) {
		if n := s.calls.asking.Load(); n != 1 {
			t.Errorf("%d questions wait", n)
		}
		q.Answer(map[string]any{"name": "Ada"})
	})
	if n := s.calls.asking.Load(); n != 0 || !strings.Contains(out.Text, "accept") {
		t.Errorf("%d questions wait, got %s", n, out.Text)
	}
	synctest.Test(t, func(t *testing.T) {
		var asked inFlight
		asked.asking.Store(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go asked.watchTime(ctx, time.Second, cancel)
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("its time ran")
		}
		asked.asking.Store(0)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := context.Cause(ctx); err == nil || !strings.Contains(err.Error(), "did not answer within") {
			t.Errorf("got %v", err)
		}
	})
}

// A call that is canceled takes its question along.
func TestCanceledQuestion(t *testing.T) {
	b := start(t, asking(t), mcp.Options{Interactive: true})
	canceled, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	a, err := b.set.Plan(t.Context(), "mcp__s__form", "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { a.Run(canceled, nil); close(done) }()
	var q *mcp.Question
	for q == nil {
		<-b.changed
		q = b.NextQuestion()
	}
	stop()
	<-done
	<-q.Ended // the server is told, and takes it back
	if b.NextQuestion() != nil {
		t.Error("a second question")
	}
}

// Without a user, questions are declined, and a model that may not be asked is none.
func TestNobodyAnswers(t *testing.T) {
	c := asking(t)
	b := start(t, c, mcp.Options{})
	for tool, want := range map[string]string{"form": `"decline"`, "page": `"decline"`, "sample": "does not support"} {
		if out := b.call(tool, ""); !strings.Contains(out.Text, want) {
			t.Errorf("%s: got %s", tool, out.Text)
		}
	}
	c.Sampling = ""
	if out := start(t, c, mcp.Options{Interactive: true}).call("sample", ""); !strings.Contains(out.Text, "does not support") {
		t.Errorf("got %s", out.Text)
	}
}

// TestQuestionsThatAreOver: what nobody waits for any more leaves room for other questions.
func TestQuestionsThatAreOver(t *testing.T) {
	over := make(chan struct{})
	close(over)
	var all questions
	for range maxQuestions {
		all.add(&mcp.Question{Server: "s", Ended: over})
	}
	for i := range maxQuestions + 1 {
		if added := all.add(&mcp.Question{Server: "s", Ended: make(chan struct{})}); added != (i < maxQuestions) {
			t.Errorf("question %d: added %v", i, added)
		}
	}
}

func TestRoots(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "a b")
	c := asking(t)
	b := start(t, c, mcp.Options{Roots: []string{dir}})
	if out := b.call("roots", ""); !strings.Contains(out.Text, fmt.Sprintf(`["%s file://%s"]`, filepath.Base(dir), dir)) {
		t.Errorf("got %s", out.Text)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own := self(t, "takes roots") // server-filesystem of npm has them in the place of its arguments
	own.Read, own.Write = []string{file, filepath.Join(dir, "absent")}, []string{t.TempDir()}
	got := start(t, own, mcp.Options{Roots: []string{dir}}).call("one", "").Text
	if strings.Count(got, "file://") != 2 || !strings.Contains(got, `"file://`+dir+`"`) || !strings.Contains(got, `"file://`+own.Write[0]+`"`) {
		t.Errorf("got %s", got)
	}
	b.SetRoots(other)
	want := fmt.Sprintf(`["a b file://%s"]`, strings.ReplaceAll(other, " ", "%20"))
	for !strings.Contains(b.call("roots", "").Text, want) { // the tests' own deadline ends it
	}
	for address, want := range map[string]bool{"https://mcp.example/": false, "http://127.0.0.1:1/": true, "": true} {
		if got := getsRoots(mcp.Config{URL: address}); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
}

// A server that starts slowly has the folders as they are once it is there.
func TestRootsWhileStarting(t *testing.T) {
	first, last := t.TempDir(), t.TempDir()
	arrived, changed := make(chan struct{}), make(chan struct{})
	c := asking(t, sync.OnceFunc(func() {
		close(arrived)
		<-changed
	}))
	set, err := tools.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	b := &testServer{servers: open(t.Context(), map[string]mcp.Config{"s": c}, mcp.Options{Dir: first, Roots: []string{first}}), t: t, set: set}
	defer b.Close()
	<-arrived
	b.SetRoots(last)
	close(changed)
	b.Wait(t.Context())
	b.offer()
	if out, want := b.call("roots", "").Text, fmt.Sprintf(`["%s file://%s"]`, filepath.Base(last), last); !strings.Contains(out, want) {
		t.Errorf("got %s, want %s", out, want)
	}
}

// Folders that change while the servers are closed, or later, start nothing that stays.
func TestRootsWhileClosing(t *testing.T) {
	b := start(t, asking(t), mcp.Options{Roots: []string{t.TempDir()}})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		b.Close()
	}()
	for i := range 100 {
		b.SetRoots(fmt.Sprint("/", i))
	}
	<-closed
	b.SetRoots("/last")
}

func TestFields(t *testing.T) {
	schema := func(field string) map[string]any {
		var all map[string]any
		if err := json.Unmarshal([]byte(`{"properties":{"f":`+field+`}}`), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	cases := []struct {
		field, typed string
		want         string // JSON, or what the error contains
	}{
		{`{"type":"string"}`, "a b", `"a b"`},
		{`{"type":"string","minLength":2}`, "a", "at least 2 characters"},
		{`{"type":"string","maxLength":2}`, "žžž", "at most 2 characters"},
		{`{"type":"string","format":"email"}`, "ada", "an address such as"},
		{`{"type":"string","format":"email"}`, "ada@example.com", `"ada@example.com"`},
		{`{"type":"string","format":"date"}`, "31.1.", "a date such as"},
		{`{"type":"string","format":"uri"}`, "https://x", `"https://x"`},
		{`{"type":"string","format":"other"}`, "x", `"x"`},
		{`{"type":"integer"}`, "7", `7`},
		{`{"type":"integer"}`, "7.5", "a whole number"},
		{`{"type":"integer"}`, "1e300", "a whole number"},
		{`{"type":"integer"}`, "1e3", `1000`},
		{`{"type":"integer"}`, "-9007199254740993", `-9007199254740993`},
		{`{"type":"integer"}`, "9223372036854775808", "a whole number"},
		{`{"type":"number","minimum":1}`, "0.5", "at least 1"},
		{`{"type":"number","maximum":1}`, "1.5", "at most 1"},
		{`{"type":"number"}`, "NaN", "a number"},
		{`{"type":"number"}`, "Inf", "a number"},
		{`{"type":"boolean"}`, "true", `true`},
		{`{"type":"boolean"}`, "No", `false`},
		{`{"type":"boolean"}`, "maybe", "one of yes, no"},
		{`{"type":"string","enum":["a","b"],"enumNames":["First"]}`, "first", `"a"`},
		{`{"type":"string","oneOf":[{"const":"a","title":"First"}]}`, "c", "one of First"},
		{`{"type":"array","items":{"enum":["a","b"]}}`, "b, a,b", `["b","a"]`},
		{`{"type":"array","minItems":1,"items":{"anyOf":[{"const":"a","title":"A"}]}}`, "", "at least 1 of A"},
		{`{"type":"array","items":{"enum":["Lovelace, Ada","Ada"]}}`, "ada, Lovelace, Ada", `["Ada","Lovelace, Ada"]`},
		{`{"type":"array","items":{"enum":["a","b"]}}`, "a, , c", "one of a, b"},
		{`{"type":"array"}`, "", "no choices"},
		{`{"type":"object"}`, "", "cannot be asked for"},
		{`{"type":["string","null"]}`, "", "cannot be read"},
		{`{"type":"string","title":"Secretary","description":"no secrets, please"}`, "Bob", `"Bob"`},
		{`{"type":"string","title":"API key"}`, "", "what is secret"},
	}
	for _, c := range cases {
		fields, err := parseFields(schema(c.field), secretMask{})
		got := ""
		if err == nil {
			var value any
			value, err = fields[0].Parse(c.typed)
			text, _ := json.Marshal(value)
			got = string(text)
		}
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: got %s, want %s", c.field, c.typed, got, c.want)
		}
	}
	for _, address := range []string{"", "http://pay.example/", "file:///etc/passwd", "javascript:alert(1)", "https://u:p@pay.example/", "https://pay.example/\u202e"} {
		if got, err := pageURL(address, secretMask{}); err == nil && !strings.HasPrefix(got, "https://pay.example/%E2") {
			t.Errorf("%q is opened as %q", address, got)
		}
	}
}
