package prompts

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/prompts"
	"parley/ui/app"
	"parley/ui/app/flows/conversation"
	"parley/ui/uitest/apptest"
)

// of returns an application with prompt files, and those of a server called "git", whose prompts note what fills them in.
func of(t *testing.T, list ...prompts.Prompt) (a *app.App, filled *[]string) {
	t.Helper()
	a = newApp(t, func() ([]prompts.Prompt, []error) { return list, nil })
	filled = new([]string)
	a.MCP.Prompts = func() ([]app.ServerPrompt, string) {
		return []app.ServerPrompt{{Item: app.Item{Title: "git: log", Value: "git:log"}, Fill: func(args string) app.Effect {
			*filled = append(*filled, args)
			return app.Draft("filled")
		}}}, ""
	}
	a.Prompts.Read()
	return a, filled
}

// noFiles are the prompt files of a project without any.
func noFiles(func(path, text string) bool) {}

// lines returns the rows of a list.
func lines(items []app.Item) (all []string) {
	for _, i := range items {
		line := i.Value + " | " + i.Detail
		if i.Current {
			line += " | current"
		}
		all = append(all, line)
	}
	return all
}

var (
	greet  = prompts.Prompt{Name: "greet", Body: "Hello,\nyou"}
	say    = prompts.Prompt{Name: "say", Program: prompts.Parley, Body: `Be {{tone:short|long words|so "called"}}`}
	review = prompts.Prompt{Name: "review", Body: "x", Settings: prompts.Settings{Description: "Reviews a file", Hint: "[file]"}}
	critic = prompts.Prompt{Name: "critic", Settings: prompts.Settings{System: "Find faults.\nAll.", Effort: llm.EffortHigh, Model: "fake/other"}}
)

func TestItems(t *testing.T) {
	a, _ := of(t, say, greet, review, prompts.Prompt{Name: "greet", Body: "another of that name"})
	want := []string{"greet | Hello, …", "review | [file] · Reviews a file", `say | <tone> · Be {{tone:short|long words|so "called"}}`, "git:log | "}
	if got := lines(a.Prompts.Items()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string][]string{"say": {"tone=short | tone", `tone="long words" | tone`, `tone='so "called"' | tone`}, "greet": nil, "none": nil} {
		if got := lines(a.Prompts.Choices(name)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestNamed: a name in a prompt's line, or after /prompt, is that of a file or of a server's prompt.
func TestNamed(t *testing.T) {
	a, filled := of(t, greet)
	if e := apptest.Do(t, a, "/prompt"); apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 2 {
		t.Errorf("without a name: %+v", e)
	}
	for _, run := range []func(string) app.Effect{
		func(line string) app.Effect { return apptest.Run(t, a, "/prompt "+line) },
		func(line string) app.Effect {
			e, ok := a.Prompts.Run("/" + line)
			if ok != a.Prompts.Has("/"+line) {
				t.Errorf("%s: it is one of them: %v", line, !ok)
			}
			for apptest.See(e).Prepare != nil {
				e = apptest.See(e).Prepare(t.Context())()
			}
			return e
		},
	} {
		*filled = nil
		if e := run("greet"); apptest.See(e).Turn == nil {
			t.Errorf("a file: %+v", e)
		}
		if e := run("git:log two words"); apptest.See(e).Text != "filled" || !slices.Equal(*filled, []string{"two words"}) {
			t.Errorf("a server's: %+v, %q", e, *filled)
		}
	}
	if e := apptest.Run(t, a, "/prompt none"); apptest.See(e).Err == nil || apptest.See(e).Err.Error() != "no prompt none: /prompt lists them" {
		t.Errorf("another name: %+v", e)
	}
	for _, line := range []string{"/none", "/a/b", "greet", "/", "/ greet"} {
		if e, ok := a.Prompts.Run(line); ok || a.Prompts.Has(line) {
			t.Errorf("%s runs: %+v", line, e)
		}
	}
}

func TestNoPrompts(t *testing.T) {
	for _, tt := range []struct {
		dir    string
		files  []prompts.Prompt
		server bool
		want   string
	}{
		{"", nil, false, "no servers"},
		{"/dir", nil, false, "No prompts yet. /save-prompt NAME saves your last message as one"},
		{"/dir", nil, true, ""},
		{"/dir", []prompts.Prompt{greet}, false, ""},
	} {
		f := &Flow{Dir: tt.dir, Find: func() ([]prompts.Prompt, []error) { return tt.files, nil }}
		a := apptest.New(t, func(a *app.App) { conversation.Register(a); Register(a) }, func(o *app.Options) { o.Prompts = f })
		a.MCP.Prompts = func() ([]app.ServerPrompt, string) {
			if tt.server {
				return []app.ServerPrompt{{}}, ""
			}
			return nil, "no servers"
		}
		f.Read()
		if got := a.Command("prompt").Unavailable(); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt, got, tt.want)
		}
	}
}

// talking returns an application whose model answers, and what it was sent.
func talking(t *testing.T, f *Flow) (*app.App, *llmtest.Fake) {
	t.Helper()
	fake := llmtest.New(llmtest.Say("yes"), llmtest.Say("yes"))
	a := apptest.New(t, func(a *app.App) { conversation.Register(a); Register(a) }, func(o *app.Options) {
		o.Prompts = f
		o.Session = session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake}})
		t.Cleanup(func() { o.Session.Close() })
	})
	f.Read()
	return a, fake
}

