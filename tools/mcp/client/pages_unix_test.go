//go:build unix

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/tools/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// payable is a server whose tool, prompt and resource want pages opened before they answer.
type payable struct {
	pages  []*sdk.ElicitParams
	paid   atomic.Bool // the next request is answered
	calls  atomic.Int32
	server *sdk.Server

	listens chan struct{} // closed once the client listens to what the server tells
	session string        // in this session
}

// A listener's stream begins with its header, which the SDK sends while it keeps everything
// else from the stream.
type listener struct {
	http.ResponseWriter
	begins func()
}

func (l listener) WriteHeader(status int) {
	if status == http.StatusOK {
		l.begins()
	}
	l.ResponseWriter.WriteHeader(status)
}

func (l listener) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func newPayable(t testing.TB, pages ...*sdk.ElicitParams) (*payable, mcp.Config) {
	p := &payable{pages: pages, server: sdk.NewServer(&sdk.Implementation{Name: "payable", Version: "1"}, nil), listens: make(chan struct{})}
	sdk.AddTool(p.server, &sdk.Tool{Name: "buy"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "bought"}}}, nil, p.refusal()
	})
	p.server.AddPrompt(&sdk.Prompt{Name: "bill"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "billed"}}}}, p.refusal()
	})
	p.server.AddResource(&sdk.Resource{URI: "note://one", Name: "one"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "note://one", Text: "noted"}}}, p.refusal()
	})
	var once sync.Once
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.server }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w = listener{w, func() {
				once.Do(func() {
					p.session = r.Header.Get("Mcp-Session-Id")
					close(p.listens)
				})
			}}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return p, mcp.Config{URL: h.URL, Trusted: true}
}

func (p *payable) refusal() error {
	p.calls.Add(1)
	if p.paid.Load() {
		return nil
	}
	return sdk.URLElicitationRequiredError(p.pages)
}

// done tells the client that a page is done, once the client listens. The session in which the
// client asked for the server's version may be there still, and nobody listens in it.
func (p *payable) done(t *testing.T, id string) {
	<-p.listens
	for session := range p.server.Sessions() {
		if session.ID() != p.session {
			continue
		}
		if err := session.NotifyElicitationComplete(t.Context(), &sdk.ElicitationCompleteParams{ElicitationID: id}); err != nil {
			t.Error(err)
		}
	}
}

func pageToOpen(id string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "url", Message: "Pay\x1b[2J here", URL: "https://pay.example/" + id, ElicitationID: id}
}

