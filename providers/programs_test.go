package providers

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/tools/process"
)

// installed returns a directory with these programs, and an environment with it in PATH.
func installed(t *testing.T, names ...string) (dir string, getenv func(string) string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		llmtest.Executable(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	return dir, env("PATH", dir)
}

// An installed program is ready without a key.
func TestProgramsReady(t *testing.T) {
	dir, getenv := installed(t, "claude", "other")
	for _, tt := range []struct {
		provider string
		conf     Provider
		want     string // part of the reason why it is not ready; "" for none
	}{
		{"claude-cli", Provider{}, ""},
		{"gemini-cli", Provider{}, "install it with"},
		{"gemini-cli", Provider{Command: process.CommandLine{Words: []string{filepath.Join(dir, "other")}}}, ""},
		{"claude-cli", Provider{Command: process.CommandLine{Words: []string{filepath.Join(dir, "gone")}}}, "not found"},
		{"mine", Provider{Kind: "claude-cli"}, ""},
	} {
		c := Default()
		if !tt.conf.Command.IsZero() || tt.conf.Kind != "" {
			c.Providers = map[string]Provider{tt.provider: tt.conf}
		}
		s, ok := c.service(tt.provider, getenv)
		if !ok {
			t.Fatalf("there is no %s", tt.provider)
		}
		if got := s.missing(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %+v: missing %q, want %q", tt.provider, tt.conf, got, tt.want)
		}
	}
}

func TestOpenPrograms(t *testing.T) {
	_, getenv := installed(t, "claude")
	e, err := Open(Default(), "claude-cli/sonnet", OpenOptions{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if e.Name != "claude-cli/claude-sonnet-5-5" || e.Origin != "command/claude-cli" || e.Strategy != "none" || !e.Known || !e.Vision {
		t.Errorf("%+v", e)
	}
	ids, err := List(t.Context(), Default(), "claude-cli")
	if err != nil || !slices.Contains(ids, "claude-sonnet-5-5") {
		t.Errorf("it lists %q, %v", ids, err)
	}
}

// A preview of a program shows the command, and neither runs it nor shows the
// key.
func TestPreviewProgram(t *testing.T) {
	dir, getenv := installed(t, "claude")
	c := Config{Providers: map[string]Provider{"claude-cli": {Command: process.CommandLine{Words: []string{filepath.Join(dir, "claude")}}, APIKey: canary}}}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	got, notices, err := Preview(c, "claude-cli/opus", OpenOptions{Getenv: getenv}, func(llm.Endpoint) llm.Request {
		return llm.Request{Messages: []llm.Message{llm.UserText("Hello there")}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, filepath.Join(dir, "claude")) || !strings.Contains(got, `"--model=claude-opus-5-5"`) || !strings.Contains(got, "Hello there") || leaks(got) != "" {
		t.Errorf("preview:\n%s", got)
	}
	if len(notices) != 1 || !notices[0].Urgent || !strings.Contains(notices[0].Text, "claude-cli/opus stands for claude-opus-5-5") {
		t.Errorf("told %+v", notices)
	}
}

func TestValidateCommand(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Provider
		ok   bool
	}{
		{"claude-cli", Provider{Command: process.CommandLine{Words: []string{"/usr/bin/claude"}}}, true},
		{"mine", Provider{Kind: "gemini-cli", Command: process.CommandLine{Words: []string{"gemini-nightly"}}}, true},
		{"mine", Provider{Kind: "openai", Command: process.CommandLine{Words: []string{"x"}}}, false},
		{"openai", Provider{Command: process.CommandLine{Words: []string{"x"}}}, false},
		{"mine", Provider{Command: process.CommandLine{Words: []string{"x"}}}, false},
	} {
		if errs := tt.p.validate(tt.name); (len(errs) == 0) != tt.ok {
			t.Errorf("%s %+v: %v", tt.name, tt.p, errs)
		}
	}
}

// A run leaves one line in the log, without the key and without words.
func TestProgramsAreLogged(t *testing.T) {
	dir := t.TempDir()
	answer := `{"type":"result","subtype":"success","is_error":false,"result":"a secret answer","session_id":"s"}`
	llmtest.Executable(t, filepath.Join(dir, "claude"), "#!/bin/sh\ncat >/dev/null\necho '"+answer+"'\n")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out bytes.Buffer
	c := Config{Providers: map[string]Provider{"claude-cli": {Command: process.CommandLine{Words: []string{filepath.Join(dir, "claude")}}, APIKey: canary}}}
	e, err := Open(c, "claude-cli/opus", OpenOptions{Getenv: env(), Debug: slog.New(slog.NewJSONHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if got := hold(t, e, llm.Request{}); got.err != nil {
		t.Fatal(got.err)
	}
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["provider"] != "claude-cli" || line["kind"] != "claude-cli" ||
		line["model"] != "claude-opus-5-5" || line["strategy"] != "none" || line["total_ms"] == nil || leaks(out.String()) != "" || strings.Contains(out.String(), "secret") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// A program named without a model uses the first model of its kind in the catalog, even under a
// user's name for it.
func TestProgramNamedAlone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Providers: map[string]Provider{
		"claude-cli": {Command: process.CommandLine{Words: []string{self}}}, "gemini-cli": {Command: process.CommandLine{Words: []string{self}}}, "mine": {Kind: "claude-cli", Command: process.CommandLine{Words: []string{self}}},
	}}
	for name, kind := range map[string]string{"claude-cli": "claude-cli", "gemini-cli": "gemini-cli", "mine": "claude-cli"} {
		e, err := Open(c, name, OpenOptions{Getenv: env()})
		if want := name + "/" + catalog.IDs(kind)[0]; err != nil || e.Name != want {
			t.Errorf("Open(%q) = %q, %v; want %q", name, e.Name, err, want)
		}
	}
	if name := DefaultModel(c, env()); !strings.HasPrefix(name, "demo/") {
		t.Errorf("%s is the default, which nobody asked for", name)
	}
}
