package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// Local is what can answer without a key that parley holds.
type Local struct {
	Discover func(ctx context.Context) []Service       // finds what is on this machine; nil: it is not looked for
	Unnamed  func(ctx context.Context) (string, error) // names the model of the provider that was set up without one; nil: there is none

	First func(ctx context.Context, provider string) (string, error) // names the model of a provider when only that is named

	// Learn asks the server of a model what that can, and opens it again; not ok if it told nothing. Nil: no
	// server is asked.
	Learn func(ctx context.Context, name string) (model llm.Endpoint, ok bool)
}

// A Service is a model server that runs on this machine, or another agent's program on which
// somebody is logged in. Its names are safe to show.
type Service struct {
	Provider string // such as "ollama"
	Name     string // as users write it
	Models   int    // of a server
	More     bool   // it has more models than Models
	Model    string // the best of them, as "provider/model", or the program; "" if it cannot answer now
	Problem  string // of a server that cannot: "needs a key", for one
	LacksKey bool   // a key is all that a server lacks
	Program  bool
	Login    string // command that logs in to a program
}

// Err returns why s cannot answer now, with what to do; nil if it can.
func (s Service) Err() error {
	switch {
	case s.Model != "":
		return nil
	case s.Program:
		return fmt.Errorf("%s is installed, but not logged in: log in with %q", s.Name, s.Login)
	case s.Problem != "":
		return fmt.Errorf("%s %s", s.Name, s.Problem)
	case s.Provider == "ollama":
		return fmt.Errorf("%s is running, but has no model: ollama pull llama3.2 gets one", s.Name)
	}
	return fmt.Errorf("%s is running, but has no model: load one there", s.Name)
}

// ConnectedText says that s may answer from now on.
func (s Service) ConnectedText() string {
	if s.Program {
		return s.Name + " connected: it uses its own login"
	}
	more := ""
	if s.More {
		more = "more than "
	}
	return fmt.Sprintf("%s connected: %s%s, default %s", s.Name, more, format.Plural(s.Models, "model"), shortModelName(s.Model))
}

// lookFor bounds how long a prompt waits for what is on this machine.
const lookFor = 300 * time.Millisecond

// DiscoverLocal returns the effect that looks for what can answer, which front ends perform
// once their first frame is shown. What is typed waits for it only where no model was chosen.
func DiscoverLocal(a *App) Effect {
	if unnamed := a.Local.Unnamed; unnamed != nil {
		return Prepare(func(ctx context.Context) func() Effect {
			name, err := unnamed(ctx)
			return func() Effect {
				if err != nil {
					return Failure{Err: err, Lasting: true}
				}
				return startWithModel(a, name)
			}
		})
	}
	look := a.Local.Discover
	switch {
	case look == nil:
		return nil
	case !UsesDemo(a):
		return Async(func(ctx context.Context) Effect { look(ctx); return nil })
	}
	lib := a.Library
	return Prepare(func(ctx context.Context) func() Effect {
		type looked struct {
			services []Service
			answers  LocalAnswers
		}
		came := make(chan looked, 1)
		go func() { came <- looked{look(ctx), ReadLocalAnswers(lib)} }()
		select {
		case l := <-came:
			return func() Effect { return offerService(a, l.services, l.answers) }
		case <-time.After(lookFor):
		case <-ctx.Done():
		}
		return func() Effect { return nil }
	})
}

// AwaitsLocal reports whether a prompt of the command line has to wait for DiscoverLocal.
func AwaitsLocal(a *App) bool {
	return a.Local.Unnamed != nil || a.Local.Discover != nil && UsesDemo(a)
}

