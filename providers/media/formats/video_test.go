package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

var aFrame = &works.Blob{MIME: "image/png", Name: "a.png", Data: []byte("png")}

// TestVideoFromCreateToDownload checks the steps of every service: one request that creates a job,
// polls with the returned id, and the bytes of the file.
func TestVideoFromCreateToDownload(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		s.answers = []func(http.ResponseWriter){s.text(s.wire.waiting), s.text(s.wire.done)}
		v := s.jobs()
		j, err := v.Start(t.Context(), works.VideoRequest{Prompt: "a \"fox\"", FirstFrame: aFrame, Seconds: 6})
		if err != nil || j.State.Over() || j.Model != cmp.Or(s.wire.model, "m") || j.Provider != "mock" {
			t.Fatalf("%+v, %v", j, err)
		}
		if sent := s.creates[0]; !strings.Contains(sent, s.wire.sent) {
			t.Errorf("sent %s\nwant %s", sent, s.wire.sent)
		}
		stored, _ := json.Marshal(j) // another process continues
		j = works.Job{}
		if err := json.Unmarshal(stored, &j); err != nil {
			t.Fatal(err)
		}
		if j, err = v.Poll(t.Context(), j); err != nil || j.State.Over() {
			t.Errorf("waiting: %+v, %v", j, err)
		}
		if j, err = v.Poll(t.Context(), j); err != nil || j.State != works.JobDone || j.Outputs != 1 || j.Progress != 100 {
			t.Errorf("done: %+v, %v", j, err)
		}
		if strings.Contains(string(stored), "http") {
			t.Errorf("a job holds an address: %s", stored)
		}
		var file strings.Builder
		blob, err := v.Fetch(t.Context(), j, works.VideoOutput{}, &file)
		if err != nil || file.String() != aVideo || blob.MIME != "video/mp4" {
			t.Errorf("%q, %+v, %v", file.String(), blob, err)
		}
		if len(s.creates) != 1 {
			t.Errorf("%d requests created a job", len(s.creates))
		}
	})
}

// TestVideoOutcomes checks how jobs end.
func TestVideoOutcomes(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		j := s.running(t)
		for _, test := range []struct {
			name, answer string
			state        works.JobState
			words        string
		}{
			{"failed", s.wire.failed, works.JobFailed, "out of memory"},
			{"refused", s.wire.refused, works.JobRefused, ""},
			{"done without a video", s.wire.nothing, works.JobFailed, "no video"},
			{"a state that is not known", s.wire.strange, works.JobRunning, ""},
			{"not a word", "", works.JobQueued, ""},
			{"an empty object", "{}", works.JobQueued, ""},
		} {
			if test.answer == "" && test.name != "not a word" {
				continue
			}
			s.polls, s.answers = 0, []func(http.ResponseWriter){s.text(test.answer)}
			if test.name == "not a word" {
				s.answers[0] = func(w http.ResponseWriter) { w.WriteHeader(202) }
			}
			before := j
			before.State = works.JobQueued
			got, err := s.jobs().Poll(t.Context(), before)
			if err != nil || got.State != test.state || !strings.Contains(got.Failure, test.words) || (got.Refused != nil) != (test.state == works.JobRefused) {
				t.Errorf("%s: %+v, %v", test.name, got, err)
			}
		}
		if s.wire.kind != "gemini" { // it has no names for states
			s.polls, s.answers = 0, []func(http.ResponseWriter){s.text(s.wire.strange)}
			if got, _ := s.jobs().Poll(t.Context(), j); !strings.EqualFold(got.RawState, "dreaming") {
				t.Errorf("a strange state is shown as %q", got.RawState)
			}
		}
	})
}

// TestVideoStates checks that a video in an unknown state does not count as finished, and that a
// video without a state does.
func TestVideoStates(t *testing.T) {
	status := regexp.MustCompile(`("(?:task_)?status":)"\w+",?`)
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		if s.wire.kind == "gemini" { // it has no names for states
			return
		}
		j := s.running(t)
		j.State = works.JobQueued
		stateless := works.JobDone
		if s.wire.kind == "openrouter" || s.wire.kind == "vllm" { // the video has another URL, which is unknown
			stateless = works.JobQueued
		}
		for word, want := range map[string]works.JobState{`$1"dreaming",`: works.JobRunning, `$1"",`: stateless, "": stateless} {
			answer := strings.ReplaceAll(status.ReplaceAllString(s.wire.done, word), ",}", "}")
			s.polls, s.answers = 0, []func(http.ResponseWriter){s.text(answer)}
			if got, err := s.jobs().Poll(t.Context(), j); err != nil || got.State != want || got.Outputs > 0 && want != works.JobDone {
				t.Errorf("%s: %+v, %v; want %s", answer, got, err, want)
			}
		}
	})
}

