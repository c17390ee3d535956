package recording_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest/canary"
	"parley/providers/llmtest/closed"
	"parley/providers/wire"
	"parley/providers/wire/recording"
)

// record runs f with a tap that records, and returns the recording's path.
func record(t testing.TB, f func(tap *wire.Tap)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rec.jsonl")
	rec, err := recording.Record(path, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	f(&wire.Tap{Recorder: rec})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func replay(t testing.TB, path string) wire.Replay {
	t.Helper()
	r, err := recording.OpenReplay(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// resend sends body to a replay instead of a server.
func resend(t testing.TB, r wire.Replay, model, body string) (string, error) {
	t.Helper()
	client := wire.Client(wire.Options{Provider: "mock", URL: "http://h", Transport: r.Transport("mock", model)})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return string(got), err
}

// TestRecordThenReplay: a replayed answer equals the server's, also an error.
func TestRecordThenReplay(t *testing.T) {
	jsonType := map[string]string{"Content-Type": "application/json", "Retry-After": "7", "X-Request-Id": "req-1"}
	events := map[string]string{"Content-Type": "text/event-stream"}
	for _, tt := range []struct {
		name   string
		status int
		header map[string]string
		pieces []string
	}{
		{"events", 200, events, []string{"data: {\"a\":\"é", "\"}\r\n\r\n", ": \u2028 comment\n", "data: [DONE]\n\n"}},
		{"one piece", 200, jsonType, []string{`{"a":1}`}},
		{"nothing", 200, events, nil},
		{"no text", 200, events, []string{"data: \xff\xfe\x00\n\n"}},
		{"refused", 429, jsonType, []string{`{"error":{"message":"slow down"}}`}},
		{"error in 200", 200, jsonType, []string{`{"error":{"message":"boom","type":"server_error"}}`}},
		{"a page", 200, map[string]string{"Content-Type": "text/html"}, []string{"<title>Sign in</title>"}},
		{"cut", 200, map[string]string{"Content-Type": "text/event-stream", "Content-Length": "99"}, []string{"data: 1\n\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want string
			var failed error
			path := record(t, func(tap *wire.Tap) {
				want, failed = canary.Send(t, tap, canary.Reply(t, tt.status, tt.header, tt.pieces...), `{"q":1}`)
			})
			r := replay(t, path)
			got, err := resend(t, r, "m", `{"q":1}`)
			if got != want || llm.FaultOf(err) != llm.FaultOf(failed) || (err == nil) != (failed == nil) {
				t.Errorf("got %q, %v\nwant %q, %v", got, err, want, failed)
			}
			var was, is *llm.Error
			if errors.As(failed, &was) && errors.As(err, &is) && (was.Wait != is.Wait || was.ID != is.ID || was.Status != is.Status) {
				t.Errorf("got %+v, want %+v", is, was)
			}
			if r.Remaining() != 0 || r.Err() != nil || r.Model() != "mock/m" {
				t.Errorf("left %d, %v, of %s", r.Remaining(), r.Err(), r.Model())
			}
			b, _ := os.ReadFile(path)
			canary.Traceless(t, "the recording", string(b))
		})
	}
}

// TestReplayOfNoAnswer: a request that got no answer when recorded gets none when replayed.
func TestReplayOfNoAnswer(t *testing.T) {
	path := record(t, func(tap *wire.Tap) {
		if _, err := canary.Send(t, tap, "http://"+closed.Address(t), "{}"); err == nil {
			t.Fatal("a server that is gone answered")
		}
	})
	if _, err := resend(t, replay(t, path), "m", "{}"); llm.FaultOf(err) != llm.Network || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

// TestMismatch checks the first reported difference from the recording.
func TestMismatch(t *testing.T) {
	const was = `{"model":"m","n":1,"store":true,"stop":null,"own":"1234567890123456789é12345678901234567890","messages":[{"role":"user","content":"hello world, how are you this morning"}],"tools":[{"name":"a"},{"name":"b"}],"id":"call_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`
	path := record(t, func(tap *wire.Tap) {
		canary.Send(t, tap, canary.Reply(t, 200, map[string]string{"Content-Type": "application/json"}, "{}"), was)
	})
	change := func(a, b string) string { return strings.Replace(was, a, b, 1) }
	for _, tt := range []struct{ name, body, want string }{
		{"the same", was, ""},
		{"order, space and spelling", `{ "n":1.0, "stop":null, "store":true, "own":"1234567890123456789é12345678901234567890", "model":"m", "tools":[{"name":"a"},{"name":"b"}], "id":"call_22222222222222222222222222", "messages":[{"content":"hello world, how are you this morning","role":"user"}]}`, ""},
		{"a name for the cache", change(`"n":1`, `"n":1,"prompt_cache_key":"x"`), ""},
		{"a text", change("you this", "you that"), `messages[0].content is "…orld, how are you that morning", and was "…orld, how are you this morning"`},
		{"a number", change(`"n":1`, `"n":2`), `n is 2, and was 1`},
		{"a switch", change("true", "false"), `store is false, and was true`},
		{"nothing", change("null", "[]"), `stop is [], and was null`},
		{"a text behind a letter of two bytes", change(`7890","mess`, `7899","mess`), `own is "…é12345678901234567899", and was "…é12345678901234567890"`},
		{"another type", change(`"n":1`, `"n":"1"`), `n is "1", and was 1`},
		{"one more", change(`"n":1`, `"n":1,"seed":7`), `seed is 7, and was not there`},
		{"one less", change(`"n":1,`, ``), `n is missing, and was 1`},
		{"fewer elements", change(`,{"name":"b"}`, ``), `tools has 1 elements, and had 2`},
		{"another number of two", change(`"n":1`, `"n":1e400`), `n is 1e400, and was 1`},
		{"no JSON", "hello", `the body is "hello", and was `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := replay(t, path)
			_, err := resend(t, r, "m", tt.body)
			switch {
			case tt.want == "" && err == nil:
			case tt.want == "" || llm.FaultOf(err) != llm.Mismatch || !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %v, want %s", err, tt.want)
			case r.Err() == nil || llm.InShell.Hint(err) == "":
				t.Error("it is not told")
			}
		})
	}
	for _, tt := range []struct {
		name, model, want string
		before            int // requests
	}{
		{"more than there are", "m", "the recording ends before this: it has 1 of POST /v1/chat/completions for mock/m", 1},
		{"another model", "other", "the recording has no POST /v1/chat/completions for mock/other: it begins with POST /v1/chat/completions for mock/m", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := replay(t, path)
			for range tt.before {
				resend(t, r, "m", was)
			}
			if _, err := resend(t, r, tt.model, was); llm.FaultOf(err) != llm.Mismatch || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestReplayOfMasked: masked parts of a recording match anything.
func TestReplayOfMasked(t *testing.T) {
	keep := func(s string) string { return s }
	for _, text := range []string{"my key is " + canary.Key + ", is it good?", canary.Key + " or " + canary.Key + ", is it good?", "good: " + canary.Key} {
		quoted, _ := json.Marshal(text)
		body := `{"content":` + string(quoted) + `}`
		path := record(t, func(tap *wire.Tap) {
			canary.Send(t, tap, canary.Reply(t, 200, map[string]string{"Content-Type": "application/json"}, "{}"), body)
		})
		for name, tt := range map[string]struct {
			change  func(string) string
			differs bool
		}{
			"the same":          {keep, false},
			"another key":       {func(s string) string { return strings.ReplaceAll(s, canary.Key, "other") }, false},
			"a key of no bytes": {func(s string) string { return strings.ReplaceAll(s, canary.Key, "") }, false},
			"another text":      {func(s string) string { return strings.Replace(s, "good", "bad", 1) }, true},
			"another word":      {func(s string) string { return strings.Replace(s, " or ", " and ", 1) }, strings.Contains(text, " or ")},
			"the beginning":     {func(s string) string { return s[:14] + `"}` }, true},
		} {
			if _, err := resend(t, replay(t, path), "m", tt.change(body)); (llm.FaultOf(err) == llm.Mismatch) != tt.differs {
				t.Errorf("%s, %s: %v", text, name, err)
			}
		}
	}
}

// TestReplaySideBySide: models that were used at the same time get their own answers, in any order
// of requests.
func TestReplaySideBySide(t *testing.T) {
	lines := ""
	for _, model := range []string{"a", "b", "c", "d"} {
		lines += `{"version":1,"provider":"mock","model":"` + model + `","method":"POST","url":"http://h/v1/chat/completions","request":{"json":{}},"status":200,"response":{"text":"` + model + `1"}}` + "\n" +
			`{"version":1,"provider":"mock","model":"` + model + `","method":"POST","url":"http://h/v1/chat/completions","request":{"json":{}},"status":200,"response":{"text":"` + model + `2"}}` + "\n"
	}
	path := filepath.Join(t.TempDir(), "r")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	r := replay(t, path)
	var wait sync.WaitGroup
	for _, model := range []string{"d", "b", "a", "c"} {
		wait.Go(func() {
			for _, n := range []string{"1", "2"} {
				if got, err := resend(t, r, model, "{}"); got != model+n || err != nil {
					t.Errorf("%s: got %q, %v", model, got, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestOpenReplay rejects files that are not recordings.
func TestOpenReplay(t *testing.T) {
	const good = `{"version":1,"method":"GET","url":"http://h/"}`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "has no exchanges"},
		{"no JSON", "hello\n", "line 1 was not written by"},
		{"other JSON", good + "\n{}\n", "line 2 was not written by"},
		{"a full disk's", good[:len(good)/2] + "\n" + good + "\n", ""},
		{"only a full disk's", good[:len(good)/2], "it has no exchanges"},
		{"of a later version", `{"version":2,"method":"GET","url":"/"}`, "line 1 is of version 2"},
		{"good", good + "\n\n" + good, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := recording.OpenReplay(path)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := recording.OpenReplay(t.TempDir()); err == nil {
		t.Error("a folder is taken for a recording")
	}
}

// TestRecordFile: the file is private, its content is kept, and anything but a regular file is
// rejected.
func TestRecordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rec.jsonl")
	if err := os.WriteFile(path, []byte("before, cut"), 0o644); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Record(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	tap := &wire.Tap{Recorder: rec}
	tap.Program(wire.Exchange{URL: "x"}, nil, nil).End(0, "", nil)
	rec.Close()
	tap.Program(wire.Exchange{URL: "late"}, nil, nil).End(0, "", nil)
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(b), "before, cut\n{") || strings.Count(string(b), "\n") != 2 {
		t.Errorf("got %q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := recording.Record(t.TempDir(), nil); err == nil {
		t.Error("a folder is taken for a file")
	}
}

// TestRecordFollowsNoLink: the target of a link gets neither a record nor another mode, and a
// dangling link creates no file.
func TestRecordFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": target, "dangling": filepath.Join(dir, "nothing")} {
		link := filepath.Join(dir, name)
		if err := os.Symlink(to, link); err != nil {
			t.Skip("no links here: ", err)
		}
		if _, err := recording.Record(link, nil); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := os.ReadFile(target)
	info, _ := os.Stat(target)
	if err != nil || string(b) != "mine" || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("%q, %v, %v", b, info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file was made behind a link")
	}
}

// TestRecordFails: a full disk is reported once, and ends no turn.
func TestRecordFails(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	var told []error
	rec := recording.RecordTo(func() io.WriteCloser {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}(), func(err error) { told = append(told, err) })
	defer rec.Close()
	tap := &wire.Tap{Recorder: rec}
	server := canary.Reply(t, 200, map[string]string{"Content-Type": "text/event-stream"}, "data: 1\n\n")
	for range 3 {
		if got, err := canary.Send(t, tap, server, "{}"); got == "" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0].Error(), "no space left") {
		t.Errorf("told %v", told)
	}
}

// FuzzReplay reads recordings that others wrote, and answers from them.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"version":1,"provider":"mock","model":"m","method":"POST","url":"http://h/v1/chat/completions","request":{"json":{}},"status":200,"response":{"text":"hello"},"chunks":[[2,1],[-1,1],[3,1]]}`), []byte(`{}`))
	f.Add([]byte(`{"version":1,"provider":"mock","model":"m","method":"POST","url":"http://h/v1/chat/completions","status":-7,"response":{"base64":"AA=="},"error":{"category":"network"}}`), []byte(``))
	f.Fuzz(func(t *testing.T, text, body []byte) {
		r, err := recording.ReadReplay(text)
		if err != nil {
			return
		}
		resend(t, r, "m", string(body))
	})
}
