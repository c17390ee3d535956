package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/ui/app"
	"parley/ui/uitest/apptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/tools/mcp"
	"parley/tools/mcp/client"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// askingApp returns an application with a server "s" whose tools ask for the thing in their name: a form, a page, and
// an answer of the model.
func askingApp(t *testing.T) (a *app.App, call func(tool string, in ...context.Context) <-chan string) {
	server := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	ending, end := context.WithCancel(t.Context()) // ends calls: the server's end waits for a call that waits for an answer
	add := func(name string, f func(context.Context, *sdk.ServerSession) (any, error)) {
		sdk.AddTool(server, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(ending, cancel)()
			got, err := f(ctx, r.Session)
			if err != nil {
				return nil, nil, err
			}
			text, _ := json.Marshal(got)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil, nil
		})
	}
	add("form", func(ctx context.Context, s *sdk.ServerSession) (any, error) {
		return s.Elicit(ctx, &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type":"object","required":["name","tea"],"properties":{
			"name":{"type":"string","minLength":2,"description":"As friends say it"},"tea":{"type":"string","enum":["green","black"]},"age":{"type":"integer"}}}`)})
	})
	add("page", func(ctx context.Context, s *sdk.ServerSession) (any, error) {
		return s.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "Pay here", URL: "https://pay.example/1", ElicitationID: "1"})
	})
	tried := false
	add("paid", func(context.Context, *sdk.ServerSession) (any, error) {
		if tried = !tried; tried {
			return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "Pay here", URL: "https://pay.example/1", ElicitationID: "1"}})
		}
		return "paid", nil
	})
	add("sample", func(ctx context.Context, s *sdk.ServerSession) (any, error) {
		return s.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "Say hello"}}}})
	})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(h.Close)
	t.Cleanup(end)
	servers := client.New().Open(t.Context(), map[string]mcp.Config{"s": {URL: h.URL, Trusted: true, Sampling: "ask"}}, mcp.Options{Interactive: true})
	t.Cleanup(servers.Close)
	servers.Wait(t.Context())
	a = apptest.New(t, Register)
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Model: llmtest.New(llmtest.Say("hello"))})
	a.MCP.Servers = func() app.Servers { return servers }
	return a, func(tool string, in ...context.Context) <-chan string {
		ctx := append(in, t.Context())[0]
		done := make(chan string, 1)
		for _, ext := range servers.Tools() {
			if ext.Name == "mcp__s__"+tool {
				action, err := ext.Plan(t.Context(), json.RawMessage("{}"))
				if err != nil {
					t.Fatal(err)
				}
				go func() { done <- action.Run(ctx, nil).Text }()
			}
		}
		return done
	}
}

// asked waits for a question of the server, until the deadline of the test.
func asked(t *testing.T, a *app.App) *app.Confirm {
	t.Helper()
	for {
		e := a.MCP.NextQuestion()
		if apptest.See(e).Confirm != nil {
			return apptest.See(e).Confirm
		}
		time.Sleep(time.Millisecond)
	}
}

// A form is asked field by field, and sent after the user saw all of it.
func TestServerForm(t *testing.T) {
	a, call := askingApp(t)
	done := call("form")
	c := asked(t, a)
	if want := "MCP server s asks:\n\n> Who are you?\n\nIt wants to know: name, tea, age. What you enter goes to this server: no passwords or keys"; c.Text != want || c.Harmless {
		t.Errorf("got %q", c.Text)
	}
	e := c.Answer(true)
	if apptest.See(e).Secret == nil || apptest.See(e).Secret.Title != "s: name" || apptest.See(e).Secret.Text != "As friends say it" || !apptest.See(e).Secret.Visible || apptest.See(e).Secret.Optional {
		t.Fatalf("got %+v", apptest.See(e).Secret)
	}
	if _, err := apptest.Take(t, e, "A"); err == nil || !strings.Contains(err.Error(), "at least 2 characters") {
		t.Errorf("got %v", err)
	}
	e, _ = apptest.Take(t, e, "Ada")
	if apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 2 {
		t.Fatalf("got %+v", e)
	}
	e = apptest.See(e).List.Choose(apptest.See(e).List.Items[1].Value)
	if apptest.See(e).Secret == nil || !apptest.See(e).Secret.Optional {
		t.Fatalf("got %+v", e)
	}
	e, _ = apptest.Take(t, e, "") // skips the field
	if apptest.See(e).Confirm == nil || apptest.See(e).Confirm.Text != "Send this to MCP server s?\n\nname: Ada\ntea: black" {
		t.Fatalf("got %+v", e)
	}
	apptest.See(e).Confirm.Answer(true)
	if got := <-done; !strings.Contains(got, `{"action":"accept","content":{"name":"Ada","tea":"black"}}`) {
		t.Errorf("got %s", got)
	}
}

// All steps of a form, a page and a request for the model are withdrawn when the call that asked ends.
func TestServerQuestionsLapse(t *testing.T) {
	a, call := askingApp(t)
	for _, c := range []struct {
		tool  string
		steps int
	}{{"form", 0}, {"form", 1}, {"form", 2}, {"form", 3}, {"form", 4}, {"page", 0}, {"paid", 1}, {"sample", 0}} {
		ctx, cancel := context.WithCancel(t.Context())
		done := call(c.tool, ctx)
		var e app.Effect = asked(t, a)
		lapse := apptest.See(e).Confirm.Lapse
		if c.steps > 0 {
			if e = apptest.See(e).Confirm.Answer(true); c.tool == "paid" {
				e = asked(t, a)
				lapse = apptest.See(e).Confirm.Lapse
			} else {
				lapse = apptest.See(e).Secret.Lapse
			}
		}
		if c.steps > 1 {
			e, _ = apptest.Take(t, e, "Ada")
			lapse = apptest.See(e).List.Lapse
		}
		if c.steps > 2 {
			e = apptest.See(e).List.Choose(apptest.See(e).List.Items[0].Value)
			lapse = apptest.See(e).Secret.Lapse
		}
		if c.steps > 3 {
			e, _ = apptest.Take(t, e, "36")
			lapse = apptest.See(e).Confirm.Lapse
		}
		cancel()
		<-done
		<-lapse.Done
		if got := apptest.See(lapse.OnDone()).Toast; got != "MCP server s no longer waits for an answer: the call that asked has ended" {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// Leaving a question cancels it at each step.
func TestServerFormLeft(t *testing.T) {
	a, call := askingApp(t)
	for steps := range 4 {
		done := call("form")
		c := asked(t, a)
		left := c.OnDismiss
		var e app.Effect
		if steps > 0 {
			e = c.Answer(true)
			left = apptest.See(e).Secret.OnDismiss
		}
		if steps > 1 {
			e, _ = apptest.Take(t, e, "Ada")
			left = apptest.See(e).List.OnDismiss
		}
		if steps > 2 {
			e = apptest.See(e).List.Choose(apptest.See(e).List.Items[0].Value)
			left = apptest.See(e).Secret.OnDismiss
		}
		left()
		if got := <-done; !strings.Contains(got, `"action":"cancel"`) {
			t.Errorf("after %d steps: got %s", steps, got)
		}
	}
	done := call("form")
	asked(t, a).Answer(false)
	if got := <-done; !strings.Contains(got, `"action":"decline"`) {
		t.Errorf("got %s", got)
	}
}

func TestServerPage(t *testing.T) {
	a, call := askingApp(t)
	var opened string
	a.Machine.OpenURL = func(_ context.Context, address string) error { opened = address; return nil }
	done := call("page")
	c := asked(t, a)
	if c.Text != "MCP server s asks you to open a page:\n\n> Pay here\n\nhttps://pay.example/1" || opened != "" {
		t.Errorf("got %q", c.Text)
	}
	apptest.See(c.Answer(true)).Async(t.Context())
	if got := <-done; !strings.Contains(got, `"action":"accept"`) || opened != "https://pay.example/1" {
		t.Errorf("got %s, opened %s", got, opened)
	}
}

// A page that a call requires is opened if the user agrees. The call is repeated after the user says that they are done
// with the page.
func TestServerRequiresPage(t *testing.T) {
	a, call := askingApp(t)
	opened := 0
	a.Machine.OpenURL = func(context.Context, string) error { opened++; return nil }
	done := call("paid")
	apptest.See(asked(t, a).Answer(true)).Async(t.Context())
	c := asked(t, a)
	if c.Text != "MCP server s waits until you are done with this page:\n\n> Pay here\n\nhttps://pay.example/1" || c.Harmless || opened != 1 {
		t.Errorf("got %q", c.Text)
	}
	c.Answer(true)
	if got := <-done; !strings.HasSuffix(got, `"paid"`) || opened != 1 {
		t.Errorf("got %s, opened %d times", got, opened)
	}
	if <-c.Done; apptest.See(c.OnDone()).Toast != "MCP server s no longer waits for an answer: the call that asked has ended" { // OnDone is called for a question that is still shown
		t.Errorf("got %+v", c.OnDone())
	}
}

// The model answers a server outside the conversation, and the ledger has the cost.
func TestServerSample(t *testing.T) {
	a, call := askingApp(t)
	done := call("sample")
	c := asked(t, a)
	model := a.Session.Model().Name
	if c.Text != fmt.Sprintf("MCP server s wants %s to answer this, at your cost:\n\n── User\n> Say hello", model) || c.Harmless {
		t.Errorf("got %q", c.Text)
	}
	if e := apptest.See(c.Answer(true)).Async(t.Context()); apptest.See(e).Err != nil {
		t.Fatal(apptest.See(e).Err)
	}
	if got := <-done; !strings.Contains(got, `"model":"`+model+`"`) {
		t.Errorf("got %s", got)
	}
	if n := len(a.Session.History()); n != 0 {
		t.Errorf("the conversation has %d messages", n)
	}
	sums, err := a.Library.Ledger().Sums(time.Time{}, time.Now().Add(time.Hour), "purpose")
	if err != nil || len(sums) != 1 || sums[0].Purpose != "sampling" {
		t.Errorf("got %+v, %v", sums, err)
	}
	done = call("sample")
	asked(t, a).Answer(false)
	if got := <-done; !strings.Contains(got, "the user did not allow this") {
		t.Errorf("got %s", got)
	}
}

// An answer of the model is canceled when the server no longer waits for it.
func TestServerSampleCanceled(t *testing.T) {
	a, call := askingApp(t)
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Model: llmtest.New(func(ctx context.Context, _ llm.Request, _ *llm.Out) error {
		flow{app: a}.servers().Close()
		<-ctx.Done()
		return ctx.Err()
	})})
	done := call("sample")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if e := apptest.See(asked(t, a).Answer(true)).Async(ctx); !strings.HasPrefix(apptest.See(e).Toast, "MCP server s no longer waits for an answer") || ctx.Err() != nil {
		t.Errorf("got %+v, %v", e, ctx.Err())
	}
	<-done
}
