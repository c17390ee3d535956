package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// Local finds services that answer without a key of parley's.
type Local struct {
	Discover func(ctx context.Context) []Service       // finds services on this machine; nil if it should not look
	Unnamed  func(ctx context.Context) (string, error) // names the model of the provider that is configured without one; nil if there is none

	First func(ctx context.Context, provider string) (string, error) // names a model for a provider given alone

	// Learn asks the model's server about its abilities and opens the model again; ok is false if the server told
	// nothing. Nil if no server is asked.
	Learn func(ctx context.Context, name string) (model llm.Endpoint, ok bool)
}

// A Service is a model server on this machine, or another agent's program with a login. Its names are sanitized.
type Service struct {
	Provider string // such as "ollama"
	Name     string // display name
	Models   int    // number of models, for a server
	More     bool   // the server has more models than Models
	Model    string // best model, as "provider/model", or the program; "" if it cannot answer now
	Problem  string // why a server cannot answer, such as "needs a key"
	LacksKey bool   // the server lacks only a key
	Program  bool
	Login    string // command that logs in to a program
}

// Err returns why s cannot answer now, with advice; nil if it can.
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

// ConnectedText reports that s may answer from now on.
func (s Service) ConnectedText() string {
	if s.Program {
		return s.Name + " connected: it uses its own login"
	}
	more := ""
	if s.More {
		more = "more than "
	}
	return fmt.Sprintf("%s connected: %s%s, default %s", s.Name, more, format.Plural(s.Models, "model"), ShortName(s.Model))
}

// localKey is the store key for the answers of ReadAnswers: a sign and a provider in each line.
const localKey = "local"

// ReadAnswers returns, by provider, whether a service on this machine may answer, as the user said in all runs.
// Providers that the user was not asked about are missing.
func ReadAnswers(lib *session.Store) map[string]bool {
	answers := map[string]bool{}
	kept, err := lib.Get(localKey)
	if err != nil {
		return answers
	}
	for line := range strings.FieldsSeq(kept) {
		answers[line[1:]] = line[0] == '+'
	}
	return answers
}

// SaveAnswer stores whether a service on this machine may answer.
func SaveAnswer(lib *session.Store, provider string, yes bool) error {
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

// SaveRecent stores model as the last used one; the next start uses it.
func SaveRecent(lib *session.Store, model string) error {
	kept, err := lib.Get("models")
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(strings.Fields(kept), func(name string) bool { return name == model })
	return lib.Set("models", strings.Join(append([]string{model}, others...), "\n"))
}

// ShortName returns the name of a local server's model without the provider and without Ollama's default tag.
func ShortName(name string) string {
	_, id, _ := strings.Cut(name, "/")
	return strings.TrimSuffix(id, ":latest")
}
