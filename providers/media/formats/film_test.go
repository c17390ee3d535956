package formats

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/media"
)

// scriptedJobs returns scripted answers, repeating the last one, and records the times.
type scriptedJobs struct {
	starts  []error
	polls   []any // llm.JobState or error
	fetches []any // string or error
	asked   []time.Duration
	begun   time.Time
	started int
	polled  int
	fetched int
}

func next[T any](list []T, n *int) T {
	*n++
	return list[min(*n, len(list))-1]
}

func (s *scriptedJobs) Start(context.Context, llm.VideoRequest) (llm.Job, error) {
	if err := next(s.starts, &s.started); err != nil {
		return llm.Job{}, err
	}
	return llm.Job{ID: "job1", State: llm.JobQueued}, nil
}

func (s *scriptedJobs) Poll(_ context.Context, j llm.Job) (llm.Job, error) {
	s.asked = append(s.asked, time.Since(s.begun))
	switch p := next(s.polls, &s.polled).(type) {
	case error:
		return j, p
	case llm.JobState:
		j.State = p
	}
	return j, nil
}

func (s *scriptedJobs) Fetch(_ context.Context, _ llm.Job, _ llm.VideoOutput, w io.Writer) (llm.Blob, error) {
	switch f := next(s.fetches, &s.fetched).(type) {
	case error:
		_, _ = io.WriteString(w, aVideo[:20]) // it breaks off
		return llm.Blob{}, f
	case string:
		_, err := io.WriteString(w, f)
		return llm.Blob{MIME: "video/mp4"}, err
	}
	return llm.Blob{}, nil
}

func (s *scriptedJobs) Cancel(context.Context, llm.Job) error { return nil }

// TestFilmWaits polls after 5 s, then at growing intervals up to 30 s, repeats polls with temporary
// errors, and saves the job before each poll.
func TestFilmWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom, busy := &llm.Error{Fault: llm.Server, Status: 500}, &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: time.Minute}
		s := &scriptedJobs{begun: time.Now(), starts: []error{nil}, polls: []any{boom, boom, llm.JobRunning, busy, llm.JobRunning, llm.JobRunning, llm.JobRunning, llm.JobRunning, llm.JobDone}}
		var saved []llm.JobState
		f := media.VideoRunner{Jobs: s, OnSave: func(j llm.Job) error { saved = append(saved, j.State); return nil }}
		j, err := f.Start(t.Context(), llm.VideoRequest{})
		if err != nil || len(saved) != 1 {
			t.Fatalf("%v, saved %v before the first poll", err, saved)
		}
		j, err = f.Wait(t.Context(), j, media.FirstPoll())
		if err != nil || j.State != llm.JobDone || len(saved) != 7 {
			t.Errorf("%+v, %v, saved %v", j, err, saved)
		}
		for i, least := range []time.Duration{5, 5, 7, 11, 60, 25, 30, 30, 30} {
			before := time.Duration(0)
			if i > 0 {
				before = s.asked[i-1]
			}
			if waited := s.asked[i] - before; waited < least*time.Second || waited > least*time.Second*13/10 {
				t.Errorf("poll %d came %v after the one before, want %d s and up to a fifth more", i, waited, least)
			}
		}
	})
}

// TestFilmGivesUp gives up on a job that is not done after 20 minutes, and at once after a
// permanent error.
func TestFilmGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		j, err := (media.VideoRunner{Jobs: &scriptedJobs{polls: []any{llm.JobRunning}}}).Wait(t.Context(), llm.Job{ID: "x", State: llm.JobQueued}, 0)
		if !errors.Is(err, media.ErrStillRunning) || j.State != llm.JobRunning || time.Since(begun) != 20*time.Minute {
			t.Errorf("%+v, %v after %v", j, err, time.Since(begun))
		}
		gone := &scriptedJobs{polls: []any{&llm.Error{Fault: llm.InvalidRequest, Status: 404}}}
		if _, err := (media.VideoRunner{Jobs: gone}).Wait(t.Context(), llm.Job{State: llm.JobQueued}, 0); err == nil || gone.polled != 1 {
			t.Errorf("%v after %d polls", err, gone.polled)
		}
		dead := &scriptedJobs{polls: []any{&llm.Error{Fault: llm.Network}}}
		if _, err := (media.VideoRunner{Jobs: dead}).Wait(t.Context(), llm.Job{State: llm.JobQueued}, 0); err == nil || dead.polled != 8 {
			t.Errorf("%v after %d polls", err, dead.polled)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(io.EOF) })
		if _, err := (media.VideoRunner{Jobs: &scriptedJobs{polls: []any{llm.JobRunning}}}).Wait(ctx, llm.Job{State: llm.JobQueued}, 0); err != io.EOF {
			t.Errorf("interrupted: %v", err)
		}
	})
}

