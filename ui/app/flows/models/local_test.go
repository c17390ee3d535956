package models

import (
	"context"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/uitest/apptest"
)

// keyless returns an application in which the demo answers because no provider has a key.
func keyless(t *testing.T, services ...access.Service) *app.App {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	s := session.New(session.Options{Model: llm.Endpoint{Name: "demo/parley"}, Log: lib.Create(session.Info{})})
	return app.New(app.Options{Flows: Register,
		Session: s, Library: lib, FirstScreen: app.FirstScreen{NoKey: true},
		Models: app.Models{
			Local: access.Local{Discover: func(context.Context) []access.Service { return services }},
			Open:  func(name string) (llm.Endpoint, error) { return llm.Endpoint{Name: name}, nil },
		},
	})
}

// looked returns the question after the search on this machine.
func looked(t *testing.T, a *app.App) *app.Confirm {
	t.Helper()
	e := a.Models.Discover()
	if apptest.See(e).Prepare == nil {
		t.Fatalf("a prompt does not wait: %+v", e)
	}
	return apptest.See(apptest.See(e).Prepare(t.Context())()).Confirm
}

// answer answers a question and returns the resulting effect.
func answer(t *testing.T, c *app.Confirm, yes bool) app.Effect {
	t.Helper()
	e := c.Answer(yes)
	if apptest.See(e).Async != nil {
		if done := apptest.See(e).Async(t.Context()); apptest.See(done).Err != nil {
			t.Fatal(apptest.See(done).Err)
		}
	}
	return e
}

var (
	anOllama = access.Service{Provider: "ollama", Name: "Ollama", Models: 3, Model: "ollama/llama3.2:latest"}
	aClaude  = access.Service{Provider: "claude-cli", Name: "Claude CLI", Model: "claude-cli", Program: true}
)

// TestOffer: each service on this machine is offered once, and the answers are stored.
func TestOffer(t *testing.T) {
	a := keyless(t, access.Service{Provider: "lmstudio", Name: "LM Studio"}, anOllama, aClaude)
	c := looked(t, a)
	if c == nil || c.Text != "Ollama is running with 3 models: use llama3.2?" {
		t.Fatalf("asked %+v", c)
	}
	next := apptest.See(answer(t, c, false)).Confirm
	if next == nil || next.Text != "Claude CLI is installed and logged in: use it?" {
		t.Fatalf("then %+v", next)
	}
	if c := looked(t, a); c == nil || c.Text != next.Text {
		t.Errorf("what was declined is offered again: %+v", c)
	}
	answer(t, next, true)
	if got := a.Session.Model().Name; got != "claude-cli" || app.UsesDemo(a) {
		t.Errorf("%s answers", got)
	}
	if answers := access.ReadAnswers(a.Library); answers["ollama"] || !answers["claude-cli"] || len(answers) != 2 {
		t.Errorf("stored: %v", answers)
	}
	if recent, _ := a.Library.Get("models"); recent != "claude-cli\ndemo/parley" {
		t.Errorf("the next start begins with %q", recent)
	}
	if len(a.Session.History()) > 0 {
		t.Error("the conversation is not empty any more")
	}
}

