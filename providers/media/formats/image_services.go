package formats

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// compileGrokImage returns a request to xAI, whose edits are JSON too. It requests base64, since
// addresses of images expire.
func compileGrokImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	var inputs []any
	for _, in := range r.Inputs {
		inputs = append(inputs, map[string]any{"url": dataURL(in), "type": "image_url"})
	}
	body = fields(map[string]any{
		"model": o.Model, "prompt": r.Prompt, "response_format": "b64_json", "n": several(r.N), "aspect_ratio": r.Size.Ratio,
		"resolution": strings.ToLower(r.Size.Tier), "quality": r.Quality, "images": inputs,
	})
	path := "/images/edits"
	switch len(inputs) {
	case 0:
		path = "/images/generations"
	case 1:
		body["image"] = inputs[0]
		delete(body, "images")
	}
	return strings.TrimRight(o.BaseURL, "/") + path, body
}

// several returns n, or 0 if n is 1, the default of services.
func several(n int) int {
	if n == 1 {
		return 0
	}
	return n
}

// pixels returns a size such as "1024x1024"; "" if it is not in pixels.
func pixels(s works.Size) string {
	if s.Width > 0 {
		return s.String()
	}
	return ""
}

// ticksPerDollar is the unit of xAI's cost_in_usd_ticks, according to its SDK.
const ticksPerDollar = 1e10

// decodeImages sends the images of an answer in OpenAI's format. Z.ai may send content_filter even if it
// blocked nothing: only without an image does it mean a refusal.
func decodeImages(text []byte, d *imageCall) error { return decodeModerated(text, d, false) }

// decodeXAIImages sends the images of xAI's answer: an image without data was blocked, and an empty list means
// that all were.
func decodeXAIImages(text []byte, d *imageCall) error { return decodeModerated(text, d, true) }

func decodeModerated(text []byte, d *imageCall, moderated bool) error {
	var a struct {
		Data []struct {
			B64JSON  string `json:"b64_json"`
			URL      string `json:"url"`
			Respects *bool  `json:"respect_moderation"`
			Revised  string `json:"revised_prompt"`
		} `json:"data"`
		Filter []struct {
			Role string `json:"role"`
		} `json:"content_filter"`
		Usage json.RawMessage `json:"usage"`
		SVG   struct {
			Model string  `json:"model"`
			Total float64 `json:"total_tokens"`
		} `json:"svg_usage"` // OpenAI
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	d.addUsage(a.Usage)
	if a.SVG.Total > 0 {
		d.sendNote(fmt.Sprintf("the SVG took %d tokens of %s, which are not in the price", adapter.TokenCount(a.SVG.Total), a.SVG.Model))
	}
	blocked := works.Refusal{Stage: "output", Code: "respect_moderation", Text: "blocked by the provider's moderation", Billed: d.bill.USD > 0}
	if moderated && a.Data != nil && len(a.Data) == 0 {
		d.sendRefusal(blocked)
	}
	images := 0
	for _, i := range a.Data {
		image := sentImage{base64: i.B64JSON, url: i.URL}
		if moderated && (image.isEmpty() || i.Respects != nil && !*i.Respects) {
			d.sendRefusal(blocked)
		} else if !image.isEmpty() {
			images++
			d.sendImage(image)
			d.sendRevisedPrompt(i.Revised)
		}
	}
	if images == 0 && len(a.Filter) > 0 {
		filtered := works.Refusal{Stage: "output", Code: "content_filter", Text: "stopped by the provider's filter"}
		if a.Filter[0].Role == "user" {
			filtered.Stage = "input"
		}
		d.sendRefusal(filtered)
	}
	return nil
}

// compileQwenImage returns a request to Model Studio's own API, which is on the same host as the
// OpenAI-compatible one.
func compileQwenImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	var content []any
	for _, in := range r.Inputs {
		content = append(content, map[string]any{"image": dataURL(in)})
	}
	content = append(content, map[string]any{"text": r.Prompt})
	parameters := fields(map[string]any{"n": r.N, "size": strings.Replace(pixels(r.Size), "x", "*", 1)})
	body = map[string]any{
		"model":      o.Model,
		"input":      map[string]any{"messages": []any{map[string]any{"role": "user", "content": content}}},
		"parameters": parameters,
	}
	return hostOf(o.BaseURL) + "/api/v1/services/aigc/multimodal-generation/generation", body
}