// TestFilmStartsAgain repeats only requests that created nothing.
func TestFilmStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			err    *llm.Error
			starts int
			paid   bool
		}{
			{&llm.Error{Fault: llm.RateLimit, Status: 429, Wait: 3 * time.Second}, 2, false},
			{&llm.Error{Fault: llm.Server, Status: 503}, 2, false},
			{&llm.Error{Fault: llm.RateLimit, Status: 429, Wait: time.Hour}, 1, false},
			{&llm.Error{Fault: llm.Quota, Status: 429}, 1, false},
			{&llm.Error{Fault: llm.Server, Status: 500}, 1, true},
			{&llm.Error{Fault: llm.Network}, 1, true},
			{&llm.Error{Fault: llm.InvalidRequest, Status: 400}, 1, false},
		} {
			s := &scriptedJobs{starts: []error{test.err, nil}}
			_, err := (media.VideoRunner{Jobs: s}).Start(t.Context(), llm.VideoRequest{})
			if s.started != test.starts || (err == nil) != (test.starts == 2) || media.MayBePaid(test.err) != test.paid {
				t.Errorf("%v: %d starts, %v, may be paid: %t", test.err, s.started, err, media.MayBePaid(test.err))
			}
		}
	})
}

// TestFilmStartsAgainUnsent repeats requests that no server can have seen.
func TestFilmStartsAgainUnsent(t *testing.T) {
	v := newVideoServer(t, videoWires[0])
	v.Close()
	_, err := v.jobs().Start(t.Context(), llm.VideoRequest{Prompt: "a fox"})
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Network || media.MayBePaid(err) {
		t.Errorf("a refused connection may have been paid for: %v", err)
	}
}

// TestFilmDownloads writes the whole file, even after an interrupted download, and only a video, or
// an image if one was requested.
func TestFilmDownloads(t *testing.T) {
	cut, gone := &llm.Error{Fault: llm.Network, Message: "cut off"}, &llm.Error{Fault: llm.Permission, Status: 403}
	for _, test := range []struct {
		name    string
		fetches []any
		variant string
		mime    string // "" if it fails
		words   string
	}{
		{name: "at once", fetches: []any{aVideo}, mime: "video/mp4"},
		{name: "after a cut, and an address that ran out", fetches: []any{cut, gone, aVideo}, mime: "video/mp4"},
		{name: "never whole", fetches: []any{cut}, words: "cut off"},
		{name: "json", fetches: []any{`{"error":"x"}`}, words: "no video"},
		{name: "an image", fetches: []any{"\x89PNG\r\n\x1a\n"}, words: "image/png"},
		{name: "a thumbnail", fetches: []any{"\x89PNG\r\n\x1a\n"}, variant: "thumbnail", mime: "image/png"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "part"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var blob llm.Blob
			synctest.Test(t, func(t *testing.T) {
				f := media.VideoRunner{Jobs: &scriptedJobs{fetches: test.fetches}}
				blob, err = f.Download(t.Context(), llm.Job{ID: "x"}, llm.VideoOutput{Variant: test.variant}, file)
			})
			if (err == nil) != (test.mime != "") || err != nil && !strings.Contains(err.Error(), test.words) {
				t.Fatalf("%v", err)
			}
			if data, _ := os.ReadFile(file.Name()); test.mime != "" && (string(data) != test.fetches[len(test.fetches)-1] || blob.MIME != test.mime) {
				t.Errorf("%q, %+v", data, blob)
			}
		})
	}
}

// TestFilmStartInterrupted: nothing is charged if it is canceled before it is sent again.
func TestFilmStartInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(io.EOF) })
		busy := &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: 30 * time.Second}
		_, err := (media.VideoRunner{Jobs: &scriptedJobs{starts: []error{busy}}}).Start(ctx, llm.VideoRequest{})
		if !errors.Is(err, io.EOF) || media.MayBePaid(err) {
			t.Errorf("%v, may be paid: %t", err, media.MayBePaid(err))
		}
	})
}

