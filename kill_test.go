package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sandbox"
	"parley/ui/cli"
)

func (r *resident) end() error {
	r.in.Close()
	return errors.Join(r.cmd.Wait(), os.RemoveAll(r.dir))
}

// withResidents runs tests and then ends their residents.
type withResidents struct{ *testing.M }

func (m withResidents) Run() int {
	status := m.M.Run()
	for _, r := range residents.idle {
		if err := r.end(); err != nil {
			fmt.Fprintln(os.Stderr, "a resident:", err)
			status = 1
		}
	}
	return status
}

// reside is the main function of a resident.
func reside() {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(heapPercent)
	in, answers := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var run residentRun
		if in.Decode(&run) != nil {
			return
		}
		os.Clearenv()
		for _, variable := range run.Env {
			name, value, _ := strings.Cut(variable, "=")
			check(os.Setenv(name, value))
		}
		check(os.Chdir(run.Dir))
		stdin, input, err := os.Pipe()
		check(err)
		var written sync.WaitGroup
		written.Go(func() {
			_, _ = io.WriteString(input, run.Stdin) // a program that does not read it closes the pipe
			check(input.Close())
		})
		os.Stdin = stdin
		os.Stdout, err = os.Create(run.Stdout)
		check(err)
		os.Stderr, err = os.Create(run.Stderr)
		check(err)
		status := cli.Main(run.Args)
		check(errors.Join(stdin.Close(), os.Stdout.Close(), os.Stderr.Close()))
		written.Wait()
		check(answers.Encode(status))
	}
}

// rounds returns how often TestKill kills the program; PARLEY_LONG=1 raises it.
func rounds() int {
	if long {
		return 300
	}
	return 12
}

