// The scripts in testdata/script and the file testdata/reliability.txt are written by hand. A script fails with the
// line that is wrong. go test . -run Ratchets -ratchets lowers the sizes in testdata/ratchets.txt. go test . -run
// TestEditorConversation -editor rewrites parley's messages in ui/acp/testdata/conversation.txt.

package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"parley/providers/llmtest/parallel"
	"parley/providers/openai"
	"parley/session"
	"parley/session/config"
	"parley/tools/permission"
	"parley/tools/sandbox"
	"parley/ui/app/access"
	"parley/ui/cli"
	"parley/ui/clip/routes"
	"parley/ui/tui"
)

// heapPercent is GOGC for the tests and for residents, as in providers/llmtest/heap. The program in a process of its
// own collects as it does for users.
const heapPercent = 400

func TestMain(m *testing.M) {
	sandbox.Register()
	permission.Register()
	routes.Register()
	programs := map[string]func(){"parley": main, "parley-resident": reside, "mcp-sink": serveSink}
	if programs[filepath.Base(os.Args[0])] == nil { // the tests, which mostly wait
		parallel.Tests(8)
		debug.SetGCPercent(heapPercent)
	}
	testscript.Main(withResidents{m}, programs)
}

// TestScript runs the program as users do, with flags, pipes and exit statuses. In the scripts "server NAME" starts one
// of the servers below and writes config.toml for it, "requests N" checks the number of requests to it, and "status N
// COMMAND" runs a command that has to exit with N. For "leaky", "screen", "signal" and "traceless" see the functions.
// "exec parley" runs a process of its own, as users do. "run parley" and "status N parley" run in a resident, with the
// file of "input FILE" as standard input.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			home := e.WorkDir + "-home" // the working folder is a project next to it
			if err := os.Mkdir(home, 0o755); err != nil {
				return err
			}
			e.Defer(func() { _ = os.RemoveAll(home) })
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("XDG_DATA_HOME", e.WorkDir+"/.local/share")
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			e.Setenv("NO_PROXY", "127.0.0.1")
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Values["requests"] = &counter{}
			e.Values["echo"] = &echo{}
			e.Values["input"] = new(string)
			variables := []string{"URL", "MOCK_KEY", "KEY"} // set by serve, leaky and serveKeys
			for _, variable := range e.Vars {
				name, _, _ := strings.Cut(variable, "=")
				variables = append(variables, name)
			}
			e.Values["variables"] = variables
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serve, "requests": requests, "status": status, "run": run, "input": input,
			"leaky": leaky, "screen": screen, "traceless": traceless, "keyserver": serveKeys,
			"embedserver": embedServer, "killed": killedCommand, "signal": signaled,
		},
	})
}

// input runs "FILE": the next run in a resident reads the file from a pipe.
func input(ts *testscript.TestScript, _ bool, args []string) {
	*ts.Value("input").(*string) = ts.ReadFile(args[0])
}

// status runs "N COMMAND..." and checks the exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	if code := exitStatus(ts, args[1:]); fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

// run runs a command that has to succeed or, with "!", to fail.
func run(ts *testscript.TestScript, neg bool, args []string) {
	if code := exitStatus(ts, args); (code != 0) != neg {
		ts.Fatalf("exit status %d", code)
	}
}

// settings matches the variables that a script sets.
var settings = regexp.MustCompile(`(?m)^(?:\[\S+\] )?env (\w+)=`)

// exitStatus runs a command and returns its exit status. It runs parley in a resident, and "exec parley" and other
// commands in processes of their own.
func exitStatus(ts *testscript.TestScript, args []string) int {
	if args[0] == "parley" {
		script, err := os.ReadFile(filepath.Join("testdata/script", ts.Name()+".txtar"))
		ts.Check(err)
		variables := slices.Clone(ts.Value("variables").([]string))
		for _, m := range settings.FindAllSubmatch(script, -1) {
			variables = append(variables, string(m[1]))
		}
		var env []string
		for _, name := range variables {
			env = append(env, name+"="+ts.Getenv(name))
		}
		text := ts.Value("input").(*string)
		stdout, stderr, status, err := runProgram(ts.MkAbs("."), env, args[1:], *text)
		ts.Check(err)
		*text = ""
		_, _ = io.WriteString(ts.Stdout(), stdout)
		_, _ = io.WriteString(ts.Stderr(), stderr)
		return status
	}
	if args[0] == "exec" {
		args = args[1:]
	}
	err := ts.Exec(args[0], args[1:]...)
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	return 0
}