// A call that requires pages is made again once the user opened them and is done with them.
func TestRequiredPages(t *testing.T) {
	tests := []struct {
		name  string
		pages int
		steps func(p *payable, q *mcp.Question) string // what is done about a question, and how it reads in want
		want  string
		text  string
		calls int32
	}{
		{"the user says that it is done", 1, func(p *payable, q *mcp.Question) string {
			p.paid.Store(q.Opened)
			q.Answer(nil)
			return "yes"
		}, "1 yes, 1 opened yes", head + "bought", 2},
		{"the server says that it is done", 1, func(p *payable, q *mcp.Question) string {
			if !q.Opened {
				q.Answer(nil)
				return "yes"
			}
			p.paid.Store(true)
			p.done(t, "another")
			p.done(t, "1")
			<-q.Ended
			if !q.Done() {
				t.Error("the question is over, and the page is not done")
			}
			return "done"
		}, "1 yes, 1 opened done", head + "bought", 2},
		{"one of two is done before it is opened", 2, func(p *payable, q *mcp.Question) string {
			p.paid.Store(true)
			if !q.Opened && strings.HasSuffix(q.URL, "/1") {
				p.done(t, "1")
				<-q.Ended
				return "done"
			}
			q.Answer(nil)
			return "yes"
		}, "1 done, 2 yes, 2 opened yes", head + "bought", 2},
		{"it requires them again", 1, func(_ *payable, q *mcp.Question) string {
			q.Answer(nil)
			return "yes"
		}, "1 yes, 1 opened yes", "s: it requires a page to be opened, again after that was done", 2},
		{"declined", 2, func(_ *payable, q *mcp.Question) string {
			q.Decline()
			return "no"
		}, "1 no", "s: it requires a page to be opened first, and the user declined: https://pay.example/1", 1},
		{"left", 1, func(_ *payable, q *mcp.Question) string {
			q.Cancel()
			return "left"
		}, "1 left", "s: it requires a page to be opened first, and the user declined: https://pay.example/1", 1},
		{"not finished", 1, func(_ *payable, q *mcp.Question) string {
			if q.Opened {
				q.Cancel()
				return "left"
			}
			q.Answer(nil)
			return "yes"
		}, "1 yes, 1 opened left", "s: it requires a page, which the user opened and did not finish: https://pay.example/1", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var pages []*sdk.ElicitParams
			for i := range test.pages {
				pages = append(pages, pageToOpen(fmt.Sprint(i+1)))
			}
			p, c := newPayable(t, pages...)
			b := start(t, c, mcp.Options{Interactive: true})
			var asked []string
			out := b.answers("buy", func(q *mcp.Question) {
				if q.Server != "s" || q.Text != "Pay here" {
					t.Errorf("got %+v", q)
				}
				what := strings.TrimPrefix(q.URL, "https://pay.example/")
				if q.Opened {
					what += " opened"
				}
				asked = append(asked, what+" "+test.steps(p, q))
			})
			if got := strings.Join(asked, ", "); got != test.want || out.Text != test.text || out.Failed != strings.HasPrefix(test.text, "s: ") || p.calls.Load() != test.calls {
				t.Errorf("got %s: %s, %d calls; want %s: %s, %d", got, out.Text, p.calls.Load(), test.want, test.text, test.calls)
			}
			if n := len(b.byName["s"].calls.pages); n != 0 {
				t.Errorf("%d pages are still waited for", n)
			}
		})
	}
}

// Prompts and resources may require pages too.
func TestRequiredPagesOfOthers(t *testing.T) {
	for name, ask := range map[string]func(b *testServer) (string, error){
		"prompt": func(b *testServer) (string, error) {
			got, err := b.GetPrompt(t.Context(), "s", "bill", nil)
			return fmt.Sprint(got), err
		},
		"resource": func(b *testServer) (string, error) {
			got, err := b.ReadResource(t.Context(), "s", "note://one")
			return fmt.Sprint(got), err
		},
	} {
		p, c := newPayable(t, pageToOpen("1"))
		b := start(t, c, mcp.Options{Interactive: true})
		done := make(chan error, 1)
		go func() {
			got, err := ask(b)
			if err == nil && !strings.Contains(got, "ed") {
				err = errors.New(got)
			}
			done <- err
		}()
		for waiting := true; waiting; {
			select {
			case err := <-done:
				if waiting = false; err != nil || p.calls.Load() != 2 {
					t.Errorf("%s: got %v after %d requests", name, err, p.calls.Load())
				}
			default:
				if q := b.NextQuestion(); q != nil {
					p.paid.Store(true)
					q.Answer(nil)
				}
			}
		}
	}
}

// A call that is canceled takes its pages along.
func TestRequiredPagesCanceled(t *testing.T) {
	_, c := newPayable(t, pageToOpen("1"))
	b := start(t, c, mcp.Options{Interactive: true})
	ctx, cancel := context.WithCancel(t.Context())
	a, err := b.set.Plan(ctx, "mcp__s__buy", "")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() { done <- a.Run(ctx, nil).Text }()
	var opened *mcp.Question
	for opened == nil {
		if q := b.NextQuestion(); q != nil && q.Opened {
			opened = q
		} else if q != nil {
			q.Answer(nil)
		}
	}
	cancel()
	if got := <-done; got != "s: context canceled" {
		t.Errorf("got %s", got)
	}
	if <-opened.Ended; opened.Done() || len(b.byName["s"].calls.pages) != 0 {
		t.Error("the page is done")
	}
}

