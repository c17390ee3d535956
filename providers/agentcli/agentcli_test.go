package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/providers/llm"
	proc "parley/tools/process"
)

var (
	claudeSays = []step{{Out: claudeInit + claudeStart + claudeHello + claudeWhole + claudeEnd + claudeResult}}
	geminiSays = []step{{Out: geminiInit + geminiHello + geminiResult, Err: "YOLO mode is enabled.\n"}}
)

func TestClaudeRuns(t *testing.T) {
	s := script(t, claudeSays)
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
	m := s.model("claude-cli")
	got := take(t, m.Stream(t.Context(), llm.Request{System: "Be brief.\n-x", Messages: []llm.Message{llm.UserText("--version")}}))
	check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
	v := s.visits()[0]
	want := []string{
		"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages",
		"--tools=", "--strict-mcp-config", "--setting-sources=", "--disable-slash-commands",
		"--model=best", "--system-prompt=Be brief.\n-x",
	}
	if !slices.Equal(v.Args, want) {
		t.Errorf("arguments %q\nwant %q", v.Args, want)
	}
	if v.Stdin != "--version" {
		t.Errorf("stdin %q", v.Stdin)
	}
	environment(t, v, "TERM=dumb", "NO_COLOR=1", "CI=true", "ANTHROPIC_API_KEY=sk-ant-0123456789", "PWD="+v.Dir)
	if left, _ := os.ReadDir(v.Dir); len(left) > 0 || v.Dir == mustGetwd(t) {
		t.Errorf("it ran in %s, where %v lies", v.Dir, left)
	}
}

// environment checks that a program got these variables, and none that would make it conclude that
// it runs inside itself.
func environment(t *testing.T, v visit, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(v.Env, w) {
			t.Errorf("%s is not in the environment", w)
		}
	}
	for _, e := range v.Env {
		if strings.HasPrefix(e, "CLAUDECODE=") || strings.HasPrefix(e, "CLAUDE_CODE_ENTRYPOINT=") {
			t.Errorf("%s is in the environment", e)
		}
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGeminiRuns(t *testing.T) {
	s := script(t, geminiSays)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "key.json")
	m := s.model("gemini-cli")
	req := llm.Request{System: "Be brief.", Messages: []llm.Message{user(text("Look"), png)}}
	got := take(t, m.Stream(t.Context(), req))
	check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
	v := s.visits()[0]
	want := []string{
		"--prompt=", "--output-format=stream-json", "--approval-mode=default",
		"--extensions=none", "--allowed-mcp-server-names=none", "--model=best",
	}
	if !slices.Equal(v.Args, want) {
		t.Errorf("arguments %q\nwant %q", v.Args, want)
	}
	if v.System != "Be brief." {
		t.Errorf("system prompt %q", v.System)
	}
	lines := strings.Split(v.Stdin, "\n\n")
	if len(lines) != 2 || lines[0] != "Look" || v.Files[lines[1]] != "PNG" {
		t.Errorf("stdin %q, files %q", v.Stdin, v.Files)
	}
	environment(t, v, "TERM=dumb", "GEMINI_CLI_TRUST_WORKSPACE=true", "GOOGLE_APPLICATION_CREDENTIALS="+filepath.Join(mustGetwd(t), "key.json"))
	if left, _ := os.ReadDir(v.Dir); len(left) > 0 {
		t.Errorf("%v was left behind", left)
	}
}