// TestQuestions: the question names the found service.
func TestQuestions(t *testing.T) {
	for want, s := range map[string]access.Service{
		"Ollama is running with llama3.2: use it?":                  {Name: "Ollama", Models: 1, Model: "ollama/llama3.2:latest"},
		"vLLM is running with more than 20 models: use Qwen/Qwen3?": {Name: "vLLM", Models: 20, More: true, Model: "vllm/Qwen/Qwen3"},
		"llama.cpp is running and needs a key: use it?":             {Name: "llama.cpp", LacksKey: true, Problem: "needs a key"},
		"Gemini CLI is installed and logged in: use it?":            {Name: "Gemini CLI", Model: "gemini-cli", Program: true},
	} {
		if got := question(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestKeyOfAServer checks that a server that needs a key is offered, asks for it, and answers with the first model of
// its list.
func TestKeyOfAServer(t *testing.T) {
	a := keyless(t, access.Service{Provider: "llamacpp", Name: "llama.cpp", LacksKey: true, Problem: "needs a key"})
	a.Models.Connecting = access.Connecting{
		Connections: func() []access.Connection { return nil },
		Connection: func(provider string) (access.Connection, error) {
			return access.Connection{Provider: provider, Name: "llama.cpp", Local: true}, nil
		},
		Connect: func(_ context.Context, k access.Key) (string, error) {
			return "connected with " + k.Text, nil
		},
	}
	a.Models.Local.First = func(_ context.Context, provider string) (string, error) { return provider + "/qwen3.gguf", nil }
	e := answer(t, looked(t, a), true)
	if apptest.See(e).Secret == nil || apptest.See(e).Secret.Title != "llama.cpp API key" {
		t.Fatalf("%+v", e)
	}
	connected, err := apptest.See(e).Secret.Submit(t.Context(), "sk-1")
	if err != nil {
		t.Fatal(err)
	}
	if e = connected(); len(apptest.See(e).Notes) != 1 || apptest.See(e).Notes[0] != "connected with sk-1" || apptest.See(e).Prepare == nil {
		t.Fatalf("%+v", e)
	}
	if e = apptest.See(e).Prepare(t.Context())(); apptest.See(e).Failed != nil || a.Session.Model().Name != "llamacpp/qwen3.gguf" {
		t.Errorf("%s answers: %+v", a.Session.Model().Name, e)
	}
}

// TestNothingIsOffered: users with a model see no question and do not wait.
func TestNothingIsOffered(t *testing.T) {
	a := keyless(t, anOllama)
	a.FirstScreen.NoKey = false
	if e := a.Models.Discover(); apptest.See(e).Prepare != nil || apptest.See(e).Async == nil {
		t.Errorf("%+v", e)
	} else if done := apptest.See(e).Async(t.Context()); apptest.See(done).Confirm != nil {
		t.Errorf("asked %+v", apptest.See(done).Confirm)
	}
	if c := looked(t, keyless(t)); c != nil {
		t.Errorf("asked %+v where nothing is", c)
	}
}

// TestLookingWithoutEnd: a prompt waits only for a moment.
func TestLookingWithoutEnd(t *testing.T) {
	a := keyless(t)
	a.Models.Local.Discover = func(ctx context.Context) []access.Service { select {} }
	if e := apptest.See(a.Models.Discover()).Prepare(t.Context())(); app.TypedBecomesDraft(e) {
		t.Errorf("%+v", e)
	}
}

// TestUnnamed: the model of a provider that was set up without one is used; if it cannot be determined, there is a
// notice.
func TestUnnamed(t *testing.T) {
	a := keyless(t, anOllama)
	a.Models.Local.Unnamed = func(context.Context) (string, error) { return "box/m", nil }
	e := apptest.See(a.Models.Discover()).Prepare(t.Context())()
	if a.Session.Model().Name != "box/m" || apptest.See(e).Confirm != nil || apptest.See(e).Failed != nil {
		t.Errorf("%s answers, %+v", a.Session.Model().Name, e)
	}
	a.Models.Local.Unnamed = func(context.Context) (string, error) { return "", &llm.Error{Fault: llm.Network} }
	if e := apptest.See(a.Models.Discover()).Prepare(t.Context())(); apptest.See(e).Failed == nil || !app.TypedBecomesDraft(e) {
		t.Errorf("%+v", e)
	}
}

// TestLearnModel: facts from a server apply to the current model, unless another model was chosen meanwhile. Servers
// are not asked about known models.
func TestLearnModel(t *testing.T) {
	a := keyless(t)
	if e := a.Models.Learn(); apptest.See(e).Async != nil {
		t.Errorf("with nobody to ask: %+v", e)
	}
	told := true
	a.Models.Local.Learn = func(_ context.Context, name string) (llm.Endpoint, bool) {
		return llm.Endpoint{Name: name, Context: 32_000}, told
	}
	late := a.Models.Learn()
	told = false
	apptest.See(a.Models.Learn()).Async(t.Context())
	if model := a.Session.Model(); model.Context != 0 {
		t.Errorf("knows %+v of a server that told nothing", model)
	}
	told = true
	apptest.See(a.Models.Learn()).Async(t.Context())
	if model := a.Session.Model(); model.Name != "demo/parley" || model.Context != 32_000 {
		t.Errorf("knows %+v", model)
	}
	if e := a.Models.Learn(); apptest.See(e).Async != nil {
		t.Errorf("asks again: %+v", e)
	}
	a.Session.SetModel(llm.Endpoint{Name: "box/m"})
	apptest.See(late).Async(t.Context())
	if model := a.Session.Model(); model.Name != "box/m" || model.Context != 0 {
		t.Errorf("%+v answers, though it was not asked about", model)
	}
}
