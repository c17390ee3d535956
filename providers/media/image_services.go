package media

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// compileGrokImage returns a request to xAI, whose edits are JSON too. It requests base64, since
// addresses of images expire.
func compileGrokImage(o adapter.Options, r llm.ImageRequest) (address string, body map[string]any) {
	body = map[string]any{"model": o.Model, "prompt": r.Prompt, "response_format": "b64_json"}
	if r.N > 1 {
		body["n"] = r.N
	}
	setIf(body, "aspect_ratio", r.Size.Ratio)
	setIf(body, "resolution", strings.ToLower(r.Size.Tier))
	setIf(body, "quality", r.Quality)
	var inputs []any
	for _, in := range r.Inputs {
		inputs = append(inputs, map[string]any{"url": dataURL(in), "type": "image_url"})
	}
	path := "/images/edits"
	switch len(inputs) {
	case 0:
		path = "/images/generations"
	case 1:
		body["image"] = inputs[0]
	default:
		body["images"] = inputs
	}
	return strings.TrimRight(o.BaseURL, "/") + path, body
}

// ticksPerDollar is the unit of xAI's cost_in_usd_ticks, according to its SDK.
const ticksPerDollar = 1e10

// decodeGrokImage sends the images of an answer of xAI. An image without data was blocked; an empty
// list means that all were.
func decodeGrokImage(text []byte, d *imageCall) error {
	var a struct {
		Data *[]struct {
			B64JSON  string `json:"b64_json"`
			URL      string `json:"url"`
			Respects *bool  `json:"respect_moderation"`
			Revised  string `json:"revised_prompt"`
		} `json:"data"`
		Usage struct {
			Ticks *float64 `json:"cost_in_usd_ticks"`
		} `json:"usage"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	if a.Usage.Ticks != nil {
		usd := *a.Usage.Ticks / ticksPerDollar
		d.addCost(&usd)
	}
	if a.Data == nil {
		return nil
	}
	blocked := llm.Refusal{Stage: "output", Code: "respect_moderation", Text: "blocked by the provider's moderation", Billed: d.bill.USD > 0}
	if len(*a.Data) == 0 {
		return d.sendRefusal(blocked)
	}
	for _, i := range *a.Data {
		image := sentImage{base64: i.B64JSON, url: i.URL}
		if image.isEmpty() || i.Respects != nil && !*i.Respects {
			if err := d.sendRefusal(blocked); err != nil {
				return err
			}
			continue
		}
		if err := d.sendImage(image); err != nil {
			return err
		}
		if err := d.sendRevisedPrompt(i.Revised); err != nil {
			return err
		}
	}
	return nil
}

// compileQwenImage returns a request to Model Studio's own API, which is on the same host as the
// OpenAI-compatible one.
func compileQwenImage(o adapter.Options, r llm.ImageRequest) (address string, body map[string]any) {
	var content []any
	for _, in := range r.Inputs {
		content = append(content, map[string]any{"image": dataURL(in)})
	}
	content = append(content, map[string]any{"text": r.Prompt})
	parameters := map[string]any{"n": r.N}
	if r.Size.Width > 0 {
		parameters["size"] = strings.Replace(r.Size.String(), "x", "*", 1)
	}
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
			err := d.sendText(part.Text)
			if part.Image != "" && err == nil {
				err = d.sendImage(sentImage{url: part.Image})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// compileGLMImage returns a request to Z.ai, for one image.
func compileGLMImage(o adapter.Options, r llm.ImageRequest) (address string, body map[string]any) {
	body = map[string]any{"model": o.Model, "prompt": r.Prompt}
	if r.Size.Width > 0 {
		body["size"] = r.Size.String()
	}
	setIf(body, "quality", r.Quality)
	return strings.TrimRight(o.BaseURL, "/") + "/images/generations", body
}

// decodeGLMImage sends the images of an answer of Z.ai. Its content_filter can be present even if it
// blocked nothing; only without an image does it mean a refusal.
func decodeGLMImage(text []byte, d *imageCall) error {
	var a struct {
		Data []struct {
			URL     string `json:"url"`
			B64JSON string `json:"b64_json"`
		} `json:"data"`
		Filter []struct {
			Role string `json:"role"`
		} `json:"content_filter"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	images := 0
	for _, i := range a.Data {
		if image := (sentImage{base64: i.B64JSON, url: i.URL}); !image.isEmpty() {
			images++
			if err := d.sendImage(image); err != nil {
				return err
			}
		}
	}
	if images > 0 || len(a.Filter) == 0 {
		return nil
	}
	stage := "output"
	if a.Filter[0].Role == "user" {
		stage = "input"
	}
	return d.sendRefusal(llm.Refusal{Stage: stage, Code: "content_filter", Text: "stopped by the provider's filter"})
}

// compileMiniMaxImage returns a request to MiniMax, whose input image shows a person to depict.
func compileMiniMaxImage(o adapter.Options, r llm.ImageRequest) (address string, body map[string]any) {
	body = map[string]any{"model": o.Model, "prompt": r.Prompt, "response_format": "base64", "n": r.N}
	setIf(body, "aspect_ratio", r.Size.Ratio)
	if r.Size.Width > 0 {
		body["width"], body["height"] = r.Size.Width, r.Size.Height
	}
	if len(r.Inputs) > 0 {
		body["subject_reference"] = []any{map[string]any{"type": "character", "image_file": dataURL(r.Inputs[0])}}
	}
	return strings.TrimRight(o.BaseURL, "/") + "/image_generation", body
}

// decodeMiniMaxImage sends the images of an answer of MiniMax, and a refusal for each that was
// blocked.
func decodeMiniMaxImage(text []byte, d *imageCall) error {
	var a struct {
		Data struct {
			Base64 []string `json:"image_base64"`
			URLs   []string `json:"image_urls"`
		} `json:"data"`
		Metadata struct {
			Failed json.RawMessage `json:"failed_count"` // a number, or one in quotes
		} `json:"metadata"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	var images []sentImage
	for _, b := range a.Data.Base64 {
		images = append(images, sentImage{base64: b})
	}
	for _, u := range a.Data.URLs {
		images = append(images, sentImage{url: u})
	}
	for _, i := range images {
		if i.isEmpty() {
			continue
		}
		if err := d.sendImage(i); err != nil {
			return err
		}
	}
	failed, _ := strconv.Atoi(strings.Trim(string(a.Metadata.Failed), `"`))
	for range min(failed, maxImages) {
		if err := d.sendRefusal(llm.Refusal{Stage: "output", Code: "failed_count", Text: "blocked by the provider's moderation"}); err != nil {
			return err
		}
	}
	return nil
}

// compileOpenRouterImage returns a request in OpenRouter's own format, which passes each setting on
// to the provider of the model.
func compileOpenRouterImage(o adapter.Options, r llm.ImageRequest) (address string, body map[string]any) {
	body = map[string]any{"model": o.Model, "prompt": r.Prompt}
	if r.N > 1 {
		body["n"] = r.N
	}
	if r.Size.Width > 0 {
		body["size"] = r.Size.String()
	}
	setIf(body, "aspect_ratio", r.Size.Ratio)
	setIf(body, "resolution", r.Size.Tier)
	setIf(body, "quality", r.Quality)
	setIf(body, "output_format", r.Format)
	if r.Transparent {
		body["background"] = "transparent"
	}
	var inputs []any
	for _, in := range r.Inputs {
		inputs = append(inputs, map[string]any{"type": "image_url", "image_url": map[string]any{"url": dataURL(in)}})
	}
	if len(inputs) > 0 {
		body["input_references"] = inputs
	}
	return strings.TrimRight(o.BaseURL, "/") + "/images", body
}

func decodeOpenRouterImage(text []byte, d *imageCall) error {
	var a struct {
		Data []struct {
			B64JSON string `json:"b64_json"`
			URL     string `json:"url"`
		} `json:"data"`
		Usage json.RawMessage `json:"usage"`
	}
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	d.addUsage(a.Usage)
	for _, i := range a.Data {
		if image := (sentImage{base64: i.B64JSON, url: i.URL}); !image.isEmpty() {
			if err := d.sendImage(image); err != nil {
				return err
			}
		}
	}
	return nil
}
