package app

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
	"parley/ui/format"
)

// comparing holds which models the next prompt goes to, and how they are compared.
type comparing struct {
	Compared []string // models that the next prompt goes to; none: the session's alone
	CompareOptions
	Unnamed bool // models that are compared have no names yet, nor anything that tells them
}

// CompareOptions holds the options of /compare.
type CompareOptions struct {
	Blind bool   // their names are hidden until a user chooses, and so is their order
	Judge string // model that says which answer is best; "": none
}

// Compare makes the next prompt go to the models that arg names; to a single one and the
// session's. Without an argument it turns comparing off, or opens a list to choose from.
func Compare(a *App, arg string) Effect {
	names, how, err := parseComparing(arg)
	switch {
	case err != nil:
		return Fail(err)
	case arg == "" && len(a.Compared) > 0:
		a.Compared = nil
		return Toast("Compare off")
	case len(names) == 0:
		return PanelQuery{Panel: PanelCompare, Query: arg}
	case len(names) == 1:
		names = []string{a.Session.Model().Name, names[0]}
	}
	if err := session.CheckCompared(names); err != nil {
		return Fail(err)
	}
	for _, name := range append(slices.Clone(names), how.Judge) {
		if name == "" {
			continue
		}
		if _, err := a.Open(name); err != nil {
			return Fail(err)
		}
	}
	for i, name := range names {
		names[i] = a.Resolve(name)
	}
	a.Compared, a.CompareOptions = names, how
	return Toast(ComparedText(a))
}

// parseComparing reads "--blind --judge MODEL MODEL…".
func parseComparing(arg string) (names []string, how CompareOptions, err error) {
	words := strings.Fields(arg)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		judge, is := strings.CutPrefix(word, "--judge")
		switch {
		case word == "--blind":
			how.Blind = true
		case is && judge == "" && len(words) > 0:
			how.Judge, words = words[0], words[1:]
		case is && strings.HasPrefix(judge, "=") && len(judge) > 1:
			how.Judge = judge[1:]
		case is && judge == "":
			return nil, how, errors.New("--judge needs a model")
		case strings.HasPrefix(word, "-"):
			return nil, how, fmt.Errorf("unknown option %s: use --blind or --judge MODEL", word)
		default:
			names = append(names, word)
		}
	}
	return names, how, nil
}

// CompareTitle stands above the models to choose from.
func CompareTitle(a *App) string { return "Compare " + a.Session.Model().Name + " with" }

// ComparedText says which models the next prompt goes to.
func ComparedText(a *App) string {
	text := "Next prompt goes to " + strings.Join(CandidateLabels(a.Compared), " and ")
	if a.CompareOptions.Blind {
		text += " · names hidden"
	}
	if a.CompareOptions.Judge != "" {
		text += " · judged by " + a.CompareOptions.Judge
	}
	return text + " · " + a.KeyOf("compare") + " turns it off"
}

// A ComparedPrompt holds the models that a prompt goes to.
type ComparedPrompt struct {
	Names  []string
	Models []llm.Endpoint
	Judge  *llm.Endpoint // nil: none
	Blind  bool
}

// Labels returns what the models are called until a user chooses.
func (p *ComparedPrompt) Labels() (labels []string) {
	for _, one := range NewComparison(p) {
		labels = append(labels, one.Label)
	}
	return labels
}

// Ask sends parts to the models.
func (p *ComparedPrompt) Ask(ctx context.Context, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	return s.Compare(ctx, p.Models, p.Judge, parts...)
}

// OpenCompared opens the models that the next prompt goes to, and turns comparing off for later
// prompts, also after an error. It returns nil if only the session's model is asked.
func OpenCompared(a *App) (*ComparedPrompt, error) {
	names, how := a.Compared, a.CompareOptions
	a.Compared, a.CompareOptions = nil, CompareOptions{}
	if len(names) == 0 {
		return nil, nil
	}
	p := &ComparedPrompt{Names: slices.Clone(names), Blind: how.Blind}
	if how.Blind {
		rand.Shuffle(len(p.Names), func(i, j int) { p.Names[i], p.Names[j] = p.Names[j], p.Names[i] })
	}
	for _, name := range p.Names {
		model, err := a.Open(name)
		if err != nil {
			return nil, err
		}
		p.Models = append(p.Models, model)
	}
	if how.Judge != "" {
		judge, err := a.Open(how.Judge)
		if err != nil {
			return nil, err
		}
		p.Judge = &judge
	}
	a.Unnamed = how.Blind
	return p, nil
}

// Choose continues the conversation with the nth answer, and with the model that gave it, and keeps
// which one was chosen.
func (c Comparison) Choose(a *App, n int) Effect {
	chosen := c[n]
	if chosen.Answer.Seq == 0 {
		return Then{SessionOpened{}, Toast(chosen.Label + ": no answer")}
	}
	if err := a.Session.Branch().Switch(chosen.Answer.Seq); err != nil {
		return Fail(err)
	}
	names := c.Reveal(a)
	e := Then{SessionOpened{}, c.storeChoice(a, n)}
	if chosen.Name != a.Session.Model().Name {
		e = append(e, a.FollowModel(chosen.Name))
	}
	switch {
	case chosen.Name != a.Session.Model().Name: // which could not be opened
	case names != "":
		e = append(e, Toast("Continuing with "+chosen.Name+" · "+names))
	default:
		e = append(e, Toast("Continuing with "+chosen.Label+" · other answers: "+a.KeyOf("tree")))
	}
	return e
}

