package media_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// aVideo is the beginning of an MP4 file.
const aVideo = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom and what follows"

// scriptedJobs returns scripted answers, repeating the last one, and records the times.
type scriptedJobs struct {
	starts  []error
	polls   []any // works.JobState, error or func() error
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

func (s *scriptedJobs) Start(context.Context, works.VideoRequest) (works.Job, error) {
	if err := next(s.starts, &s.started); err != nil {
		return works.Job{}, err
	}
	return works.Job{ID: "job1", State: works.JobQueued}, nil
}

func (s *scriptedJobs) Poll(_ context.Context, j works.Job) (works.Job, error) {
	s.asked = append(s.asked, time.Since(s.begun))
	switch p := next(s.polls, &s.polled).(type) {
	case error:
		return j, p
	case func() error:
		return j, p()
	case works.JobState:
		j.State = p
	}
	return j, nil
}

func (s *scriptedJobs) Fetch(_ context.Context, _ works.Job, _ works.VideoOutput, w io.Writer) (works.Blob, error) {
	switch f := next(s.fetches, &s.fetched).(type) {
	case error:
		_, _ = io.WriteString(w, aVideo[:20]) // it breaks off
		return works.Blob{}, f
	case string:
		_, err := io.WriteString(w, f)
		return works.Blob{MIME: "\x1b[2J\u202e" + strings.Repeat("x", 5000)}, err // a hostile server's word
	}
	return works.Blob{}, nil
}

func (s *scriptedJobs) Cancel(context.Context, works.Job) error { return nil }

// TestFilmWaits polls after 5 s, then at growing intervals up to 30 s, repeats polls with temporary
// errors, and saves the job before each poll.
func TestFilmWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom, busy := &llm.Error{Fault: llm.Server, Status: 500}, &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: time.Minute}
		s := &scriptedJobs{begun: time.Now(), starts: []error{nil}, polls: []any{boom, boom, works.JobRunning, busy, works.JobRunning, works.JobRunning, works.JobRunning, works.JobRunning, works.JobDone}}
		var saved, shown []works.JobState
		var failed []error
		f := media.VideoRunner{Jobs: s, OnSave: func(j works.Job) error { saved = append(saved, j.State); return nil }}
		f.OnPoll = func(j works.Job, err error) {
			if shown = append(shown, j.State); err != nil {
				failed = append(failed, err)
			}
		}
		j, err := f.Start(t.Context(), works.VideoRequest{})
		if err != nil || len(saved) != 1 {
			t.Fatalf("%v, saved %v before the first poll", err, saved)
		}
		j, err = f.Wait(t.Context(), j, media.FirstPoll())
		if err != nil || j.State != works.JobDone || len(saved) != 7 {
			t.Errorf("%+v, %v, saved %v", j, err, saved)
		}
		if len(shown) != 9 || shown[0] != works.JobQueued || shown[8] != works.JobDone || len(failed) != 3 || failed[0] != boom || failed[2] != busy {
			t.Errorf("shown are %v, with %v", shown, failed)
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
		j, err := (media.VideoRunner{Jobs: &scriptedJobs{polls: []any{works.JobRunning}}}).Wait(t.Context(), works.Job{ID: "x", State: works.JobQueued}, 0)
		if !errors.Is(err, media.ErrStillRunning) || j.State != works.JobRunning || time.Since(begun) != 20*time.Minute {
			t.Errorf("%+v, %v after %v", j, err, time.Since(begun))
		}
		gone := &scriptedJobs{polls: []any{&llm.Error{Fault: llm.InvalidRequest, Status: 404}}}
		if _, err := (media.VideoRunner{Jobs: gone}).Wait(t.Context(), works.Job{State: works.JobQueued}, 0); err == nil || gone.polled != 1 {
			t.Errorf("%v after %d polls", err, gone.polled)
		}
		shaky := &scriptedJobs{polls: slices.Concat(slices.Repeat([]any{&llm.Error{Fault: llm.Network}}, 7), []any{works.JobRunning}, slices.Repeat([]any{&llm.Error{Fault: llm.Network}}, 7), []any{works.JobDone})}
		if j, err := (media.VideoRunner{Jobs: shaky}).Wait(t.Context(), works.Job{State: works.JobQueued}, 0); err != nil || j.State != works.JobDone {
			t.Errorf("after 7 failed polls twice: %+v, %v", j, err)
		}
		dead := &scriptedJobs{polls: []any{&llm.Error{Fault: llm.Network}}}
		if _, err := (media.VideoRunner{Jobs: dead}).Wait(t.Context(), works.Job{State: works.JobQueued}, 0); err == nil || dead.polled != 8 {
			t.Errorf("%v after %d polls", err, dead.polled)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(io.EOF) })
		if _, err := (media.VideoRunner{Jobs: &scriptedJobs{polls: []any{works.JobRunning}}}).Wait(ctx, works.Job{State: works.JobQueued}, 0); err != io.EOF {
			t.Errorf("interrupted: %v", err)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		stopped := func() error { cancel(io.EOF); return &llm.Error{Fault: llm.Network} }
		if _, err := (media.VideoRunner{Jobs: &scriptedJobs{polls: []any{stopped}}}).Wait(ctx, works.Job{State: works.JobQueued}, 0); err != io.EOF {
			t.Errorf("interrupted in a poll: %v", err)
		}
		begun = time.Now()
		slow := &scriptedJobs{polls: []any{&llm.Error{Fault: llm.RateLimit, Wait: time.Hour}, works.JobDone}}
		if _, err := (media.VideoRunner{Jobs: slow}).Wait(t.Context(), works.Job{State: works.JobQueued}, 0); err != nil || time.Since(begun) != 5*time.Minute {
			t.Errorf("a server that asks for an hour: %v after %v, want 5 minutes", err, time.Since(begun))
		}
		full := media.VideoRunner{Jobs: &scriptedJobs{polls: []any{works.JobRunning}}, OnSave: func(works.Job) error { return io.ErrShortWrite }}
		if j, err := full.Wait(t.Context(), works.Job{State: works.JobQueued}, 0); err != io.ErrShortWrite || j.State != works.JobRunning {
			t.Errorf("a job that cannot be saved: %+v, %v", j, err)
		}
		if j, err := full.Wait(t.Context(), works.Job{State: works.JobFailed}, time.Hour); err != nil || j.State != works.JobFailed {
			t.Errorf("a job that is over: %+v, %v", j, err)
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
			{&llm.Error{Fault: llm.RateLimit, Status: 429, Wait: time.Minute}, 2, false},
			{&llm.Error{Fault: llm.RateLimit, Status: 429, Wait: time.Minute + 1}, 1, false},
			{&llm.Error{Fault: llm.Quota, Status: 429}, 1, false},
			{&llm.Error{Fault: llm.Server, Status: 500}, 1, true},
			{&llm.Error{Fault: llm.Network}, 1, true},
			{&llm.Error{Fault: llm.InvalidRequest, Status: 400}, 1, false},
		} {
			s := &scriptedJobs{starts: []error{test.err, nil}}
			_, err := (media.VideoRunner{Jobs: s}).Start(t.Context(), works.VideoRequest{})
			if s.started != test.starts || (err == nil) != (test.starts == 2) || media.MayBePaid(test.err) != test.paid {
				t.Errorf("%v: %d starts, %v, may be paid: %t", test.err, s.started, err, media.MayBePaid(test.err))
			}
		}
	})
}

