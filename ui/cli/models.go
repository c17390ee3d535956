package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/media"
	"parley/ui/print"
)

func modelRow(c providers.Choice) print.Model {
	return print.Model{
		Name: c.Name, Title: c.Title, Ready: c.Ready, Why: c.Unavailable, Context: c.Context, Price: print.Price{Input: c.Price.Input, Output: c.Price.Output, Free: c.Price.Free, Known: c.Price.Known()},
		Vision: c.Vision, Tools: c.Tools, Thinks: c.Thinks, Deprecated: c.Deprecated,
	}
}

// modelsCommand lists what can be asked.
func (a *program) modelsCommand() *cobra.Command {
	var all, asJSON, refresh, images, embeddings, video bool
	cmd := &cobra.Command{
		Use:   "models [WORD...]",
		Short: "List available models",
		RunE: func(cmd *cobra.Command, words []string) error {
			as := a.format
			switch {
			case !slices.Contains(print.Formats, as):
				return a.fail(print.Usage, fmt.Errorf("-o %s: use one of %s", as, strings.Join(print.Formats, ", ")))
			case asJSON && cmd.Flags().Changed("output") && as != "jsonl":
				return a.fail(print.Usage, fmt.Errorf("--json is -o jsonl: leave out one of --json and -o %s", as))
			case asJSON:
				as = "jsonl"
			}
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			var err error
			switch {
			case images:
				err = print.Models(os.Stdout, imageModelRows(a), words, all, as, a.note)
			case embeddings:
				err = print.Models(os.Stdout, embeddingModelRows(cmd.Context(), a), words, all, as, a.note)
			case video:
				err = print.Models(os.Stdout, videoRows(a), words, all, as, a.note)
			default:
				var rows []print.Model
				for _, c := range a.listModels(cmd.Context(), refresh) {
					rows = append(rows, modelRow(c))
				}
				err = print.Models(os.Stdout, rows, words, all, as, a.note)
			}
			if err != nil {
				return a.fail(print.Failed, err)
			}
			return nil
		},
	}
	outputFlag(cmd, &a.format)
	cmd.Flags().BoolVar(&all, "all", false, "include models without a key")
	cmd.Flags().BoolVar(&embeddings, "embed", false, "models that turn texts into vectors")
	cmd.Flags().BoolVar(&images, "image", false, "models that make images")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line, as -o jsonl")
	cmd.Flags().BoolVar(&video, "video", false, "models that make videos, with their prices")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask the servers for their models")
	return cmd
}

// imageModelRows returns the models that make images.
func imageModelRows(a *program) (rows []print.ImageModel) {
	for _, c := range media.Drawing.Choices(a.config.Config, os.Getenv) {
		m := c.Facts
		row := print.ImageModel{
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
// those of local servers whose names say it.
func embeddingModelRows(ctx context.Context, a *program) (rows []print.EmbeddingModel) {
	for _, c := range media.Embedding.Choices(a.config.Config, os.Getenv) {
		e := c.Facts
		rows = append(rows, print.EmbeddingModel{
			Name: c.Name, Ready: c.Unavailable == "", Why: c.Unavailable, Dimensions: e.Dimensions, Least: e.Least, Most: e.Most,
			MaxInput: e.MaxInput, Price: print.Price{Input: e.Price.Input, Free: e.Price.Free, Known: e.Price.Known()},
		})
	}
	for _, c := range a.listModels(ctx, false) {
		known := slices.ContainsFunc(rows, func(m print.EmbeddingModel) bool { return m.Name == c.Name })
		if c.Ready && !known && strings.Contains(strings.ToLower(c.Name), "embed") {
			rows = append(rows, print.EmbeddingModel{Name: c.Name, Ready: true})
		}
	}
	return rows
}

// listModels returns the models that can be picked. Only local servers know theirs:
// those are asked, and with refresh all servers.
func (a *program) listModels(ctx context.Context, refresh bool) []providers.Choice {
	a.local.discover(ctx)
	choices, err := providers.LiveChoices(ctx, a.local.services(), a.openOptions(), refresh)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			a.note(strings.TrimSpace(line))
		}
	}
	return choices
}

func (a *program) completeModel(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if a.load() == nil {
		for _, c := range providers.Choices(a.local.services(), os.Getenv) {
			if c.Ready && !c.Deprecated {
				names = append(names, c.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
