package media

import (
	"context"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// SaveImage stores an image that was made to a prompt, and returns it as the conversation holds it,
// under the name it was stored by: an image that every model takes, or words in its place. The
// zero part is one that was lost. Told is for the user.
type SaveImage func(prompt string, b llm.Blob) (part llm.Part, told string, err error)

// Endpoint returns an image model as one that answers: of a request, which has one message,
// the text is the prompt and the images are those to change. Each image of the answer is one
// that keep returned; one that cannot be kept is in the answer all the same, with a notice.
func Endpoint(m Model[llm.ImageMaker, catalog.ImageModel], keep SaveImage) llm.Endpoint {
	return llm.Endpoint{
		Model: imageEndpoint{m.Service, keep, m.Facts.Partials}, Name: m.Name, Origin: llm.OriginImages, Strategy: "none",
		Known: m.Known, Vision: m.Facts.Inputs > 0, Cost: func(llm.Usage) (float64, bool) { return m.Facts.Cost(1) },
	}
}

type imageEndpoint struct {
	llm.ImageMaker
	keep     SaveImage
	partials bool
}

// endpointPartials is how many unfinished images are asked for where somebody may watch.
const endpointPartials = 2

func (d imageEndpoint) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		r := imageRequest(req)
		if d.partials {
			r.Partials = endpointPartials
		}
		made, shown, refused := "generated", 0, (*llm.Refusal)(nil)
		if len(r.Inputs) > 0 {
			made = "edited"
		}
		block := func() string { return "image" + string(rune('0'+shown)) }
		for e, err := range d.Make(ctx, r) {
			ok := true
			switch {
			case err != nil:
				return err
			case e.Partial != nil:
				ok = out.Send(llm.Preview{Block: block(), Part: llm.Part{Kind: llm.Media, MIME: e.Partial.MIME, Data: e.Partial.Data}})
			case e.Image != nil:
				p, told, err := d.keep(r.Prompt, *e.Image)
				if err != nil {
					out.Send(llm.Notice{Text: "The image is not saved: " + err.Error(), Urgent: true})
				}
				if p.Kind == "" {
					p = llm.Part{Kind: llm.Text, Text: "[an image that was not saved]"}
				} else if p.Kind == llm.Media {
					p.Made = made
				}
				ok = out.Send(llm.Delta{Block: block(), Part: p})
				if shown++; told != "" {
					out.Send(llm.Notice{Text: told})
				}
			case e.Refused != nil:
				refused = e.Refused
				out.Send(llm.Notice{Text: strings.TrimSpace("The provider refused: " + refused.Text), Urgent: true})
			case e.Note != "":
				out.Send(llm.Notice{Text: e.Note})
			case e.Text != "":
				out.Send(llm.Delta{Block: "text", Part: llm.Part{Kind: llm.Text, Text: e.Text}})
			case e.Done != nil:
				if *e.Done != (llm.Bill{}) {
					out.Send(e.Done.Usage())
				}
			}
			if !ok {
				return nil
			}
		}
		switch {
		case shown > 0:
			out.Send(llm.Finish{Reason: llm.Stop})
		case refused != nil:
			out.Send(llm.Finish{Reason: llm.Refused, Raw: refused.Code})
		default:
			return &llm.Error{Fault: llm.Server, Message: "answered without an image"}
		}
		return nil
	})
}

// imageRequest reads the one message of a request.
func imageRequest(req llm.Request) (r llm.ImageRequest) {
	var text []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.Text:
				text = append(text, p.Text)
			case p.Kind == llm.Media:
				r.Inputs = append(r.Inputs, llm.Blob{MIME: p.MIME, Name: p.Name, Data: p.Data})
			}
		}
	}
	r.Prompt = strings.TrimSpace(strings.Join(text, "\n\n"))
	return r
}
