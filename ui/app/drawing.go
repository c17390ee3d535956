package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
)

// Drawing is what makes images.
type Drawing struct {
	Models func() []Item                                                // image models, those that can be asked first; Value is "provider/model"
	Model  func(ctx context.Context, name string) (llm.Endpoint, error) // opens one, which saves what it draws; "" is the first that can be asked; nil: no images here
}

// imageCommand stands in front of a prompt that is drawn.
const imageCommand = "/image "

// imageModelKey is where the image model is stored that was chosen last.
const imageModelKey = "image_model"

func noImages(a *App) string {
	if a.Drawing.Model == nil {
		return "Images cannot be drawn here"
	}
	return ""
}

// drawImage draws what arg describes, changes the image that the conversation stands at, or, if
// arg names a file, attaches it. Without arg the image model is chosen.
func drawImage(a *App, arg string) Effect {
	if info, err := os.Stat(HomeExpanded(arg)); arg != "" && err == nil && info.Mode().IsRegular() {
		return a.attach(arg)
	}
	switch why := busy(a); {
	case arg == "":
		return chooseImageModel(a)
	case arg == "new":
		return Say("Say what to draw: " + imageCommand + "new PROMPT")
	case why != "":
		return Effect{Err: errors.New(why), Text: imageCommand + arg}
	}
	text, anew := strings.CutPrefix(arg, "new ")
	e := draw(a, "", anew, append(slices.Clone(a.Attached), llm.Part{Kind: llm.Text, Text: strings.TrimSpace(text)}))
	prepare := e.Prepare
	e.Prepare = func(ctx context.Context) func() Effect {
		shown := prepare(ctx)
		return func() Effect {
			e := shown()
			if e.Turn == nil {
				e.Text = imageCommand + arg
			}
			return e
		}
	}
	return e
}

// chooseImageModel lists the models that draw.
func chooseImageModel(a *App) Effect {
	items := a.Drawing.Models()
	if len(items) == 0 {
		return Say("No provider with image models is known")
	}
	used, _ := a.Library.Get(imageModelKey)
	for i, item := range items {
		items[i].Current = item.Value == used
	}
	return Effect{List: &List{Title: "Image model · /image PROMPT draws with it", Noun: "model", Items: items, Choose: func(i Item, _ string) Effect {
		if provider, _, _ := strings.Cut(i.Value, "/"); i.Disabled && cannotConnect(a) == "" {
			return connect(a, provider)
		}
		e := a.Keep(imageModelKey, i.Value)
		e.Toast = "Images: " + i.Value + " · /image PROMPT draws"
		return e
	}}}
}

// draw asks an image model; the empty name is the one in use. Without parts it is asked again.
func draw(a *App, name string, anew bool, parts []llm.Part) Effect {
	used, _ := a.Library.Get(imageModelKey)
	open, s := a.Drawing.Model, a.Session
	return Effect{Prepare: func(ctx context.Context) func() Effect {
		model, err := open(ctx, cmp.Or(name, used))
		return func() Effect {
			switch why := busy(a); {
			case err != nil:
				return Effect{Failed: err}
			case a.Session != s:
				return Effect{Err: errors.New("another conversation was opened: not drawn")}
			case why != "":
				return Effect{Err: errors.New(why)}
			}
			a.Attached = slices.DeleteFunc(a.Attached, func(p llm.Part) bool {
				return slices.ContainsFunc(parts, func(q llm.Part) bool { return p.Kind == q.Kind && p.Name == q.Name && bytes.Equal(p.Data, q.Data) })
			})
			if len(a.Attached) == 0 {
				a.Attached = nil
			}
			return Effect{Turn: func(ctx context.Context) iter.Seq[session.Event] { return s.Draw(ctx, model, anew, parts...) }}
		}
	}}
}

// Draws reports whether a message, which is no summary, is a prompt for an image.
func Draws(msg llm.Message) bool { return msg.Role == llm.RoleUser && msg.Model != "" }

// EditsImage reports whether text, which stands in the place of an earlier message, draws.
func EditsImage(text string) bool { return strings.HasPrefix(text, imageCommand) }
