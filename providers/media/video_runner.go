package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/wire"
)

// A video of any service takes three steps:
//
//	Start ──► Saved ──► Poll, Saved, wait 5 to 30 s … ──► Download

// A VideoRunner starts jobs of a service, waits for them and downloads their videos.
type VideoRunner struct {
	Jobs   works.VideoJobs
	OnSave func(works.Job) error      // stores a job after each change; may be nil
	OnPoll func(j works.Job, e error) // called after each poll, with the error of a poll that will be repeated; may be nil
}

// Limits of starting and waiting.
const (
	minPollInterval = 5 * time.Second
	maxPollInterval = 30 * time.Second
	maxWait         = 20 * time.Minute
	maxServerWait   = 5 * time.Minute // longest wait that a server can request
	maxFailedPolls  = 8               // in a row
	maxStarts       = 4
)

// ErrStillRunning reports that a job was not done after maxWait.
var ErrStillRunning = errors.New("not done after 20 minutes")

// Start creates a job and stores it. Since each job is charged, it repeats the request only if the
// server cannot have seen it or rejected it because of rate limits or load.
func (f VideoRunner) Start(ctx context.Context, r works.VideoRequest) (works.Job, error) {
	for n := 1; ; n++ {
		j, err := f.Jobs.Start(ctx, r)
		if err == nil {
			return j, f.save(j)
		}
		var e *llm.Error
		if !errors.As(err, &e) || n == maxStarts || ctx.Err() != nil || e.Wait > time.Minute || !wasNotCreated(e) {
			return j, err
		}
		if err := pause(ctx, max(e.Wait, jitter(time.Second<<n))); err != nil {
			return j, notCreatedError{err}
		}
	}
}

// A notCreatedError says why a rejected request was not repeated. Nothing was created or charged.
type notCreatedError struct{ error }

func (e notCreatedError) Unwrap() error { return e.error }

// wasNotCreated reports whether a failed request certainly created nothing.
func wasNotCreated(e *llm.Error) bool {
	return wire.Unsent(e) || e.Fault == llm.RateLimit && e.Status == http.StatusTooManyRequests || e.Fault.Temporary() && e.Status == http.StatusServiceUnavailable
}

// MayBePaid reports whether Start, which returned err, may have created a job that costs money.
func MayBePaid(err error) bool {
	var e *llm.Error
	if none := (notCreatedError{}); errors.As(err, &none) {
		return false
	}
	if !errors.As(err, &e) {
		return true // canceled while waiting for the answer
	}
	unreadable := e.Fault == llm.Unknown && e.Status == 0 // the answer
	return (e.Fault == llm.Network || e.Fault == llm.Server || unreadable) && !wasNotCreated(e)
}

// Wait polls a job until it is over, for the first time after a pause of after. It repeats polls that
// fail with temporary errors. With an error it returns the last known state of the job.
func (f VideoRunner) Wait(ctx context.Context, j works.Job, after time.Duration) (works.Job, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait, ErrStillRunning)
	defer cancel()
	delay, failed := minPollInterval, 0
	for !j.State.Over() {
		if err := pause(ctx, after); err != nil {
			return j, err
		}
		now, err := f.Jobs.Poll(ctx, j)
		after = jitter(delay)
		delay = min(delay*3/2, maxPollInterval)
		if ctx.Err() != nil {
			return j, context.Cause(ctx)
		}
		if err != nil {
			var e *llm.Error
			if failed++; !errors.As(err, &e) || !e.Fault.Temporary() || failed >= maxFailedPolls {
				return j, err
			}
			after = max(after, min(e.Wait, maxServerWait))
			f.show(j, err)
			continue
		}
		failed = 0
		j = now
		if err := f.save(j); err != nil {
			return j, err
		}
		f.show(j, nil)
	}
	return j, nil
}

// FirstPoll returns the pause before the first poll of a new job.
func FirstPoll() time.Duration { return jitter(minPollInterval) }

func (f VideoRunner) save(j works.Job) error {
	if f.OnSave == nil {
		return nil
	}
	return f.OnSave(j)
}

func (f VideoRunner) show(j works.Job, err error) {
	if f.OnPoll != nil {
		f.OnPoll(j, err)
	}
}

// jitter returns d lengthened by up to a fifth, so that clients do not all return at the same time.
func jitter(d time.Duration) time.Duration { return d + time.Duration(rand.Float64()*float64(d)/5) }

// pause waits for d. If ctx ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxFetches bounds how often a download is started.
const maxFetches = 3

// A File is the target of a download, such as an *os.File.
type File interface {
	io.ReadWriteSeeker
	io.ReaderAt
	Truncate(int64) error
}

// Download writes an output of a finished job to file, which must be empty, and returns its type: a
// video, or an image if o requests one. It restarts an interrupted download with a new address.
func (f VideoRunner) Download(ctx context.Context, j works.Job, o works.VideoOutput, file File) (works.Blob, error) {
	for n := 1; ; n++ {
		to := &writeError{Writer: file}
		blob, err := f.Jobs.Fetch(ctx, j, o, to)
		if to.err != nil {
			return blob, to.err
		}
		if err == nil {
			return checked(blob, o, file)
		}
		var e *llm.Error
		stale := errors.As(err, &e) && (e.Fault.Temporary() || e.Status == http.StatusForbidden || e.Status == http.StatusNotFound || e.Status == http.StatusGone)
		if !stale || n == maxFetches || ctx.Err() != nil {
			return blob, err
		}
		if err := errors.Join(file.Truncate(0), pause(ctx, max(jitter(time.Second<<n), min(e.Wait, maxServerWait)))); err != nil {
			return blob, err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return blob, err
		}
	}
}

// A writeError remembers the error of its Writer, to distinguish it from errors of the connection.
type writeError struct {
	io.Writer
	err error
}

func (k *writeError) Write(p []byte) (int, error) {
	n, err := k.Writer.Write(p)
	if err != nil {
		k.err = err
	}
	return n, err
}

// checked returns blob with the type detected from its bytes. It returns an error if that is not a
// video, or not an image if o requests one.
func checked(blob works.Blob, o works.VideoOutput, file io.ReaderAt) (works.Blob, error) {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return blob, err
	}
	want := "video/"
	if o.Variant != "" {
		want = "image/"
	}
	declared := blob.MIME
	if blob.MIME = sniff(head[:n]); !strings.HasPrefix(blob.MIME, want) {
		return blob, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("what was downloaded is no %s, but %s (called %.60q)", strings.TrimSuffix(want, "/"), blob.MIME, declared)}
	}
	return blob, nil
}

// sniff returns the MIME type of a file, detected from its first bytes.
func sniff(head []byte) string {
	switch {
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && string(head[8:10]) == "qt":
		return "video/quicktime"
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && bytes.HasPrefix(head[8:], []byte("avif")):
		return "image/avif"
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return "video/mp4"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(head), ";")
	return kind
}
