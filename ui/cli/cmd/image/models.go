package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/cli/ability"
)

// Models gives conversations in dir access to image models. Images are saved there. Configured is the default model.
func (Images) Models(a *ability.Env, dir, configured string) app.ImageModels {
	return app.ImageModels{
		List: func() (items []app.Item) {
			for _, c := range media.Images.Choices(a.Services(), os.Getenv) {
				detail := cmp.Or(c.Unavailable, c.Facts.Name)
				if usd, known := c.Facts.Cost(1); known && c.Unavailable == "" {
					detail = fmt.Sprintf("$%.2g an image · %s", usd, detail) // first, because a narrow screen truncates the end
				}
				items = append(items, app.Item{Title: c.Name, Detail: detail, Value: c.Name, Disabled: c.Unavailable != ""})
			}
			if configured != "" && !slices.ContainsFunc(items, func(i app.Item) bool { return i.Value == configured }) {
				items = slices.Insert(items, 0, app.Item{Title: configured, Detail: "image_model in config.toml", Value: configured})
			}
			return items
		},
		Open: func(ctx context.Context, name string) (llm.Endpoint, error) {
			m, err := media.Images.Find(ctx, a.Find, cmp.Or(name, configured), a.OpenOptions())
			if err != nil {
				return llm.Endpoint{}, err
			}
			m.Service = media.WithRetries(m.Service, nil)
			return media.Endpoint(m, func(prompt string, b works.Blob) (llm.Part, string, error) { return saveImage(a, dir, prompt, b) }), nil
		},
	}
}

// saveImage saves an image under a name made from its prompt, and returns it as conversations store images: small
// enough for every model.
func saveImage(a *ability.Env, dir, prompt string, b works.Blob) (llm.Part, string, error) {
	name := attach.SlugFileName(prompt, "image", b.MIME)
	path, err := attach.Save(filepath.Join(dir, name), b.Data)
	if err == nil {
		name = filepath.Base(path)
	}
	item, unfit := attach.FromBytes(name, b.Data, attach.DefaultLimits())
	switch {
	case err != nil && unfit != nil:
		return llm.Part{}, "", errors.Join(err, unfit)
	case err != nil:
		return item.Part, "", err
	case unfit != nil: // no model accepts it either
		return llm.Part{Kind: llm.Text, Text: "[an image that cannot be shown, saved as " + name + "]"}, unfit.Error(), nil
	}
	return item.Part, "Saved in " + a.AbbrevPath(dir), nil
}
