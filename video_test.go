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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const someVideo = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom and what follows"

// A studio is a home folder, and a server that makes videos as xAI does.
type studio struct {
	*testing.T
	home, url string

	mu      sync.Mutex
	key     string
	creates int
	poll    string        // the answer
	begun   chan struct{} // closed when a download has begun that does not end; nil: downloads end
	created chan struct{} // gets one for each job
}

// made returns how many jobs were created.
func (s *studio) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.creates
}

func newStudio(t *testing.T) *studio {
	t.Parallel()
	s := &studio{T: t, home: t.TempDir(), key: "sk-canary-0123456789", created: make(chan struct{}, 9)}
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		key, poll, begun := s.key, s.poll, s.begun
		s.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+key:
			fail(w, 404, `{"error":"no such job"}`)
		case r.Method == "POST" && r.URL.Path == "/v1/videos/generations" && json.Valid(body):
			s.mu.Lock()
			s.creates++
			s.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"request_id":"job-1"}`)
			s.created <- struct{}{}
		case r.URL.Path == "/v1/file":
			w.Header().Set("Content-Type", "video/mp4")
			w.Header().Set("Content-Length", fmt.Sprint(len(someVideo)))
			if begun != nil {
				_, _ = io.WriteString(w, someVideo[:20])
				w.(http.Flusher).Flush()
				close(begun)
				<-stop
				return
			}
			_, _ = io.WriteString(w, someVideo)
		case strings.HasPrefix(r.URL.Path, "/v1/videos/"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.ReplaceAll(poll, "FILE", s.url+"/v1/file"))
		}
	}))
	t.Cleanup(func() { close(stop); server.Close() })
	s.url = server.URL
	s.poll = `{"status":"done","video":{"url":"FILE","respect_moderation":true},"usage":{"cost_in_usd_ticks":3000000000}}`
	config := fmt.Sprintf("[providers.xai]\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n[budget]\nconfirm = 1.0\n", s.url+"/v1")
	if err := os.WriteFile(filepath.Join(s.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *studio) command(args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	return &exec.Cmd{
		Path: exe, Dir: s.home, Args: append([]string{"parley", "--config", filepath.Join(s.home, "config.toml")}, args...),
		Env: []string{"HOME=" + s.home, "XDG_DATA_HOME=" + s.home, "NO_PROXY=127.0.0.1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "MOCK_KEY=" + "sk-canary-0123456789"},
	}
}

// run runs the program and wants an exit status.
func (s *studio) run(status int, args ...string) (stdout, stderr string) {
	s.Helper()
	cmd := s.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.Errorf("%q: exit status %d, want %d\n%s%s", args, got, status, out.String(), errs.String())
	}
	for _, text := range []string{out.String(), errs.String()} {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "sk-canary") {
			s.Errorf("%q prints %q", args, text)
		}
	}
	return out.String(), errs.String()
}

func (s *studio) wants(text, part string) {
	s.Helper()
	if !strings.Contains(text, part) {
		s.Errorf("%q\nwant %q", text, part)
	}
}

// file returns what a file in the home folder holds; "" if there is none.
func (s *studio) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.home, name))
	return string(data)
}

// TestVideoLater prints a job, finds it in another process, downloads it under a name that
// nothing has, and counts what it cost once.
func TestVideoLater(t *testing.T) {
	s := newStudio(t)
	if err := os.WriteFile(filepath.Join(s.home, "etc-a-fox.mp4"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, said := s.run(0, "video", "../../etc/\x1b[2Ja fox", "--no-wait")
	if out != "1\n" {
		t.Errorf("printed %q", out)
	}
	s.wants(said, "about $0.40 for 8 seconds")
	s.wants(said, "parley video get 1")
	out, _ = s.run(0, "video", "list")
	s.wants(out, "queued")
	s.wants(out, "$0.40")
	out, _ = s.run(0, "video", "get", "1")
	if name := strings.TrimSpace(out); s.file(name) != someVideo || strings.ContainsAny(name, "/\x1b") {
		t.Errorf("saved as %q: %q", name, s.file(name))
	}
	out, said = s.run(0, "video", "get", "1", "-o", "json")
	s.wants(said, "saved before")
	s.wants(out, `"finish_reason":"stop"`)
	if s.file("etc-a-fox.mp4") != "mine" {
		t.Error("a file was overwritten")
	}
	s.run(0, "video", "get", "1", "--to", "again.mp4", "-o", "jsonl")
	if s.file("again.mp4") != someVideo {
		t.Error("--to saved nothing")
	}
	out, _ = s.run(0, "video", "get", "1", "--to", "-", "-q")
	if out != someVideo {
		t.Errorf("standard output got %q", out)
	}
	out, _ = s.run(0, "usage", "--by", "model")
	s.wants(out, "$0.30")
	s.wants(out, "1 answer ")
	if s.made() != 1 {
		t.Errorf("%d jobs", s.made())
	}
}

// TestVideoPrice stops above [budget] confirm where nobody can be asked.
func TestVideoPrice(t *testing.T) {
	s := newStudio(t)
	dear := []string{"video", "a fox", "-m", "xai/grok-imagine-video-1.5", "--seconds", "15", "--resolution", "1080p", "--no-wait"}
	_, said := s.run(5, dear...)
	s.wants(said, "$3.75")
	s.wants(said, "--yes")
	if s.made() != 0 {
		t.Error("a job was created")
	}
	s.run(0, append(dear, "--yes")...)
}

// TestVideoRefused is an outcome with a status of its own.
func TestVideoRefused(t *testing.T) {
	s := newStudio(t)
	s.mu.Lock()
	s.poll = `{"status":"done","video":{"respect_moderation":false}}`
	s.mu.Unlock()
	s.run(0, "video", "a fox", "--no-wait", "--to", "fox.mp4")
	out, said := s.run(8, "video", "get", "1", "-o", "json")
	s.wants(out, `"finish_reason":"refused","exit":8`)
	s.wants(said, "refused")
	s.wants(said, "paid for anyway")
	if s.file("fox.mp4") != "" {
		t.Error("a file was made")
	}
}

// TestVideoBeforeAnythingIsPaid refuses what cannot end well.
func TestVideoBeforeAnythingIsPaid(t *testing.T) {
	s := newStudio(t)
	if err := os.WriteFile(filepath.Join(s.home, "there.mp4"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		status int
		words  string
		args   []string
	}{
		{2, "file exists", []string{"a fox", "--to", "there.mp4"}},
		{2, "no directory", []string{"a fox", "--to", "no/where/fox.mp4"}},
		{2, "is a directory", []string{"a fox", "--to", "."}},
		{2, "did you mean parley video list", []string{"lst"}},
		{2, "no image", []string{"a fox", "--first", "config.toml"}},
		{2, "no such file", []string{"a fox", "--first", "none.png"}},
		{2, "what is to be seen", []string{}},
		{2, "--variant", []string{"a fox", "--variant", "poster"}},
		{1, "not 16", []string{"a fox", "--seconds", "16"}},
		{1, "last frame", []string{"a fox", "--last", "a.png"}},
		{3, "no video models; of the connected providers, these have: xai", []string{"a fox", "-m", "demo"}},
		{2, "no such video job", []string{"get", "7"}},
	} {
		if err := os.WriteFile(filepath.Join(s.home, "a.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, said := s.run(test.status, append([]string{"video"}, test.args...)...)
		s.wants(said, test.words)
	}
	if s.made() != 0 || s.file("there.mp4") != "mine" {
		t.Errorf("%d jobs", s.made())
	}
	if out, _ := s.run(0, "video", "list"); out != "" {
		t.Errorf("jobs are kept that never were: %s", out)
	}
}

// TestVideoInterrupted leaves the job, says how to come back, and comes back.
func TestVideoInterrupted(t *testing.T) {
	s := newStudio(t)
	cmd := s.command("video", "a fox", "--to", "fox.mp4")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.created:
	case <-time.After(30 * time.Second):
		t.Fatal("no job was created")
	}
	for out := ""; !strings.Contains(out, "job-"); out, _ = s.run(0, "video", "list", "-o", "jsonl") { // it is stored
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v\n%s", cmd.ProcessState, said.String())
	}
	s.wants(said.String(), "parley video get 1 continues")
	s.mu.Lock()
	s.key = "another"
	s.mu.Unlock()
	_, other := s.run(1, "video", "get", "1")
	s.wants(other, "started with another key")
	s.mu.Lock()
	s.key = "sk-canary-0123456789"
	s.mu.Unlock()
	if s.run(0, "video", "get", "1"); s.file("fox.mp4") != someVideo || s.made() != 1 {
		t.Errorf("%q after %d jobs", s.file("fox.mp4"), s.made())
	}
}

// TestVideoKilledInDownload leaves nothing under the final name, and nothing in the way of
// the next download.
func TestVideoKilledInDownload(t *testing.T) {
	s := newStudio(t)
	s.run(0, "video", "a fox", "--to", "fox.mp4", "--no-wait")
	begun := make(chan struct{})
	s.mu.Lock()
	s.begun = begun
	s.mu.Unlock()
	cmd := s.command("video", "get", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(30 * time.Second):
		t.Fatal("no download has begun")
	}
	part := func() string {
		names, _ := filepath.Glob(filepath.Join(s.home, ".parley-*.part"))
		if len(names) == 0 {
			return ""
		}
		return s.file(filepath.Base(names[0]))
	}
	for part() == "" {
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if s.file("fox.mp4") != "" {
		t.Error("half a video has the final name")
	}
	s.mu.Lock()
	s.begun = nil
	s.mu.Unlock()
	s.run(0, "video", "get", "1")
	if s.file("fox.mp4") != someVideo {
		t.Errorf("%q", s.file("fox.mp4"))
	}
}
