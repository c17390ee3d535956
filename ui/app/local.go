package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	return fmt.Sprintf("%s connected: %s%s, default %s", s.Name, more, format.Plural(s.Models, "model"), ShortModelName(s.Model))
}

// AwaitsLocal reports whether a prompt of the command line has to wait for DiscoverLocal.
func AwaitsLocal(a *App) bool {
	return a.Local.Unnamed != nil || a.Local.Discover != nil && UsesDemo(a)
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

// ShortModelName returns the word for a model of a local server: without its provider, and
// without the tag that Ollama gives each.
func ShortModelName(name string) string {
	_, id, _ := strings.Cut(name, "/")
	return strings.TrimSuffix(id, ":latest")
}