func TestSettings(t *testing.T) {
	half := 0.5
	for _, tt := range []struct {
		name    string
		req     llm.Request
		args    []string // further ones of claude
		env     string
		notices []string // claude's notices; gemini's are only counted
		gemini  int
	}{
		{"nothing", llm.Request{}, nil, "", nil, 0},
		{"off", llm.Request{Effort: llm.EffortOff}, []string{"--thinking=disabled"}, "", nil, 1},
		{"minimal", llm.Request{Effort: llm.EffortMinimal}, []string{"--effort=low"}, "", nil, 1},
		{"high", llm.Request{Effort: llm.EffortHigh}, []string{"--effort=high"}, "", nil, 1},
		{"max", llm.Request{Effort: llm.EffortMax}, []string{"--effort=max"}, "", nil, 1},
		{"budget", llm.Request{Settings: llm.Settings{Budget: 2048}}, []string{"--max-thinking-tokens=2048"}, "", nil, 1},
		{"limit", llm.Request{Settings: llm.Settings{MaxTokens: 99}}, nil, "CLAUDE_CODE_MAX_OUTPUT_TOKENS=99", nil, 1},
		{"temperature and stop", llm.Request{Settings: llm.Settings{Temperature: &half, Stop: []string{"x"}}}, nil, "",
			[]string{"claude does not support temperature; not sent", "claude does not support stop; not sent"}, 2},
		{"schema", llm.Request{AnswerSchema: &llm.Schema{JSON: []byte(`{"type":"object"}`)}}, []string{`--json-schema={"type":"object"}`}, "", nil, 0},
		{"verbosity", llm.Request{Settings: llm.Settings{Verbosity: "low"}}, nil, "", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain := compiled(t, "claude-cli", llm.Request{})
			r := compiled(t, "claude-cli", tt.req)
			var more []string
			for _, arg := range r.args {
				if !slices.Contains(plain.args, arg) && !strings.HasPrefix(arg, "--system-prompt=") {
					more = append(more, arg)
				}
			}
			if !slices.Equal(more, tt.args) || !slices.Equal(r.notices, tt.notices) {
				t.Errorf("arguments %q, notices %q; want %q, %q", more, r.notices, tt.args, tt.notices)
			}
			if tt.env != "" && !slices.Contains(r.env, tt.env) {
				t.Errorf("%s is not in the environment", tt.env)
			}
			if g := compiled(t, "gemini-cli", tt.req); len(g.notices) != tt.gemini {
				t.Errorf("notices of gemini %q, want %d", g.notices, tt.gemini)
			}
			if tt.req.Verbosity != "" && r.system != "Keep your answers short." || tt.req.AnswerSchema != nil && !strings.Contains(r.system, `{"type":"object"}`) {
				t.Errorf("system prompt %q", r.system)
			}
		})
	}
}

func compiled(t *testing.T, kind string, req llm.Request) *run {
	t.Helper()
	req.Messages = []llm.Message{llm.UserText("Hi")}
	r, err := New(Options{Kind: kind, Model: "best"}).compile(req, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.cleanUp)
	return r
}

