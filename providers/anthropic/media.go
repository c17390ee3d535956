package anthropic

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// imageTypes are the image formats that the API accepts.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// content encodes text, images and files as blocks.
func (h *history) content(parts []llm.Part) []any {
	var blocks []any
	for _, p := range parts {
		switch {
		case p.Kind == llm.Text && !isBlank(p.Text):
			blocks = append(blocks, textBlock(p.Text))
		case p.Kind == llm.Media:
			blocks = append(blocks, h.media(p))
		}
	}
	return blocks
}

// media encodes an image or a file; nil if it is not accepted.
func (h *history) media(p llm.Part) map[string]any {
	kind := mimeOf(p)
	switch {
	case slices.Contains(imageTypes, kind) && len(p.Data) > 0:
		return map[string]any{"type": "image", "source": base64Source(kind, p.Data)}
	case strings.HasPrefix(kind, "image/") && len(p.Data) == 0 && strings.HasPrefix(p.URL, "http"):
		return map[string]any{"type": "image", "source": map[string]any{"type": "url", "url": p.URL}}
	case kind == "application/pdf" && len(p.Data) > 0 && h.takesPDFs:
		return map[string]any{"type": "document", "source": base64Source(kind, p.Data), "title": adapter.FileName(p)}
	}
	return textBlock(adapter.FileText(p, kind, &h.omitted))
}

func base64Source(kind string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": kind, "data": base64.StdEncoding.EncodeToString(data)}
}

// mimeOf returns the MIME type of a part. For an image it is detected from the data, since a wrong
// type is refused.
func mimeOf(p llm.Part) string {
	if found := http.DetectContentType(p.Data); slices.Contains(imageTypes, found) {
		return found
	}
	return adapter.MIMEType(p)
}