// offerService has the first of services that the user agreed to answer, or asks whether the first
// that was not asked about yet is to.
func offerService(a *App, services []Service, answers LocalAnswers) Effect {
	if at := slices.IndexFunc(services, func(s Service) bool { return answers[s.Provider] && s.Model != "" }); at >= 0 && UsesDemo(a) {
		return startWithModel(a, services[at].Model) // it was agreed to
	}
	for i, s := range services {
		if _, asked := answers[s.Provider]; asked || s.Model == "" && !s.LacksKey || !UsesDemo(a) {
			continue
		}
		return &Confirm{Text: s.question(), Yes: "Use it", No: "No", Harmless: true, Unasked: true, Accept: func() Effect {
			kept := a.SaveLocalAnswer(s.Provider, true)
			if s.LacksKey {
				return Then{connect(a, s.Provider), kept}
			}
			return Then{startWithModel(a, s.Model), kept}
		}, Decline: func() Effect {
			return Then{offerService(a, services[i+1:], answers), a.SaveLocalAnswer(s.Provider, false)}
		}}
	}
	return nil
}

// question asks whether s is to answer.
func (s Service) question() string {
	switch id := shortModelName(s.Model); {
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

// shortModelName returns the word for a model of a local server: without its provider, and
// without the tag that Ollama gives each.
func shortModelName(name string) string {
	_, id, _ := strings.Cut(name, "/")
	return strings.TrimSuffix(id, ":latest")
}

// LearnModel returns the effect that asks the server of the model in use for its context window,
// if that is not known. Front ends perform it after an answer: no server is asked for anything
// before a prompt is sent.
func LearnModel(a *App) Effect {
	learn, s := a.Local.Learn, a.Session
	model := s.Model()
	if learn == nil || model.Context > 0 {
		return nil
	}
	return Async(func(ctx context.Context) Effect {
		if known, ok := learn(ctx, model.Name); ok {
			s.RefreshModel(known)
		}
		return nil
	})
}

// startWithModel switches an empty conversation to a model that was found: nothing stands there yet
// that could tell of a switch.
func startWithModel(a *App, name string) Effect {
	if !a.Session.Empty() {
		return a.UseModel(name)
	}
	model, err := a.Open(name)
	if err != nil {
		return Failure{Err: err, Lasting: true}
	}
	a.Session.SetModel(model)
	a.NoKey = false
	a.rememberModel(model.Name)
	return Then{Toast("Using " + model.Name + " · " + a.KeyOf("model") + " changes it"), a.keepModels(a.Recent)}
}

// LocalAnswers holds whether the user wants to be answered by a service on this machine, by
// its provider; one that is missing was not asked about.
type LocalAnswers map[string]bool

// localKey is where the store keeps LocalAnswers: a sign and a provider in each line.
const localKey = "local"

// ReadLocalAnswers returns what was answered in this run and those before it.
func ReadLocalAnswers(lib *session.Store) LocalAnswers {
	answers := LocalAnswers{}
	kept, err := lib.Get(localKey)
	if err != nil {
		return answers
	}
	for line := range strings.FieldsSeq(kept) {
		answers[line[1:]] = line[0] == '+'
	}
	return answers
}

// SaveLocalAnswer stores whether a service on this machine may answer.
func (o Options) SaveLocalAnswer(provider string, yes bool) Effect {
	lib := o.Library
	return save(lib, func() error { return SaveLocalAnswer(lib, provider, yes) })
}

// SaveLocalAnswer stores whether a service on this machine may answer.
func SaveLocalAnswer(lib *session.Store, provider string, yes bool) error {
	kept, err := lib.Get(localKey)
	if err != nil {
		return err
	}
	lines := slices.DeleteFunc(strings.Fields(kept), func(line string) bool { return line[1:] == provider })
	sign := "-"
	if yes {
		sign = "+"
	}
	return lib.Set(localKey, strings.Join(append(lines, sign+provider), "\n"))
}

// SaveRecent stores model as the one that was used last: the next start begins with it.
func SaveRecent(lib *session.Store, model string) error {
	kept, err := lib.Get("models")
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(strings.Fields(kept), func(name string) bool { return name == model })
	return lib.Set("models", strings.Join(append([]string{model}, others...), "\n"))
}