// Without a user to open pages, the error names the page.
func TestRequiredPagesWithoutUser(t *testing.T) {
	p, c := newPayable(t, pageToOpen("1"))
	b := start(t, c, mcp.Options{})
	if out := b.call("buy", ""); !out.Failed || out.Text != "s: it requires a page to be opened first, which is not possible here: https://pay.example/1" || p.calls.Load() != 1 {
		t.Errorf("got %s after %d calls", out.Text, p.calls.Load())
	}
}

// The requirements of a server are bounded, and checked before anybody is asked.
func TestRequiredPagesMalformed(t *testing.T) {
	one := `{"mode":"url","message":"Pay","url":"https://pay.example/1","elicitationId":"1"}`
	many := strings.TrimSuffix(strings.Repeat(one+",", maxRequired+1), ",")
	tests := []struct{ data, want string }{
		{`{"elicitations":[` + one + `]}`, ""},
		{`{"elicitations":[` + strings.TrimSuffix(strings.Repeat(one+",", maxRequired), ",") + `]}`, ""},
		{`{"elicitations":[` + many + `]}`, "it requires 5 pages to be opened; at most 4 can be"},
		{`{"elicitations":[` + strings.Repeat(one+",", 1000) + one + `]}`, "it requires pages to be opened, and says more of them than 64 KB"},
		{`{"elicitations":[` + strings.Replace(one, "url", "form", 1) + `]}`, "it requires something else than a page to be opened"},
		{`{"elicitations":[{"message":"Pay","url":"https://pay.example/1"}]}`, "it requires something else than a page to be opened"},
		{`{"elicitations":[` + strings.Replace(one, "https:", "http:", 1) + `]}`, "the address of the page is not a valid https address"},
		{`{"elicitations":[` + strings.Replace(one, "https://pay.example", "javascript:", 1) + `]}`, "the address of the page is not a valid https address"},
		{`{"elicitations":[]}`, "it requires a page to be opened, and does not say which"},
		{`{"elicitations":[null]}`, "it requires something else than a page to be opened"},
		{`{"elicitations":7}`, "it requires a page to be opened, and does not say which"},
		{`[]`, "it requires a page to be opened, and does not say which"},
		{``, "it requires a page to be opened, and does not say which"},
	}
	for _, test := range tests {
		pages, err := requiredPages(fmt.Errorf("calling: %w", &jsonrpc.Error{Code: sdk.CodeURLElicitationRequired, Data: json.RawMessage(test.data)}), secretMask{})
		if got := fmt.Sprint(err); test.want != "" && got != test.want || test.want == "" && (err != nil || len(pages) == 0) {
			t.Errorf("%.60s: got %d pages, %v, want %s", test.data, len(pages), err, test.want)
		}
	}
	if pages, err := requiredPages(&jsonrpc.Error{Code: -32000, Data: json.RawMessage(`{"elicitations":[` + one + `]}`)}, secretMask{}); pages != nil || err != nil {
		t.Errorf("another error: got %v, %v", pages, err)
	}
}

// A server without the SDK: what it writes is recorded, with notifications that say nothing.
func TestRequiredPagesRecorded(t *testing.T) {
	b := start(t, self(t, "requires a page"), mcp.Options{Interactive: true})
	var asked []string
	out := b.answers("one", func(q *mcp.Question) {
		asked = append(asked, fmt.Sprint(q.URL, " ", q.Text, " ", q.Opened))
		q.Answer(nil)
	})
	if got, want := strings.Join(asked, "; "), "https://pay.example/1?a=b Pay here false; https://pay.example/1?a=b Pay here true"; got != want || out.Text != head+"bought" {
		t.Errorf("got %s: %s", got, out.Text)
	}
}
