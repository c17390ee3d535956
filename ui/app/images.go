package app

import (
	"context"

	"parley/providers/llm"
)

// ImageModels lists and opens models that make images.
type ImageModels struct {
	List func() []Item                                                // image models, the usable ones first; Value is "provider/model"
	Open func(ctx context.Context, name string) (llm.Endpoint, error) // opens a model that saves its images; "" is the first usable one; nil if there are no image models

	DrawAgain func(model string) Effect // asks a model for another image in place of the last one; nil if images cannot be drawn. The images flow fills it in
}

// ImageCommand is the prefix of a prompt for an image.
const ImageCommand = "/image "

// IsImagePrompt reports whether msg, which must not be a summary, is a prompt for an image model.
func IsImagePrompt(msg llm.Message) bool { return msg.Role == llm.RoleUser && msg.Model != "" }
