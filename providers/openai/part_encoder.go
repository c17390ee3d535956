package openai

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// partEncoder holds what the parts of a message's content look like.
type partEncoder struct {
	text    string                                          // type of text
	image   func(url string) map[string]any                 // nil if images are not taken
	pdf     func(name, url string) map[string]any           // nil if PDFs are not taken
	sound   func(format string, data []byte) map[string]any // nil if the model takes no sound
	inline  bool                                            // images are taken as they are, but not by their address
	omitted []string                                        // files that were left out, in words
}

// content writes text, images and files as parts.
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

// flatContent returns the content of parts as a string, which every server takes, if they hold
// nothing but text: "" if they say nothing. Otherwise it is a list.
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

// soundFormats holds what the services call the formats of sound that all of them take.
var soundFormats = map[string]string{"audio/wav": "wav", "audio/mpeg": "mp3"}

// filesOf lists what is taken beside text and images; see llm.Endpoint.Files.
func filesOf(s partEncoder) (types []string) {
	if s.pdf != nil {
		types = append(types, "application/pdf")
	}
	if s.sound != nil {
		types = append(types, slices.Sorted(maps.Keys(soundFormats))...)
	}
	return types
}

// media writes an image or sound, or a file as far as the service reads files.
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

// flattenText joins a list that holds nothing but text into a string, which every
// server takes.
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
