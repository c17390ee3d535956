package agentcli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest/parallel"
	proc "parley/tools/process"
)

// patience bounds the wait for things that should happen at once.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv("FAKE_CLI"); dir != "" {
		fake(dir)
		return
	}
	cache, err := os.MkdirTemp("", "command-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache) // where programs run
	parallel.Tests(16)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// A step is one action of the fake program.
type step struct {
	Out, Err string
	Long     int    // bytes without a line end after Out
	Raise    bool   // ignore requests to end
	Dial     string // connect to this address until death
	Child    bool   // start a child that ignores signals too, also connects and holds the output open
	Daemon   string // start a child in a separate session that answers at this address
	Echo     string // connect to this address, and return the data received until it closes
	Hang     bool   // wait for a request to end, record it, and end
	Exit     int
}

// A visit is what the fake program received at its start.
type visit struct {
	Args   []string
	Env    []string
	Dir    string
	Stdin  string
	System string   // content of the file with the system prompt
	Prompt string   // content of the file with the prompt
	Temps  []string // their paths
	Files  map[string]string
}

// fake is the program: it records how it was called and plays the steps of its nth script, or of
// the last one.
func fake(dir string) {
	n := 1
	for errors.Is(os.Mkdir(filepath.Join(dir, fmt.Sprint("visit", n)), 0o700), os.ErrExist) {
		n++
	}
	note(filepath.Join(dir, fmt.Sprint("visit", n)))
	var scripts [][]step
	data, err := os.ReadFile(filepath.Join(dir, "scripts.json"))
	if err != nil || json.Unmarshal(data, &scripts) != nil {
		os.Exit(99)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	for _, s := range scripts[min(n, len(scripts))-1] {
		play(dir, s, asked)
	}
}

func note(dir string) {
	stdin, _ := io.ReadAll(os.Stdin)
	here, _ := os.Getwd()
	v := visit{Args: os.Args[1:], Env: os.Environ(), Dir: here, Stdin: string(stdin), Files: map[string]string{}}
	files := []string{os.Getenv("GEMINI_SYSTEM_MD"), os.Getenv("QWEN_SYSTEM_MD")}
	for _, arg := range os.Args {
		if file, ok := strings.CutPrefix(arg, "--system-prompt-file="); ok {
			files = append(files, file)
		}
		if file, ok := strings.CutPrefix(arg, "--config=model_instructions_file="); ok {
			files = append(files, strings.Trim(file, `"`))
		}
		if file, ok := strings.CutPrefix(arg, "--prompt-file="); ok {
			prompt, _ := os.ReadFile(file)
			v.Prompt, v.Temps = string(prompt), append(v.Temps, file)
		}
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			v.System, v.Temps = string(text), append(v.Temps, file)
		}
	}
	attached, _ := filepath.Glob("attached-*/*")
	for _, file := range attached {
		data, _ := os.ReadFile(file)
		v.Files["@"+filepath.ToSlash(file)] = string(data)
	}
	data, _ := json.Marshal(v)
	os.WriteFile(filepath.Join(dir, "visit.json"), data, 0o600)
}

func play(dir string, s step, asked <-chan os.Signal) {
	os.Stderr.WriteString(s.Err)
	os.Stdout.WriteString(s.Out)
	io.Copy(os.Stdout, io.LimitReader(endless{}, int64(s.Long)))
	if s.Raise {
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
	}
	if s.Dial != "" {
		if _, err := net.Dial("tcp", s.Dial); err != nil {
			os.Exit(98)
		}
	}
	if s.Child {
		os.WriteFile(filepath.Join(dir, "child", "scripts.json"), mustJSON([][]step{{{Raise: true}, {Dial: s.Dial}, {Hang: true}}}), 0o600)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FAKE_CLI="+filepath.Join(dir, "child"))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if cmd.Start() != nil {
			os.Exit(97)
		}
	}
	if s.Daemon != "" {
		startDaemon(dir, s.Daemon)
	}
	if s.Echo != "" {
		c, err := net.Dial("tcp", s.Echo)
		if err != nil {
			os.Exit(96)
		}
		_, _ = io.Copy(c, c)
	}
	if s.Hang {
		os.WriteFile(filepath.Join(dir, "asked"), []byte((<-asked).String()), 0o600)
		os.Exit(130)
	}
	if s.Exit != 0 {
		os.Exit(s.Exit)
	}
}

// endless is a reader of one letter without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// startDaemon returns once the daemon has a separate session.
func startDaemon(dir, addr string) {
	os.WriteFile(filepath.Join(dir, "child", "scripts.json"), mustJSON([][]step{{{Out: "ready"}, {Echo: addr}}}), 0o600)
	cmd := exec.Command("setsid", os.Args[0])
	cmd.Env = append(os.Environ(), "FAKE_CLI="+filepath.Join(dir, "child"))
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		os.Exit(95)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		os.Exit(94)
	}
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// A stage is the directory of a fake program.
type stage struct {
	t   *testing.T
	dir string
}

// script makes a stage whose program plays these scripts in order.
func script(t *testing.T, scripts ...[]step) stage {
	t.Helper()
	s := stage{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.dir, "child"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "scripts.json"), mustJSON(scripts), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// model returns a model that runs the program.
func (s stage) model(kind string, change ...func(*Options)) *Model {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	o := Options{
		Provider: "mine", Model: "best", Kind: kind, Command: proc.CommandLine{Words: []string{self}}, IdleTimeout: patience,
		Env: []string{"FAKE_CLI=" + s.dir, "GORACE=atexit_sleep_ms=0"},
	}
	for _, f := range change {
		f(&o)
	}
	return New(o)
}

// visits returns the calls of the program so far.
func (s stage) visits() (all []visit) {
	s.t.Helper()
	for n := 1; ; n++ {
		data, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprint("visit", n), "visit.json"))
		if err != nil {
			return all
		}
		var v visit
		if err := json.Unmarshal(data, &v); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, v)
	}
}

// asked returns the signal that the program received while it was waiting.
func (s stage) asked() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "asked"))
	return string(data)
}

// An outcome is the result of a stream.
type outcome struct {
	parts   []llm.Part
	notices []string
	retries []llm.Retry
	usage   *llm.Usage
	finish  llm.Finish
	err     error
}

// take reads a stream to its end.
func take(t *testing.T, s llm.Stream) (o outcome) {
	t.Helper()
	var draft llm.Draft
	for e, err := range s {
		if o.err != nil || o.finish != (llm.Finish{}) {
			t.Fatalf("%#v after the end", e)
		}
		o.err = err
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Notice:
			o.notices = append(o.notices, e.Text)
		case llm.Retry:
			draft.Discard(e.Discards)
			o.retries = append(o.retries, e)
		case llm.Usage:
			o.usage = &e
		case llm.Finish:
			o.finish = e
		}
	}
	if o.err == nil && o.finish == (llm.Finish{}) {
		t.Fatal("the stream ended without finish or error")
	}
	o.parts = draft.Complete()
	if o.err != nil {
		o.parts = draft.Interrupted()
	}
	return o
}

// told returns the text of an outcome.
func (o outcome) text() string { return llm.Message{Parts: o.parts}.Text() }

// message returns an outcome as a message of a history.
func (o outcome) message(m *Model) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: o.parts}
}

// asking returns a request with one prompt.
func asking(text string) llm.Request { return llm.Request{Messages: []llm.Message{llm.UserText(text)}} }
