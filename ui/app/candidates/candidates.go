// Package candidates follows several models that answer the same prompt, until the user chooses an answer.
package candidates

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// Text says which models the next prompt goes to.
func Text(a *app.App) string {
	text := "Next prompt goes to " + strings.Join(app.CandidateLabels(a.Compared.Models), " and ")
	if a.Compared.Blind {
		text += " · names hidden"
	}
	if a.Compared.Judge != "" {
		text += " · judged by " + a.Compared.Judge
	}
	return text + " · " + a.FrontEnd.KeyOf("compare") + " turns it off"
}

// A Prompt holds the models that answer one prompt.
type Prompt struct {
	Names  []string
	Models []llm.Endpoint
	Judge  *llm.Endpoint // nil if there is no judge
	Blind  bool
}

// Labels returns the labels of the models until the user chooses.
func (p *Prompt) Labels() (labels []string) {
	for _, one := range New(p) {
		labels = append(labels, one.Label)
	}
	return labels
}

// Ask sends parts to all models.
func (p *Prompt) Ask(ctx context.Context, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	return s.Compare(ctx, p.Models, p.Judge, parts...)
}

// Open opens the models for the next prompt. It turns comparing off for later prompts, even if it returns an
// error. It returns nil if only the session's model is asked.
func Open(a *app.App) (*Prompt, error) {
	how := a.Compared
	a.Compared = app.Compared{}
	if len(how.Models) == 0 {
		return nil, nil
	}
	p := &Prompt{Names: slices.Clone(how.Models), Blind: how.Blind}
	if how.Blind {
		rand.Shuffle(len(p.Names), func(i, j int) { p.Names[i], p.Names[j] = p.Names[j], p.Names[i] })
	}
	for _, name := range p.Names {
		model, err := a.Models.Open(name)
		if err != nil {
			return nil, err
		}
		p.Models = append(p.Models, model)
	}
	if how.Judge != "" {
		judge, err := a.Models.Open(how.Judge)
		if err != nil {
			return nil, err
		}
		p.Judge = &judge
	}
	a.Unnamed = how.Blind
	return p, nil
}

// Choose continues the conversation with the nth answer and the model that gave it, and stores the choice.
func (c List) Choose(a *app.App, n int) app.Effect {
	chosen := c[n]
	if chosen.Answer.Seq == 0 {
		return app.Then{app.SessionOpened{}, app.Toast(chosen.Label + ": no answer")}
	}
	if err := a.Session.Branch.Switch(chosen.Answer.Seq); err != nil {
		return app.Fail(err)
	}
	names := c.Reveal(a)
	e := app.Then{app.SessionOpened{}, c.storeChoice(a, n)}
	if chosen.Name != a.Session.Model().Name {
		e = append(e, a.Models.Follow(chosen.Name))
	}
	switch {
	case chosen.Name != a.Session.Model().Name: // the model could not be opened
	case names != "":
		e = append(e, app.Toast("Continuing with "+chosen.Name+" · "+names))
	default:
		e = append(e, app.Toast("Continuing with "+chosen.Label+" · other answers: "+a.FrontEnd.KeyOf("tree")))
	}
	return e
}

// Leave ends the comparison without a choice. The conversation continues from its current answer, with the model it
// had.
func (c List) Leave(a *app.App) app.Effect {
	names := c.Reveal(a)
	path := a.Session.Path()
	i := slices.IndexFunc(c, func(one *Candidate) bool {
		return one.Answer.Seq > 0 && slices.ContainsFunc(path, func(n session.Node) bool { return n.Seq == one.Answer.Seq })
	})
	if i < 0 {
		return app.Then{app.SessionOpened{}, app.Toast(names)}
	}
	kept, model := c[i], a.Session.Model().Name
	if kept.Name != model {
		a.Session.Annotate(0, session.ModelSwitched{From: kept.Name, To: model})
	}
	toast := "Kept the answer of " + kept.Label + " · other answers: " + a.FrontEnd.KeyOf("tree")
	if names != "" {
		toast = "Kept the answer of " + kept.Name + " · " + names
	}
	return app.Then{app.SessionOpened{}, app.Toast(toast)}
}

// storeChoice stores that the user chose the nth model. It returns nil if there was no real choice.
func (c List) storeChoice(a *app.App, n int) app.Effect {
	chosen := session.Comparison{Session: a.Session.ID(), Winner: c[n].Name, Blind: c[n].wasBlind}
	for i, one := range c {
		if i != n && one.Answer.Seq > 0 && one.Name != chosen.Winner && !slices.Contains(chosen.Losers, one.Name) {
			chosen.Losers = append(chosen.Losers, one.Name)
		}
		if v := one.verdict; v != nil {
			chosen.Judge, chosen.Agreed = v.Judge, v.Winner == n
		}
	}
	if len(chosen.Losers) == 0 || a.Ephemeral {
		return nil
	}
	lib := a.Library
	return app.Save(lib, func() error { return lib.Comparisons().Add(chosen) })
}

