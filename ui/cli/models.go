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
	"parley/providers/media"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/report"
)

// modelRow returns the row of a model in lists. now decides whether it is deprecated or retires soon.
func modelRow(c providers.Choice, now time.Time) report.Model {
	return report.Model{
		Name: c.Name, Alias: c.Alias, Title: c.Title, Ready: c.Ready, Why: c.Unavailable, Context: c.Context, Price: report.Price{Input: c.Price.Input, Output: c.Price.Output, Free: c.Price.Free, Known: c.Price.Known()},
		Vision: c.Vision, Tools: c.Tools, Thinks: c.Thinks, Deprecated: c.Lifecycle.Retired(now),
		Retires: c.Lifecycle.RetiresSoon(now),
	}
}

// A modelsCommand lists what can be asked, and updates what is known of it.
type modelsCommand struct {
	*program
	all, asJSON, refresh, images, embeddings, video, update, dryRun bool
}

// newModelsCommand returns the command that lists models.
func newModelsCommand(a *program) *cobra.Command {
	c := &modelsCommand{program: a}
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List available models, or update what is known of them",
		Long: `List available models.

With --update, ask the providers that have a key, and OpenRouter, whose list is open to
all, for new models, prices, windows and retirement dates. It shows what changed and keeps it
beside what is built in; a list that does not tell something takes nothing away. No prompt is sent.`,
		Example: `  parley models
  parley models gpt --all
  parley models --update --dry-run`,
		RunE: func(cmd *cobra.Command, words []string) error { return c.run(cmd, words) },
	}
	cmdutil.OutputFlag(cmd, &c.Format)
	f := cmd.Flags()
	f.BoolVar(&c.all, "all", false, "include models without a key; with --update, all changes")
	f.BoolVar(&c.embeddings, "embed", false, "models that turn texts into vectors")
	f.BoolVar(&c.images, "image", false, "models that make images")
	f.BoolVar(&c.asJSON, "json", false, "one JSON object per line, as -o jsonl")
	f.BoolVar(&c.video, "video", false, "models that make videos, with their prices")
	f.BoolVar(&c.refresh, "refresh", false, "ask the servers for their models")
	f.BoolVar(&c.update, "update", false, "fetch new models, prices, windows and retirement dates, and show what changed")
	f.BoolVar(&c.dryRun, "dry-run", false, "with --update, only show what would change")
	return cmd
}

// validate refuses flags that cannot be meant.
func (c *modelsCommand) validate(cmd *cobra.Command, words []string) error {
	switch {
	case c.asJSON && cmd.Flags().Changed("output") && c.Format != "jsonl":
		return fmt.Errorf("--json is -o jsonl: use one of --json and -o %s", c.Format)
	case c.dryRun && !c.update:
		return errors.New("--dry-run shows what --update would change: add --update")
	case c.update && (c.refresh || c.images || c.embeddings || c.video || len(words) > 0):
		return errors.New("--update fetches what is known of all models: use it without words and other lists")
	}
	return nil
}

func (c *modelsCommand) run(cmd *cobra.Command, words []string) (err error) {
	if err := c.validate(cmd, words); err != nil {
		return cmdutil.Usage(err)
	}
	as := c.Format
	if c.asJSON {
		as = "jsonl"
	}
	if err := c.load(); err != nil {
		return err
	}
	switch {
	case c.update:
		return c.updateFacts(cmd.Context(), as)
	case c.refresh && (c.images || c.embeddings || c.video):
		c.lookAtMedia(cmd.Context())
	}
	var rows []report.ModelRow
	switch {
	case c.images:
		rows = imageModelRows(c.program)
	case c.embeddings:
		rows = embeddingModelRows(cmd.Context(), c.program)
	case c.video:
		rows = videoRows(c.local.services())
	default:
		for _, m := range c.listModels(cmd.Context(), c.refresh) {
			rows = append(rows, modelRow(m, time.Now()))
		}
	}
	return report.Models(c.Out, rows, words, c.all, as, c.Note)
}

// lookAtMedia puts what lists say now of models that do something else than answer over what is
// known of them.
func (c *modelsCommand) lookAtMedia(ctx context.Context) {
	lists, failed := providers.FetchMedia(ctx, c.config.Config, c.openOptions(), time.Now())
	for _, err := range failed {
		c.Note(app.ErrorText(err))
	}
	c.config.Facts = c.config.Facts.Compare(lists).Preview()
}

// imageModelRows returns the models that make images.
func imageModelRows(a *program) (rows []report.ModelRow) {
	for _, c := range media.Images.Choices(a.config.Config, os.Getenv) {
		m := c.Facts
		row := report.ImageModel{
			Name: c.Name, Title: m.Name, Ready: c.Unavailable == "", Why: c.Unavailable, Inputs: m.Inputs,
			Mask: m.Mask, Transparent: m.Transparent, Qualities: m.Qualities, Formats: m.Formats,
			Sizes: slices.Concat(m.Sizes, m.Ratios, m.Tiers),
		}
		row.Cost, _ = m.Cost(1)
		rows = append(rows, row)
	}
	return rows
}

// embeddingModelRows returns the models that turn texts into vectors: those that are known, and
// those of local servers.
func embeddingModelRows(ctx context.Context, a *program) (rows []report.ModelRow) {
	a.local.discover(ctx)
	services, err := a.local.services().WithLists(ctx, a.openOptions(), providers.UnlistedProviders(a.local.services(), os.Getenv)...)
	if err != nil {
		a.Note(format.ErrorText(err))
	}
	for _, c := range media.Embeddings.Choices(services, os.Getenv) {
		e := c.Facts
		rows = append(rows, report.EmbeddingModel{
			Name: c.Name, Ready: c.Unavailable == "", Why: c.Unavailable, Dimensions: e.Dimensions, Least: e.Least, Most: e.Most,
			MaxInput: e.MaxInput, Price: report.Price{Input: e.Price.Input, Free: e.Price.Free, Known: e.Price.Known()},
		})
	}
	return rows
}

// listModels returns the models that can be picked. Only local servers know theirs:
// those are asked, and with refresh all servers.
func (a *program) listModels(ctx context.Context, refresh bool) []providers.Choice {
	a.local.discover(ctx)
	choices, err := providers.LiveChoices(ctx, a.local.services(), a.openOptions(), refresh)
	if err != nil {
		for line := range strings.Lines(format.ErrorText(err)) {
			a.Note(strings.TrimSpace(line))
		}
	}
	return choices
}

// modelNames returns the models that can be asked, for a shell.
func (a *program) modelNames() (names []string) {
	if a.load() == nil {
		for _, c := range providers.Choices(a.local.services(), os.Getenv) {
			if c.Ready && !c.Lifecycle.Retired(time.Now()) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// videoRows lists the models that make videos.
func videoRows(services providers.Config) (rows []report.ModelRow) {
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
