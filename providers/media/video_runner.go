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
	"parley/providers/wire"
)

// What follows does with the jobs of any service what a user wants: it starts one, waits for
// it and downloads the video.
//
//	Start ──► Saved ──► Poll, Saved, wait 5 to 30 s … ──► Download

// A VideoRunner starts, awaits and downloads what the jobs of a service make.
type VideoRunner struct {
	Jobs   llm.VideoJobs
	OnSave func(llm.Job) error      // keeps a job before it is asked about; nil keeps nothing
	OnPoll func(j llm.Job, e error) // after each poll, with the error that it will be repeated for; nil shows nothing
}

// How long a film is waited for.
const (
	minPollInterval = 5 * time.Second
	maxPollInterval = 30 * time.Second
	maxWait         = 20 * time.Minute
	maxServerWait   = 5 * time.Minute // that a server may ask for
	maxFailedPolls  = 8               // polls that fail behind each other
	maxStarts       = 4
)

// ErrStillRunning says that a job was not done after all the time that it is waited for.
var ErrStillRunning = fmt.Errorf("not done after %d minutes", maxWait/time.Minute)

// Start creates a job and keeps it. The request is sent again only if the server cannot have
// seen it, or turned it away as too many or too busy: a job is paid for each time.
func (f VideoRunner) Start(ctx context.Context, r llm.VideoRequest) (llm.Job, error) {
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

// A notCreatedError is why a request was not sent again that was turned away: nothing was made, and
// nothing is paid for.
type notCreatedError struct{ error }

func (e notCreatedError) Unwrap() error { return e.error }

// wasNotCreated reports whether nothing was created by a request that failed.
func wasNotCreated(e *llm.Error) bool {
	return wire.Unsent(e) || e.Fault == llm.RateLimit && e.Status == http.StatusTooManyRequests || e.Fault.Temporary() && e.Status == http.StatusServiceUnavailable
}

// MayBePaid reports whether a job that could not be started may run, and cost, all the same.
func MayBePaid(err error) bool {
	var e *llm.Error
	if none := (notCreatedError{}); errors.As(err, &none) {
		return false
	}
	if !errors.As(err, &e) {
		return true // it was stopped while the answer was awaited
	}
	return (e.Fault == llm.Network || e.Fault == llm.Server) && !wasNotCreated(e)
}

// Wait polls a job until it is over, first when after is over. Polls that fail for what may
// pass are repeated. With an error comes the job as it was last.
func (f VideoRunner) Wait(ctx context.Context, j llm.Job, after time.Duration) (llm.Job, error) {
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

// FirstPoll returns how long after its creation a job is asked about.
func FirstPoll() time.Duration { return jitter(minPollInterval) }

func (f VideoRunner) save(j llm.Job) error {
	if f.OnSave == nil {
		return nil
	}
	return f.OnSave(j)
}

func (f VideoRunner) show(j llm.Job, err error) {
	if f.OnPoll != nil {
		f.OnPoll(j, err)
	}
}

// jitter returns d, up to a fifth longer, so that clients do not come back together.
func jitter(d time.Duration) time.Duration { return d + time.Duration(rand.Float64()*float64(d)/5) }

// pause waits, or returns why ctx ended.
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

// maxFetches bounds how often a download is begun.
const maxFetches = 3

// A File is what is downloaded to.
type File interface {
	io.ReadWriteSeeker
	io.ReaderAt
	Truncate(int64) error
}

// Download writes an output of a job that is done to file, which is empty, and returns what it
// is: a video, or an image where one was asked for. A download that breaks off is begun again,
// with a fresh address.
func (f VideoRunner) Download(ctx context.Context, j llm.Job, o llm.VideoOutput, file File) (llm.Blob, error) {
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

// A writeError keeps the error of writing apart from those of the connection.
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

// checked returns blob with the type that its bytes say; an error if it is no video, or no
// image where one was asked for.
func checked(blob llm.Blob, o llm.VideoOutput, file io.ReaderAt) (llm.Blob, error) {
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return blob, err
	}
	want := "video/"
	if o.Variant != "" {
		want = "image/"
	}
	said := blob.MIME
	if blob.MIME = sniff(head[:n]); !strings.HasPrefix(blob.MIME, want) {
		return blob, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("what was downloaded is no %s, but %s (called %.60q)", strings.TrimSuffix(want, "/"), blob.MIME, said)}
	}
	return blob, nil
}

// sniff returns the type of a file by its first bytes.
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
