package app

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// Compare makes the next prompt go to the models that arg names, with one to that and the
// session's; without any, to those that are chosen, or to one again.
func Compare(a *App, arg string) Effect {
	names := strings.Fields(arg)
	switch {
	case len(names) == 0 && len(a.Compared) > 0:
		a.Compared = nil
		return Say("Compare off")
	case len(names) == 0:
		return Effect{View: PanelQuery{Panel: PanelCompare}}
	case len(names) == 1:
		names = []string{a.Session.Model().Name, names[0]}
	}
	for _, name := range names {
		if _, err := a.Open(name); err != nil {
			return Effect{Err: err}
		}
	}
	for i, name := range names {
		names[i] = a.Resolve(name)
	}
	a.Compared = names
	return Say(ComparedText(a))
}

// CompareTitle stands above the models to choose from.
func CompareTitle(a *App) string { return "Compare " + a.Session.Model().Name + " with" }

// ComparedText says which models the next prompt goes to.
func ComparedText(a *App) string {
	return "Next prompt goes to " + strings.Join(CandidateLabels(a.Compared), " and ") + " · " + a.KeyOf("compare") + " turns it off"
}

// TakeCompared opens the models that the next prompt goes to; none: that of the session
// alone. The prompt behind it goes to one again, as it does after an error.
func TakeCompared(a *App) (names []string, models []llm.Endpoint, err error) {
	names, a.Compared = a.Compared, nil
	for _, name := range names {
		model, err := a.Open(name)
		if err != nil {
			return nil, nil, err
		}
		models = append(models, model)
	}
	return names, models, nil
}

// ContinueWith continues the conversation with an answer, and with the model that gave it.
func ContinueWith(a *App, c *Candidate) Effect {
	if c.Answer.Seq == 0 {
		return Effect{Entered: &Entered{}, Toast: c.Label + ": no answer"}
	}
	if err := a.Session.SwitchBranch(c.Answer.Seq); err != nil {
		return Effect{Err: err}
	}
	var e Effect
	if c.Name != a.Session.Model().Name {
		e = a.Use(c.Name)
	}
	if c.Name == a.Session.Model().Name {
		e.Toast = "Continuing with " + c.Label + " · other answers: " + a.KeyOf("tree")
	}
	e.Entered = &Entered{}
	return e
}

// A Comparison is several models that are asked the same.
type Comparison []*Candidate

// A Candidate is one of the models that are compared: how its answer stands.
type Candidate struct {
	Name   string // of the model
	Label  string // the name, and a number if several have it
	State  string // in a few words; a front end may say what it sees
	Over   bool   // nothing more comes
	Answer session.Response
	Err    error // why the answer stopped early, or did not come
}

// States of a candidate that was asked, and that was not.
const (
	candidateWaiting = "waiting"
	candidateSkipped = "not asked"
)

// NewComparison returns a comparison of models that were asked nothing yet.
func NewComparison(names []string) Comparison {
	c := make(Comparison, len(names))
	for i, label := range CandidateLabels(names) {
		c[i] = &Candidate{Name: names[i], Label: label, State: candidateWaiting}
	}
	return c
}

// Take notes what happened to one of the models, and returns it; nil if it is none of them.
func (c Comparison) Take(e session.CandidateEvent) *Candidate {
	if e.N < 0 || e.N >= len(c) {
		return nil
	}
	one := c[e.N]
	switch event := e.Event.(type) {
	case llm.Retry:
		one.State = RetryText(event, 0)
	case session.Response:
		one.Over, one.Answer, one.Err = true, event, e.Err
		one.State = one.result()
	}
	return one
}

// End takes it that all are done.
func (c Comparison) End() {
	for _, one := range c {
		if one.State == candidateWaiting {
			one.State = candidateSkipped
		}
	}
}

// Told reports whether all were asked, and so each has an error of its own.
func (c Comparison) Told() bool {
	return !slices.ContainsFunc(c, func(one *Candidate) bool { return one.State == candidateSkipped })
}

// Outcome says in a word how an answer ended; before that, its state.
func (c *Candidate) Outcome() string {
	switch {
	case !c.Over:
		return c.State
	case c.Err == nil:
		return "done"
	case llm.Canceled(c.Err):
		return "stopped"
	case c.Answer.Seq == 0:
		return "no answer"
	}
	return "interrupted"
}

// Failure returns why an answer stopped early, unless it was stopped by the user.
func (c *Candidate) Failure() error {
	if llm.Canceled(c.Err) {
		return nil
	}
	return c.Err
}

// result says how an answer ended, and what it took.
func (c *Candidate) result() string {
	said, a := []string{c.Outcome()}, c.Answer
	if a.UsageKnown && a.Usage.Output > 0 {
		said = append(said, format.Tokens(a.Usage.Output)+" out")
	}
	if a.UsageKnown && a.Usage.Priced {
		said = append(said, fmt.Sprintf("$%.4f", a.Usage.Cost))
	}
	return strings.Join(append(said, format.Seconds(a.Duration)), " · ")
}

// ComparedCall says that a model called a tool, which none may while comparing.
func ComparedCall(tool string) string {
	return "Wanted to call " + tool + " (tools are off while comparing)"
}

// CandidateLabels returns the names of models to tell their answers apart by: those that
// stand there more than once are numbered.
func CandidateLabels(names []string) []string {
	count, at := map[string]int{}, map[string]int{}
	for _, name := range names {
		count[name]++
	}
	labels := make([]string, len(names))
	for i, name := range names {
		at[name]++
		labels[i] = name
		if count[name] > 1 {
			labels[i] = fmt.Sprintf("%s (%d of %d)", name, at[name], count[name])
		}
	}
	return labels
}
