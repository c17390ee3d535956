package video

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
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// A run processes one job until it ends.
type run struct {
	*Options
	video       session.Video
	film        media.VideoRunner
	line        *progress
	reservation session.Reservation // of the job's cost, until the job is created
}

// newRun returns a run of the job v at the provider of jobs; jobs may be nil if the provider is not asked.
func newRun(c *Options, v session.Video, jobs works.VideoJobs) *run {
	r := &run{Options: c, video: v, film: media.VideoRunner{Jobs: jobs}}
	r.film.OnSave = func(j works.Job) error {
		r.video.Job = j
		return r.library.Videos().Save(r.video)
	}
	return r
}

// start creates the job.
func (r *run) start(ctx context.Context) error {
	j, err := r.film.Start(ctx, r.wishes)
	if err := r.reservation.Settle(); err != nil { // the ledger has the cost by now
		r.Note(ability.UnreservedText(err))
	}
	if err != nil && j.ID == "" {
		if !media.MayBePaid(err) && ctx.Err() != nil {
			r.video.Job.State = works.JobCanceled
			return errors.Join(err, r.library.Videos().Save(r.video))
		}
		if !media.MayBePaid(err) {
			return errors.Join(err, r.library.Videos().Remove(r.video.Num))
		}
		known, why := "The answer did not come", "no answer to the request that creates it"
		if e := (*llm.Error)(nil); errors.As(err, &e) && e.Fault != llm.Network {
			known, why = "The provider answered with an error", "the request that creates it was answered with an error"
		}
		r.Note(fmt.Sprintf("%s: the video may be made, and paid for, anyway (job %d)", known, r.video.Num))
		r.video.Job.State, r.video.Job.Failure = works.JobFailed, why+": "+wording.ShellError(err)
		return errors.Join(err, r.library.Videos().Save(r.video))
	}
	if err != nil {
		return fmt.Errorf("the provider makes the video as job %s, which could not be saved here: %w", sanitize.Line(j.ID), err)
	}
	for _, note := range j.Notes {
		r.Note(note)
	}
	if r.noWait && !j.State.Over() {
		r.Note(fmt.Sprintf("parley video get %d waits for it and downloads it", r.video.Num))
		return r.print("job", "")
	}
	return r.finish(ctx, media.FirstPoll())
}

// finish waits for the job and saves its result.
func (r *run) finish(ctx context.Context, after time.Duration) error {
	r.line = newProgress(r.Options, r.video)
	r.film.OnPoll = r.line.show
	r.line.show(r.video.Job, nil)
	if r.Format == "jsonl" {
		if err := r.print("job", ""); err != nil {
			return err
		}
	}
	j, err := r.film.Wait(ctx, r.video.Job, after)
	if err == nil && j.State == works.JobDone {
		r.line.say("downloading")
		err = r.save(ctx)
	}
	r.line.stop()
	if err != nil {
		if r.video.Job.ID != "" && (!j.State.Over() || j.State == works.JobDone) {
			cmdutil.Warn(fmt.Sprintf("The job is stored: parley video get %d continues", r.video.Num))
		}
		return err
	}
	return r.outcome()
}

// outcome reports how the job ended.
func (r *run) outcome() error {
	j := r.video.Job
	switch j.State {
	case works.JobDone:
		return r.print("done", "stop")
	case works.JobRefused:
		words := "declined"
		if j.Refused != nil {
			words = strings.TrimSpace(cmp.Or(j.Refused.Text, j.Refused.Code, words))
			if j.Refused.Billed {
				words += " (it is paid for anyway)"
			}
		}
		cmdutil.Warn(r.video.Name() + " refused: " + words)
		return cmp.Or(r.print("done", "refused"), cmdutil.Exit(exit.Incomplete))
	}
	return fmt.Errorf("%s: the job %s", r.video.Name(), map[works.JobState]string{
		works.JobFailed: "failed: " + cmp.Or(j.Failure, "no reason was given"), works.JobCanceled: "was canceled", works.JobExpired: "expired, together with its video",
	}[j.State])
}

// save downloads the video.
func (r *run) save(ctx context.Context) error {
	o := works.VideoOutput{Variant: r.variant}
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
			return cmdutil.Usagef("%s: there is no longer such a folder: name a file with --to", dir)
		}
	}
	var blob works.Blob
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
		r.Note(r.to + " was created in the meantime: saved as " + saved)
	}
	if r.variant == "" && attach.WithExtension(saved, blob.MIME) != saved {
		r.Note(saved + " contains " + blob.MIME)
	}
	if r.variant == "" {
		r.video.File = absolute(saved)
	}
	r.line.file = saved
	return r.library.Videos().Save(r.video)
}

// copyToStdout downloads the video to standard output, completely or not at all.
func (r *run) copyToStdout(ctx context.Context, o works.VideoOutput) error {
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
	_, err = io.Copy(r.Out, f)
	return err
}

// A row is a job in JSON output.
type row struct {
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
	Exact bool    `json:"exact"` // reported by the provider
}

func rowOf(v session.Video) row {
	row := row{
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

// print writes the result to standard output: in text format the file or, without one, the number of the job.
func (r *run) print(kind, reason string) error {
	if r.Format == "text" {
		switch {
		case reason == "" && kind == "job" && r.noWait:
			fmt.Fprintln(r.Out, r.video.Num)
		case reason == "stop" && r.to != "-":
			fmt.Fprintln(r.Out, sanitize.Line(r.line.file))
			if b := r.video.Job.Bill; b != nil && b.Priced {
				r.Note(format.Cost(b.USD, true))
			}
		}
		return nil
	}
	row := rowOf(r.video)
	if r.Format == "jsonl" {
		row.Type = kind
	}
	if row.Reason = reason; reason != "" {
		row.Exit = new(int)
	}
	if reason == "refused" {
		*row.Exit = exit.Incomplete
	}
	if r.line != nil && r.line.file != "" {
		row.File = absolute(r.line.file)
	}
	return cmdutil.WriteJSON(r.Out, row)
}

// absolute returns the absolute path; "" for "" and "-".
func absolute(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// largestInput is the greatest size of an input file in bytes.
const largestInput = 50 << 20

// readMedia reads an image or a video to send.
func readMedia(path, kind string) (*works.Blob, error) {
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
	return &works.Blob{MIME: mime, Name: filepath.Base(path), Data: data}, nil
}
