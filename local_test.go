package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/discover/discovertest"
	"parley/session"
	"parley/ui/app"
)

// aHome is a new user's machine, in a network of its own.
type aHome struct {
	*testing.T
	dir string
}

func newHome(t *testing.T) aHome {
	h := aHome{t, t.TempDir()}
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
	return []string{
		"HOME=" + h.dir, "PATH=" + filepath.Join(h.dir, "bin") + ":" + bin + ":/usr/bin:/bin", "XDG_CONFIG_HOME=" + h.dir + "/config",
		"XDG_DATA_HOME=" + h.dir + "/data", "XDG_STATE_HOME=" + h.dir + "/state", "XDG_CACHE_HOME=" + h.dir + "/cache", "GORACE=atexit_sleep_ms=0",
	}
}

func (h aHome) configure(text string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, "config/parley/config.toml"), []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// run runs parley, and returns what it wrote on both outputs, and its status.
func (h aHome) run(args ...string) (out, errs string, status int) {
	h.Helper()
	exe, err := exec.LookPath("parley")
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = filepath.Join(h.dir, "work"), h.env(), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// accept stores that a service may answer, as the question on the screen does.
func (h aHome) accept(provider string) {
	h.Helper()
	lib, err := session.OpenStore(func(name string) string {
		return map[string]string{"HOME": h.dir, "XDG_DATA_HOME": h.dir + "/data"}[name]
	})
	if err == nil {
		err = app.SaveLocalAnswer(lib, provider, true)
	}
	if err == nil {
		err = lib.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
}

// TestLocalServers: servers that run here are found without configuration, can be asked by
// name, and answer pipes once the user agreed.
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

// TestAcceptedServerIsGone: no demo answers in the place of a server that was agreed to.
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

// TestProviderWithoutAModel: a provider that is configured without a model is asked for its
// models and answers; no key is missed.
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

// TestConnectLocal: parley connect asks nothing about what needs no key; what cannot answer
// is told, with what to do.
func TestConnectLocal(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	h := newHome(t)
	if _, errs, status := h.run("connect", "ollama"); status == 0 || !strings.Contains(errs, "Ollama does not run on this machine: start it") {
		t.Errorf("not running: %d %q", status, errs)
	}
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
