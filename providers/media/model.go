package media

import (
	"context"
	"strconv"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// SaveImage stores an image generated for prompt, and returns it as a part for the conversation: an
// image of a type that every model accepts, or text instead, named after the stored file. The part
// is zero if the image is lost. A nonempty notice is for the user.
type SaveImage func(prompt string, b works.Blob) (part llm.Part, notice string, err error)

// Endpoint returns an image model as a chat model. A request has one message: its text is the prompt,
// and its images are edited. The images of the answer are the parts returned by save; an image that
// could not be saved still appears in the answer, with a notice.
func Endpoint(m Model[works.ImageMaker, catalog.ImageModel], save SaveImage) llm.Endpoint {
	return llm.Endpoint{
		Model: &imageEndpoint{m.Service, save, m.Facts.Partials}, Name: m.Name, Origin: llm.OriginImages, Strategy: "none",
		Known: m.Known, Vision: m.Facts.Inputs > 0, Cost: func(llm.Usage) (float64, bool) { return m.Facts.Cost(1) },
	}
}

type imageEndpoint struct {
	works.ImageMaker
	save     SaveImage
	partials bool
}

// endpointPartials is the number of unfinished images that a chat requests.
const endpointPartials = 2

func (d *imageEndpoint) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		r := imageRequest(req)
		if d.partials {
			r.Partials = endpointPartials
		}
		made, shown, refused := "generated", 0, (*works.Refusal)(nil)
		if len(r.Inputs) > 0 {
			made = "edited"
		}
		block := func() string { return "image" + strconv.Itoa(shown) }
		for e, err := range d.Make(ctx, r) {
			ok := true
			switch {
			case err != nil:
				return err
			case e.Partial != nil:
				ok = out.Send(llm.Preview{Block: block(), Part: llm.Part{Kind: llm.Media, MIME: e.Partial.MIME, Data: e.Partial.Data}})
			case e.Image != nil:
				p, notice, err := d.save(r.Prompt, *e.Image)
				if err != nil {
					out.Send(llm.Notice{Text: "The image is not saved: " + err.Error(), Urgent: true})
				}
				if p.Kind == "" {
					p = llm.Part{Kind: llm.Text, Text: "[an image that was not saved]"}
				} else if p.Kind == llm.Media {
					p.Made = made
				}
				ok = out.Send(llm.Delta{Block: block(), Part: p})
				if shown++; notice != "" {
					out.Send(llm.Notice{Text: notice})
				}
			case e.Refused != nil:
				refused = e.Refused
				out.Send(llm.Notice{Text: strings.TrimSpace("The provider refused: " + refused.Text), Urgent: true})
			case e.Note != "":
				out.Send(llm.Notice{Text: e.Note})
			case e.Text != "":
				out.Send(llm.Delta{Block: "text", Part: llm.Part{Kind: llm.Text, Text: e.Text}})
			case e.Done != nil:
				if *e.Done != (works.Bill{}) {
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

// imageRequest returns the prompt and the input images of req.
func imageRequest(req llm.Request) (r works.ImageRequest) {
	var text []string
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.Text:
				text = append(text, p.Text)
			case p.Kind == llm.Media:
				r.Inputs = append(r.Inputs, works.Blob{MIME: p.MIME, Name: p.Name, Data: p.Data})
			}
		}
	}
	r.Prompt = strings.TrimSpace(strings.Join(text, "\n\n"))
	return r
}
