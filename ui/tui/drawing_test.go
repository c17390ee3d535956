package tui

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
)

// drawn returns the answer of an image model: an image with that name.
func drawn(t *testing.T, name string) llmtest.Turn {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 32, 32))
	for i := range picture.Pix {
		picture.Pix[i] = 200
	}
	picture.Set(1, 1, color.RGBA{255, 0, 0, 255})
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		t.Fatal(err)
	}
	return llmtest.Script(llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, Name: name, MIME: "image/png", Made: "generated", Data: data.Bytes()}}, llm.Finish{Reason: llm.Stop})
}

// painting returns a screen whose image model draws those images, and the model.
func painting(t *testing.T, w, h int, change func(*Options), names ...string) (*stage, *llmtest.Fake) {
	var turns []llmtest.Turn
	for _, name := range names {
		turns = append(turns, drawn(t, name))
	}
	painter := llmtest.New(turns...)
	s := setUpWith(t, w, h, func(o *Options) {
		o.App.Models.Images = app.ImageModels{
			List: func() []app.Item {
				return []app.Item{{Title: "i/draw", Value: "i/draw"}, {Title: "openrouter/google/gemini-3.1-flash-image-of-a-long-name", Detail: "set OPENROUTER_API_KEY", Value: "x", Disabled: true}}
			},
			Open: func(context.Context, string) (llm.Endpoint, error) {
				return llm.Endpoint{Model: painter, Name: "i/draw", Origin: llm.OriginImages}, nil
			},
		}
		if change != nil {
			change(o)
		}
	}, llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "I read it"}}, llm.Finish{Reason: llm.Stop}))
	return s, painter
}

// sentTo returns the input of an image model: names of images, and the prompt.
func sentTo(painter *llmtest.Fake) (all []string) {
	for _, r := range painter.Requests() {
		var words []string
		for _, p := range r.Messages[0].Parts {
			if p.Kind == llm.Media {
				words = append(words, "<"+p.Name+">")
			} else {
				words = append(words, p.Text)
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// Editing an earlier image prompt draws again, from the same inputs, as a branch beside the old one.
func TestImagePromptEdited(t *testing.T) {
	s, painter := painting(t, 80, 40, nil, "fox.png", "dark.png", "darker.png")
	s.ask("/image a fox", "fox.png")
	s.idle()
	s.ask("/image the sky dark", "dark.png")
	s.idle()
	s.Type("/rewind").Press("enter").WaitForText("Edit which message?").WaitForText("/image the sky dark")
	s.Press("enter").WaitForText("Editing an earlier message").Type("er").Press("enter").WaitForText("darker.png")
	s.idle()
	if got, want := strings.Join(sentTo(painter), " | "), "a fox | <fox.png> the sky dark | <fox.png> the sky darker"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	s.Type("/tree").Press("enter").Shows("Branches").WaitForText("/image the sky darker · current").WaitForText("/image a fox")
}

// A leading space makes a line that begins like a command a prompt for the answering model,
// also after an edit.
func TestImageBehindASpace(t *testing.T) {
	s, painter := painting(t, 80, 30, nil)
	s.ask(" /image of what I said?", "I read it")
	s.idle()
	if n := len(painter.Requests()); n > 0 {
		t.Errorf("%d images were drawn", n)
	}
	if got := s.fake.Requests(); len(got) != 1 || !strings.Contains(got[0].Messages[len(got[0].Messages)-1].Text(), "/image of what I said?") {
		t.Errorf("sent %+v", got)
	}
}

// The reason why an image model is unavailable can be read in full at any width.
func TestImagePickerNarrow(t *testing.T) {
	s, _ := painting(t, 50, 15, nil)
	s.Type("/image").Press("enter").WaitForText("Image model").Press("down").WaitForText("set OPENROUTER_API_KEY")
}
