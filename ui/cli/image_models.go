package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"parley/providers/llm"
	"parley/providers/media"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/cli/ability"
)

// imageModels gives the screen access to image models. Images are saved in the working directory.
func imageModels(a *program) app.ImageModels {
	return app.ImageModels{
		List: func() (items []app.Item) {
			for _, c := range media.Images.Choices(a.local.services(), os.Getenv) {
				detail := cmp.Or(c.Unavailable, c.Facts.Name)
				if usd, known := c.Facts.Cost(1); known && c.Unavailable == "" {
					detail = fmt.Sprintf("$%.2g an image · %s", usd, detail) // first, because a narrow screen truncates the end
				}
				items = append(items, app.Item{Title: c.Name, Detail: detail, Value: c.Name, Disabled: c.Unavailable != ""})
			}
			own := a.config.ImageModel
			if own != "" && !slices.ContainsFunc(items, func(i app.Item) bool { return i.Value == own }) {
				items = slices.Insert(items, 0, app.Item{Title: own, Detail: "image_model in config.toml", Value: own})
			}
			return items
		},
		Open: func(ctx context.Context, name string) (llm.Endpoint, error) {
			m, err := ability.Open(ctx, a.local.find, media.Images, cmp.Or(name, a.config.ImageModel), a.openOptions())
			if err != nil {
				return llm.Endpoint{}, err
			}
			m.Service = media.WithRetries(m.Service, nil)
			return media.Endpoint(m, func(prompt string, b llm.Blob) (llm.Part, string, error) { return saveImage(a.dir, prompt, b) }), nil
		},
	}
}

// saveImage saves an image under a name made from its prompt, and returns it as conversations store images: small
// enough for every model.
func saveImage(dir, prompt string, b llm.Blob) (llm.Part, string, error) {
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
	return item.Part, "Saved in " + abbrevPath(dir), nil
}
