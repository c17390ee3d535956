package formats

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// compileOpenAIImage returns a request in OpenAI's format. Kind "openai" is any server with it.
func compileOpenAIImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	body = fields(map[string]any{
		"model": o.Model, "prompt": r.Prompt, "n": several(r.N), "size": pixels(r.Size), "quality": r.Quality, "output_format": r.Format,
	})
	if r.Transparent {
		body["background"] = "transparent"
	}
	path := "/images/generations"
	if len(r.Inputs) > 0 {
		path = "/images/edits"
	}
	return strings.TrimRight(o.BaseURL, "/") + path, body
}

// compileLocalImage returns a request to Ollama or vLLM-Omni, from which base64 has to be requested
// (documentation of November 2026); others send it anyway or reject the field.
func compileLocalImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	address, body = compileOpenAIImage(o, r)
	body["response_format"] = "b64_json"
	return address, body
}

// An editForm describes edits that are sent as forms.
type editForm struct {
	repeated  bool // several images are parts named "image", not "image[]"
	whiteMask bool // the mask is named "mask_image", and is white in the area to edit
}

// edit sends an edit. Servers differ in the names of the form parts, and reject wrong ones with
// status 422 before they generate anything, so it then tries the other name once.
func (f imageFormat) edit(ctx context.Context, client adapter.Client, url string, fields map[string]any, r works.ImageRequest, d *imageCall) error {
	list := len(r.Inputs) > 1 && !f.edits.repeated
	for attempt := 0; ; attempt++ {
		parts, images := maps.Clone(fields), "image"
		if list {
			images = "image[]"
		}
		parts[images] = r.Inputs
		if r.Mask != nil {
			mask, data := "mask", r.Mask.Data
			if f.edits.whiteMask {
				mask, data = "mask_image", whiteMask(data)
			}
			parts[mask] = &works.Blob{MIME: "image/png", Data: data}
		}
		body, err := multipartForm(parts)
		if err != nil {
			return adapter.Unsendable(err)
		}
		err = f.ask(ctx, client, url, body, r, d)
		if e := (*llm.Error)(nil); attempt > 0 || !errors.As(err, &e) || e.Status != http.StatusUnprocessableEntity {
			return err
		}
		list = !list
	}
}

// whiteMask converts a mask with a transparent area to edit into one with that area white and the
// rest black. The mask was checked, so that it can be decoded.
func whiteMask(data []byte) []byte {
	mask, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return data
	}
	area := mask.Bounds()
	white := image.NewGray(image.Rect(0, 0, area.Dx(), area.Dy()))
	for y := range area.Dy() {
		for x := range area.Dx() {
			_, _, _, alpha := mask.At(area.Min.X+x, area.Min.Y+y).RGBA()
			white.SetGray(x, y, color.Gray{Y: 255 - uint8(alpha>>8)})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, white) // into memory
	return b.Bytes()
}
