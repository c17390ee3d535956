// Package images lets the user draw images and change them.
package images

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/mention"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands, app.Command{Name: "image", Aliases: []string{"draw"}, Group: app.Messages, Arg: "PROMPT", Help: "Draw an image, or change the one above", Unavailable: f.none, Run: f.run})
	a.Models.Images.DrawAgain = func(model string) app.Effect { return f.draw(model, "", false, "", "") }
}

// A flow draws images in the open conversation.
type flow struct{ app *app.App }

// newImage is the argument that asks for a new image instead of a changed one.
const newImage = "--new"

// imageModelKey is the store key for the image model chosen last.
const imageModelKey = "image_model"

func (f flow) none() string {
	if f.app.Models.Images.Open == nil {
		return "Images cannot be drawn here"
	}
	return ""
}

// run draws an image from arg and the files it mentions, or changes the current image of the conversation. If arg
// is only a file name, it attaches that file. Without arg it lists image models to choose from.
func (f flow) run(arg string) app.Effect {
	a := f.app
	if file := strings.TrimPrefix(arg, "@"); mention.IsFile(file) || file == arg && mention.Exists(file) {
		return a.Command("attach").Run(file)
	}
	why, line := a.BusyText(), app.ImageCommand+arg
	text, anew := strings.CutPrefix(arg+" ", newImage+" ")
	text = strings.TrimSpace(text)
	addresses, without := a.Mentions().Addresses(text)
	switch {
	case arg == "":
		return f.choose()
	case text == "":
		return app.Refuse("no prompt: say what to draw after %s%s", app.ImageCommand, newImage)
	case why != "":
		return app.Failure{Err: errors.New(why), Line: line}
	case len(addresses) > 0: // a front end does not report which addresses were pasted
		return &app.Confirm{Text: "Fetch " + strings.Join(addresses, ", ") + "?", Yes: "Fetch", No: "Use as text",
			Accept:  func() app.Effect { return f.draw("", line, anew, text, text) },
			Decline: func() app.Effect { return f.draw("", line, anew, text, without) },
		}
	}
	return f.draw("", line, anew, text, text)
}

// choose lists the image models.
func (f flow) choose() app.Effect {
	a := f.app
	items := a.Models.Images.List()
	if len(items) == 0 {
		return app.Toast("No provider with image models is known")
	}
	used, _ := a.Library.Get(imageModelKey)
	if used != "" && !slices.ContainsFunc(items, func(i app.Item) bool { return i.Value == used }) {
		items = slices.Insert(items, 0, app.Item{Title: used, Value: used}) // from a server that lists no models
	}
	for i, item := range items {
		items[i].Current = item.Value == used
	}
	l := &app.List{Title: "Image model · /image PROMPT draws with it", Noun: "model", Items: items}
	l.Choose = func(name string) app.Effect {
		if provider, _, _ := strings.Cut(name, "/"); l.Item(name).Disabled && a.Models.Connections != nil {
			return a.Command("connect").Do(provider)
		}
		return app.Then{app.Toast("Images: " + name + " · /image PROMPT draws"), a.SaveState(imageModelKey, name)}
	}
	return l
}

// draw draws text with the attachments and the files named in mentions, with a model; "" is the current one. Line is the
// whole command, which goes into the history, or back into the draft if it does not run; "" asks the last prompt again.
func (f flow) draw(name, line string, anew bool, text, mentions string) app.Effect {
	a := f.app
	used, _ := a.Library.Get(imageModelKey)
	o, attached, s := a.Options, slices.Clone(a.Attached), a.Session
	return app.WithLine(app.Prepare(func(ctx context.Context) func() app.Effect {
		var parts []llm.Part
		var notes []string
		if line != "" {
			mentioned, more, err := o.Mentions().Expand(ctx, mentions)
			if err != nil {
				return func() app.Effect { return app.Fail(err) }
			}
			parts, notes = append(append(app.Unmentioned(attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text}), more
		}
		model, err := o.Models.Images.Open(ctx, cmp.Or(name, used))
		return func() app.Effect {
			switch why := a.BusyText(); {
			case err != nil:
				return app.Failure{Err: err, Lasting: true}
			case a.Session != s:
				return app.Refuse("another conversation was opened: not drawn")
			case why != "":
				return app.Failure{Err: errors.New(why)}
			}
			a.Attached = app.Unmentioned(a.Attached, parts)
			if line != "" {
				a.Drafts().RememberPrompt(line)
			}
			return app.Then{app.Notes(notes), app.Play(func(ctx context.Context) iter.Seq[session.Event] { return s.GenerateImage(ctx, model, anew, parts...) })}
		}
	}), line)
}
