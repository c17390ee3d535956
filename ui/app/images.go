package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
)

// ImageModels lists and opens models that make images.
type ImageModels struct {
	List func() []Item                                                // image models, the usable ones first; Value is "provider/model"
	Open func(ctx context.Context, name string) (llm.Endpoint, error) // opens a model that saves its images; "" is the first usable one; nil if there are no image models
}

// imageCommand is the prefix of a prompt for an image.
const imageCommand = "/image "

// newImage is the argument that asks for a new image instead of a changed one.
const newImage = "--new"

// imageModelKey is the store key for the image model chosen last.
const imageModelKey = "image_model"

func (a *App) noImages() string {
	if a.Images.Open == nil {
		return "Images cannot be drawn here"
	}
	return ""
}

// drawImage draws an image from arg and the files it mentions, or changes the current image of the conversation. If arg
// is only a file name, it attaches that file. Without arg it lists image models to choose from.
func (a *App) drawImage(arg string) Effect {
	if file := strings.TrimPrefix(arg, "@"); IsFile(file) || file == arg && exists(file) {
		return a.attach(file)
	}
	why := a.BusyText()
	text, anew := strings.CutPrefix(arg+" ", newImage+" ")
	text = strings.TrimSpace(text)
	addresses, without := a.Addresses(text)
	switch {
	case arg == "":
		return chooseImageModel(a)
	case text == "":
		return Refuse("no prompt: say what to draw after %s%s", imageCommand, newImage)
	case why != "":
		return Failure{Err: errors.New(why), Line: imageCommand + arg}
	case len(addresses) > 0: // a front end does not report which addresses were pasted
		return &Confirm{Text: "Fetch " + strings.Join(addresses, ", ") + "?", Yes: "Fetch", No: "Use as text",
			Accept:  func() Effect { return drawPrompt(a, arg, anew, text, text) },
			Decline: func() Effect { return drawPrompt(a, arg, anew, text, without) },
		}
	}
	return drawPrompt(a, arg, anew, text, text)
}

// drawPrompt draws text, part of the argument arg, with the files named in mentions. The whole line goes into the
// history, or back into the draft if it does not run.
func drawPrompt(a *App, arg string, anew bool, text, mentions string) Effect {
	o, attached, line := a.Options, slices.Clone(a.Attached), imageCommand+arg
	drawn := draw(a, "", anew, func(ctx context.Context) (parts []llm.Part, notes []string, err error) {
		mentioned, notes, err := o.Expand(ctx, mentions)
		return append(append(Unmentioned(attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text}), notes, err
	})
	return WithLine(Prepare(func(ctx context.Context) func() Effect {
		then := drawn(ctx)
		return func() Effect {
			e := then()
			if _, failed := e.(Failure); !failed {
				a.RememberPrompt(line)
			}
			return e
		}
	}), line)
}

// chooseImageModel lists the image models.
func chooseImageModel(a *App) Effect {
	items := a.Images.List()
	if len(items) == 0 {
		return Toast("No provider with image models is known")
	}
	used, _ := a.Library.Get(imageModelKey)
	if used != "" && !slices.ContainsFunc(items, func(i Item) bool { return i.Value == used }) {
		items = slices.Insert(items, 0, Item{Title: used, Value: used}) // from a server that lists no models
	}
	for i, item := range items {
		items[i].Current = item.Value == used
	}
	l := &List{Title: "Image model · /image PROMPT draws with it", Noun: "model", Items: items}
	l.Choose = func(name string) Effect {
		if provider, _, _ := strings.Cut(name, "/"); l.Item(name).Disabled && a.Connections != nil {
			return a.Command("connect").Do(provider)
		}
		return Then{Toast("Images: " + name + " · /image PROMPT draws"), a.SaveState(imageModelKey, name)}
	}
	return l
}

// draw sends the parts from prompt to an image model; "" is the current one. If prompt is nil, it asks the last prompt
// again.
func draw(a *App, name string, anew bool, prompt func(context.Context) (parts []llm.Part, notes []string, err error)) Prepare {
	used, _ := a.Library.Get(imageModelKey)
	open, s := a.Images.Open, a.Session
	return Prepare(func(ctx context.Context) func() Effect {
		var parts []llm.Part
		var notes []string
		var unread error
		if prompt != nil {
			if parts, notes, unread = prompt(ctx); unread != nil {
				return func() Effect { return Failure{Err: unread} }
			}
		}
		model, err := open(ctx, cmp.Or(name, used))
		return func() Effect {
			switch why := a.BusyText(); {
			case err != nil:
				return Failure{Err: err, Lasting: true}
			case a.Session != s:
				return Refuse("another conversation was opened: not drawn")
			case why != "":
				return Failure{Err: errors.New(why)}
			}
			a.Attached = slices.DeleteFunc(a.Attached, func(p llm.Part) bool {
				return slices.ContainsFunc(parts, func(q llm.Part) bool { return p.Kind == q.Kind && p.Name == q.Name && bytes.Equal(p.Data, q.Data) })
			})
			if len(a.Attached) == 0 {
				a.Attached = nil
			}
			return Then{Notes(notes), Play(func(ctx context.Context) iter.Seq[session.Event] { return s.GenerateImage(ctx, model, anew, parts...) })}
		}
	})
}

// IsImagePrompt reports whether msg, which must not be a summary, is a prompt for an image model.
func IsImagePrompt(msg llm.Message) bool { return msg.Role == llm.RoleUser && msg.Model != "" }

// IsImageEdit reports whether text, the new version of an earlier message, is an /image command.
func IsImageEdit(text string) bool { return strings.HasPrefix(text, imageCommand) }