// A system prompt too long for an argument goes into a file, also on the next request.
func TestLongSystemPrompt(t *testing.T) {
	t.Parallel()
	s := script(t, claudeSays)
	long := strings.Repeat("Be brief. ", maxArgument)
	take(t, s.model("claude-cli").Stream(t.Context(), llm.Request{System: long, Messages: []llm.Message{llm.UserText("Hi")}}))
	v := s.visits()[0]
	i := slices.IndexFunc(v.Args, func(a string) bool { return strings.HasPrefix(a, "--system-prompt-file=") })
	if i < 0 || v.System != long {
		t.Fatalf("arguments %q, system prompt of %d bytes", v.Args, len(v.System))
	}
	if _, err := os.Stat(strings.TrimPrefix(v.Args[i], "--system-prompt-file=")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestImages(t *testing.T) {
	s := script(t, claudeSays)
	take(t, s.model("claude-cli").Stream(t.Context(), llm.Request{Messages: []llm.Message{user(text("Look"), png)}}))
	v := s.visits()[0]
	if !slices.Contains(v.Args, "--input-format=stream-json") || !strings.Contains(v.Stdin, `"data":"UE5H"`) {
		t.Errorf("arguments %q, stdin %q", v.Args, v.Stdin)
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	s := script(t, []step{{Out: "Two\nlines.\n"}})
	got := take(t, s.model("gemini-cli").Stream(t.Context(), asking("Hi")))
	check(t, got, []llm.Part{text("Two\nlines.")}, llm.Stop, "")
	if got.usage != nil || len(got.notices) != 1 {
		t.Errorf("usage %+v, notices %q", got.usage, got.notices)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 300_000)
	s := script(t, []step{{Out: claudeInit + strings.Replace(claudeWhole, "Hello", long, 1) + claudeResult}})
	got := take(t, s.model("claude-cli").Stream(t.Context(), asking("Hi")))
	if got.err != nil || got.text() != long {
		t.Errorf("%d bytes, %v", len(got.text()), got.err)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		kind  string
		steps []step
		fault llm.Fault
		says  []string
	}{
		{"nothing", "claude-cli", []step{{}}, llm.Network, []string{"claude exited with status 0 before the answer was complete"}},
		{"in the middle", "claude-cli", []step{{Out: claudeInit + claudeStart + claudeHello, Err: "boom\n", Exit: 1}}, llm.Unknown, []string{"status 1", "boom"}},
		{"not logged in", "claude-cli", []step{{Err: "Invalid API key · Please run /login\n", Exit: 1}}, llm.Authentication, []string{"Please run /login"}},
		{"not logged in, on stdout", "claude-cli", []step{{Out: "Invalid API key · Please run /login\n", Exit: 1}}, llm.Authentication, []string{"Please run /login"}},
		{"interrupted", "claude-cli", []step{{Exit: 130}}, llm.Unknown, []string{"status 130", "interrupted"}},
		{"no login", "gemini-cli", []step{{Err: "x\n", Exit: 41}}, llm.Authentication, []string{"status 41", "not logged in", "x"}},
		{"input", "gemini-cli", []step{{Exit: 42}}, llm.InvalidRequest, []string{"status 42"}},
		{"sandbox", "gemini-cli", []step{{Exit: 44}}, llm.Unknown, []string{"sandbox"}},
		{"configuration", "gemini-cli", []step{{Exit: 52}}, llm.InvalidRequest, []string{"configuration"}},
		{"turns", "gemini-cli", []step{{Exit: 53}}, llm.Unknown, []string{"limit of turns"}},
		{"tool", "gemini-cli", []step{{Exit: 54}}, llm.Unknown, []string{"tool"}},
		{"trust", "gemini-cli", []step{{Exit: 55}}, llm.Permission, []string{"does not trust"}},
		{"words", "gemini-cli", []step{{Err: "Attempt 3 failed: fetch failed\n", Exit: 1}}, llm.Network, []string{"fetch failed"}},
		{"escapes", "gemini-cli", []step{{Err: "\x1b[31mred\x1b[0m \x1b]0;title\x07and\r\n\tspace\n", Exit: 1}}, llm.Unknown, []string{": red and space"}},
		{"the end of much", "gemini-cli", []step{{Err: strings.Repeat("debug\n", 5000) + "the reason\n", Exit: 1}}, llm.Unknown, []string{"… ", "debug the reason"}},
		{"secrets", "gemini-cli", []step{{Err: "the key AIza0123456789 is wrong\n", Exit: 1}}, llm.Unknown, []string{"the key [redacted] is wrong"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := script(t, tt.steps)
			m := s.model(tt.kind, func(o *Options) { o.Key, o.KeyName = "AIza0123456789", "the configuration" })
			got := take(t, m.Stream(t.Context(), asking("Hi")))
			var e *llm.Error
			if !errors.As(got.err, &e) || e.Fault != tt.fault || e.Provider != "mine" || e.Key != "the configuration" {
				t.Fatalf("%#v, want %s", got.err, tt.fault)
			}
			for _, want := range tt.says {
				if !strings.Contains(e.Message, want) {
					t.Errorf("%q lacks %q", e.Message, want)
				}
			}
			if len(e.Message) > maxErrorBytes+200 || strings.ContainsAny(e.Message, "\n\r\x1b") {
				t.Errorf("message of %d bytes: %q", len(e.Message), e.Message)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	for _, tt := range []struct{ kind, command, want string }{
		{"claude-cli", "", `claude is not on PATH: install it with "npm install -g @anthropic-ai/claude-code"`},
		{"gemini-cli", "", `gemini is not on PATH: install it with "npm install -g @google/gemini-cli"`},
		{"claude-cli", "/nowhere/claude", `program /nowhere/claude not found`},
		{"quantum-cli", "", `unknown kind of program "quantum-cli"`},
	} {
		t.Setenv("PATH", t.TempDir())
		got := take(t, New(Options{Provider: "mine", Kind: tt.kind, Command: proc.ShellLine(tt.command)}).Stream(t.Context(), asking("Hi")))
		if llm.FaultOf(got.err) != llm.Unsupported || !strings.Contains(got.err.Error(), tt.want) {
			t.Errorf("%s %s: %v", tt.kind, tt.command, got.err)
		}
		if hint := llm.InShell.Hint(got.err); strings.Contains(tt.want, "install") && hint != "" {
			t.Errorf("%s: beside what it says itself: %s", tt.kind, hint)
		}
	}
}

func TestFind(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for _, file := range []string{filepath.Join(bin, "claude"), filepath.Join(home, "mine"), filepath.Join(bin, "gemini")} {
		mode := os.FileMode(0o755)
		if filepath.Base(file) == "gemini" {
			mode = 0o644
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	work := t.TempDir()
	t.Chdir(work)
	if err := os.Symlink(filepath.Join(bin, "claude"), "claude"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ kind, command, path, want string }{
		{"claude-cli", "", bin, filepath.Join(bin, "claude")},
		{"claude-cli", "", "/nowhere" + string(os.PathListSeparator) + bin, filepath.Join(bin, "claude")},
		{"claude-cli", "~/mine", "", filepath.Join(home, "mine")},
		{"claude-cli", filepath.Join(home, "mine"), "", filepath.Join(home, "mine")},
		{"claude-cli", "./claude", "", filepath.Join(work, "claude")},
		{"claude-cli", "A=b claude --verbose", bin + string(os.PathListSeparator) + "/bin", `/bin/sh|-c|A=b claude --verbose "$@"|claude`},
		{"claude-cli", "~/mine --verbose", "/bin", `/bin/sh|-c|~/mine --verbose "$@"|claude`},
		{"claude-cli", "", "", ""},
		{"claude-cli", "", ".", ""}, // any content of the working directory
		{"claude-cli", "", work, ""},
		{"gemini-cli", "", bin, ""}, // cannot be run
	} {
		argv, err := Find(tt.kind, proc.ShellLine(tt.command), tt.path)
		got := strings.Join(argv, "|")
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Find(%q, %q, %q) = %q, %v; want %q", tt.kind, tt.command, tt.path, got, err, tt.want)
		}
	}
	argv, err := Find("claude-cli", proc.CommandLine{Words: []string{"~/mine", "--verbose"}}, "")
	if want := []string{filepath.Join(home, "mine"), "--verbose"}; err != nil || !slices.Equal(argv, want) {
		t.Errorf("a list: %q, %v; want %q", argv, err, want)
	}
}

// TestUntrustedFolder: programs of the working directory are never found through PATH, neither by
// parley nor by the programs it runs.
func TestUntrustedFolder(t *testing.T) {
	base := t.TempDir()
	t.Setenv("HOME", filepath.Join(base, "home"))
	work, bin, links := filepath.Join(base, "home/work"), filepath.Join(base, "home/bin"), filepath.Join(base, "links")
	ours := filepath.Join(work, "node_modules/.bin")
	for _, folder := range []string{ours, bin, links} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{ours, bin} {
		if err := os.WriteFile(filepath.Join(folder, "claude"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(ours, "claude"), filepath.Join(links, "claude")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	_, err := Find("claude-cli", CommandLine{}, ours)
	if want := "claude is only found in the current folder: if you trust it, set command to " + strconv.Quote(filepath.Join(ours, "claude")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	list := strings.Join([]string{ours, links, bin}, string(os.PathListSeparator))
	for _, tt := range []struct{ name, dir, want, path string }{
		{"project", work, bin, strings.Join([]string{links, bin}, string(os.PathListSeparator))},
		{"folder of the project", ours, bin, strings.Join([]string{links, bin}, string(os.PathListSeparator))},
		{"home directory", filepath.Join(base, "home"), ours, list},
		{"above the home directory", base, ours, list},
		{"root", "/", ours, list},
	} {
		t.Chdir(tt.dir)
		argv, err := Find("claude-cli", CommandLine{}, list)
		if want := []string{filepath.Join(tt.want, "claude")}; err != nil || !slices.Equal(argv, want) {
			t.Errorf("%s: %q, %v; want %q", tt.name, argv, err, want)
		}
		if got := Environment("claude-cli", []string{"PATH=" + list}); !slices.Equal(got, []string{"PATH=" + tt.path}) {
			t.Errorf("%s: it gets %q, want PATH=%s", tt.name, got, tt.path)
		}
	}
}

func TestCannotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(file, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := take(t, New(Options{Provider: "mine", Kind: "claude-cli", Command: proc.CommandLine{Words: []string{file}}}).Stream(t.Context(), asking("Hi")))
	if got.err == nil || !strings.Contains(got.err.Error(), "cannot start") {
		t.Error(got.err)
	}
}

func TestPreview(t *testing.T) {
	s := script(t, claudeSays)
	got, err := s.model("claude-cli").Preview(llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText("Hello there")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TERM=dumb\n", ` "--system-prompt=Be brief."`, "\n\nHello there\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if n := len(s.visits()); n > 0 {
		t.Errorf("it ran %d times", n)
	}
}

// A system prompt put before the prompt cannot mention files of the user either.
func TestInstructionsMentionNothing(t *testing.T) {
	got, err := script(t, claudeSays).model("copilot-cli").Preview(llm.Request{System: "See @/etc/passwd.", Messages: []llm.Message{llm.UserText("Hi")}})
	if err != nil || !strings.Contains(got, "See @ /etc/passwd.") {
		t.Errorf("%q, %v", got, err)
	}
}

// Concurrent answers do not affect each other.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	s := script(t, geminiSays)
	m := s.model("gemini-cli")
	results := make(chan string)
	const n = 4
	for i := range n {
		go func() {
			var said strings.Builder
			for e, err := range m.Stream(context.Background(), asking(fmt.Sprint("prompt ", i))) {
				if d, ok := e.(llm.Delta); ok {
					said.WriteString(d.Text)
				}
				if err != nil {
					said.WriteString(err.Error())
				}
			}
			results <- said.String()
		}()
	}
	for range n {
		if got := <-results; got != "Hello" {
			t.Errorf("got %q", got)
		}
	}
	var stdin []string
	for _, v := range s.visits() {
		stdin = append(stdin, v.Stdin)
	}
	slices.Sort(stdin)
	if want := []string{"prompt 0", "prompt 1", "prompt 2", "prompt 3"}; !reflect.DeepEqual(stdin, want) {
		t.Errorf("stdin %q", stdin)
	}
}