// TestFilmDownloads writes the whole file, even after an interrupted download, and only a video, or
// an image if one was requested. The type is that of the bytes, not the server's.
func TestFilmDownloads(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n"
	cut, status := &llm.Error{Fault: llm.Network, Message: "cut off"}, func(status int) error { return &llm.Error{Fault: llm.Permission, Status: status, Message: "gone"} }
	for _, test := range []struct {
		name    string
		fetches []any
		variant string
		mime    string // "" if it fails
		words   string
		least   time.Duration // pauses
	}{
		{name: "at once", fetches: []any{aVideo}, mime: "video/mp4"},
		{name: "after a cut, and an address that ran out", fetches: []any{cut, status(403), aVideo}, mime: "video/mp4", least: 6 * time.Second},
		{name: "after an address that is gone", fetches: []any{status(404), status(410), aVideo}, mime: "video/mp4", least: 6 * time.Second},
		{name: "after a long wait", fetches: []any{&llm.Error{Fault: llm.RateLimit, Wait: time.Hour}, aVideo}, mime: "video/mp4", least: 5 * time.Minute},
		{name: "never whole", fetches: []any{cut}, words: "cut off", least: 6 * time.Second},
		{name: "never allowed", fetches: []any{status(401), aVideo}, words: "gone"},
		{name: "canceled", fetches: []any{context.Canceled, aVideo}, words: "canceled"},
		{name: "json", fetches: []any{`{"error":"x"}`}, words: "what was downloaded is no video, but text/plain (called "},
		{name: "an image", fetches: []any{png}, words: "image/png"},
		{name: "a thumbnail", fetches: []any{png}, variant: "thumbnail", mime: "image/png"},
		{name: "a thumbnail that is a video", fetches: []any{aVideo}, variant: "thumbnail", words: "no image, but video/mp4"},
		{name: "a short video", fetches: []any{"\x00\x00\x00\x0cftypisom"}, mime: "video/mp4"},
		{name: "QuickTime", fetches: []any{"\x00\x00\x00\x0cftypqt  "}, mime: "video/quicktime"},
		{name: "AVIF", fetches: []any{"\x00\x00\x00\x0cftypavif"}, variant: "thumbnail", mime: "image/avif"},
		{name: "WebM", fetches: []any{"\x1a\x45\xdf\xa3"}, mime: "video/webm"},
		{name: "nothing", fetches: []any{""}, words: "no video"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "part"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var blob works.Blob
			var waited time.Duration
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				f := media.VideoRunner{Jobs: &scriptedJobs{fetches: test.fetches}}
				blob, err = f.Download(t.Context(), works.Job{ID: "x"}, works.VideoOutput{Variant: test.variant}, file)
				waited = time.Since(begun)
			})
			if (err == nil) != (test.mime != "") || err != nil && (!strings.Contains(err.Error(), test.words) || len(err.Error()) > 200 || strings.ContainsAny(err.Error(), "\x1b\u202e")) {
				t.Fatalf("%v", err)
			}
			if waited < test.least || waited > test.least*13/10 {
				t.Errorf("waited for %v, want %v and up to a fifth more", waited, test.least)
			}
			if data, _ := os.ReadFile(file.Name()); test.mime != "" && (string(data) != test.fetches[len(test.fetches)-1] || blob.MIME != test.mime) {
				t.Errorf("%q, %+v", data, blob)
			}
		})
	}
}

