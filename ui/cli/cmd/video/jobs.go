package video

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// jobCommands returns the commands about stored jobs.
func (c *Options) jobCommands() []*cobra.Command {
	command := func(use, short string, check cobra.PositionalArgs, do func(ctx context.Context, id string) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: check, RunE: func(_ *cobra.Command, args []string) error {
			return c.with(func(ctx context.Context) error { return do(ctx, strings.Join(args, "")) })
		}}
		c.outputFlags(cmd)
		return cmd
	}
	get := command("get ID", "Wait for a video job and download the video", oneVideo, c.get)
	c.fileFlags(get)
	return []*cobra.Command{
		command("list", "List the video jobs, newest first", cobra.NoArgs, func(context.Context, string) error { return c.list() }),
		get, command("cancel ID", "Cancel a video job, if the provider supports it", oneVideo, c.cancel),
	}
}

// list lists the jobs.
func (c *Options) list() error {
	all, err := c.library.Videos().List()
	if len(all) == 0 && err == nil {
		c.Note("no videos: parley video PROMPT makes one")
	}
	var rows []row
	var table [][]string
	for _, v := range slices.Backward(all) {
		rows = append(rows, rowOf(v))
		price := ""
		if b := v.Job.Bill; b != nil {
			price = format.Cost(b.USD, true)
		}
		table = append(table, []string{fmt.Sprint(v.Num), format.Age(time.Since(v.Created)), sanitize.Line(v.Name()), videoStateWord(v), price, sanitize.Line(v.Prompt)})
	}
	if c.Format != "text" {
		return errors.Join(err, cmdutil.WriteRows(c.Out, c.Format, rows))
	}
	return errors.Join(err, cmdutil.WriteTable(c.Out, cmdutil.OutputWidth(), slices.Values(table)))
}

// videoStateWord describes the state of a job, with the provider's word if that is more precise.
func videoStateWord(v session.Video) string {
	switch {
	case v.Job.ID == "" && v.Job.State == works.JobQueued:
		return "not confirmed"
	case v.File != "":
		return "saved"
	case v.Job.State == works.JobRunning && v.Job.RawState != "":
		return sanitize.Line(strings.ToLower(v.Job.RawState))
	}
	return string(v.Job.State)
}

func oneVideo(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("which video job? Give its ID: parley video list shows them")
	}
	return nil
}

// open finds a job and opens its provider.
func (c *Options) open(ctx context.Context, id string) (*run, error) {
	v, err := c.library.Videos().Find(id)
	if err != nil {
		return nil, cmdutil.Usagef("%w: parley video list shows them", err)
	}
	r := newRun(c, v, nil)
	if v.Job.ID == "" && (v.Job.State == works.JobRefused || v.Job.State == works.JobCanceled) {
		return r, nil // it was never created, so there is nothing to ask
	}
	if v.Job.ID == "" && v.Job.Failure != "" {
		return r, fmt.Errorf("job %d cannot be asked for: %s", v.Num, sanitize.Line(v.Job.Failure))
	}
	if v.Job.ID == "" {
		return r, fmt.Errorf("no answer to the request that creates job %d: %s may make the video anyway, but it cannot be found again", v.Num, sanitize.Line(v.Job.Provider))
	}
	m, err := media.Videos.Find(ctx, c.Find, v.Name(), c.OpenOptions())
	if err != nil {
		return r, cmdutil.Config(err)
	}
	r.film.Jobs = m.Service
	return r, nil
}

// get waits for a job and downloads its result.
func (c *Options) get(ctx context.Context, id string) error {
	if err := c.checkOutput(true); err != nil {
		return cmdutil.Usage(err)
	}
	r, err := c.open(ctx, id)
	if err != nil {
		return err
	}
	c.endOnSignals()
	r.line = newProgress(c, r.video)
	if info, err := os.Stat(r.video.File); err == nil && info.Mode().IsRegular() && c.to == "" && c.variant == "" {
		c.Note("It was saved before")
		r.line.file = r.video.File
		return r.outcome()
	}
	if r.video.Job.State.Over() && r.video.Job.State != works.JobDone {
		return r.outcome()
	}
	return r.finish(ctx, 0)
}

// cancel cancels a job at the provider.
func (c *Options) cancel(ctx context.Context, id string) error {
	r, err := c.open(ctx, id)
	if err != nil {
		return err
	}
	c.endOnSignals()
	if r.video.Job.ID == "" && r.video.Job.State == works.JobRefused {
		return r.outcome()
	}
	if r.video.Job.State.Over() {
		return fmt.Errorf("job %d is over: %s", r.video.Num, videoStateWord(r.video))
	}
	if err := r.film.Jobs.Cancel(ctx, r.video.Job); err != nil {
		return err
	}
	r.video.Job.State, r.video.Job.RawState = works.JobCanceled, ""
	if err := c.library.Videos().Save(r.video); err != nil {
		return err
	}
	if c.Format == "text" {
		c.Note(fmt.Sprintf("Canceled job %d", r.video.Num))
		return nil
	}
	return r.print("done", "canceled")
}
