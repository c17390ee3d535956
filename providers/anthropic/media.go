package anthropic

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
)

// images are the formats that are taken.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// content writes text, images and files as blocks.
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

// media writes an image or a file.
func (h *history) media(p llm.Part) map[string]any {
	kind := mimeOf(p)
	switch {
	case slices.Contains(imageTypes, kind) && len(p.Data) > 0:
		return map[string]any{"type": "image", "source": base64Source(kind, p.Data)}
	case strings.HasPrefix(kind, "image/") && len(p.Data) == 0 && strings.HasPrefix(p.URL, "http"):
		return map[string]any{"type": "image", "source": map[string]any{"type": "url", "url": p.URL}}
	case kind == "application/pdf" && len(p.Data) > 0 && h.takesPDFs:
		return map[string]any{"type": "document", "source": base64Source(kind, p.Data), "title": nameOf(p)}
	case len(p.Data) > 0 && isText(kind, p.Data):
		return textBlock(fmt.Sprintf("<file name=%q>\n%s\n</file>", nameOf(p), p.Data))
	}
	return textBlock(omittedFile(p))
}

func base64Source(kind string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": kind, "data": base64.StdEncoding.EncodeToString(data)}
}

// mimeOf is the format of a part. Of an image its own bytes say so, for a wrong
// word is refused.
func mimeOf(p llm.Part) string {
	kind, _, err := mime.ParseMediaType(p.MIME)
	if err != nil {
		kind = strings.ToLower(p.MIME)
	}
	if found := http.DetectContentType(p.Data); slices.Contains(imageTypes, found) {
		return found
	}
	return kind
}

// isText reports whether a file can be read as text.
func isText(kind string, data []byte) bool {
	if strings.HasPrefix(kind, "text/") {
		return true
	}
	return utf8.Valid(data) && strings.IndexByte(string(data), 0) < 0
}

func nameOf(p llm.Part) string {
	if p.Name == "" {
		return "file"
	}
	return p.Name
}

// omittedFile is what stands for a file that cannot be sent.
func omittedFile(p llm.Part) string {
	return fmt.Sprintf("[file left out: %s, %s, %d bytes]", nameOf(p), mimeOf(p), len(p.Data))
}