// TestVideoRefusedAtOnce: a refusal of the request is an outcome.
func TestVideoRefusedAtOnce(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		s.create = status(400, `{"error":{"code":"content_policy_violation","message":"not this"}}`)
		j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
		if err != nil || j.State != works.JobRefused || j.Refused == nil || j.Refused.Text != "not this" || j.Refused.Stage != "input" {
			t.Errorf("%+v, %v", j, err)
		}
	})
}

// TestVideoPollFaults distinguishes temporary errors from permanent ones.
func TestVideoPollFaults(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		j := s.running(t)
		for _, test := range []struct {
			answer func(http.ResponseWriter)
			fault  llm.Fault
			words  string
		}{
			{status(500, `{"error":{"message":"boom"}}`), llm.Server, "boom"},
			{status(404, `{"error":{"message":"no such thing"}}`), llm.InvalidRequest, "expired, or it was started with another key"},
			{status(401, `{"error":{"message":"bad key k-secret"}}`), llm.Authentication, "bad key"},
			{say(`[1,2]`), llm.Server, "not a job"},
			{func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>hi")
			}, llm.InvalidRequest, "web page"},
		} {
			s.polls, s.answers = 0, []func(http.ResponseWriter){test.answer}
			got, err := s.jobs().Poll(t.Context(), j)
			if llm.FaultOf(err) != test.fault || !strings.Contains(err.Error(), test.words) || strings.Contains(err.Error(), "k-secret") {
				t.Errorf("want %s: %v", test.words, err)
			}
			if got.ID != j.ID || got.State != j.State {
				t.Errorf("a poll that failed made %+v of the job", got)
			}
		}
		for text, want := range map[string]int{"150": 100, "-3": 0, "33.4": 33} {
			s.polls, s.answers = 0, []func(http.ResponseWriter){s.text(strings.NewReplacer(`"progress":12`, `"progress":`+text, `"progress":40`, `"progress":`+text).Replace(s.wire.waiting))}
			if got, err := s.jobs().Poll(t.Context(), j); err != nil || got.Progress != want && got.Progress != 0 {
				t.Errorf("progress %s: %d, %v", text, got.Progress, err)
			}
		}
	})
}

// TestVideoPollIsBounded: an answer about a job is read only up to a limit. All services share the code.
func TestVideoPollIsBounded(t *testing.T) {
	s := newVideoServer(t, videoWires[0])
	j := s.running(t)
	s.polls, s.answers = 0, []func(http.ResponseWriter){say(`"` + strings.Repeat("x", videoAnswerLimit) + `"`)}
	if got, err := s.jobs().Poll(t.Context(), j); llm.FaultOf(err) != llm.Server || !strings.Contains(err.Error(), "more than 8 MB") || got.ID != j.ID || got.State != j.State {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestVideoIDsAreNoPaths: a job id of a server stays inside one path segment.
func TestVideoIDsAreNoPaths(t *testing.T) {
	for _, w := range videoWires {
		s := newVideoServer(t, w)
		v := s.jobs()
		for _, id := range []string{"", "..", "../../admin", "a/../../b", ".", "\x1b[2J", "a\nb", strings.Repeat("x", 600)} {
			if path, err := v.path(v.service.job.address, id); err == nil {
				t.Errorf("%s: the id %q became %s", w.kind, id, path)
			}
			if _, err := v.Poll(t.Context(), works.Job{ID: id}); err == nil || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%s: the id %q was asked for: %v", w.kind, id, err)
			}
		}
		before, _, _ := strings.Cut(v.service.job.address, "{id}")
		path, err := v.path(v.service.job.address, "a b?c=d#e")
		if err != nil || strings.ContainsAny(strings.TrimPrefix(path, before), " ?#") {
			t.Errorf("%s: %s, %v", w.kind, path, err)
		}
	}
}

// TestVideoIsCreatedOnce repeats no request that a server may have seen.
func TestVideoIsCreatedOnce(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		cut := func(w http.ResponseWriter) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}
		for _, create := range []func(http.ResponseWriter){cut, status(500, `{}`), say(`{}`), say(``), say(strings.NewReplacer("job1", "..", "models/m/operations/op1", "../x").Replace(s.wire.created))} {
			s.mu.Lock() // an interrupted connection does not tell when the server is done
			s.creates, s.create = nil, create
			s.mu.Unlock()
			_, err := (media.VideoRunner{Jobs: s.jobs()}).Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
			s.mu.Lock()
			made := len(s.creates)
			s.mu.Unlock()
			if err == nil || made != 1 || !media.MayBePaid(err) {
				t.Errorf("%d requests, may be paid: %t, %v", made, media.MayBePaid(err), err)
			}
		}
	})
}