// A brokenFile cannot be written.
type brokenFile struct{ *os.File }

func (brokenFile) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFilmDownloadStops reports an error of the file, which no second download repairs, and a user who does not wait.
func TestFilmDownloadStops(t *testing.T) {
	s := &scriptedJobs{fetches: []any{&llm.Error{Fault: llm.Network}, aVideo}}
	if _, err := (media.VideoRunner{Jobs: s}).Download(t.Context(), works.Job{}, works.VideoOutput{}, brokenFile{}); err != io.ErrShortWrite || s.fetched != 1 {
		t.Errorf("a broken file: %v after %d downloads", err, s.fetched)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "part"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	if _, err := (media.VideoRunner{Jobs: s}).Download(ctx, works.Job{}, works.VideoOutput{}, file); err != nil {
		t.Errorf("a whole file is not refused: %v", err)
	}
	if _, err := (media.VideoRunner{Jobs: &scriptedJobs{fetches: []any{&llm.Error{Fault: llm.Network}}}}).Download(ctx, works.Job{}, works.VideoOutput{}, file); llm.FaultOf(err) != llm.Network {
		t.Errorf("canceled: %v", err)
	}
}

// TestFilmStartStops starts a job at most four times, and not again once it is canceled. An error of saving is the result.
func TestFilmStartStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := &scriptedJobs{starts: []error{&llm.Error{Fault: llm.Server, Status: 503}}}
		if _, err := (media.VideoRunner{Jobs: s}).Start(t.Context(), works.VideoRequest{}); err == nil || s.started != 4 || time.Since(begun) < 14*time.Second || time.Since(begun) > 17*time.Second {
			t.Errorf("%v after %d starts in %v", err, s.started, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.started = 0
		if _, err := (media.VideoRunner{Jobs: s}).Start(ctx, works.VideoRequest{}); llm.FaultOf(err) != llm.Server || s.started != 1 {
			t.Errorf("canceled: %v after %d starts", err, s.started)
		}
		s = &scriptedJobs{starts: []error{nil}}
		if j, err := (media.VideoRunner{Jobs: s, OnSave: func(works.Job) error { return io.ErrShortWrite }}).Start(t.Context(), works.VideoRequest{}); j.ID != "job1" || err != io.ErrShortWrite {
			t.Errorf("a job that cannot be saved: %+v, %v", j, err)
		}
		s = &scriptedJobs{starts: []error{io.EOF, nil}}
		if _, err := (media.VideoRunner{Jobs: s}).Start(t.Context(), works.VideoRequest{}); err != io.EOF || !media.MayBePaid(err) {
			t.Errorf("an unknown error: %v, may be paid: %t", err, media.MayBePaid(err))
		}
		if d := media.FirstPoll(); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("the first poll comes after %v", d)
		}
	})
}

// TestFilmStartInterrupted: nothing is charged if it is canceled before it is sent again.
func TestFilmStartInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(io.EOF) })
		busy := &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: 30 * time.Second}
		_, err := (media.VideoRunner{Jobs: &scriptedJobs{starts: []error{busy}}}).Start(ctx, works.VideoRequest{})
		if !errors.Is(err, io.EOF) || media.MayBePaid(err) {
			t.Errorf("%v, may be paid: %t", err, media.MayBePaid(err))
		}
	})
}