// A List holds the models that answer the same prompt.
type List []*Candidate

// A Candidate is one of the compared models, with the state of its answer.
type Candidate struct {
	Name   string // of the model
	Label  string // the name, numbered if several candidates share it; a letter while names are hidden
	State  string // a few words; front ends may replace them
	Done   bool   // nothing more will arrive
	Answer session.Response
	Usage  llm.Usage // total of all its requests
	Err    error     // why the answer is missing or incomplete; nil otherwise
	Blind  bool      // the name and everything that identifies the model are hidden

	wasBlind bool             // Blind before the choice
	verdict  *session.Verdict // of the judge; nil without one
}

// States of a candidate whose answer has not begun, and of one that was not asked.
const (
	waiting  = "waiting"
	notAsked = "not asked"
)

// New returns a list in which no model has been asked yet.
func New(p *Prompt) List {
	c := make(List, len(p.Names))
	for i, label := range app.CandidateLabels(p.Names) {
		switch {
		case p.Blind:
			label = session.CandidateLetter(i)
		case p.Judge != nil:
			label = session.CandidateLetter(i) + " · " + label
		}
		c[i] = &Candidate{Name: p.Names[i], Label: label, State: waiting, Blind: p.Blind, wasBlind: p.Blind}
	}
	return c
}

// Reveal shows the names from now on. It returns the mapping of letters to models; "" if the names were not hidden.
func (c List) Reveal(a *app.App) string {
	a.Unnamed = false
	var said []string
	for i, one := range c {
		if one.Blind {
			if one.Blind, one.Label = false, one.Name; one.Done {
				one.State = one.result()
			}
			said = append(said, session.CandidateLetter(i)+" was "+one.Name)
		}
	}
	return strings.Join(said, ", ")
}

// RecordVerdict stores a verdict in the candidates and returns its text.
func (c List) RecordVerdict(v session.Verdict) string {
	for _, one := range c {
		one.verdict = &v
	}
	return wording.Verdict(v, true)
}

// Apply updates a candidate and returns it; nil if e.N is out of range.
func (c List) Apply(e session.CandidateEvent) *Candidate {
	if e.N < 0 || e.N >= len(c) {
		return nil
	}
	one := c[e.N]
	switch event := e.Event.(type) {
	case session.Step:
		if event.Model != one.Name { // a fallback model replaced it
			one.Name, one.Label = event.Model, strings.Replace(one.Label, one.Name, event.Model, 1)
		}
	case llm.Retry:
		one.State = wording.Retry(event, 0)
	case session.Call:
		one.State = "calling " + event.Part.Name
	case session.Response:
		one.Answer, one.Usage = event, one.Usage.Add(event.Usage)
		if one.Done = e.Done; e.Done {
			one.Err = e.Err
			one.State = one.result()
		}
	}
	return one
}

// MarkDone marks all candidates as done.
func (c List) MarkDone() {
	for _, one := range c {
		if one.State == waiting {
			one.State = notAsked
		}
	}
}

// AllAsked reports whether every candidate was asked, so that each has an error of its own.
func (c List) AllAsked() bool {
	return !slices.ContainsFunc(c, func(one *Candidate) bool { return one.State == notAsked })
}

// Outcome returns one word for how the answer ended, or the state while it has not.
func (c *Candidate) Outcome() string {
	switch {
	case !c.Done:
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
	if c.Blind && c.Err != nil { // the error text may name the model
		return errors.New(wording.Fault(llm.FaultOf(c.Err)))
	}
	return c.Err
}

// result describes how an answer ended and, unless that could identify the model, its tokens, price and duration.
func (c *Candidate) result() string {
	said, a := []string{c.Outcome()}, c.Answer
	if c.Blind {
		return said[0]
	}
	if a.UsageKnown && c.Usage.Output > 0 {
		said = append(said, format.Tokens(c.Usage.Output)+" out")
	}
	if a.UsageKnown && c.Usage.Priced {
		said = append(said, fmt.Sprintf("$%.4f", c.Usage.Cost))
	}
	return strings.Join(append(said, format.Seconds(a.Duration)), " · ")
}

// CallText describes a tool call in a comparison, where models may only read.
func CallText(tool string, status blocks.CallStatus) string {
	if status == blocks.CallRunning || status == blocks.CallDone {
		return "Called " + tool
	}
	return "Wanted to call " + tool + " (not run while comparing)"
}