// TestFieldsAreAsked: the user is asked for each field that a prompt has and its line does not.
func TestFieldsAreAsked(t *testing.T) {
	p := prompts.Prompt{Name: "write", Program: prompts.Parley, Body: "Write {{what}} of {{length}}, {{tone:short|long}}"}
	a, fake := talking(t, &Flow{Find: func() ([]prompts.Prompt, []error) { return []prompts.Prompt{p}, nil }})
	e, _ := a.Prompts.Run("/write length=5")
	s := apptest.See(e).Secret
	if s == nil || !s.Visible || s.Title != "/write: what" || s.Text != "The value of what in this prompt" {
		t.Fatalf("asked for %+v", s)
	}
	e, err := apptest.Take(t, e, "a poem")
	l := apptest.See(e).List
	if err != nil || l == nil || l.Title != "/write: tone" || !slices.Equal(lines(l.Items), []string{"short | ", "long | "}) {
		t.Fatalf("then for %+v, %v", l, err)
	}
	apptest.Play(t, apptest.See(l.Choose("long")).Prepare(t.Context())())
	if got := fake.Requests()[0].Messages[0].Text(); got != "Write a poem of 5, long" {
		t.Errorf("sent %q", got)
	}
}

// TestSavePrompt: the last message becomes a prompt file, which is known at once and sends it again.
func TestSavePrompt(t *testing.T) {
	dir := t.TempDir()
	f := &Flow{Dir: dir, Find: func() ([]prompts.Prompt, []error) { return prompts.All(dir, noFiles) }}
	a, fake := talking(t, f)
	save := a.Command("save-prompt")
	if got := save.Unavailable(); got == "" || got != a.EmptyText() {
		t.Errorf("of an empty conversation: %q", got)
	}
	for range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "Count {{to}} $1"}) {
	}
	if got := save.Unavailable(); got != "" {
		t.Errorf("of a conversation: %q", got)
	}
	if e := apptest.Run(t, a, "/save-prompt"); !strings.HasPrefix(apptest.See(e).Toast, "/save-prompt and a name") {
		t.Errorf("without a name: %+v", e)
	}
	if e := apptest.Run(t, a, "/save-prompt a/b"); apptest.See(e).Err == nil {
		t.Errorf("a name that is a path: %+v", e)
	}
	if e := apptest.Run(t, a, "/save-prompt count"); !strings.HasSuffix(apptest.See(e).Toast, "count.md · /count sends it") {
		t.Errorf("got %+v", e)
	}
	e, _ := a.Prompts.Run("/count")
	apptest.Play(t, apptest.See(e).Prepare(t.Context())())
	if got := fake.Requests()[1].Messages[2].Text(); got != "Count {{to}} $1" {
		t.Errorf("sent %q", got)
	}
	f.Dir = ""
	if got := save.Unavailable(); got != "No folder for prompts here" {
		t.Errorf("without a folder: %q", got)
	}
}

// TestPersona: a persona has a system prompt, and may have an effort and a model.
func TestPersona(t *testing.T) {
	plain := prompts.Prompt{Name: "plain", Project: true, Settings: prompts.Settings{System: "Be plain.", Description: "Plain words", Model: "fake/m"}}
	a, _ := of(t, critic, plain, say)
	a.Directory = "/project"
	var used []string
	a.Models.Use = func(name string) app.Effect { used = append(used, name); return app.Toast("used") }
	a.Session.Next.SetEffort(llm.EffortLow)
	args := func(name string) []string { return lines(a.Command(name).Args()) }
	if got, want := args("persona"), []string{"off | No persona | current", "critic | Find faults. …", "plain | Plain words"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := args("system"), []string{"edit | Edit the system prompt"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if e := apptest.Run(t, a, "/persona off"); apptest.Toast(e) != "No persona is on" {
		t.Errorf("off: %+v", e)
	}
	for _, tt := range []struct {
		name, project string
		effort        llm.Effort
		used          []string
	}{{"plain", "/project", llm.EffortLow, nil}, {"critic", "", llm.EffortHigh, []string{"fake/other"}}} {
		e := apptest.Run(t, a, "/persona "+tt.name)
		is := a.Session.Personas.Current()
		if apptest.See(e).Err != nil || is.Name != tt.name || is.Project != tt.project || a.Session.Next.Effort() != tt.effort || !slices.Equal(used, tt.used) {
			t.Errorf("%s: %+v; it is %+v, effort %q, models %q", tt.name, e, is, a.Session.Next.Effort(), used)
		}
	}
	if got, want := args("persona"), []string{"off | No persona", "critic | Find faults. … | current", "plain | Plain words"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := args("system"), []string{"edit | Edit the system prompt", "off | Back to the configured one"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"say", "none"} {
		if e := apptest.Run(t, a, "/persona "+name); apptest.See(e).Err == nil || a.Session.Personas.Current().Name != "critic" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	none, _ := of(t, greet)
	if e := apptest.Run(t, none, "/persona"); apptest.Toast(e) != "No personas. A prompt file with a system prompt is one: /manual prompts" {
		t.Errorf("none: %+v", e)
	}
}

// TestPromptFiles: without a flow of their own, options name the folders that prompts are read from.
func TestPromptFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet.md"), []byte("Hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := apptest.New(t, func(a *app.App) { conversation.Register(a); Register(a) }, func(o *app.Options) {
		o.PromptFiles = app.PromptFiles{Dir: dir, Project: func() iter.Seq2[string, string] { return noFiles }}
	})
	if got := lines(a.Prompts.Items()); got != nil {
		t.Errorf("before they are read: %q", got)
	}
	a.Prompts.Read()
	if got := lines(a.Prompts.Items()); fmt.Sprint(got) != "[greet | Hello]" {
		t.Errorf("got %q", got)
	}
}