// TestKill kills the program at random moments of a turn, repeatedly in one conversation. The prompt and the received
// part of the answer must be stored, and the next turn must continue from there.
func TestKill(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	t.Parallel()
	var mu sync.Mutex
	var asked []string                // the prompts received by the server
	arrived := make(chan struct{}, 1) // gets a value when the server receives a request
	var faults []error
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		err := json.NewDecoder(r.Body).Decode(&body)
		if errors.Is(err, io.ErrUnexpectedEOF) || r.Context().Err() != nil {
			return // it was killed while it sent the request
		}
		mu.Lock()
		if err != nil {
			faults = append(faults, err)
			mu.Unlock()
			return
		}
		last := body.Messages[len(body.Messages)-1]
		asked = append(asked, last.Content)
		select {
		case arrived <- struct{}{}:
		default:
		}
		for i, m := range body.Messages[2:] {
			if before := body.Messages[i+1]; m.Role == before.Role {
				faults = append(faults, fmt.Errorf("two messages of %s in a row: %q, %q", m.Role, before.Content, m.Content))
			}
		}
		mu.Unlock()
		for n := range 200 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d \"}}]}\n\n", n)
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}))
	defer server.Close()
	home := t.TempDir()
	config := fmt.Sprintf("model = \"mock/m\"\n[providers.mock]\nbase_url = %q\n", server.URL)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "XDG_DATA_HOME=" + home, "NO_PROXY=127.0.0.1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}
	var needs time.Duration // time until the request; 0 measures it, as in the first round and after the machine has slowed down
	for round := range rounds() {
		prompt := fmt.Sprintf("prompt %d", round)
		args := []string{"parley", "--config", filepath.Join(home, "config.toml"), "-q", "-p", prompt}
		mu.Lock()
		before := len(asked)
		mu.Unlock()
		if before > 0 {
			args = append(args, "-c")
		}
		cmd := &exec.Cmd{Path: exe, Args: args, Env: env, Dir: home}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pause := rand.N(2*needs + 400*time.Millisecond)
		if began := time.Now(); needs == 0 {
			select {
			case <-arrived:
			case <-time.After(time.Minute):
			}
			needs = time.Since(began)
		}
		time.Sleep(pause)
		cmd.Process.Kill()
		cmd.Wait()
		mu.Lock()
		if len(asked) == before {
			needs = 0
		}
		mu.Unlock()
		select {
		case <-arrived: // of this round
		default:
		}
	}

	lib, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": home, "XDG_DATA_HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	if err := lib.Check(); err != nil {
		t.Errorf("the file: %v", err)
	}
	found, err := lib.List(session.Query{})
	if err != nil || len(found) == 0 {
		t.Fatalf("kept %+v, %v", found, err)
	}
	kept := map[string]bool{}
	for _, about := range found {
		_, nodes, err := lib.Read(about.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			kept[n.Text()] = true
			if n.Role != llm.RoleAssistant {
				continue
			}
			for i, word := range strings.Fields(n.Text()) {
				if word != fmt.Sprint(i) {
					t.Errorf("message %d is not the beginning of what was said: %q", n.Seq, n.Text())
					break
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, err := range faults {
		t.Error(err)
	}
	for _, a := range asked {
		last := a[strings.LastIndex(a, "prompt "):] // unanswered prompts are adjacent
		if !kept[last] {
			t.Errorf("the server was asked %q, which is lost", last)
		}
	}
	if len(asked) < rounds()/3 {
		t.Errorf("only %d of %d runs came as far as to ask: the machine is too slow for this test to mean much", len(asked), rounds())
	}
}

// BenchmarkSandbox measures the cost of the sandbox in the program itself, whose packages all have to initialize before
// it can be the helper: the time of /bin/true in the sandbox minus the time without, at the median and the 95th
// percentile.
func BenchmarkSandbox(b *testing.B) {
	if found := sandbox.Probe(); !found.Available() {
		b.Skip(found.Reason)
	}
	policy := sandbox.Policy{Workspace: b.TempDir(), Protected: sandbox.Protected(), Env: os.Environ()}
	var plain, held []time.Duration
	run := func(cmd *exec.Cmd, times *[]time.Duration) {
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		*times = append(*times, time.Since(began))
	}
	for b.Loop() {
		run(exec.Command("/bin/true"), &plain)
		began := time.Now()
		cmd, cleanup, err := sandbox.Command(policy, "/bin/true")
		if err != nil {
			b.Fatal(err)
		}
		made := time.Since(began)
		run(cmd, &held)
		held[len(held)-1] += made
		cleanup()
	}
	slices.Sort(plain)
	slices.Sort(held)
	base := plain[len(plain)/2]
	for _, q := range []struct {
		share float64
		unit  string
	}{{0.5, "ms-p50"}, {0.95, "ms-p95"}} {
		at := held[int(q.share*float64(len(held)-1))]
		b.ReportMetric(float64((at-base).Microseconds())/1000, q.unit)
	}
}

// aWire describes how one kind of server asks for a tool, and how requests contain its result.
type aWire struct {
	name   string
	config string // settings of its provider beside the address
	answer func(w http.ResponseWriter, tool, input string)
}

// aString returns text as a JSON string; aString(aString(…)) nests it.
func aString(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func shellInput(command string) string { return `{"command":` + aString(command) + `}` }

var wires = []aWire{
	{"chat completions", `kind = "openai"`, func(w http.ResponseWriter, tool, input string) {
		stream(w, call(tool, input), finish("tool_calls"))
	}},
	{"prompt strategy", "kind = \"openai\"\n[providers.mock.model.m]\nstrategy = \"prompt\"", func(w http.ResponseWriter, tool, input string) {
		text := `<tool_call>{"name":"` + tool + `","arguments":` + input + `}</tool_call>`
		stream(w, delta(`{"content":`+aString(text)+`}`), finish("stop"))
	}},
	{"Responses", `kind = "openai-responses"`, func(w http.ResponseWriter, tool, input string) {
		item := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"` + tool + `","arguments":` + aString(input) + `,"status":"completed"}`
		stream(w, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
			`{"type":"response.completed","response":{"id":"r1","status":"completed","model":"m","output":[`+item+`],"usage":{"input_tokens":7,"output_tokens":3}}}`)
	}},
	{"Anthropic", `kind = "anthropic"`, func(w http.ResponseWriter, tool, input string) {
		stream(w, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"`+tool+`","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+aString(input)+`}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)
	}},
	{"Gemini", `kind = "gemini"`, func(w http.ResponseWriter, tool, input string) {
		stream(w, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"`+tool+`","args":`+input+`}}]},"finishReason":"STOP","index":0}],`+
			`"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}}`)
	}},
}