// TestVideoDownloads sends the key only to the provider's own host, and accepts only videos.
func TestVideoDownloads(t *testing.T) {
	var keys []string
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), "k-secret") {
				keys = append(keys, name)
			}
		}
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.WriteString(w, aVideo)
	}))
	defer elsewhere.Close()
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		j := s.running(t)
		s.answers = []func(http.ResponseWriter){s.text(s.wire.done)}
		fetch := func() (string, error) {
			var file strings.Builder
			_, err := s.jobs().Fetch(t.Context(), j, works.VideoOutput{}, &file)
			return file.String(), err
		}
		for _, test := range []struct {
			name, words string
			file        func(http.ResponseWriter, *http.Request)
		}{
			{"a redirect to a loopback address", "not public", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }},
			{"a redirect to plain http", "not https", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://videos.example/f", http.StatusFound)
			}},
			{"a redirect in circles", "circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }},
			{"an error with status 200", "application/json", func(w http.ResponseWriter, _ *http.Request) { say(`{"error":{"code":404}}`)(w) }},
			{"a page", "text/html", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>")
			}},
			{"403", "403", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }},
			{"nothing", "empty", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "video/mp4") }},
			{"half of it", "cut off", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "video/mp4")
				w.Header().Set("Content-Length", "500")
				_, _ = io.WriteString(w, aVideo)
			}},
		} {
			s.file = test.file
			if got, err := fetch(); err == nil || test.name != "half of it" && !strings.Contains(err.Error(), test.words) || test.name != "half of it" && got != "" {
				t.Errorf("%s: %q, %v", test.name, got, err)
			}
		}
		if s.jobs().service.files.content != "" {
			return // its files are on its own host
		}
		s.file = nil
		for _, address := range []string{elsewhere.URL + "/f", "http://videos.example/f", "https://169.254.169.254/f", "file:///etc/passwd", "https://u:p@videos.example/f", "::", "https://localhost/f"} {
			s.address = address
			s.answers = []func(http.ResponseWriter){s.text(s.wire.done)}
			if got, err := fetch(); err == nil || got != "" {
				t.Errorf("%s was asked for", address)
			}
		}
	})
	if len(keys) > 0 {
		t.Errorf("the key went to another host, in %v", keys)
	}
}

// TestVideoVariants checks the variants of a job's video.
func TestVideoVariants(t *testing.T) {
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		j := s.running(t)
		asked := ""
		s.answers = []func(http.ResponseWriter){s.text(s.wire.done)}
		s.file = func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.RawQuery
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n")
		}
		want := map[string]string{"glm thumbnail": "cover", "vllm thumbnail": "variant=thumbnail", "vllm spritesheet": "variant=spritesheet"}
		for _, variant := range works.VideoVariants {
			asked = ""
			_, err := s.jobs().Fetch(t.Context(), j, works.VideoOutput{Variant: variant}, io.Discard)
			if query, has := want[s.wire.kind+" "+variant]; has && (err != nil || asked != query) || !has && llm.FaultOf(err) != llm.Unsupported {
				t.Errorf("%s: %q, %v", variant, asked, err)
			}
		}
	})
}

