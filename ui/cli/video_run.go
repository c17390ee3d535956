package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/media"
	"parley/session"
	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/print"
)

// A videoRun brings one job to its end.
type videoRun struct {
	*videoCommand
	video       session.Video
	film        media.VideoRunner
	line        *videoProgress
	reservation session.Reservation // of what the job may cost, until it is created
}

// start creates the job.
func (r *videoRun) start(ctx context.Context) error {
	r.film.OnSave = func(j llm.Job) error {
		r.video.Job = j
		return r.library.Videos().Save(r.video)
	}
	j, err := r.film.Start(ctx, r.wishes)
	if err := r.reservation.Settle(); err != nil { // what it costs is in the ledger
		r.note(unreservedText(err))
	}
	if err != nil && j.ID == "" {
		if !media.MayBePaid(err) && ctx.Err() != nil {
			r.video.Job.State = llm.JobCanceled
			return errors.Join(err, r.library.Videos().Save(r.video))
		}
		if !media.MayBePaid(err) {
			return errors.Join(err, r.library.Videos().Remove(r.video.Num))
		}
		known, why := "The answer did not come", "no answer came to the request that creates it"
		if e := (*llm.Error)(nil); errors.As(err, &e) && e.Fault != llm.Network {
			known, why = "The provider answered with an error", "the request that creates it was answered with an error"
		}
		r.note(fmt.Sprintf("%s: the video may be made, and paid for, anyway (job %d)", known, r.video.Num))
		r.video.Job.State, r.video.Job.Failure = llm.JobFailed, why+": "+app.ShellErrorText(err)
		return errors.Join(err, r.library.Videos().Save(r.video))
	}
	if err != nil {
		return fmt.Errorf("the provider makes the video as job %s, which could not be saved here: %w", sanitize.Line(j.ID), err)
	}
	for _, note := range j.Notes {
		r.note(note)
	}
	if r.noWait && !j.State.Over() {
		r.note(fmt.Sprintf("parley video get %d waits for it and downloads it", r.video.Num))
		return r.print("job", "")
	}
	return r.finish(ctx, media.FirstPoll())
}

// finish waits for the job, and saves what it made.
func (r *videoRun) finish(ctx context.Context, after time.Duration) error {
	r.film.OnSave = func(j llm.Job) error {
		r.video.Job = j
		return r.library.Videos().Save(r.video)
	}
	r.line = newVideoProgress(r.videoCommand, r.video)
	r.film.OnPoll = r.line.show
	r.line.show(r.video.Job, nil)
	if r.format == "jsonl" {
		if err := r.print("job", ""); err != nil {
			return err
		}
	}
	j, err := r.film.Wait(ctx, r.video.Job, after)
	if err == nil && j.State == llm.JobDone {
		r.line.say("downloading")
		err = r.save(ctx)
	}
	r.line.stop()
	if err != nil {
		if r.video.Job.ID != "" && (!j.State.Over() || j.State == llm.JobDone) {
			warn(fmt.Sprintf("The job is kept: parley video get %d continues", r.video.Num))
		}
		return err
	}
	return r.outcome()
}

// outcome tells how the job ended.
func (r *videoRun) outcome() error {
	j := r.video.Job
	switch j.State {
	case llm.JobDone:
		return r.print("done", "stop")
	case llm.JobRefused:
		words := "declined"
		if j.Refused != nil {
			words = strings.TrimSpace(cmp.Or(j.Refused.Text, j.Refused.Code, words))
			if j.Refused.Billed {
				words += " (it is paid for anyway)"
			}
		}
		warn(r.video.Name() + " refused: " + words)
		return cmp.Or(r.print("done", "refused"), cmdutil.Exit(print.Incomplete))
	}
	return fmt.Errorf("%s: the job %s", r.video.Name(), map[llm.JobState]string{
		llm.JobFailed: "failed: " + cmp.Or(j.Failure, "no reason was given"), llm.JobCanceled: "was canceled", llm.JobExpired: "expired, and with it what it made",
	}[j.State])
}