// TestKillDuringCall kills the program while the first call of an answer runs. The result of the call is unknown:
// neither a request nor the screen may say that it did not run.
func TestKillDuringCall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	for _, wire := range wires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, wire)
			cmd := k.command("-q", "--yolo", "-p", "run it")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			k.await("the command", func() bool { _, err := os.Stat(filepath.Join(k.home, "ran")); return err == nil })
			_ = cmd.Process.Kill()
			_ = cmd.Wait()

			k.run("-q", "-c", "-p", "go on")
			k.mu.Lock()
			defer k.mu.Unlock()
			const told = "What it did until then is not known."
			if last := k.bodies[len(k.bodies)-1]; len(k.bodies) != 2 || !strings.Contains(last, told) || strings.Contains(last, "not run") {
				t.Errorf("request %d does not say %q:\n%s", len(k.bodies), told, last)
			}
			if show, status := k.run("sessions", "show", "run"); status != 0 || !strings.Contains(show, told) {
				t.Errorf("sessions show says, with status %d,\n%s", status, show)
			}
		})
	}
}

// TestKillDuringTypedCommand kills the program while a command typed by the user runs. The next start attaches a note
// that it was interrupted, once.
func TestKillDuringTypedCommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	for name, args := range map[string][]string{"screen": nil, "lines": {"--screen-reader"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, wires[0])
			ran := func() bool { _, err := os.Stat(filepath.Join(k.home, "ran")); return err == nil }
			first := k.terminal(args...)
			k.await("the first screen", func() bool { return first.shows("mock/m") })
			first.send("!echo 1 > ran; sleep 600", ran)
			first.kill()

			again := k.terminal(args...)
			k.await("the attachment", func() bool { return again.shows("interrupted: echo 1") })
			again.send("go on", func() bool { return k.requests() > 0 })
			again.kill()
			k.mu.Lock()
			defer k.mu.Unlock()
			const told = "What it did until then is not known."
			if n := strings.Count(k.bodies[0], told); n != 1 {
				t.Errorf("the model is told %d times that %q:\n%s", n, told, k.bodies[0])
			}
		})
	}
}

// TestKillDuringQuestion kills the program while a question of the model waits. The conversation continues, and the
// answer to the next question is the result of its call.
func TestKillDuringQuestion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	for _, wire := range wires {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, wire)
			k.calls, k.tool, k.input = 2, "ask_user", `{"questions":[{"question":"Which one?","choices":["Alpha","Beta"]}]}`
			first := k.terminal()
			k.await("the first screen", func() bool { return first.shows("mock/m") })
			first.send("ask me", func() bool { return first.shows("Another answer") })
			first.kill()

			again := k.terminal("-c")
			k.await("the conversation", func() bool { return again.shows("Interrupted") })
			again.send("ask again", func() bool { return again.shows("Another answer") })
			again.send("\x1b[B", func() bool { return k.requests() > 2 })
			again.kill()
			k.mu.Lock()
			defer k.mu.Unlock()
			if !strings.Contains(k.bodies[1], "It changed nothing.") || !strings.Contains(k.bodies[2], "→ Beta") {
				t.Errorf("the model got\n%s\nand\n%s", k.bodies[1], k.bodies[2])
			}
		})
	}
}

