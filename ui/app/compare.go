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

// comparing holds the models for the next prompt and the options of the comparison.
type comparing struct {
	Compared []string // models that answer the next prompt; nil: the session's model only
	compareOptions
	Unnamed bool // a blind comparison is open: anything that identifies its models is hidden
}

// compareOptions holds the options of /compare.
type compareOptions struct {
	Blind bool   // hides the names and shuffles the order until the user chooses
	Judge string // model that picks the best answer; "" for none
}

// Compare sends the next prompt to the models named in arg; if it names one, also to the session's model. Without an
// argument it turns comparing off, or opens a list to choose from.
func (a *App) Compare(arg string) Effect {
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
	a.Compared, a.compareOptions = names, how
	return Toast(ComparedText(a))
}

// parseComparing reads "--blind --judge MODEL MODEL…".
func parseComparing(arg string) (names []string, how compareOptions, err error) {
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

// CompareTitle is the title of the list of models to compare with.
func CompareTitle(a *App) string { return "Compare " + a.Session.Model().Name + " with" }

// ComparedText says which models the next prompt goes to.
func ComparedText(a *App) string {
	text := "Next prompt goes to " + strings.Join(CandidateLabels(a.Compared), " and ")
	if a.compareOptions.Blind {
		text += " · names hidden"
	}
	if a.compareOptions.Judge != "" {
		text += " · judged by " + a.compareOptions.Judge
	}
	return text + " · " + a.KeyOf("compare") + " turns it off"
}

// A ComparedPrompt holds the models that answer one prompt.
type ComparedPrompt struct {
	Names  []string
	Models []llm.Endpoint
	Judge  *llm.Endpoint // nil if there is no judge
	Blind  bool
}

// Labels returns the labels of the models until the user chooses.
func (p *ComparedPrompt) Labels() (labels []string) {
	for _, one := range NewComparison(p) {
		labels = append(labels, one.Label)
	}
	return labels
}

// Ask sends parts to all models.
func (p *ComparedPrompt) Ask(ctx context.Context, s *session.Session, parts []llm.Part) iter.Seq[session.Event] {
	return s.Compare(ctx, p.Models, p.Judge, parts...)
}

// OpenCompared opens the models for the next prompt. It turns comparing off for later prompts, even if it returns an
// error. It returns nil if only the session's model is asked.
func OpenCompared(a *App) (*ComparedPrompt, error) {
	names, how := a.Compared, a.compareOptions
	a.Compared, a.compareOptions = nil, compareOptions{}
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

// Choose continues the conversation with the nth answer and the model that gave it, and stores the choice.
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
	case chosen.Name != a.Session.Model().Name: // the model could not be opened
	case names != "":
		e = append(e, Toast("Continuing with "+chosen.Name+" · "+names))
	default:
		e = append(e, Toast("Continuing with "+chosen.Label+" · other answers: "+a.KeyOf("tree")))
	}
	return e
}

// Leave ends the comparison without a choice. The conversation continues from its current answer, with the model it
// had.
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

// storeChoice stores that the user chose the nth model. It returns nil if there was no real choice.
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

// A Comparison holds the models that answer the same prompt.
type Comparison []*Candidate

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
	candidateWaiting = "waiting"
	candidateSkipped = "not asked"
)

// NewComparison returns a comparison in which no model has been asked yet.
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

// Reveal shows the names from now on. It returns the mapping of letters to models; "" if the names were not hidden.
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

// RecordVerdict stores a verdict in the candidates and returns its text.
func (c Comparison) RecordVerdict(v session.Verdict) string {
	for _, one := range c {
		one.verdict = &v
	}
	return VerdictText(v, true)
}

// VerdictText describes the judge's preference. If short, it names the winner by its letter only.
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

// Apply updates a candidate and returns it; nil if e.N is out of range.
func (c Comparison) Apply(e session.CandidateEvent) *Candidate {
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

// MarkDone marks all candidates as done.
func (c Comparison) MarkDone() {
	for _, one := range c {
		if one.State == candidateWaiting {
			one.State = candidateSkipped
		}
	}
}

// AllAsked reports whether every candidate was asked, so that each has an error of its own.
func (c Comparison) AllAsked() bool {
	return !slices.ContainsFunc(c, func(one *Candidate) bool { return one.State == candidateSkipped })
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
		return errors.New(FaultName(llm.FaultOf(c.Err)))
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

// CandidateLabels returns labels for models. Names that occur more than once are numbered.
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