// save downloads the video.
func (r *videoRun) save(ctx context.Context) error {
	o := llm.VideoOutput{Variant: r.variant}
	if r.to == "-" {
		return r.copyToStdout(ctx, o)
	}
	path := r.to
	if path == "" && r.variant == "" {
		path = r.video.To
	}
	if path == "" {
		path = cmp.Or(attach.Slug(r.video.Prompt), "video")
		if r.variant != "" {
			path += "-" + r.variant
		}
	}
	if dir := filepath.Dir(path); dir != "." {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return cmdutil.Usage(fmt.Errorf("%s: there is no longer such a folder: name a file with --to", dir))
		}
	}
	var blob llm.Blob
	saved, err := attach.SaveWith(path, func(f *os.File) (string, error) {
		var err error
		if blob, err = r.film.Download(ctx, r.video.Job, o, f); err == nil && filepath.Ext(path) == "" {
			path += attach.Extension(blob.MIME)
		}
		return path, err
	})
	if err != nil {
		return err
	}
	if r.to != "" && saved != r.to {
		r.note(r.to + " came to be in the meantime: saved as " + saved)
	}
	if r.variant == "" && attach.WithExtension(saved, blob.MIME) != saved {
		r.note(saved + " contains " + blob.MIME)
	}
	if r.variant == "" {
		r.video.File = absolute(saved)
	}
	r.line.file = saved
	return r.library.Videos().Save(r.video)
}

// copyToStdout downloads the video to standard output: whole, or nothing of it.
func (r *videoRun) copyToStdout(ctx context.Context, o llm.VideoOutput) error {
	f, err := os.CreateTemp("", "parley-video-")
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	if _, err := r.film.Download(ctx, r.video.Job, o, f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.Copy(r.out, f)
	return err
}

// A videoRow is a job as JSON.
type videoRow struct {
	Type    string `json:"type,omitempty"`
	ID      int    `json:"id"`
	Model   string `json:"model"`
	Prompt  string `json:"prompt"`
	State   string `json:"state"`
	Word    string `json:"provider_state,omitempty"`
	JobID   string `json:"job_id,omitempty"`
	File    string `json:"file,omitempty"`
	Created string `json:"created"`
	Cost    *cost  `json:"cost,omitempty"`
	Failure string `json:"failure,omitempty"`
	Refused string `json:"refused,omitempty"`
	Reason  string `json:"finish_reason,omitempty"`
	Exit    *int   `json:"exit,omitempty"`
}

type cost struct {
	USD   float64 `json:"usd"`
	Exact bool    `json:"exact"` // the provider said so
}

func rowOf(v session.Video) videoRow {
	row := videoRow{
		ID: v.Num, Model: v.Name(), Prompt: v.Prompt, State: string(v.Job.State), Word: v.Job.RawState, JobID: v.Job.ID,
		File: v.File, Created: v.Created.UTC().Format(time.RFC3339), Failure: v.Job.Failure,
	}
	if b := v.Job.Bill; b != nil && b.Priced {
		row.Cost = &cost{b.USD, b.Reported}
	}
	if r := v.Job.Refused; r != nil {
		row.Refused = cmp.Or(r.Text, r.Code, "declined")
	}
	return row
}

// print writes the job to standard output: in text its file or, without one, its number.
func (r *videoRun) print(kind, reason string) error {
	if r.format == "text" {
		switch {
		case reason == "" && kind == "job" && r.noWait:
			fmt.Fprintln(r.out, r.video.Num)
		case reason == "stop" && r.to != "-":
			fmt.Fprintln(r.out, sanitize.Line(r.line.file))
			if b := r.video.Job.Bill; b != nil && b.Priced {
				r.note(format.Cost(b.USD, true))
			}
		}
		return nil
	}
	row := rowOf(r.video)
	if r.format == "jsonl" {
		row.Type = kind
	}
	if row.Reason = reason; reason != "" {
		row.Exit = new(int)
	}
	if reason == "refused" {
		*row.Exit = print.Incomplete
	}
	if r.line != nil && r.line.file != "" {
		row.File = absolute(r.line.file)
	}
	return cmdutil.WriteJSON(r.out, row)
}

// absolute returns path from the root; "" and "-" as they are.
func absolute(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// largestInput bounds a file that is sent along, in bytes.
const largestInput = 50 << 20

// readMedia reads an image or a video to be sent.
func readMedia(path, kind string) (*llm.Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(f, largestInput+1))
	if err != nil {
		return nil, err
	}
	if len(data) > largestInput {
		return nil, fmt.Errorf("%s is larger than %d MB", path, largestInput>>20)
	}
	mime, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if kind == "video" && len(data) > 12 && string(data[4:8]) == "ftyp" {
		mime = "video/mp4"
	}
	if !strings.HasPrefix(mime, kind+"/") {
		return nil, fmt.Errorf("%s is no %s that can be sent, but %s", path, kind, mime)
	}
	return &llm.Blob{MIME: mime, Name: filepath.Base(path), Data: data}, nil
}
