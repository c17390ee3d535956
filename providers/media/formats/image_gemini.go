package formats

import (
	"cmp"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// compileGeminiImage returns a generateContent request for one image. There is no field for the
// number of images.
func compileGeminiImage(o adapter.Options, r works.ImageRequest) (url string, body map[string]any) {
	var parts []any
	for _, in := range r.Inputs {
		parts = append(parts, map[string]any{"inlineData": map[string]any{"mimeType": in.MIME, "data": toBase64(in.Data)}})
	}
	body = map[string]any{
		"contents": []any{map[string]any{"role": "user", "parts": append(parts, map[string]any{"text": r.Prompt})}},
		"generationConfig": fields(map[string]any{
			"responseModalities": []string{"IMAGE"},
			"imageConfig":        fields(map[string]any{"aspectRatio": r.Size.Ratio, "imageSize": r.Size.Tier}),
		}),
	}
	model := o.Model
	if !strings.HasPrefix(model, "models/") {
		model = "models/" + model
	}
	return strings.TrimRight(o.BaseURL, "/") + "/" + model + ":generateContent", body
}

// geminiRefusals holds the finish reasons of an answer without an image that mean a refusal.
var geminiRefusals = []string{
	"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE",
	"SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII",
}

// geminiImageAnswer holds the fields of an answer that are used.
type geminiImageAnswer struct {
	PromptFeedback struct {
		BlockReason        string `json:"blockReason"`
		BlockReasonMessage string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text       string `json:"text"`
				Thought    bool   `json:"thought"`
				InlineData *struct {
					Data string `json:"data"`
				} `json:"inlineData"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Usage struct {
		Prompt  float64 `json:"promptTokenCount"`
		Output  float64 `json:"candidatesTokenCount"`
		Details []struct {
			Modality string  `json:"modality"`
			Tokens   float64 `json:"tokenCount"`
		} `json:"promptTokensDetails"`
	} `json:"usageMetadata"`
}

// decodeGeminiImage sends the images of an answer, without the drafts that belong to thinking.
// Refusals have status 200: of the prompt, of the result, or as text instead of an image.
func decodeGeminiImage(text []byte, d *imageCall) error {
	var a geminiImageAnswer
	if err := adapter.DecodeLenient(text, &a); err != nil {
		return err
	}
	d.bill.Tokens += adapter.TokenCount(a.Usage.Prompt)
	d.bill.Output += adapter.TokenCount(a.Usage.Output)
	for _, detail := range a.Usage.Details {
		if detail.Modality == "IMAGE" {
			d.bill.ImageTokens += adapter.TokenCount(detail.Tokens)
		}
	}
	if reason := a.PromptFeedback.BlockReason; reason != "" {
		d.sendRefusal(works.Refusal{Stage: "input", Code: reason, Text: a.PromptFeedback.BlockReasonMessage})
		return nil
	}
	images, words := 0, []string(nil)
	for _, c := range a.Candidates {
		for _, p := range c.Content.Parts {
			switch {
			case p.Thought:
			case p.InlineData != nil:
				images++
				d.sendImage(sentImage{base64: p.InlineData.Data})
			case strings.TrimSpace(p.Text) != "":
				words = append(words, p.Text)
			}
		}
	}
	said := strings.Join(words, "\n")
	if images > 0 || len(a.Candidates) == 0 {
		d.sendText(said)
		return nil
	}
	c := a.Candidates[0]
	refused := slices.Contains(geminiRefusals, c.FinishReason)
	if refused {
		said = cmp.Or(c.FinishMessage, said)
	}
	if refused || said != "" {
		d.sendRefusal(works.Refusal{Stage: "output", Code: c.FinishReason, Text: said})
	}
	return nil
}