// hostOf returns an address without its path.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

// decodeQwenImage sends the images of an answer of Model Studio: addresses that are valid for a day.
func decodeQwenImage(text []byte, d *imageCall) error {
	var a struct {
		Output struct {
			Choices []struct {
				Message struct {
					Content []struct {
						Image string `json:"image"`
						Text  string `json:"text"`
					} `json:"content"`
				} `json:"message"`
			} `json:"choices"`
		} `json:"output"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	for _, c := range a.Output.Choices {
		for _, part := range c.Message.Content {
			d.sendText(part.Text)
			d.sendImage(sentImage{url: part.Image})
		}
	}
	return nil
}

// compileGLMImage returns a request to Z.ai, for one image.
func compileGLMImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	body = fields(map[string]any{"model": o.Model, "prompt": r.Prompt, "size": pixels(r.Size), "quality": r.Quality})
	return strings.TrimRight(o.BaseURL, "/") + "/images/generations", body
}

// compileMiniMaxImage returns a request to MiniMax, whose input image shows a person to depict.
func compileMiniMaxImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	body = fields(map[string]any{
		"model": o.Model, "prompt": r.Prompt, "response_format": "base64", "n": r.N,
		"aspect_ratio": r.Size.Ratio, "width": r.Size.Width, "height": r.Size.Height,
	})
	if len(r.Inputs) > 0 {
		body["subject_reference"] = []any{map[string]any{"type": "character", "image_file": dataURL(r.Inputs[0])}}
	}
	return strings.TrimRight(o.BaseURL, "/") + "/image_generation", body
}

// decodeMiniMaxImage sends the images of MiniMax's answer, and a refusal for each blocked image.
func decodeMiniMaxImage(text []byte, d *imageCall) error {
	var a struct {
		Data struct {
			Base64 []string `json:"image_base64"`
			URLs   []string `json:"image_urls"`
		} `json:"data"`
		Metadata struct {
			Failed json.RawMessage `json:"failed_count"` // a number or a quoted number
		} `json:"metadata"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	for _, b := range a.Data.Base64 {
		d.sendImage(sentImage{base64: b})
	}
	for _, u := range a.Data.URLs {
		d.sendImage(sentImage{url: u})
	}
	failed, _ := strconv.Atoi(strings.Trim(string(a.Metadata.Failed), `"`))
	for range min(failed, maxImages) {
		d.sendRefusal(works.Refusal{Stage: "output", Code: "failed_count", Text: "blocked by the provider's moderation"})
	}
	return nil
}

// compileOpenRouterImage returns a request in OpenRouter's own format, which passes each setting on
// to the provider of the model.
func compileOpenRouterImage(o adapter.Options, r works.ImageRequest) (address string, body map[string]any) {
	var inputs []any
	for _, in := range r.Inputs {
		inputs = append(inputs, map[string]any{"type": "image_url", "image_url": map[string]any{"url": dataURL(in)}})
	}
	body = fields(map[string]any{
		"model": o.Model, "prompt": r.Prompt, "n": several(r.N), "size": pixels(r.Size), "aspect_ratio": r.Size.Ratio,
		"resolution": r.Size.Tier, "quality": r.Quality, "output_format": r.Format, "input_references": inputs,
	})
	if r.Transparent {
		body["background"] = "transparent"
	}
	return strings.TrimRight(o.BaseURL, "/") + "/images", body
}