// long runs tests completely that are shortened by default.
var long = os.Getenv("PARLEY_LONG") == "1"

// ownProcesses runs the program in processes of its own, never in a resident.
var ownProcesses = long

// A resident is a process that runs the program many times, one run after another, each with its own arguments,
// environment, folder and outputs. This saves most of the time of a short run: starting a process and initializing
// packages. Only data on disk, constants that packages compute, and tokens from commands survive a run. With
// PARLEY_LONG=1 each run has a process of its own.
type resident struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	runs *gob.Encoder // connected to in
	out  *gob.Decoder
	dir  string // directory of its outputs
}

// A residentRun is a request to a resident. The answer is the exit status.
type residentRun struct {
	Args, Env                  []string
	Dir, Stdin, Stdout, Stderr string // Stdin is the text itself
}

// residents are the idle residents.
var residents struct {
	sync.Mutex
	idle []*resident
}

// runProgram runs parley in a folder with an environment and a text as standard input.
func runProgram(dir string, env, args []string, stdin string) (stdout, stderr string, status int, err error) {
	if ownProcesses {
		exe, err := exec.LookPath("parley")
		if err != nil {
			return "", "", 0, err
		}
		var out, errs strings.Builder
		cmd := exec.Command(exe, args...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, strings.NewReader(stdin), &out, &errs
		if err := cmd.Run(); cmd.ProcessState == nil {
			return "", "", 0, err
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode(), nil
	}
	residents.Lock()
	var r *resident
	if last := len(residents.idle) - 1; last >= 0 {
		r, residents.idle = residents.idle[last], residents.idle[:last]
	}
	residents.Unlock()
	if r == nil {
		if r, err = newResident(); err != nil {
			return "", "", 0, err
		}
	}
	stdout, stderr, status, err = r.run(dir, env, args, stdin)
	if err != nil {
		return "", "", 0, errors.Join(fmt.Errorf("parley %q ended the process: %w", args, err), r.end())
	}
	residents.Lock()
	defer residents.Unlock()
	residents.idle = append(residents.idle, r)
	return stdout, stderr, status, nil
}

func newResident() (*resident, error) {
	exe, err := exec.LookPath("parley-resident")
	if err != nil {
		return nil, err
	}
	r := &resident{cmd: exec.Command(exe)}
	r.cmd.Stderr = os.Stderr
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.in, r.runs = in, gob.NewEncoder(in)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "parley-resident"); err != nil {
		return nil, err
	}
	r.out = gob.NewDecoder(out)
	return r, r.cmd.Start()
}

func (r *resident) run(dir string, env, args []string, stdin string) (stdout, stderr string, status int, err error) {
	run := residentRun{Args: args, Env: env, Dir: dir, Stdin: stdin, Stdout: filepath.Join(r.dir, "stdout"), Stderr: filepath.Join(r.dir, "stderr")}
	if err := r.runs.Encode(run); err != nil {
		return "", "", 0, err
	}
	if err := r.out.Decode(&status); err != nil {
		return "", "", 0, err
	}
	out, err := os.ReadFile(run.Stdout)
	if err != nil {
		return "", "", 0, err
	}
	errs, err := os.ReadFile(run.Stderr)
	return string(out), string(errs), status, err
}

// process returns the command for parley with arguments, in the folder and with the variables of a script.
func process(ts *testscript.TestScript, args []string) *exec.Cmd {
	exe, err := exec.LookPath("parley")
	ts.Check(err)
	cmd := exec.Command(exe, args...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "PATH", "MOCK_KEY", "NO_PROXY", "GORACE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// signaled runs "signal NAME N TEXT ARGUMENT...": parley gets the signal once it has written TEXT on standard output,
// and has to exit with N, or with one of several separated by |. TWICE is SIGINT followed at once by SIGTERM; either
// may arrive first. The output of parley goes to the file signaled.
func signaled(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}
	cmd := process(ts, args[3:])
	out := &watched{text: args[2], then: func() {
		_ = cmd.Process.Signal(cmp.Or(signals[args[0]], os.Interrupt))
		if args[0] == "TWICE" {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}}
	cmd.Stdout, cmd.Stderr = out, ts.Stderr()
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(strings.Split(args[1], "|"), fmt.Sprint(code)) {
		ts.Fatalf("exit status %d, want %s; on standard output %q", code, args[1], out.all.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("signaled"), out.all.Bytes(), 0o600))
}

// screen runs "screen TEXT ARGUMENT...": parley on a terminal until TEXT is on its screen. The bytes sent to the
// terminal go to the file screen.
func screen(ts *testscript.TestScript, _ bool, args []string) {
	cmd := process(ts, args[1:])
	cmd.Env = append(cmd.Env, "TERM="+cmp.Or(ts.Getenv("TERM"), "xterm-256color"))
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	ts.Check(err)
	defer tty.Close()
	stuck := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	var out bytes.Buffer
	found := false
	for piece := make([]byte, 4096); ; {
		n, err := tty.Read(piece)
		out.Write(piece[:n])
		if !found && strings.Contains(out.String(), args[0]) {
			found = true
			cmd.Process.Signal(syscall.SIGTERM)
		}
		if err != nil {
			break
		}
	}
	cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("screen"), out.Bytes(), 0o600))
	if !found {
		ts.Fatalf("%q did not come to the screen:\n%q", args[0], out.String())
	}
}

// traceless checks that the canary, which a leaky server must have received, is nowhere else: not in the output of the
// last command, nor in files other than those named, in requests, or in command lines. It searches for each half of the
// key in every encoding, also with line breaks in it.
func traceless(ts *testscript.TestScript, _ bool, except []string) {
	e := ts.Value("echo").(*echo)
	e.Lock()
	defer e.Unlock()
	if e.keyed == 0 {
		ts.Fatalf("no server got the key, so nothing was shown")
	}
	places := map[string]string{"standard output": ts.ReadFile("stdout"), "standard error": ts.ReadFile("stderr")}
	for seen := range e.seen {
		places["request or process: "+seen] = seen
	}
	work := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(work, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(work, path)
		if err != nil || !d.Type().IsRegular() || slices.Contains(except, name) {
			return err
		}
		b, err := os.ReadFile(path)
		places[name] = string(b)
		return err
	}))
	for place, text := range places {
		text += strings.NewReplacer("\n", "", "\r", "", "\t", "", " ", "").Replace(text)
		for _, form := range formsOf(canary) {
			if at := strings.Index(text, form); at >= 0 {
				ts.Fatalf("%q is in %s: %.200q", form, place, text[max(0, at-100):])
			}
		}
	}
	e.keyed, e.seen = 0, nil
}

