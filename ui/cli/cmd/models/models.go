// Package models implements parley models, which lists models and updates the facts about them.
package models

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/catalog"
	"parley/providers/media"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/report"
)

// Options holds the environment and the flags of the command.
type Options struct {
	*ability.Env
	all, asJSON, refresh, images, embeddings, video, update, dryRun bool
}

// New returns the command that lists models.
func New(a *ability.Env) *cobra.Command {
	c := &Options{Env: a}
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List available models, or update the model data",
		Long: `List available models.

--update asks the providers that have a key, and OpenRouter, whose list is public, for
new models, prices, context windows and retirement dates. It shows what changed and
stores it beside the built-in data; values that a list does not contain stay the same.
No prompt is sent.`,
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
	f.BoolVar(&c.update, "update", false, "fetch new models, prices, context windows and retirement dates, and show what changed")
	f.BoolVar(&c.dryRun, "dry-run", false, "with --update, only show what would change")
	return cmd
}

// validate rejects contradictory flags.
func (c *Options) validate(cmd *cobra.Command, words []string) error {
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

func (c *Options) run(cmd *cobra.Command, words []string) (err error) {
	if err := c.validate(cmd, words); err != nil {
		return cmdutil.Usage(err)
	}
	if c.asJSON {
		c.Format = "jsonl"
	}
	if err := c.Load(); err != nil {
		return err
	}
	switch {
	case c.update:
		return c.updateFacts(cmd.Context())
	case c.refresh && (c.images || c.embeddings || c.video):
		c.lookAtMedia(cmd.Context())
	}
	var rows []report.ModelRow
	switch {
	case c.images:
		rows = c.imageRows()
	case c.embeddings:
		rows = c.embeddingRows(cmd.Context())
	case c.video:
		rows = c.videoRows()
	default:
		for _, m := range c.list(cmd.Context()) {
			rows = append(rows, report.ModelOf(m, time.Now()))
		}
	}
	return report.Models(c.Out, rows, words, c.all, c.Format, c.Note)
}

// lookAtMedia updates the facts about image, embedding and video models from the providers' current lists.
func (c *Options) lookAtMedia(ctx context.Context) {
	lists, failed := providers.FetchMedia(ctx, c.Services(), c.OpenOptions(), time.Now())
	for _, err := range failed {
		c.Note(wording.Error(err))
	}
	services, facts := c.Services, c.Services().Facts.Compare(lists).Preview()
	c.Services = func() providers.Config {
		now := services() // with servers found since
		now.Facts = facts
		return now
	}
}

// imageRows returns the models that make images.
func (c *Options) imageRows() (rows []report.ModelRow) {
	for _, c := range media.Images.Choices(c.Services(), os.Getenv) {
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

// embeddingRows returns the embedding models: the known ones, and those of local servers.
func (c *Options) embeddingRows(ctx context.Context) (rows []report.ModelRow) {
	c.Discover(ctx)
	services, err := c.Services().WithLists(ctx, c.OpenOptions(), providers.UnlistedProviders(c.Services(), os.Getenv)...)
	if err != nil {
		c.Note(format.ErrorText(err))
	}
	for _, c := range media.Embeddings.Choices(services, os.Getenv) {
		e := c.Facts
		rows = append(rows, report.EmbeddingModel{
			Name: c.Name, Ready: c.Unavailable == "", Why: c.Unavailable, Dimensions: e.Dimensions, Least: e.Least, Most: e.Most,
			MaxInput: e.MaxInput, Price: e.Price,
		})
	}
	return rows
}

// list returns the models that can be chosen. It asks local servers for theirs and, with --refresh, all servers.
func (c *Options) list(ctx context.Context) []providers.Choice {
	c.Discover(ctx)
	choices, err := providers.LiveChoices(ctx, c.Services(), c.OpenOptions(), c.refresh)
	if err != nil {
		for line := range strings.Lines(format.ErrorText(err)) {
			c.Note(strings.TrimSpace(line))
		}
	}
	return choices
}

// videoRows returns the models that make videos.
func (c *Options) videoRows() (rows []report.ModelRow) {
	for _, c := range media.Videos.Choices(c.Services(), os.Getenv) {
		rows = append(rows, report.Model{Name: c.Name, Title: c.Facts.Name, Ready: c.Unavailable == "", Why: c.Unavailable, About: aboutVideo(c.Facts)})
	}
	return rows
}

// aboutVideo describes the abilities and the price of a model in a few words.
func aboutVideo(m catalog.VideoModel) string {
	lengths, price := "", ""
	switch n := len(m.Lengths); {
	case n > 0:
		lengths = fmt.Sprintf("%d–%d s", m.Lengths[0], m.Lengths[n-1])
	case m.Most > 0:
		lengths = fmt.Sprintf("%d–%d s", m.Least, m.Most)
	}
	prices := slices.Sorted(maps.Values(m.PerSecond))
	switch n := len(prices); {
	case m.PerVideo > 0:
		price = format.Price(m.PerVideo) + " a video"
	case n > 0 && prices[0] < prices[n-1]:
		price = format.Price(prices[0]) + "–" + format.Price(prices[n-1])[1:] + " a second"
	case n > 0:
		price = format.Price(prices[0]) + " a second"
	}
	return format.Join(" · ", lengths, strings.Join(m.Resolutions, "/"), price, format.When(m.First, "first frame"), format.When(m.Last, "last frame"),
		format.When(m.References > 0, "references"), format.When(m.Source, "edits"), format.When(m.Audio || m.Sound, "sound"))
}
