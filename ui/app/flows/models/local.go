package models

import (
	"context"
	"fmt"
	"slices"
	"time"

	"parley/ui/app"
	"parley/ui/app/access"
)

// lookFor is the longest time that a prompt waits for the search on this machine.
const lookFor = 300 * time.Millisecond

// discover returns the effect that looks for services on this machine. Front ends perform it after their first frame.
// Typed input waits for it only if no model was chosen.
func (f *flow) discover() app.Effect {
	if unnamed := f.app.Models.Local.Unnamed; unnamed != nil {
		return app.Prepare(func(ctx context.Context) func() app.Effect {
			name, err := unnamed(ctx)
			return func() app.Effect {
				if err != nil {
					return app.Failure{Err: err, Lasting: true}
				}
				return f.startWithModel(name)
			}
		})
	}
	look := f.app.Models.Local.Discover
	switch {
	case look == nil:
		return nil
	case !app.UsesDemo(f.app):
		return app.Async(func(ctx context.Context) app.Effect { look(ctx); return nil })
	}
	lib := f.app.Library
	return app.Prepare(func(ctx context.Context) func() app.Effect {
		type looked struct {
			services []access.Service
			answers  map[string]bool
		}
		came := make(chan looked, 1)
		go func() { came <- looked{look(ctx), access.ReadAnswers(lib)} }()
		select {
		case l := <-came:
			return func() app.Effect { return f.offerService(l.services, l.answers) }
		case <-time.After(lookFor):
		case <-ctx.Done():
		}
		return func() app.Effect { return nil }
	})
}

// offerService starts with the first service that the user has agreed to. Otherwise it asks about the first one that
// the user has not been asked about.
func (f *flow) offerService(services []access.Service, answers map[string]bool) app.Effect {
	if at := slices.IndexFunc(services, func(s access.Service) bool { return answers[s.Provider] && s.Model != "" }); at >= 0 && app.UsesDemo(f.app) {
		return f.startWithModel(services[at].Model) // the user agreed earlier
	}
	for i, s := range services {
		if _, asked := answers[s.Provider]; asked || s.Model == "" && !s.LacksKey || !app.UsesDemo(f.app) {
			continue
		}
		return &app.Confirm{Text: question(s), Yes: "Use it", No: "No", Harmless: true, Unasked: true, Accept: func() app.Effect {
			kept := f.saveAnswer(s.Provider, true)
			if s.LacksKey {
				return app.Then{f.connect(s.Provider), kept}
			}
			return app.Then{f.startWithModel(s.Model), kept}
		}, Decline: func() app.Effect {
			return app.Then{f.offerService(services[i+1:], answers), f.saveAnswer(s.Provider, false)}
		}}
	}
	return nil
}

// question returns the question whether s should answer.
func question(s access.Service) string {
	switch id := access.ShortName(s.Model); {
	case s.Program:
		return fmt.Sprintf("%s is installed and logged in: use it?", s.Name)
	case s.LacksKey:
		return fmt.Sprintf("%s is running and needs a key: use it?", s.Name)
	case s.Models == 1 && !s.More:
		return fmt.Sprintf("%s is running with %s: use it?", s.Name, id)
	case s.More:
		return fmt.Sprintf("%s is running with more than %d models: use %s?", s.Name, s.Models, id)
	default:
		return fmt.Sprintf("%s is running with %d models: use %s?", s.Name, s.Models, id)
	}
}

// learn returns the effect that asks the server of the current model for its context window, if that is unknown. Front
// ends perform it after an answer: before a prompt is sent, parley only connects to a server, from the first letter typed.
func (f *flow) learn() app.Effect {
	learn, s := f.app.Models.Local.Learn, f.app.Session
	model := s.Model()
	if learn == nil || model.Context > 0 {
		return nil
	}
	return app.Async(func(ctx context.Context) app.Effect {
		if known, ok := learn(ctx, model.Name); ok {
			s.Next.RefreshModel(known)
		}
		return nil
	})
}

// startWithModel switches to a found model. In an empty conversation it adds no notice of the switch.
func (f *flow) startWithModel(name string) app.Effect {
	if !f.app.Session.Empty() {
		return f.use(name)
	}
	model, err := f.app.Models.Open(name)
	if err != nil {
		return app.Failure{Err: err, Lasting: true}
	}
	f.app.Session.SetModel(model)
	f.app.FirstScreen.NoKey = false
	return app.Then{app.Toast("Using " + model.Name + " · " + f.app.FrontEnd.KeyOf("model") + " changes it"), f.keepUsed()}
}

// saveAnswer stores whether a service on this machine may answer.
func (f *flow) saveAnswer(provider string, yes bool) app.Effect {
	lib := f.app.Library
	return app.Save(lib, func() error { return access.SaveAnswer(lib, provider, yes) })
}
