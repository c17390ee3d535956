package wording

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// ThinkingNotSent says that thinking of earlier models is not sent.
const ThinkingNotSent = "thinking not sent"

// leastCache is the least number of cached tokens worth mentioning.
const leastCache = 1000

// ModelFit describes in short phrases what a switch to model would mean for the conversation, the most important
// first. It returns none for an empty conversation.
func ModelFit(s *session.Session, model llm.Endpoint) (words []string) {
	f := s.Next.EstimateFit(model)
	add := func(text string, args ...any) { words = append(words, fmt.Sprintf(text, args...)) }
	switch share := f.Share(); {
	case share > 1:
		add("context %s: too long", format.Percent(share))
	case share > 0:
		add("context %s", format.Percent(share))
	}
	if f.Omitted {
		add("oldest turns not sent")
	}
	if f.Images > 0 {
		add("%s not sent", format.Plural(f.Images, "image"))
	}
	for _, kind := range fileKinds {
		n := 0
		for mime, count := range f.Files {
			if at := slices.IndexFunc(fileKinds, func(k fileKind) bool { return strings.HasPrefix(mime, k.mime) }); fileKinds[at] == kind {
				n += count
			}
		}
		if n > 0 {
			add("%s not sent", format.Plural(n, kind.noun))
		}
	}
	if f.CacheLost >= leastCache {
		add("prompt cache lost (%s tokens)", format.Tokens(f.CacheLost))
	}
	switch f.Strategy {
	case "prompt", "guided":
		add("tools by prompt")
	case "none":
		add("no tools")
	}
	if f.Thinking > 0 {
		add(ThinkingNotSent)
	}
	return words
}

// A fileKind names the files of a MIME type or of types with that prefix.
type fileKind struct{ mime, noun string }

// fileKinds lists the kinds; the last one matches all other types.
var fileKinds = []fileKind{{"application/pdf", "PDF"}, {"audio/", "audio file"}, {"video/", "video"}, {"", "file"}}