// formsOf lists the halves of key: unchanged, reversed, and in the encodings of URLs, JSON, HTML and base64.
func formsOf(key string) (forms []string) {
	backwards := []byte(key)
	slices.Reverse(backwards)
	for _, half := range []string{key[:len(key)/2], key[len(key)/2:], string(backwards[:len(key)/2])} {
		quoted, _ := json.Marshal(half)
		forms = append(forms, half, url.QueryEscape(half), url.PathEscape(half), html.EscapeString(half), strings.Trim(string(quoted), `"`))
		for shift := range 3 {
			b := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00"[:shift] + half))
			b = b[(shift*8+5)/6 : len(b)-2]
			forms = append(forms, b, strings.NewReplacer("+", "-", "/", "_").Replace(b))
		}
	}
	return forms
}

// TestExampleConfig checks that config.toml.example and the structs have the same keys.
func TestExampleConfig(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("config.toml.example")
	if err != nil {
		t.Fatal(err)
	}
	setting := regexp.MustCompile(`(?m)^# (\[*[a-zA-Z_.-]+\]*( = .*)?)$`)
	var cfg cli.Config
	text := setting.ReplaceAllString(string(b), "$1")
	for _, other := range []string{"api_key = ", "api_key_command = "} { // a key has one source
		text = strings.Replace(text, other, "# "+other, 1)
	}
	if err := config.Decode(text, &cfg); err != nil {
		t.Fatalf("uncommented: %v\n%s", err, text)
	}
	var missing []string
	var walk func(t reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for _, f := range reflect.VisibleFields(typ) {
			tag := f.Tag.Get("toml")
			if tag == "" || tag == "-" {
				continue
			}
			key := regexp.MustCompile(`(?m)^#? ?(\[.*\.?` + tag + `(\..*)?\]|` + tag + ` = )`)
			if !key.MatchString(string(b)) {
				missing = append(missing, path+tag)
			}
			walk(f.Type, path+tag+".")
		}
	}
	walk(reflect.TypeFor[cli.Config](), "")
	for _, part := range []reflect.Type{reflect.TypeFor[openai.Dialect](), reflect.TypeFor[openai.Effort](), reflect.TypeFor[openai.Switch]()} {
		walk(part, "providers.NAME.dialect.")
	}
	if len(missing) > 0 {
		t.Errorf("config.toml.example does not show %v", missing)
	}
}