// TestPricedVideosMask masks secrets in the texts of a job.
func TestPricedVideosMask(t *testing.T) {
	const key = "sk-canary-0123456789"
	said := llm.Job{ID: "x", State: llm.JobFailed, RawState: "WORD " + key, Failure: "bad key " + key, Notes: []string{key}, Refused: &llm.Refusal{Text: "no " + key, Code: key}}
	v := pricedVideos{VideoJobs: saying{said}, secrets: []string{key}}
	started, _ := v.Start(t.Context(), llm.VideoRequest{Prompt: "a fox"})
	polled, _ := v.Poll(t.Context(), llm.Job{})
	for _, j := range []llm.Job{started, polled} {
		if text, err := json.Marshal(j); err != nil || strings.Contains(string(text), key) || !strings.Contains(j.Failure, "bad key") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// A saying always returns the same job.
type saying struct{ llm.Job }

func (s saying) Start(context.Context, llm.VideoRequest) (llm.Job, error) { return s.Job, nil }
func (s saying) Poll(context.Context, llm.Job) (llm.Job, error)           { return s.Job, nil }
func (s saying) Cancel(context.Context, llm.Job) error                    { return nil }
func (s saying) Fetch(context.Context, llm.Job, llm.VideoOutput, io.Writer) (llm.Blob, error) {
	return llm.Blob{}, nil
}

// A fullFile is a file on a full disk.
type fullFile struct{ *os.File }

func (fullFile) Write(p []byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "a.mp4.part", Err: syscall.ENOSPC}
}

// TestFilmDiskFull reports the full disk, not the connection, and does not download again.
func TestFilmDiskFull(t *testing.T) {
	v := newVideoServer(t, videoWires[1])
	j := v.running(t)
	v.answers = append(v.answers, v.text(v.wire.done))
	_, err := (media.VideoRunner{Jobs: v.jobs()}).Download(t.Context(), j, llm.VideoOutput{}, fullFile{})
	if !errors.Is(err, syscall.ENOSPC) || llm.FaultOf(err) != llm.Unknown || v.fetches != 1 {
		t.Errorf("%v after %d downloads", err, v.fetches)
	}
}

// TestVideoAddressRanOut requests a new URL for each download.
func TestVideoAddressRanOut(t *testing.T) {
	v := newVideoServer(t, videoWires[3])
	j := v.running(t)
	v.answers = append(v.answers, v.text(strings.ReplaceAll(v.wire.done, "FILE", "FILE?old")), v.text(v.wire.done))
	v.file = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "old" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, aVideo)
	}
	if _, err := v.jobs().Fetch(t.Context(), j, llm.VideoOutput{}, io.Discard); err == nil {
		t.Error("an address that ran out is none")
	}
	if _, err := v.jobs().Fetch(t.Context(), j, llm.VideoOutput{}, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestFilmingWithout names the providers that can, before any request.
func TestFilmingWithout(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "k1234567", "XAI_API_KEY": "k1234567", "ANTHROPIC_API_KEY": "k1234567"}[name]
	}
	for _, name := range []string{"openai/gpt-image-2", "anthropic", "openai"} {
		_, err := media.Videos.Open(t.Context(), providers.Config{}, name, providers.OpenOptions{Getenv: getenv})
		if llm.FaultOf(err) != llm.Unsupported || !strings.Contains(err.Error(), "these have: xai") {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := media.Videos.Open(t.Context(), providers.Config{}, "", providers.OpenOptions{Getenv: getenv})
	if err != nil || m.Name != "xai/grok-imagine-video" || !m.Known {
		t.Errorf("%+v, %v", m, err)
	}
	own := providers.Config{Providers: map[string]providers.Provider{"omni": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	if m, err := media.Videos.Open(t.Context(), own, "omni/wan", providers.OpenOptions{Getenv: getenv}); err != nil || m.Known {
		t.Errorf("a server of the user's: %+v, %v", m, err)
	}
}

// TestVideoFacts rejects requests that a model is known not to support.
func TestVideoFacts(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"GEMINI_API_KEY": "k1234567", "MINIMAX_API_KEY": "k1234567", "ZAI_API_KEY": "k1234567"}[name]
	}
	yes, no := true, false
	for _, test := range []struct {
		model string
		r     llm.VideoRequest
		words string
	}{
		{"gemini", llm.VideoRequest{Seconds: 5}, "4, 6 or 8 seconds, not 5"},
		{"gemini", llm.VideoRequest{Resolution: "480p"}, "resolutions 720p, 1080p and 4k, not 480p"},
		{"gemini", llm.VideoRequest{Ratio: "1:1"}, "aspect ratios 16:9 and 9:16, not 1:1"},
		{"gemini", llm.VideoRequest{Audio: &no}, "cannot be turned off"},
		{"gemini", llm.VideoRequest{Source: aFrame}, "a video to change"},
		{"gemini", llm.VideoRequest{References: make([]llm.Blob, 4)}, "3 reference images, not 4"},
		{"gemini", llm.VideoRequest{Resolution: "1080p", Seconds: 6}, "8 seconds"},
		{"gemini", llm.VideoRequest{FirstFrame: aFrame, References: make([]llm.Blob, 1)}, "both reference images"},
		{"minimax", llm.VideoRequest{Audio: &yes}, "no sound"},
		{"minimax", llm.VideoRequest{Seconds: 16}, "5 to 15 seconds, not 16"},
		{"minimax", llm.VideoRequest{LastFrame: aFrame}, "only with a first one"},
		{"zai", llm.VideoRequest{References: make([]llm.Blob, 1)}, "reference images"},
	} {
		m, err := media.Videos.Open(t.Context(), providers.Config{}, test.model, providers.OpenOptions{Getenv: getenv})
		if err != nil {
			t.Fatal(err)
		}
		test.r.Prompt = "a fox"
		if _, err := m.Service.Start(t.Context(), test.r); llm.FaultOf(err) != llm.Unsupported || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %s", test.model, err, test.words)
		}
	}
}
