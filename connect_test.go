package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// keyServer answers those who have the canary, and repeats the key of all others in its
// refusal.
func keyServer(e *echo) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		e.Lock()
		defer e.Unlock()
		e.seen = append(e.seen, string(body))
		for _, path := range lines {
			line, _ := os.ReadFile(path)
			e.seen = append(e.seen, string(line))
		}
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

// serveKeys runs "keyserver": it starts a keyServer in the place of xAI, for which there is
// no key, and writes the canary into the file key.
func serveKeys(ts *testscript.TestScript, _ bool, _ []string) {
	srv := keyServer(ts.Value("echo").(*echo))
	ts.Defer(srv.Close)
	ts.Check(os.WriteFile(ts.MkAbs("config.toml"), fmt.Appendf(nil, "[providers.xai]\nbase_url = %q\n", srv.URL+"/v1"), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("key"), []byte(" \""+canary+"\"\n"), 0o600))
	ts.Setenv("KEY", canary)
}

// TestConnectLeavesNoTrace types a key on the screen and in plain lines, once to be stored
// and once to be left when the program is ended. It comes back on no terminal, and of all the
// files of the user's home it is in the one for it.
func TestConnectLeavesNoTrace(t *testing.T) {
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
			if lines { // what was begun is thrown away in order
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

// TestConnectAsks types a key where parley connect asks for it: the terminal does not show
// it, and one that is rejected is asked for again.
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
	say("  4  xai          xAI Grok\r\n", "")
	k.ended(tty, "no provider was chosen", 2)
	tty = k.terminal("connect")
	say("Number or name: ", "4")
	say("xAI Grok API key (not shown): ", "sk-wrong-"+canary[:13])
	say("xAI Grok rejected this key: Incorrect API key provided: [redacted]\r\nxAI Grok API key (not shown): ", canary)
	k.ended(tty, "Key stored in ", 0)
	k.holdsNone("the terminal", string(tty.seen))
}

// ended waits until the program has ended by itself, with a text and a status.
func (k *killed) ended(tty *tty, text string, status int) {
	k.Helper()
	_ = tty.cmd.Wait()
	tty.read.Wait()
	if got := tty.cmd.ProcessState.ExitCode(); got != status || !tty.shows(text) {
		k.Errorf("status %d, want %d and %q:\n%s", got, status, text, tty.seen)
	}
}

// end ends the program as a closed terminal does, and waits until it has stored what it
// stores then.
func (t *tty) end() {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	_ = t.cmd.Wait()
	t.kill()
}

// holdsNone fails if a part of the canary is in text, in any encoding.
func (k *killed) holdsNone(place, text string) {
	k.Helper()
	for _, form := range formsOf(canary) {
		if at := strings.Index(text, form); at >= 0 {
			k.Errorf("%q is in %s: %.200q", form, place, text[max(0, at-100):])
			return
		}
	}
}