// TestProjectRunsNothing checks that only the user's own configuration can run programs. A folder's configuration
// cannot, trusted or not.
func TestProjectRunsNothing(t *testing.T) {
	for _, text := range []string{"[ui]\nstatus_command = \"touch x\"", "[mcp.x]\ncommand = \"x\"", "[providers.x]\napi_key_command = \"x\""} {
		if err := config.Decode(text, &cli.Project{}); err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"byte order mark and CRLF", "\ufeffmodel = \"a/b\"\r\n", ""},
		{"near name", "\nmodle = \"x\"\n", `2: unknown key "modle": did you mean "model"?`},
		{"near name in a table", "[ui]\nthem = \"dark\"\n", `2: unknown key "ui.them": did you mean "theme"?`},
		{"near name in a provider", "[providers.x]\nkind = \"openai\"\nbase_url = \"http://h/v1\"\nap_key = \"k\"\n", `4: unknown key "providers.x.ap_key": did you mean "api_key"?`},
		{"keys", "[keys]\nmodel = \"f5\"\nnew = [\"ctrl+x n\", \"f6\"]\n", ""},
		{"a key of another action", "[keys]\nmodel = \"f2\"\n", `2: keys.model = "f2": this key runs "next-model"`},
		{"two actions with one key", "[keys]\nmodel = \"f5\"\n\nnew = \"f5\"\n", `2: keys.model = "f5": keys.new has the same key, in line 4`},
		{"no such action", "[keys]\nmodle = \"f5\"\n", `keys.modle: no such action`},
		{"unknown table", "[network]\nproxy = \"x\"\n", `1: unknown key "network"`},
		{"unknown table around another", "\n[provders.x]\nkind = \"openai\"\n", `2: unknown key "provders": did you mean "providers"?`},
		{"unknown table by a dot", "model = \"a/b\"\nui2.theme = \"dark\"\n", `2: unknown key "ui2": did you mean "ui"?`},
		{"no table", "providers = 3\n", `1: providers has to be a table`},
		{"no table of headers", "[providers.x]\nkind = \"openai\"\nbase_url = \"http://h/v1\"\nheaders = [\"k\"]\n", `4: providers.x.headers has to be a table`},
		{"deep tables", "\na = " + strings.Repeat("{b = ", 20_000), `2: tables in one another`},
		{"deep keys", "a" + strings.Repeat(".a", 100_000) + " = 1", `1: tables in one another`},
		{"deep lists", "a = " + strings.Repeat("[", 100_000), `1:`},
		{"large", strings.Repeat("# comment\n", 200_000), `more than 1 MiB`},
		{"a date that is none", "max_turns = 2026-99-99T99:99:99Z\n", `1:13: invalid datetime`},
		{"a key twice", "[providers.x]\napi_key = \"k\"\napi_key = \"k\"\n", `3:`},
		{"syntax", "model = \n", "1:"},
		{"wrong type", "max_turns = \"many\"\n", "max_turns"},
		{"bad value", "\neffort = \"huge\"\n", `2: effort = "huge": use one of`},
		{"bad theme", "[ui]\nmouse = true\ntheme = \"pink\"\n", `3: ui.theme = "pink": there are`},
		{"bad segment", "[ui]\nstatus = [\"model\",\n\"tokns\"]\n", `2: ui.status = "tokns": did you mean "tokens"?`},
		{"bad hook", "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n\n[[hooks]]\nevent = \"Stopp\"\ncommand = \"true\"\n", `6: hook 2: event = "Stopp": use one of`},
		{"a hook without a command", "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n[[hooks]] # the other\nevent = \"Stop\"\n[mcp.x]\ncommand = \"true\"\n", `4: hook 2: command is missing`},
		{"bad sandbox of a hook", "[[ hooks ]]\nevent = \"Stop\"\ncommand = \"true\"\nsandbox = \"no\"\n", `4: hook 1: sandbox = "no": use one of`},
		{"bad hook in a list", "model = \"a/b\"\nhooks = [{event = \"Stopp\", command = \"true\"}]\n", `2: hook 1: event = "Stopp"`},
		{"near name in a hook", "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n[[hooks]]\nevnt = \"Stop\"\n", `5: unknown key "hooks.evnt": did you mean "event"?`},
		{"a hook's command of another type", "[[hooks]]\nevent = \"Stop\"\ncommand = 3\n", `3:11: a command is a line`},
		{"a hook's event of another type", "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\n[[hooks]]\nevent = 3\n", `5: hooks.event has to be text`},
		{"a hook's timeout of another type", "[[hooks]]\nevent = \"Stop\"\ntimeout = \"x\"\n", `3:12: timeout = x: give seconds`},
		{"bad kind", "[providers.x]\nkind = \"opnai\"\nbase_url = \"http://h/v1\"\n", `opnai`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := config.Decode(tt.text, &cli.Config{UI: tui.Default()})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if strings.Contains(got, `"k"`) {
				t.Errorf("a value that may be a key is in the error: %q", got)
			}
		})
	}
}

