package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/report"
)

// listCommand lists the jobs that are kept.
func (c *videoCommand) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the video jobs, newest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return c.with(func(context.Context) error { return c.list() }) },
	}
	c.outputFlags(cmd)
	return cmd
}

func (c *videoCommand) list() error {
	all, err := c.library.Videos().List()
	if len(all) == 0 && err == nil {
		c.note("no videos: parley video PROMPT makes one")
	}
	var rows []videoRow
	var table [][]string
	for _, v := range slices.Backward(all) {
		rows = append(rows, rowOf(v))
		price := ""
		if b := v.Job.Bill; b != nil {
			price = format.Cost(b.USD, true)
		}
		table = append(table, []string{fmt.Sprint(v.Num), format.Age(time.Since(v.Created)), sanitize.Line(v.Name()), videoStateWord(v), price, sanitize.Line(v.Prompt)})
	}
	if c.format != "text" {
		return errors.Join(err, cmdutil.WriteRows(c.out, c.format, rows))
	}
	return errors.Join(err, cmdutil.WriteTable(c.out, cmdutil.OutputWidth(), slices.Values(table)))
}

// videoStateWord says how far a job is, with the provider's word if ours says less.
func videoStateWord(v session.Video) string {
	switch {
	case v.Job.ID == "" && v.Job.State == llm.JobQueued:
		return "not confirmed"
	case v.File != "":
		return "saved"
	case v.Job.State == llm.JobRunning && v.Job.RawState != "":
		return sanitize.Line(strings.ToLower(v.Job.RawState))
	}
	return string(v.Job.State)
}

// getCommand waits for a job and downloads what it made.
func (c *videoCommand) getCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get ID", Short: "Wait for a video job and download the video", Args: oneVideo,
		RunE: func(_ *cobra.Command, args []string) error {
			return c.with(func(ctx context.Context) error { return c.get(ctx, args[0]) })
		},
	}
	c.outputFlags(cmd)
	c.fileFlags(cmd)
	return cmd
}

// cancelCommand ends a job at the provider.
func (c *videoCommand) cancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a video job, where the provider can", Args: oneVideo,
		RunE: func(_ *cobra.Command, args []string) error {
			return c.with(func(ctx context.Context) error { return c.cancel(ctx, args[0]) })
		},
	}
	c.outputFlags(cmd)
	return cmd
}

func oneVideo(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("which video job? Give its ID: parley video list shows them")
	}
	return nil
}

// open finds a job, and what asks about it.
func (c *videoCommand) open(ctx context.Context, id string) (*videoRun, error) {
	v, err := c.library.Videos().Find(id)
	if err != nil {
		return nil, cmdutil.Usage(fmt.Errorf("%w: parley video list shows them", err))
	}
	r := &videoRun{videoCommand: c, video: v}
	if v.Job.ID == "" && (v.Job.State == llm.JobRefused || v.Job.State == llm.JobCanceled) {
		return r, nil // it was never made, and the provider need not be asked
	}
	if v.Job.ID == "" && v.Job.Failure != "" {
		return r, fmt.Errorf("job %d cannot be asked for: %s", v.Num, sanitize.Line(v.Job.Failure))
	}
	if v.Job.ID == "" {
		return r, fmt.Errorf("no answer came to the request that creates job %d: %s may make the video anyway, but it cannot be found again", v.Num, sanitize.Line(v.Job.Provider))
	}
	m, err := openMedia(ctx, c.program, media.Videos, v.Name(), c.openOptions())
	if err != nil {
		return r, cmdutil.Config(err)
	}
	r.film.Jobs = m.Service
	return r, nil
}

func (c *videoCommand) get(ctx context.Context, id string) error {
	if err := c.checkOutput(true); err != nil {
		return cmdutil.Usage(err)
	}
	r, err := c.open(ctx, id)
	if err != nil {
		return err
	}
	endOnSignals(ctx)
	r.line = newVideoProgress(c, r.video)
	if info, err := os.Stat(r.video.File); err == nil && info.Mode().IsRegular() && c.to == "" && c.variant == "" {
		c.note("It was saved before")
		r.line.file = r.video.File
		return r.outcome()
	}
	if r.video.Job.State.Over() && r.video.Job.State != llm.JobDone {
		return r.outcome()
	}
	return r.finish(ctx, 0)
}

func (c *videoCommand) cancel(ctx context.Context, id string) error {
	r, err := c.open(ctx, id)
	if err != nil {
		return err
	}
	endOnSignals(ctx)
	if r.video.Job.ID == "" && r.video.Job.State == llm.JobRefused {
		return r.outcome()
	}
	if r.video.Job.State.Over() {
		return fmt.Errorf("job %d is over: %s", r.video.Num, videoStateWord(r.video))
	}
	if err := r.film.Jobs.Cancel(ctx, r.video.Job); err != nil {
		return err
	}
	r.video.Job.State, r.video.Job.RawState = llm.JobCanceled, ""
	if err := c.library.Videos().Save(r.video); err != nil {
		return err
	}
	if c.format == "text" {
		c.note(fmt.Sprintf("Canceled job %d", r.video.Num))
		return nil
	}
	return r.print("done", "canceled")
}

// videoRows lists the models that make videos.
func videoRows(services providers.Config) (rows []report.Model) {
	for _, c := range media.Videos.Choices(services, os.Getenv) {
		rows = append(rows, report.Model{Name: c.Name, Title: c.Facts.Name, Ready: c.Unavailable == "", Why: c.Unavailable, About: aboutVideo(c.Facts)})
	}
	return rows
}

// aboutVideo says in a few words what a model takes and costs.
func aboutVideo(m catalog.VideoModel) string {
	var words []string
	switch n := len(m.Lengths); {
	case n > 0:
		words = append(words, fmt.Sprintf("%d–%d s", m.Lengths[0], m.Lengths[n-1]))
	case m.Most > 0:
		words = append(words, fmt.Sprintf("%d–%d s", m.Least, m.Most))
	}
	if len(m.Resolutions) > 0 {
		words = append(words, strings.Join(m.Resolutions, "/"))
	}
	var prices []float64
	for _, usd := range m.PerSecond {
		prices = append(prices, usd)
	}
	switch {
	case m.PerVideo > 0:
		words = append(words, format.Price(m.PerVideo)+" a video")
	case len(prices) > 0 && slices.Min(prices) < slices.Max(prices):
		words = append(words, format.Price(slices.Min(prices))+"–"+format.Price(slices.Max(prices))[1:]+" a second")
	case len(prices) > 0:
		words = append(words, format.Price(prices[0])+" a second")
	}
	for _, w := range []struct {
		word string
		has  bool
	}{{"first frame", m.First}, {"last frame", m.Last}, {"references", m.References > 0}, {"edits", m.Source}, {"sound", m.Audio || m.Sound}} {
		if w.has {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " · ")
}
