package formats

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// TestFilmStartsAgainUnsent repeats requests that no server can have seen.
func TestFilmStartsAgainUnsent(t *testing.T) {
	v := newVideoServer(t, videoWires[0])
	v.Close()
	_, err := v.jobs().Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Network || media.MayBePaid(err) {
		t.Errorf("a refused connection may have been paid for: %v", err)
	}
}

// TestPricedVideosMask masks secrets in the texts of a job.
func TestPricedVideosMask(t *testing.T) {
	const key = "sk-canary-0123456789"
	said := works.Job{ID: "x", State: works.JobFailed, RawState: "WORD " + key, Failure: "bad key " + key, Notes: []string{key}, Refused: &works.Refusal{Text: "no " + key, Code: key}}
	v := pricedVideos{VideoJobs: saying{said}, secrets: []string{key}}
	started, _ := v.Start(t.Context(), works.VideoRequest{Prompt: "a fox"})
	polled, _ := v.Poll(t.Context(), works.Job{})
	for _, j := range []works.Job{started, polled} {
		if text, err := json.Marshal(j); err != nil || strings.Contains(string(text), key) || !strings.Contains(j.Failure, "bad key") {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// A saying always returns the same job.
type saying struct{ works.Job }

func (s saying) Start(context.Context, works.VideoRequest) (works.Job, error) { return s.Job, nil }
func (s saying) Poll(context.Context, works.Job) (works.Job, error)           { return s.Job, nil }
func (s saying) Cancel(context.Context, works.Job) error                      { return nil }
func (s saying) Fetch(context.Context, works.Job, works.VideoOutput, io.Writer) (works.Blob, error) {
	return works.Blob{}, nil
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
	_, err := (media.VideoRunner{Jobs: v.jobs()}).Download(t.Context(), j, works.VideoOutput{}, fullFile{})
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
	if _, err := v.jobs().Fetch(t.Context(), j, works.VideoOutput{}, io.Discard); err == nil {
		t.Error("an address that ran out is none")
	}
	if _, err := v.jobs().Fetch(t.Context(), j, works.VideoOutput{}, io.Discard); err != nil {
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
		r     works.VideoRequest
		words string
	}{
		{"gemini", works.VideoRequest{Seconds: 5}, "4, 6 or 8 seconds, not 5"},
		{"gemini", works.VideoRequest{Resolution: "480p"}, "resolutions 720p, 1080p and 4k, not 480p"},
		{"gemini", works.VideoRequest{Ratio: "1:1"}, "aspect ratios 16:9 and 9:16, not 1:1"},
		{"gemini", works.VideoRequest{Audio: &no}, "cannot be turned off"},
		{"gemini", works.VideoRequest{Source: aFrame}, "a video to change"},
		{"gemini", works.VideoRequest{References: make([]works.Blob, 4)}, "3 reference images, not 4"},
		{"gemini", works.VideoRequest{Resolution: "1080p", Seconds: 6}, "8 seconds"},
		{"gemini", works.VideoRequest{FirstFrame: aFrame, References: make([]works.Blob, 1)}, "both reference images"},
		{"minimax", works.VideoRequest{Audio: &yes}, "no sound"},
		{"minimax", works.VideoRequest{Seconds: 16}, "5 to 15 seconds, not 16"},
		{"minimax", works.VideoRequest{LastFrame: aFrame}, "only with a first one"},
		{"zai", works.VideoRequest{References: make([]works.Blob, 1)}, "reference images"},
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
