package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/providers/discover/discovertest"
)

// keyServer answers requests with the canary, and repeats any other key in its refusal.
func keyServer(e *echo) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		e.Lock()
		defer e.Unlock()
		e.look(string(body))
		if key != canary {
			fail(w, 401, `{"error":{"message":"Incorrect API key provided: `+key+`","code":"invalid_api_key"}}`)
			return
		}
		if e.keyed++; r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"id":"grok-4.7"}]}`)
			return
		}
		stream(w, delta(`{"content":"hello, connected"}`), finish("stop"))
	}))
}

// serveKeys runs "keyserver": it starts a keyServer in place of xAI, for which there is no key, and writes the canary
// into the file key.
func serveKeys(ts *testscript.TestScript, _ bool, _ []string) {
	srv := keyServer(ts.Value("echo").(*echo))
	ts.Defer(srv.Close)
	ts.Check(os.WriteFile(ts.MkAbs("config.toml"), fmt.Appendf(nil, "[providers.xai]\nbase_url = %q\n", srv.URL+"/v1"), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("key"), []byte(" \""+canary+"\"\n"), 0o600))
	ts.Setenv("KEY", canary)
}

// TestConnectLeavesNoTrace types a key on the screen and in plain lines, once to be stored and once with the program
// ending before. The key must not appear on the terminal, and only in the file for keys under the user's home.
func TestConnectLeavesNoTrace(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no terminals to open")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]bool{"screen": false, "lines": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &echo{}
			srv := keyServer(e)
			t.Cleanup(srv.Close)
			k := &killed{T: t, home: t.TempDir(), exe: exe}
			if err := os.WriteFile(filepath.Join(k.home, "config.toml"), fmt.Appendf(nil, "[ui]\ndiscover = false\n[providers.xai]\nbase_url = %q\n", srv.URL+"/v1"), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"--record", filepath.Join(k.home, "rec.jsonl"), "--debug", filepath.Join(k.home, "debug.log")}
			if lines {
				args = append(args, "--screen-reader")
			}
			write := func(tty *tty, key string) {
				tty.send("/connect xai", func() bool { return tty.shows("xAI Grok API key") })
				_, _ = tty.file.WriteString(key)
				if !lines {
					k.await("the key", func() bool { return tty.shows(fmt.Sprint(len(key), " characters")) })
				}
			}
			first := k.terminal(args...)
			k.await("the beginning", func() bool { return first.shows("demo/parley") })
			write(first, "sk-wrong-"+canary[:13])
			_, _ = first.file.WriteString("\r")
			k.await("the refusal", func() bool { return first.shows("rejected this key") })
			if lines { // between two questions the terminal echoes typed text
				k.await("the second question", func() bool { return first.showsAfter("rejected this key", "API key: ") })
			}
			_, _ = first.file.WriteString(canary)
			if !lines {
				k.await("the second key", func() bool { return first.shows(fmt.Sprint(len(canary), " characters")) })
			}
			_, _ = first.file.WriteString("\r")
			k.await("the key", func() bool { return first.shows("grok-4.7") && first.shows("credentials.toml") })
			first.send("hi", func() bool { return first.shows("hello, connected") })
			first.end()

			again := k.terminal(args...)
			k.await("the second beginning", func() bool { return again.shows("xai/grok-4.7") })
			write(again, canary)
			if lines { // discard the line that was begun
				_, _ = again.file.WriteString("\x03")
				k.await("the end of the question", func() bool { return again.shows("Canceled.") })
			}
			again.end()

			for i, tty := range []*tty{first, again} {
				k.holdsNone(fmt.Sprint("terminal ", i), string(tty.seen))
			}
			if e.keyed == 0 {
				t.Error("the server never got the key")
			}
			found := false
			err := filepath.WalkDir(k.home, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				b, err := os.ReadFile(path)
				if d.Name() == "credentials.toml" {
					found = strings.Contains(string(b), canary[:len(canary)/2])
					return err
				}
				k.holdsNone(path, string(b))
				return err
			})
			if err != nil || !found {
				t.Errorf("it is not where it belongs: %v", err)
			}
		})
	}
}

// TestConnectAsks types a key at the prompt of parley connect. The terminal does not show it, and a rejected key is
// asked for again.
func TestConnectAsks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no terminals to open")
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	srv := keyServer(&echo{})
	t.Cleanup(srv.Close)
	k := &killed{T: t, home: t.TempDir(), exe: exe}
	if err := os.WriteFile(filepath.Join(k.home, "config.toml"), fmt.Appendf(nil, "[providers.xai]\nbase_url = %q\n", srv.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	tty := k.terminal("connect")
	say := func(await, line string) {
		t.Helper()
		k.await(await, func() bool { return tty.shows(await) })
		_, _ = tty.file.WriteString(line + "\n")
	}
	say("  4  xai              xAI Grok                                 no key yet\r\n", "")
	k.ended(tty, "no provider was chosen", 2)
	tty = k.terminal("connect")
	say("Number or name", "4")
	say("xAI Grok API key (not shown): ", "sk-wrong-"+canary[:13])
	say("xAI Grok rejected this key: Incorrect API key provided: [redacted]\r\nxAI Grok API key (not shown): ", canary)
	k.ended(tty, "Key stored in ", 0)
	k.holdsNone("the terminal", string(tty.seen))
}

// holdsNone fails if text contains a part of the canary in any encoding.
func (k *killed) holdsNone(place, text string) {
	k.Helper()
	for _, form := range formsOf(canary) {
		if at := strings.Index(text, form); at >= 0 {
			k.Errorf("%q is in %s: %.200q", form, place, text[max(0, at-100):])
			return
		}
	}
}

// The search for local servers has a short time limit: these four tests run before tests that run in parallel.

// TestLocalServers checks that local servers are found without configuration, can be used by name, and answer pipes
// once the user has agreed.
func TestLocalServers(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	if out, errs, status := h.run("-p", "hi"); status != 0 || strings.Contains(errs, "running") || !strings.Contains(errs, "demo") {
		t.Fatalf("with nothing there: %d\n%s%s", status, out, errs)
	}
	ollama := discovertest.New("ollama").Start(t, "")
	for _, provider := range []string{"lmstudio", "vllm", "sglang", "koboldcpp", "jan", "docker", "llamacpp"} {
		discovertest.New(provider).Start(t, "")
	}

	out, errs, _ := h.run("models")
	for _, name := range []string{"ollama/llama3.2:latest", "lmstudio/google/gemma-3-4b", "vllm/Qwen/Qwen3-8B", "sglang/meta-llama/Llama-3.1-8B-Instruct", "koboldcpp/koboldcpp/mistral-nemo", "jan/Jan-v1-4B-Q4_K_M", "docker/ai/smollm2", "llamacpp/qwen3-8b-q4_k_m.gguf"} {
		if !strings.Contains(out, name) {
			t.Errorf("parley models lacks %s:\n%s%s", name, out, errs)
		}
		ollama.Requests()
		provider, _, _ := strings.Cut(name, "/")
		if out, errs, status := h.run("-m", name, "-p", "hi"); status != 0 || !strings.Contains(out, "hello from "+provider) {
			t.Errorf("%s: %d %s%s", name, status, out, errs)
		}
		if asked := ollama.Requests(); provider != "ollama" && len(asked) > 0 {
			t.Errorf("%s is known, and yet Ollama was asked: %v", name, asked)
		}
	}

	out, errs, _ = h.run("-p", "hi")
	if strings.Contains(out, "hello from") || !strings.Contains(errs, "is running on this machine: parley connect") {
		t.Errorf("before anybody agreed:\n%s%s", out, errs)
	}
	h.accept("ollama")
	if out, errs, _ = h.run("-q", "-p", "hi"); !strings.Contains(out, "hello from ollama") || errs != "" {
		t.Errorf("once somebody agreed:\n%s%s", out, errs)
	}

	h.configure("[ui]\ndiscover = false\n")
	ollama.Requests()
	if out, _, _ = h.run("models"); strings.Contains(out, "ollama/") || len(ollama.Requests()) > 0 {
		t.Errorf("discover = false, and yet it was looked for:\n%s", out)
	}
}

// plainOllama returns an Ollama whose list does not tell the abilities of models, as in most versions.
func plainOllama() *discovertest.Fake {
	f := discovertest.New("ollama")
	f.Paths["/api/tags"] = `{"models":[{"name":"all-minilm:latest","model":"all-minilm:latest"},{"name":"llama3.2:latest","model":"llama3.2:latest"},{"name":"qwen3:8b","model":"qwen3:8b"},{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest"}]}`
	f.Shows = map[string]string{"all-minilm:latest": `{"capabilities":["embedding"]}`, "llama3.2:latest": `{"capabilities":["completion","tools"]}`, "qwen3:8b": `{"capabilities":["completion"]}`}
	return f
}

// TestOneWayToFindAProvider checks that all commands find the servers of this machine by every form of a model's name,
// and choose the same default.
func TestOneWayToFindAProvider(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	ollama := plainOllama()
	ollama.Start(t, "")
	for _, tt := range []struct{ command, out, errs string }{
		{"-q -m ollama -p hi", "hello from ollama", ""},
		{"-q -m ollama/qwen3:8b -p hi", "hello from ollama", ""},
		{"-q -m llama3.2 -p hi", "hello from ollama", ""},
		{"embed hello -o jsonl", `"embedding":[0.6,0.8]`, "ollama/nomic-embed-text:latest"},
		{"embed hello -o jsonl -m ollama", `"embedding":[0.6,0.8]`, "ollama/nomic-embed-text:latest"},
		{"embed hello -o jsonl -m ollama/all-minilm", `"embedding":[0.6,0.8]`, "ollama/all-minilm"},
		{"embed hello -o jsonl -m nomic-embed-text", `"embedding":[0.6,0.8]`, "ollama/nomic-embed-text:latest"},
		{"embed hello --store notes", "", "ollama/nomic-embed-text:latest"},
		{"similar notes hello", "hello", ""},
		{"models --embed -o text all-minilm", "ollama/all-minilm:latest", ""},
		{"doctor", "default qwen3:8b", ""},
		{"connect ollama", "default qwen3:8b", ""},
	} {
		ollama.Requests()
		out, errs, status := h.run(strings.Fields(tt.command)...)
		if status != 0 && tt.command != "doctor" || !strings.Contains(out, tt.out) || !strings.Contains(errs, tt.errs) {
			t.Errorf("%s: %d\n%s%s", tt.command, status, out, errs)
		}
		if asked := fmt.Sprint(ollama.Requests()); tt.command == "-q -m ollama -p hi" && !strings.Contains(asked, `"model":"qwen3:8b"`) {
			t.Errorf("asked %s", asked)
		}
	}
}

// TestServerWithKey checks that a llama.cpp that needs a key is found on each of its ports and, once parley connect has
// the key, can be used by the name of its file.
func TestServerWithKey(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	for _, port := range []string{"8080", "9931"} {
		t.Run(port, func(t *testing.T) {
			h := newHome(t)
			llama := discovertest.New("llamacpp")
			llama.Key = canary
			llama.Paths["/v1/models"] = `{"object":"list","data":[{"id":"/models/qwen/qwen3-8b.gguf","object":"model","owned_by":"llamacpp"}]}`
			llama.Start(t, "127.0.0.1:"+port)
			if _, errs, status := h.run("-m", "llamacpp", "-p", "hi"); status == 0 || !strings.Contains(errs, "parley connect llamacpp") {
				t.Errorf("without a key: %d %s", status, errs)
			}
			if out, errs, _ := h.run("doctor"); !strings.Contains(out, "parley connect llamacpp") {
				t.Errorf("doctor:\n%s%s", out, errs)
			}
			h.stdin = "wrong-" + canary
			if _, errs, status := h.run("connect", "llamacpp"); status == 0 || !strings.Contains(errs, "rejected this key") {
				t.Errorf("a wrong key: %d %s", status, errs)
			}
			h.stdin = canary
			if out, errs, status := h.run("connect", "llamacpp"); status != 0 || !strings.Contains(out, "1 model, default qwen3-8b.gguf") {
				t.Errorf("connect: %d\n%s%s", status, out, errs)
			}
			h.stdin = ""
			for _, args := range []string{"-m llamacpp", "-m llamacpp/qwen3-8b.gguf", "-m qwen3-8b.gguf", "-m llamacpp//models/qwen/qwen3-8b.gguf", ""} {
				llama.Requests()
				out, errs, status := h.run(append(strings.Fields(args), "-o", "json", "-p", "hi")...)
				asked := fmt.Sprint(llama.Requests())
				if status != 0 || !strings.Contains(out, "hello from llamacpp") || !strings.Contains(out, `"llamacpp/qwen3-8b.gguf"`) || strings.Contains(out+errs, "/models/") {
					t.Errorf("%q: %d\n%s%s", args, status, out, errs)
				}
				if strings.Contains(args, "/models/") && !strings.Contains(asked, `"model":"/models/qwen/qwen3-8b.gguf"`) {
					t.Errorf("%q asked %s", args, asked)
				}
			}
			for _, command := range []string{"models", "doctor"} {
				if out, errs, _ := h.run(command); !strings.Contains(out, "qwen3-8b.gguf") || strings.Contains(out+errs, "/models/") {
					t.Errorf("%s:\n%s%s", command, out, errs)
				}
			}
			if out, errs, status := h.run("connect", "--remove", "llamacpp"); status != 0 {
				t.Errorf("%d %s%s", status, out, errs)
			}
			h.configure("[providers.box]\nkind = \"llamacpp\"\nbase_url = \"http://127.0.0.1:" + port + "/v1\"\n")
			h.stdin = canary
			if out, errs, status := h.run("connect", "box"); status != 0 || !strings.Contains(out, "1 model, default qwen3-8b.gguf") {
				t.Errorf("connect box: %d\n%s%s", status, out, errs)
			}
			h.stdin = ""
			if out, errs, status := h.run("-q", "-m", "box", "-p", "hi"); status != 0 || !strings.Contains(out, "hello from llamacpp") {
				t.Errorf("box: %d\n%s%s", status, out, errs)
			}
		})
	}
}

// TestAcceptedServerIsGone checks that the demo does not answer in place of a server that the user agreed to.
func TestAcceptedServerIsGone(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	h.accept("ollama")
	out, errs, status := h.run("-p", "hi")
	if status == 0 || out != "" || !strings.Contains(errs, "ollama does not run on this machine") {
		t.Errorf("%d %q %q", status, out, errs)
	}
}

// TestProviderWithoutAModel checks that a provider configured without a model is asked for its models and answers,
// without a notice about keys.
func TestProviderWithoutAModel(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	discovertest.New("vllm").Start(t, "127.0.0.1:4567")
	h.configure(fmt.Sprintf("[providers.box]\nkind = %q\nbase_url = %q\n", "vllm", "http://127.0.0.1:4567/v1"))
	if out, errs, status := h.run("-q", "-p", "hi"); status != 0 || !strings.Contains(out, "hello from vllm") || errs != "" {
		t.Errorf("%d %q %q", status, out, errs)
	}
}

// TestConnectLocal checks that parley connect asks no question for services without a key, and reports with advice why
// one cannot answer.
func TestConnectLocal(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	if _, errs, status := h.run("connect", "ollama"); status == 0 || !strings.Contains(errs, "Ollama does not run on this machine: start it") {
		t.Errorf("not running: %d %q", status, errs)
	}
	h.configure("[providers.box]\nkind = \"vllm\"\nbase_url = \"http://127.0.0.1:4567/v1\"\n")
	if _, errs, status := h.run("connect", "box"); status == 0 || !strings.Contains(errs, "box needs no connecting: config.toml has its address") {
		t.Errorf("of the configuration: %d %q", status, errs)
	}
	h.configure("")
	if _, errs, status := h.run("connect", "claude-cli"); status == 0 || !strings.Contains(errs, "claude is not on PATH: install it with") {
		t.Errorf("not installed: %d %q", status, errs)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "bin/claude"), []byte("#!/bin/sh\ntouch $HOME/started\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, errs, status := h.run("connect", "claude-cli"); status == 0 || !strings.Contains(errs, "not logged in") {
		t.Errorf("not logged in: %d %q", status, errs)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(h.dir, ".claude"), 0o700), os.WriteFile(filepath.Join(h.dir, ".claude/.credentials.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, errs, status := h.run("connect", "claude-cli"); status != 0 || out != "Claude CLI connected: it uses its own login\n" || errs != "" {
		t.Errorf("logged in: %d %q %q", status, out, errs)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "started")); err == nil {
		t.Error("the program was started")
	}

	empty := discovertest.New("lmstudio")
	empty.Paths["/api/v1/models"] = `{"models":[]}`
	empty.Start(t, "")
	if _, errs, status := h.run("connect", "lmstudio"); status == 0 || !strings.Contains(errs, "LM Studio is running, but has no model: load one there") {
		t.Errorf("no model: %d %q", status, errs)
	}
	discovertest.New("ollama").Start(t, "")
	if out, errs, status := h.run("connect", "ollama"); status != 0 || out != "Ollama connected: 3 models, default qwen3:8b\n" || errs != "" {
		t.Errorf("running: %d %q %q", status, out, errs)
	}
	if out, _, _ := h.run("-q", "-p", "hi"); out != "hello from ollama\n" {
		t.Errorf("the answer is %q", out)
	}
	h.run("connect", "--remove", "ollama")
	h.run("connect", "--remove", "claude-cli")
	if out, errs, _ := h.run("-p", "hi"); strings.Contains(out, "hello from") || strings.Contains(errs, "running") {
		t.Errorf("once it was removed: %q %q", out, errs)
	}
}
