package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	_ "parley/providers/llmtest/heap"
	"parley/providers/llmtest/parallel"
	"parley/providers/schema/fit"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/sandbox"
	"parley/tools/webpage"
)

// asRole names what the test program, started again, does in place of the tests.
const asRole = "PARLEY_TEST_ROLE"

var roles = map[string]func(){}

func init() { RenderHTML, Schemas = webpage.Render, fit.Repairer{} }

func TestMain(m *testing.M) {
	sandbox.Register()
	permission.Register()
	if play, ok := roles[os.Getenv(asRole)]; ok {
		play()
		return
	}
	parallel.Tests(16)
	goleak.VerifyTestMain(m)
}

// A fixture is a workspace to test in.
type fixture struct {
	*Set
	t testing.TB
}

// open returns a workspace that holds the given files.
func open(t testing.TB, files map[string]string) fixture {
	t.Helper()
	dir := t.TempDir()
	f := fixture{t: t}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	f.Set = set
	return f
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// at is the absolute path of a file of the workspace.
func (f fixture) at(name string) string { return filepath.Join(f.Root(), name) }

func (f fixture) content(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(f.at(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// args is a JSON object of names and values that take turns.
func args(pairs ...any) string {
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// do plans and runs a call. Both a refusal and a failure are err.
func (f fixture) do(name string, pairs ...any) (text, err string) {
	f.t.Helper()
	action, refused := f.Plan(context.Background(), name, args(pairs...))
	if refused != nil {
		var r *Refusal
		if !errors.As(refused, &r) {
			f.t.Fatalf("%s: %T is no refusal", name, refused)
		}
		return "", r.Text
	}
	out := action.Run(context.Background(), nil)
	if out.Failed {
		return "", out.Text
	}
	return out.Text, ""
}

// must is do for what has to work.
func (f fixture) must(name string, pairs ...any) string {
	f.t.Helper()
	text, err := f.do(name, pairs...)
	if err != "" {
		f.t.Fatalf("%s %v: %s", name, pairs, err)
	}
	return text
}

// fails is do for what has to be refused or to fail, for a reason that holds
// all of want.
func (f fixture) fails(name string, pairs []any, want ...string) {
	f.t.Helper()
	text, err := f.do(name, pairs...)
	if err == "" {
		f.t.Fatalf("%s %v worked: %s", name, pairs, text)
	}
	for _, w := range want {
		if !strings.Contains(err, w) {
			f.t.Errorf("%s %v: got %q, want %q in it", name, pairs, err, w)
		}
	}
}

func TestToolsAreToldInOrder(t *testing.T) {
	f := open(t, nil)
	var names []string
	for _, tool := range f.Tools() {
		names = append(names, tool.Name)
		if len(tool.Description) < 100 {
			t.Errorf("%s: its description, %[1]s.md, has %d bytes and tells a model too little: %q", tool.Name, len(tool.Description), tool.Description)
		}
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 {
			t.Errorf("%s: schema %s, %v", tool.Name, tool.Schema, err)
		}
		for name, p := range schema.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s: property %s lacks a type or a description", tool.Name, name)
			}
		}
	}
	if want := Names(); !slices.Equal(names, want) || len(registered) != len(want) {
		t.Errorf("got %v, want %v; %d are registered: a tool has a row in act.Tools and a file that registers it", names, want, len(registered))
	}
	for _, tool := range act.Tools {
		if tool.Kind == "" || tool.Does == "" || tool.InAsk == "" || (tool.Did == "") != (tool.What == "") {
			t.Errorf("act.Tools lacks something of %s: %+v", tool.Name, tool)
		}
	}
}

func TestOnly(t *testing.T) {
	tests := []struct {
		names []string
		want  string // names of the view, or
		err   string
	}{
		{names: []string{"shell", "read"}, want: "read shell jobs"},
		{names: []string{"read", "read"}, want: "read"},
		{names: []string{"grep ", " read", "\tlist"}, want: "read list grep"},
		{names: []string{"none"}},
		{names: []string{" none "}},
		{names: nil},
		{names: []string{"raed"}, err: `unknown tool "raed": did you mean "read"?`},
		{names: []string{"READ"}, err: `unknown tool "READ": did you mean "read"?`},
		{names: []string{"teleport"}, err: `unknown tool "teleport": the tools are ` + strings.Join(Names(), ", ")},
		{names: []string{"read", "none"}, err: `unknown tool "none"`},
	}
	for _, test := range tests {
		view, err := open(t, nil).Only(test.names...)
		if test.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%q: got error %v, want %s", test.names, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", test.names, err)
			continue
		}
		if got := strings.Join(view.(*Set).toolNames(), " "); got != test.want {
			t.Errorf("%q: got %q, want %q", test.names, got, test.want)
		}
	}
}

func TestViewKnowsOnlyItsTools(t *testing.T) {
	f := open(t, map[string]string{"a": "x"})
	view, err := f.Only("read")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.Plan(t.Context(), "read", args("path", "a")); err != nil {
		t.Error(err)
	}
	_, err = view.Plan(t.Context(), "shell", args("command", "true"))
	if want := `no tool "shell"; the tools are read`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	none, err := f.Only("none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Plan(t.Context(), "read", "{}"); err == nil || !strings.Contains(err.Error(), "no tools are available") {
		t.Errorf("got %v", err)
	}
}

func TestOpenWhatIsNotAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	for _, path := range []string{file, file + "/below", filepath.Join(t.TempDir(), "absent")} {
		if set, err := Open(path); err == nil {
			set.Close()
			t.Errorf("%s was opened", path)
		}
	}
}