// TestKillBeside kills the program while it asks a model beside the conversation for the second time: with /btw while
// it waits for an answer, with /ask, with consult and with explore. What was said and its cost are stored, and the
// conversation continues.
func TestKillBeside(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	for _, tt := range []struct{ name, purpose, typed, input string }{
		{"btw", "aside", "/btw -m mock/side ", ""}, {"ask", "consult", "/ask mock/side ", ""},
		{"consult", "consult", "", `{"question":"why?"}`}, {"explore", "explore", "", `{"task":"find it"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newKilled(t, wires[0])
			var side atomic.Int32 // requests to the model beside
			var begun atomic.Bool // the answering one answers
			k.serve = func(w http.ResponseWriter, r *http.Request, body string) {
				switch {
				case strings.Contains(body, `"model":"side"`):
					if side.Add(1) == 1 {
						stream(w, delta(`{"content":"First opinion."}`), finish("stop"))
						return
					}
					stream(w, delta(`{"content":"Second "}`))
					<-r.Context().Done()
				case strings.Contains(body, "Proceed!"):
					stream(w, delta(`{"content":"It continues."}`), finish("stop"))
				case tt.input != "":
					stream(w, call(tt.purpose, tt.input), finish("tool_calls"))
				case tt.name == "ask":
					stream(w, delta(`{"content":"An answer."}`), finish("stop"))
				default:
					begun.Store(true)
					<-r.Context().Done()
				}
			}
			settings := "[providers.mock.price]\ninput = 1\noutput = 1\n"
			if tt.input != "" {
				settings += "[session]\nsmall_model = \"mock/side\"\n[consult]\nmodel = \"mock/side\"\n"
			}
			k.configure(settings)
			if tt.input == "" {
				screen := k.terminal()
				k.await("the first screen", func() bool { return screen.shows("mock/m") })
				screen.send("begin", func() bool { return begun.Load() || screen.shows("An answer.") })
				screen.send(tt.typed+"why?", func() bool { return side.Load() == 1 })
				k.await("the first answer", func() bool { return screen.shows("First opinion.") })
				screen.send(tt.typed+"and?", func() bool { return side.Load() == 2 })
				k.await("the second answer", func() bool { return screen.shows("Second") && (tt.name == "btw" || k.stores("Second")) })
				screen.kill()
				again := k.terminal("-c")
				k.await("the finished answer again", func() bool { return again.shows("First opinion.") })
				again.kill()
			} else {
				cmd := k.command("-q", "-p", "begin")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				k.await("the second question", func() bool { return side.Load() == 2 })
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			if out, status := k.run("-q", "-c", "-p", "Proceed!"); status != 0 || out != "It continues.\n" {
				t.Errorf("it continues with %q, status %d", out, status)
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			var last struct {
				Messages []struct {
					Role, Content string
					Calls         []json.RawMessage `json:"tool_calls"`
				}
			}
			if err := json.Unmarshal([]byte(k.bodies[len(k.bodies)-1]), &last); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range last.Messages[1:] {
				got = append(got, fmt.Sprint(m.Role, " ", len(m.Calls), " ", m.Content))
			}
			want := []string{"user 0 begin", "assistant 1 ", "tool 0 First opinion.", "assistant 1 ", "tool 0 Interrupted: the program ended before this was finished. It changed nothing.", "user 0 Proceed!"}
			switch tt.name {
			case "btw":
				want = []string{"user 0 begin\n\nProceed!"}
			case "ask":
				want = []string{"user 0 begin", "assistant 0 An answer.", "user 0 Proceed!\n\n<opinion of=\"mock/side\" question=\"why?\">\nFirst opinion.\n</opinion>"}
				again := k.terminal("-c")
				k.await("the second answer", func() bool { return again.shows("Second") })
				again.kill()
			}
			if !slices.Equal(got, want) {
				t.Errorf("the model gets %q, want %q", got, want)
			}
			lib, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": k.home, "XDG_DATA_HOME": k.home}[name] })
			if err != nil {
				t.Fatal(err)
			}
			defer lib.Close()
			sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
			i := slices.IndexFunc(sums, func(s session.UsageSum) bool { return s.Purpose == tt.purpose })
			if i < 0 || sums[i].Requests != 1 || sums[i].Usage.Input != 7 || sums[i].Usage.Cost != 10e-6 {
				t.Errorf("the ledger has %+v, %v", sums, err)
			}
		})
	}
}

// stores reports whether the files of the store contain text.
func (k *killed) stores(text string) bool {
	files, err := filepath.Glob(filepath.Join(k.home, "parley", "parley.db*"))
	if err != nil || len(files) == 0 {
		k.Fatalf("no store: %v", err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		data, _ := os.ReadFile(file)
		return bytes.Contains(data, []byte(text))
	})
}

// killed is a home folder with a server whose first answers are calls: one of a command that creates the file "ran" and
// then takes a long time, unless the test sets others.
type killed struct {
	*testing.T
	home, exe   string
	calls       int
	tool, input string
	serve       func(w http.ResponseWriter, r *http.Request, body string) // answers instead

	mu     sync.Mutex // guards bodies
	bodies []string   // request bodies
}

func newKilled(t *testing.T, wire aWire) *killed {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &killed{T: t, home: t.TempDir(), exe: exe, calls: 1, tool: "shell", input: shellInput("echo 1 > ran; sleep 600")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		k.bodies = append(k.bodies, string(body))
		calls := len(k.bodies) <= k.calls
		k.mu.Unlock()
		if k.serve != nil {
			k.serve(w, r, string(body))
			return
		}
		if calls {
			wire.answer(w, k.tool, k.input)
			return
		}
		fail(w, 400, `{"error":{"message":"enough","type":"invalid_request_error"}}`)
	}))
	t.Cleanup(server.Close)
	config := fmt.Sprintf("model = \"mock/m\"\n[providers.mock]\nbase_url = %q\napi_key = \"sk-mock-0123456789\"\n%s\n", server.URL+"/v1", wire.config)
	if err := os.WriteFile(filepath.Join(k.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// configure adds text to the configuration.
func (k *killed) configure(text string) {
	k.Helper()
	file, err := os.OpenFile(filepath.Join(k.home, "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		k.Fatal(err)
	}
}

// command returns the command for the program in the home folder.
func (k *killed) command(args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: k.exe, Dir: k.home, Args: append([]string{"parley", "--config", filepath.Join(k.home, "config.toml")}, args...),
		Env: []string{"HOME=" + k.home, "XDG_DATA_HOME=" + k.home, "NO_PROXY=127.0.0.1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")},
	}
}

// run runs the program and waits for it.
func (k *killed) run(args ...string) (stdout string, status int) {
	k.Helper()
	cmd := k.command(args...)
	stdout, _, status, err := runProgram(cmd.Dir, cmd.Env, cmd.Args[1:], "")
	if err != nil {
		k.Fatal(err)
	}
	return stdout, status
}

// requests returns the number of requests.
func (k *killed) requests() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.bodies)
}

// await waits until so returns true.
func (k *killed) await(what string, so func() bool) {
	k.Helper()
	for range 6000 {
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	k.Fatalf("%s did not come", what)
}

// tty is the program running on a terminal.
type tty struct {
	*killed
	cmd  *exec.Cmd
	file *os.File
	read sync.WaitGroup

	mu   sync.Mutex // guards seen
	seen []byte     // its output
}

func (k *killed) terminal(args ...string) *tty {
	return k.terminalOf(&pty.Winsize{Rows: 40, Cols: 120}, args...)
}

func (k *killed) terminalOf(size *pty.Winsize, args ...string) *tty {
	k.Helper()
	cmd := k.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "SHELL=/bin/sh")
	return k.startTerminal(cmd, size)
}

func (k *killed) startTerminal(cmd *exec.Cmd, size *pty.Winsize) *tty {
	k.Helper()
	file, err := pty.StartWithSize(cmd, size)
	if err != nil {
		k.Fatal(err)
	}
	t := &tty{killed: k, cmd: cmd, file: file}
	t.read.Go(func() {
		for piece := make([]byte, 4096); ; {
			n, err := file.Read(piece)
			t.mu.Lock()
			t.seen = append(t.seen, piece[:n]...)
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	k.Cleanup(t.kill)
	return t
}

func (t *tty) shows(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.seen, []byte(text))
}

// showsAfter reports whether text was written after first.
func (t *tty) showsAfter(first, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, after, _ := bytes.Cut(t.seen, []byte(first))
	return bytes.Contains(after, []byte(text))
}

// send types text, and then enter until so returns true: after fast typing the program takes enter for a line break in
// pasted text.
func (t *tty) send(text string, so func() bool) {
	t.Helper()
	_, _ = t.file.WriteString(text)
	beat := 0
	defer func() {
		if t.Failed() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.Logf("the terminal got, at its end, %q", t.seen[max(len(t.seen)-8000, 0):])
		}
	}()
	t.await("the effect of "+text, func() bool {
		if beat++; beat%20 == 0 {
			_, _ = t.file.WriteString("\r")
		}
		return so()
	})
}

// kill kills the program. A second call does nothing.
func (t *tty) kill() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	_ = t.file.Close()
	t.read.Wait()
}

// ended waits until the program has ended by itself with a text and a status.
func (k *killed) ended(tty *tty, text string, status int) {
	k.Helper()
	_ = tty.cmd.Wait()
	tty.read.Wait()
	if got := tty.cmd.ProcessState.ExitCode(); got != status || !tty.shows(text) {
		k.Errorf("status %d, want %d and %q:\n%s", got, status, text, tty.seen)
	}
}

// end ends the program as a closed terminal does, and waits until it has stored its state.
func (t *tty) end() {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	_ = t.cmd.Wait()
	t.kill()
}

// killedCommand runs "killed REQUESTS ARGUMENT...": it starts parley, and sends SIGKILL once the server has received
// that many requests.
func killedCommand(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value("requests").(*counter)
	cmd := process(ts, args[1:])
	ts.Check(cmd.Start())
	for deadline := time.Now().Add(time.Minute); ; {
		c.Lock()
		n := c.n
		c.Unlock()
		if fmt.Sprint(n) == args[0] {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			ts.Fatalf("the server got %d requests", n)
		}
		time.Sleep(time.Millisecond)
	}
	ts.Check(cmd.Process.Kill())
	_ = cmd.Wait()
}

// end closes the connection and waits for parley.
func (e *editor) end() {
	e.Helper()
	e.in.Close()
	for e.out.Scan() {
	}
	if err := e.cmd.Wait(); err != nil {
		e.Error(err)
	}
}