// TestStdinLeftOpen checks that a prompt on the command line does not wait for a pipe on standard input that nobody
// writes to, as editors and cron leave it.
func TestStdinLeftOpen(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.Command("parley", "-p", "-m", "demo/parley", "hello")
	cmd.Path, cmd.Err = exe, nil
	cmd.Args[0] = "parley"
	cmd.Stdin = r
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	kill := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestLimits checks that the program ends with advice if a resource limit is too low for it.
func TestLimits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("limits are those of Linux")
	}
	t.Run("address space", func(t *testing.T) {
		if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
			t.Skip("the race detector needs more address space than is left")
		}
		t.Parallel()
		k := newKilled(t, wires[0])
		parley := filepath.Join(k.home, "parley")
		if err := os.Symlink(k.exe, parley); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", `ulimit -v 1500000; exec "$0" -p hello`, parley)
		cmd.Env = k.command().Env
		out, err := cmd.CombinedOutput()
		if text := string(out); err == nil || strings.Count(text, "\n") != 1 || !strings.Contains(text, "ulimit -v 2097152") {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("size of the terminal", func(t *testing.T) {
		t.Parallel()
		k := newKilled(t, wires[0])
		tty := k.terminalOf(&pty.Winsize{Rows: 65535, Cols: 65535})
		k.await("the end", func() bool { return tty.shows("65535 × 65535 cells, too many to paint: set its size") })
		if err := tty.cmd.Wait(); err == nil || tty.shows("goroutine") {
			t.Errorf("it ended with %v:\n%s", err, tty.seen)
		}
	})
}

// aHome is the machine of a new user, in a network of its own.
type aHome struct {
	*testing.T
	dir  string
	more []string // environment variables in addition to env

	stdin string
}

func newHome(t *testing.T) aHome {
	h := aHome{T: t, dir: t.TempDir()}
	for _, name := range []string{"work", "config/parley", "bin"} {
		if err := os.MkdirAll(filepath.Join(h.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func (h aHome) env() []string {
	bin := ""
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) { // where testscript put parley
		if _, err := os.Stat(filepath.Join(folder, "parley")); err == nil {
			bin = folder
			break
		}
	}
	return append([]string{
		"HOME=" + h.dir, "PATH=" + filepath.Join(h.dir, "bin") + ":" + bin + ":/usr/bin:/bin", "XDG_CONFIG_HOME=" + h.dir + "/config",
		"XDG_DATA_HOME=" + h.dir + "/data", "XDG_STATE_HOME=" + h.dir + "/state", "XDG_CACHE_HOME=" + h.dir + "/cache", "GORACE=atexit_sleep_ms=0",
	}, h.more...)
}

func (h aHome) configure(text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, "config/parley/config.toml"), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// run runs parley in the folder work, and returns its standard output, its standard error and its status.
func (h aHome) run(args ...string) (out, errs string, status int) {
	h.Helper()
	out, errs, status, err := runProgram(filepath.Join(h.dir, "work"), h.env(), args, h.stdin)
	if err != nil {
		h.Fatal(err)
	}
	return out, errs, status
}

// command returns the command for parley in the folder work.
func (h aHome) command(args ...string) *exec.Cmd {
	h.Helper()
	exe, err := exec.LookPath("parley")
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Env = filepath.Join(h.dir, "work"), h.env()
	return cmd
}

// accept stores that a service may answer, as the question on the screen does.
func (h aHome) accept(provider string) {
	h.Helper()
	lib, err := session.OpenStore(func(name string) string {
		return map[string]string{"HOME": h.dir, "XDG_DATA_HOME": h.dir + "/data"}[name]
	})
	if err == nil {
		err = access.SaveAnswer(lib, provider, true)
	}
	if err == nil {
		err = lib.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
}

// TestDataFolders checks that the program answers, and says so, if conversations cannot be stored, and that unusual
// names of the folder work. Before is a shell command that runs first.
func TestDataFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("mounts and limits are those of Linux")
	}
	full := `mount -t tmpfs -o size=2m none "$DATA" && mkdir "$DATA/parley" && { cat /dev/zero >"$DATA/filler" 2>/dev/null; true; }`
	readOnly := `mount -t tmpfs -o size=2m none "$DATA" && mount -o remount,ro "$DATA"`
	for _, tt := range []struct {
		name, before, data string // data is the folder, if not data
		mount, limit, lost bool   // limit is for the process itself
	}{
		{name: "full", before: full, mount: true, lost: true},
		{name: "read-only", before: readOnly, mount: true, lost: true},
		{name: "files may not grow", before: "ulimit -f 8", limit: true, lost: true},
		{name: "a file in its place", before: `rmdir "$DATA" && touch "$DATA"`, lost: true},
		{name: "a loop of links", before: `rmdir "$DATA" && ln -s data "$DATA"`, lost: true},
		{name: "a pipe for a database", before: `mkdir "$DATA/parley" && mkfifo "$DATA/parley/parley.db"`, lost: true},
		{name: "a device for a database", before: `mkdir "$DATA/parley" && ln -s /dev/full "$DATA/parley/parley.db"`, lost: true},
		{name: "no HOME", before: "unset HOME XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME", lost: true},
		{name: "a relative HOME", before: "unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME; HOME=here", lost: true},
		{name: "a HOME that is not there", before: "unset XDG_DATA_HOME; HOME=$HOME/absent"},
		{name: "a HOME that cannot be made", before: "unset XDG_DATA_HOME; HOME=/dev/null/absent", lost: true},
		{name: "spaces and signs", data: "a b?c#d%41&mode=ro"},
		{name: "line breaks and quotes", data: "a\nb'c\"d"},
		{name: "no text", data: "a\xff\xfeb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			data := filepath.Join(h.dir, cmp.Or(tt.data, "data"))
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) (out, errs string, status int) {
				shell := []string{"sh", "-c", cmp.Or(tt.before, "true") + ` && exec "$@"`, "sh"}
				own := tt.mount || tt.limit
				if own {
					shell = append(append(shell, h.command().Path), args...)
				} else {
					shell = append(shell, "env", "-0") // for a run in a resident
				}
				if tt.mount {
					shell = append([]string{"unshare", "-m", "--"}, shell...)
				}
				cmd := exec.Command(shell[0], shell[1:]...)
				var stdout, stderr strings.Builder
				cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(h.dir, "work"), &stdout, &stderr
				cmd.Env = append(h.env(), "DATA="+data, "XDG_DATA_HOME="+data)
				stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				defer stuck.Stop()
				err := cmd.Run()
				if strings.Contains(stderr.String(), "unshare: ") || strings.Contains(stderr.String(), "mount: ") {
					t.Skip("nothing can be mounted here: " + stderr.String())
				}
				if own {
					return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
				}
				if err == nil {
					env := strings.Split(strings.TrimSuffix(stdout.String(), "\x00"), "\x00")
					out, errs, status, err = runProgram(cmd.Dir, env, args, "")
				}
				if err != nil {
					t.Fatalf("%v: %s", err, stderr.String())
				}
				return out, errs, status
			}
			out, errs, status := run("-q", "-m", "demo/parley", "-p", "count to three")
			if status != 0 || !strings.Contains(out, "offline demo") {
				t.Errorf("status %d, answer %q, %q", status, out, errs)
			}
			if strings.Contains(errs, "not saved") != tt.lost || strings.Contains(errs, "goroutine") {
				t.Errorf("it says %q", errs)
			}
			if !tt.lost {
				if out, errs, _ := run("sessions", "list"); !strings.Contains(out, "count to three") {
					t.Errorf("kept are %q, %q", out, errs)
				}
			}
		})
	}
}