// People see no more of an action than it shows before they agree.
func TestActionsShowWhatTheyDo(t *testing.T) {
	f := open(t, map[string]string{"src/main.go": "package main\n"})
	tests := []struct {
		name, input string
		want        act.Action
	}{
		{"read", args("path", "./src/../src/main.go"), act.Action{Access: act.AccessRead, Title: "read src/main.go", Path: "src/main.go"}},
		{"list", "", act.Action{Access: act.AccessRead, Title: "list .", Path: "."}},
		{"glob", args("pattern", "**/*.go"), act.Action{Access: act.AccessRead, Title: "glob **/*.go", Path: "."}},
		{"grep", args("pattern", "main", "path", f.at("src")), act.Action{Access: act.AccessRead, Title: "grep main", Path: "src"}},
		{"edit", args("path", "src/main.go", "old", "main", "new", "app"), act.Action{
			Access: act.AccessWrite, Title: "edit src/main.go", Path: "src/main.go",
			Diff: "--- a/src/main.go\n+++ b/src/main.go\n@@ -1 +1 @@\n-package main\n+package app\n",
		}},
		{"write", args("path", "new/file", "content", "x\n"), act.Action{
			Access: act.AccessWrite, Title: "create new/file", Path: "new/file",
			Diff: "--- /dev/null\n+++ b/new/file\n@@ -0,0 +1 @@\n+x\n",
		}},
		{"shell", args("command", "cd src\nls"), act.Action{Access: act.AccessRun, Title: "cd src (and 1 more line)", Command: "cd src\nls"}},
		{"fetch", args("url", "HTTPS://Example.COM:443/a?q=ž#top"), act.Action{
			Access: act.AccessFetch, Title: "fetch https://example.com/a?q=%C5%BE", Host: "example.com", URL: "https://example.com/a?q=%C5%BE",
		}},
	}
	for _, test := range tests {
		got, err := f.Plan(t.Context(), test.name, test.input)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got.Tool != test.name || !json.Valid(got.Input) {
			t.Errorf("%s: tool %q, input %s", test.name, got.Tool, got.Input)
		}
		show := func(a act.Action) string {
			return strings.Join([]string{string(a.Access), a.Title, a.Path, a.Command, a.Host, a.URL, a.Diff}, "|")
		}
		if show(*got) != show(test.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, show(*got), show(test.want))
		}
	}
	if entries, _ := os.ReadDir(f.Root()); len(entries) != 1 {
		t.Errorf("planning left %v", entries)
	}
}

func TestPanicIsAFailure(t *testing.T) {
	a := act.Action{Tool: "read", Do: func(context.Context, func(string)) act.Outcome { panic("boom") }}
	if out := a.Run(t.Context(), nil); !out.Failed || out.Text != "read: internal error: boom" {
		t.Errorf("got %+v", out)
	}
}

func TestCanceledBeforeItRan(t *testing.T) {
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "write", args("path", "a", "content", "x"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := a.Run(ctx, nil); !out.Failed {
		t.Errorf("got %+v", out)
	}
	if _, err := os.Stat(f.at("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it wrote")
	}
}