// Leave leaves the comparison without a choice: the conversation goes on from the answer that it stands
// at, with the model that it had.
func (c Comparison) Leave(a *App) Effect {
	names := c.Reveal(a)
	path := a.Session.Path()
	i := slices.IndexFunc(c, func(one *Candidate) bool {
		return one.Answer.Seq > 0 && slices.ContainsFunc(path, func(n session.Node) bool { return n.Seq == one.Answer.Seq })
	})
	if i < 0 {
		return Then{SessionOpened{}, Toast(names)}
	}
	kept, model := c[i], a.Session.Model().Name
	if kept.Name != model {
		a.Session.Annotate(0, session.ModelSwitched{From: kept.Name, To: model})
	}
	toast := "Kept the answer of " + kept.Label + " · other answers: " + a.KeyOf("tree")
	if names != "" {
		toast = "Kept the answer of " + kept.Name + " · " + names
	}
	return Then{SessionOpened{}, Toast(toast)}
}

// storeChoice stores that the nth model was preferred; nil: there was no choice.
func (c Comparison) storeChoice(a *App, n int) Effect {
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
	return save(lib, func() error { return lib.Comparisons().Add(chosen) })
}

// A Comparison is several models that are asked the same.
type Comparison []*Candidate

// A Candidate is one of the models that are compared: how its answer stands.
type Candidate struct {
	Name   string // of the model
	Label  string // the name, and a number if several have it; a letter while names are hidden
	State  string // in a few words; a front end may say what it sees
	Done   bool   // nothing more comes
	Answer session.Response
	Usage  llm.Usage // of all its requests
	Err    error     // why the answer stopped early, or did not come
	Blind  bool      // its name is hidden, and what tells it

	wasBlind bool             // until the choice
	verdict  *session.Verdict // of the judge; nil: none
}

// States of a candidate that was asked, and that was not.
const (
	candidateWaiting = "waiting"
	candidateSkipped = "not asked"
)

// NewComparison returns a comparison of models that were asked nothing yet.
func NewComparison(p *ComparedPrompt) Comparison {
	c := make(Comparison, len(p.Names))
	for i, label := range CandidateLabels(p.Names) {
		switch {
		case p.Blind:
			label = session.CandidateLetter(i)
		case p.Judge != nil:
			label = session.CandidateLetter(i) + " · " + label
		}
		c[i] = &Candidate{Name: p.Names[i], Label: label, State: candidateWaiting, Blind: p.Blind, wasBlind: p.Blind}
	}
	return c
}

// Reveal shows the names from now on, and returns which letter was which model; "" if they
// were shown before.
func (c Comparison) Reveal(a *App) string {
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

// RecordVerdict notes a verdict, and says it.
func (c Comparison) RecordVerdict(v session.Verdict) string {
	for _, one := range c {
		one.verdict = &v
	}
	return VerdictText(v, true)
}

// VerdictText says what a judge prefers. In short, the winner is a letter only.
func VerdictText(v session.Verdict, short bool) string {
	winner := "no answer is better"
	if v.Winner >= 0 {
		winner = session.CandidateLetter(v.Winner)
		if !short {
			winner += ", " + v.Model
		}
	}
	return "Judge " + v.Judge + ": " + winner + " · " + v.Reason
}

// Apply notes what happened to one of the models, and returns it; nil if it is none of them.
func (c Comparison) Apply(e session.CandidateEvent) *Candidate {
	if e.N < 0 || e.N >= len(c) {
		return nil
	}
	one := c[e.N]
	switch event := e.Event.(type) {
	case session.Step:
		if event.Model != one.Name { // which it took the place of
			one.Name, one.Label = event.Model, strings.Replace(one.Label, one.Name, event.Model, 1)
		}
	case llm.Retry:
		one.State = RetryText(event, 0)
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

// MarkDone takes it that all are done.
func (c Comparison) MarkDone() {
	for _, one := range c {
		if one.State == candidateWaiting {
			one.State = candidateSkipped
		}
	}
}

// AllAsked reports whether all were asked, and so each has an error of its own.
func (c Comparison) AllAsked() bool {
	return !slices.ContainsFunc(c, func(one *Candidate) bool { return one.State == candidateSkipped })
}

// Outcome says in a word how an answer ended; before that, its state.
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
	if c.Blind && c.Err != nil { // its words may tell whose they are
		return errors.New(FaultName(llm.FaultOf(c.Err)))
	}
	return c.Err
}

// result says how an answer ended, and what it took, which may tell whose it is: how many tokens
// at what price, and how long.
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
