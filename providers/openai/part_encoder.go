package openai

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// partEncoder encodes the parts of a message's content.
type partEncoder struct {
	text    string                                          // type of text parts
	image   func(url string) map[string]any                 // nil if images are not supported
	pdf     func(name, url string) map[string]any           // nil if PDFs are not supported
	sound   func(format string, data []byte) map[string]any // nil if the model does not accept sound
	inline  bool                                            // image data is supported, but not image URLs
	omitted []string                                        // descriptions of the files that were left out
}

// content encodes text, images and files as a list of parts.
func (s *partEncoder) content(parts []llm.Part) []any {
	var list []any
	for _, p := range parts {
		switch p.Kind {
		case llm.Text:
			if p.Text != "" {
				list = append(list, s.textPart(p.Text))
			}
		case llm.Media:
			list = append(list, s.media(p))
		}
	}
	return list
}

// flatContent returns the content of parts as a string, which every server accepts, if they contain
// only text; "" if they are empty. Otherwise it returns a list.
func (s *partEncoder) flatContent(parts []llm.Part) any {
	var texts []string
	for i := range parts {
		switch p := &parts[i]; {
		case p.Kind == llm.Media:
			return flattenText(s.content(parts))
		case p.Kind == llm.Text && p.Text != "":
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func (s *partEncoder) textPart(text string) map[string]any {
	return map[string]any{"type": s.text, "text": text}
}

// soundFormats maps MIME types to the names of the sound formats that all services accept.
var soundFormats = map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}

// filesOf lists the accepted file types besides text and images; see llm.Endpoint.Files.
func filesOf(s partEncoder) (types []string) {
	if s.pdf != nil {
		types = append(types, "application/pdf")
	}
	if s.sound != nil {
		types = append(types, slices.Sorted(maps.Keys(soundFormats))...)
	}
	return types
}

// media encodes an image, sound or file; nil if the service does not accept it.
func (s *partEncoder) media(p llm.Part) map[string]any {
	kind, name, url := adapter.MIMEType(p), adapter.FileName(p), p.URL
	if len(p.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
	}
	switch {
	case strings.HasPrefix(kind, "image/") && url != "" && s.image != nil && (len(p.Data) > 0 || !s.inline):
		return s.image(url)
	case kind == "application/pdf" && s.pdf != nil && len(p.Data) > 0:
		return s.pdf(name, url)
	case s.sound != nil && soundFormats[kind] != "" && len(p.Data) > 0:
		return s.sound(soundFormats[kind], p.Data)
	}
	return s.textPart(adapter.FileText(p, kind, &s.omitted))
}

// flattenText joins a list of text parts into a string, which every server accepts. Other lists are
// returned unchanged.
func flattenText(list []any) any {
	var texts []string
	for _, part := range list {
		text, ok := part.(map[string]any)["text"].(string)
		if !ok {
			return list
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n")
}
