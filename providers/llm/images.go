package llm

import (
	"fmt"
	"slices"
	"strings"
)

const changeImage = "images not sent: this model takes none"

// Portable calls Portable with the model's Origin, and also removes images if the model is known to
// take none.
func (e Endpoint) Portable(history []Message) ([]Message, []Change) {
	out, changes := Portable(history, e.Origin)
	if e.Accepts("image/") {
		return out, changes
	}
	n := 0
	for i, m := range out {
		if HasImage(m) {
			out[i].Parts = withoutImages(m, &n)
		}
	}
	if n > 0 {
		changes = append(changes, Change{changeImage, n})
	}
	return out, changes
}

// Accepts reports whether this model accepts media of a type other than text: images depend on Vision and
// Blind, other files on Files.
func (e Endpoint) Accepts(mime string) bool {
	if strings.HasPrefix(mime, "image/") {
		return e.Vision || !e.Known && !e.Blind
	}
	return slices.ContainsFunc(e.Files, func(t string) bool {
		return t == mime || strings.HasSuffix(t, "/") && strings.HasPrefix(mime, t)
	})
}

// HasImage reports whether a part of m is an image.
func HasImage(m Message) bool { return slices.ContainsFunc(m.Parts, isImage) }

func isImage(p Part) bool { return p.Kind == Media && strings.HasPrefix(p.MIME, "image/") }

// withoutImages returns the parts of m with text in place of images. For images that a tool
// returned, the text goes into the tool result.
func withoutImages(m Message, n *int) []Part {
	var out []Part
	for _, p := range m.Parts {
		if !isImage(p) {
			out = append(out, p)
			continue
		}
		*n++
		text := fmt.Sprintf("[image left out, for this model cannot look at any: %s]", strings.TrimSpace(p.Name+" "+p.MIME))
		i := slices.IndexFunc(out, func(r Part) bool { return r.Kind == Result && r.ID == p.ID })
		switch {
		case m.Role != RoleTool:
			out = append(out, Part{Kind: Text, Text: text})
		case i >= 0:
			out[i].Text = strings.TrimLeft(out[i].Text+"\n"+text, "\n")
		}
	}
	return out
}

// OriginImages is the origin of messages from an image model. No wire format has it, so that every
// model gets the image, or a text about it.
const OriginImages = "images"

// A Preview is an unfinished image. It is an Event: shown in place of the later content of Block,
// but not stored.
type Preview struct {
	Block string
	Part
}

func (Preview) event() {}
