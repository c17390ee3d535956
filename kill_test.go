package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// aWire is how the kinds of servers ask for a tool, and what comes in requests
// for a result.
type aWire struct {
	name   string
	config string // of its provider, beside the address
	answer func(w http.ResponseWriter, command string)
}

// aString is text as a JSON string, and aString(aString(…)) one inside one.
func aString(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func shellInput(command string) string { return `{"command":` + aString(command) + `}` }

var wires = []aWire{
	{"chat completions", `kind = "openai"`, func(w http.ResponseWriter, command string) {
		stream(w, call("shell", shellInput(command)), finish("tool_calls"))
	}},
	{"prompt strategy", "kind = \"openai\"\n[providers.mock.model.m]\nstrategy = \"prompt\"", func(w http.ResponseWriter, command string) {
		text := `<tool_call>{"name":"shell","arguments":` + shellInput(command) + `}</tool_call>`
		stream(w, delta(`{"content":`+aString(text)+`}`), finish("stop"))
	}},
	{"Responses", `kind = "openai-responses"`, func(w http.ResponseWriter, command string) {
		item := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"shell","arguments":` + aString(shellInput(command)) + `,"status":"completed"}`
		stream(w, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
			`{"type":"response.completed","response":{"id":"r1","status":"completed","model":"m","output":[`+item+`],"usage":{"input_tokens":7,"output_tokens":3}}}`)
	}},
	{"Anthropic", `kind = "anthropic"`, func(w http.ResponseWriter, command string) {
		stream(w, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"shell","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+aString(shellInput(command))+`}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)
	}},
	{"Gemini", `kind = "gemini"`, func(w http.ResponseWriter, command string) {
		stream(w, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"shell","args":`+shellInput(command)+`}}]},"finishReason":"STOP","index":0}],`+
			`"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}}`)
	}},
}

// TestKillDuringCall kills the program while the first call of an answer runs.
// What it did until then is not known: on no wire, and nowhere that the user
// looks, is it said that it did not run.
func TestKillDuringCall(t *testing.T) {
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

			_ = k.command("-q", "-c", "-p", "go on").Run()
			k.mu.Lock()
			defer k.mu.Unlock()
			const told = "What it did until then is not known."
			if last := k.bodies[len(k.bodies)-1]; len(k.bodies) != 2 || !strings.Contains(last, told) || strings.Contains(last, "not run") {
				t.Errorf("request %d does not say %q:\n%s", len(k.bodies), told, last)
			}
			show, err := k.command("sessions", "show", "run").CombinedOutput()
			if err != nil || !strings.Contains(string(show), told) {
				t.Errorf("sessions show says, %v,\n%s", err, show)
			}
		})
	}
}

// TestKillDuringTypedCommand kills the program while a command runs that the
// user typed. The next start attaches that it was interrupted, once.
func TestKillDuringTypedCommand(t *testing.T) {
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
			again.send("go on", func() bool { return k.requests() == 1 })
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

// killed is a home folder with a server whose first answer is a command that
// makes the file "ran" and then takes its time.
type killed struct {
	*testing.T
	home, exe string

	mu     sync.Mutex // guards bodies
	bodies []string   // of requests
}

func newKilled(t *testing.T, wire aWire) *killed {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &killed{T: t, home: t.TempDir(), exe: exe}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		k.bodies = append(k.bodies, string(body))
		first := len(k.bodies) == 1
		k.mu.Unlock()
		if first {
			wire.answer(w, "echo 1 > ran; sleep 600")
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

// command is the program, in the home folder.
func (k *killed) command(args ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: k.exe, Dir: k.home, Args: append([]string{"parley", "--config", filepath.Join(k.home, "config.toml")}, args...),
		Env: []string{"HOME=" + k.home, "XDG_DATA_HOME=" + k.home, "NO_PROXY=127.0.0.1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")},
	}
}

// requests is how many there were.
func (k *killed) requests() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.bodies)
}

// await waits until something is so.
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

// tty is the program on a terminal.
type tty struct {
	*killed
	cmd  *exec.Cmd
	file *os.File
	read sync.WaitGroup

	mu   sync.Mutex // guards seen
	seen []byte     // what it wrote
}

func (k *killed) terminal(args ...string) *tty {
	return k.terminalOf(&pty.Winsize{Rows: 40, Cols: 120}, args...)
}

func (k *killed) terminalOf(size *pty.Winsize, args ...string) *tty {
	k.Helper()
	cmd := k.command(args...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "SHELL=/bin/sh")
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

// send types text, and enter until something is so: behind a burst of keys the
// program takes one for a line break of what was pasted.
func (t *tty) send(text string, so func() bool) {
	t.Helper()
	_, _ = t.file.WriteString(text)
	beat := 0
	t.await("the effect of "+text, func() bool {
		if beat++; beat%20 == 0 {
			_, _ = t.file.WriteString("\r")
		}
		return so()
	})
}

// kill ends the program at once. The second time it does nothing.
func (t *tty) kill() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	_ = t.file.Close()
	t.read.Wait()
}