// TestVideoWishesThatCannotBe rejects, before anything is sent, unsupported options that change the
// result or its cost, and drops others with a note.
func TestVideoWishesThatCannotBe(t *testing.T) {
	yes, seed := true, int64(7)
	lacks := map[videoOption][]string{
		wishLast: {"grok", "vllm"}, wishReferences: {"glm", "vllm"}, wishSource: {"gemini", "qwen", "minimax", "minimax-v1", "glm", "openrouter", "vllm"},
		wishAudio: {"gemini", "qwen", "minimax", "minimax-v1", "vllm"},
	}
	eachVideoWire(t, func(t *testing.T, s *videoServer) {
		for wish, r := range map[videoOption]works.VideoRequest{
			wishLast: {FirstFrame: aFrame, LastFrame: aFrame}, wishReferences: {References: []works.Blob{*aFrame}}, wishSource: {Source: &works.Blob{MIME: "video/mp4", Data: []byte(aVideo)}}, wishAudio: {Audio: &yes},
		} {
			s.creates, r.Prompt = nil, "a fox"
			_, err := s.jobs().Start(t.Context(), r)
			if refused := llm.FaultOf(err) == llm.Unsupported; refused != slices.Contains(lacks[wish], s.wire.called()) && !(s.wire.kind == "grok" && wish == wishSource) || refused && len(s.creates) > 0 {
				t.Errorf("%s: %v, %d requests", wish, err, len(s.creates))
			}
		}
		s.problems = nil // edits have a different path
		j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox", Seed: &seed, NegativePrompt: "snow"})
		noSeed, noAvoid := slices.Contains(s.jobs().service.create.unsupported, wishSeed), slices.Contains(s.jobs().service.create.unsupported, wishAvoid)
		if err != nil || strings.Contains(fmt.Sprint(j.Notes), "seed") != noSeed || strings.Contains(fmt.Sprint(j.Notes), "avoid") != noAvoid {
			t.Errorf("%v, %v", j.Notes, err)
		}
		if _, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: " \n"}); llm.FaultOf(err) != llm.InvalidRequest {
			t.Errorf("an empty prompt: %v", err)
		}
		_, err = s.jobs().Start(t.Context(), works.VideoRequest{Prompt: strings.Repeat("fox ", 10_000)})
		if tooLong := err != nil && strings.Contains(err.Error(), "40000 characters"); tooLong != (s.wire.kind == "glm") {
			t.Errorf("a prompt of 40,000 characters: %v", err)
		}
	})
}

// TestVideoCancel cancels jobs at services that support it.
func TestVideoCancel(t *testing.T) {
	for _, w := range videoWires {
		v := newVideoServer(t, w).jobs()
		asked := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Method + " " + r.URL.Path
			w.WriteHeader(204)
		}))
		v.o.BaseURL = s.URL + w.base
		err := v.Cancel(t.Context(), works.Job{ID: "job1"})
		s.Close()
		want := map[string]string{"qwen": "POST /api/v1/tasks/job1/cancel", "vllm": "DELETE /v1/videos/job1"}[w.kind]
		var e *llm.Error
		if asked != want || (err == nil) != (want != "") || err != nil && (!errors.As(err, &e) || e.Fault != llm.Unsupported) {
			t.Errorf("%s: %q, %v", w.kind, asked, err)
		}
	}
}

// The error of a job that failed at once is reported, also if the answer names no job.
func TestVideoFailedWithoutID(t *testing.T) {
	for kind, answer := range map[string]string{
		"grok":       `{"status":"failed","error":{"code":"overloaded","message":"no capacity"}}`,
		"openrouter": `{"status":"failed","error":"no capacity"}`,
		"vllm":       `{"status":"failed","error":{"code":"overloaded","message":"no capacity"}}`,
	} {
		for _, wire := range videoWires {
			if wire.kind != kind {
				continue
			}
			s := newVideoServer(t, wire)
			s.create = say(answer)
			j, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
			if err != nil || j.State != works.JobFailed || !strings.Contains(j.Failure, "no capacity") {
				t.Errorf("%s: %+v, %v", kind, j, err)
			}
			s.create = say(`{"status":"queued"}`)
			if _, err := s.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"}); err == nil || !strings.Contains(err.Error(), "may be paid for") {
				t.Errorf("%s, without a word: %v", kind, err)
			}
		}
	}
}
