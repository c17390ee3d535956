package plain

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app/blocks"
	"parley/ui/app/candidates"
	"parley/ui/format"
)

// A comparison reads out the answers of several models to the same prompt, one after the other. The
// first candidate with text is read as its answer arrives. Events of the others wait until it is
// done.
type comparison struct {
	candidates.List
	*transcript
	turns    []*turn           // by candidate; each reads its answer
	waiting  [][]session.Event // unread events by candidate
	ready    []int             // candidates with unread text, in the order they began
	speaking int               // candidate being read; -1 for none
}

func newComparison(p *candidates.Prompt, t *transcript) *comparison {
	c := &comparison{List: candidates.New(p), transcript: t, speaking: -1, waiting: make([][]session.Event, len(p.Names))}
	for range p.Names {
		c.turns = append(c.turns, &turn{transcript: t})
	}
	return c
}

// handleEvent reads an event of a candidate, or queues it until the candidate is read.
func (c *comparison) handleEvent(e session.CandidateEvent) {
	one := c.List.Apply(e)
	if one == nil {
		return
	}
	if _, ok := e.Event.(llm.Retry); ok && c.speaking < 0 {
		c.writeLine("%s: %s.", one.Label, one.State)
	}
	c.waiting[e.N] = append(c.waiting[e.N], e.Event)
	if d, ok := e.Event.(llm.Delta); one.Done || ok && d.Kind == llm.Text && d.Text != "" {
		c.markReady(e.N)
	}
	for c.next() {
		n := c.speaking
		events := c.waiting[n]
		c.waiting[n] = nil
		for _, event := range events {
			c.read(n, event)
		}
		if !c.List[n].Done {
			return
		}
		c.finishAnswer(n)
	}
}

// markReady records that a candidate has text to read.
func (c *comparison) markReady(n int) {
	if n != c.speaking && !slices.Contains(c.ready, n) {
		c.ready = append(c.ready, n)
	}
}

// next chooses the answer to read unless one is being read already: a complete one if possible,
// else the one that began first. It reports whether there is one.
func (c *comparison) next() bool {
	if c.speaking >= 0 {
		return true
	}
	if len(c.ready) == 0 {
		return false
	}
	i := max(slices.IndexFunc(c.ready, func(n int) bool { return c.List[n].Done }), 0)
	c.speaking = c.ready[i]
	c.ready = slices.Delete(c.ready, i, i+1)
	c.writeLine("Answer %d of %d, %s:", c.speaking+1, len(c.List), c.List[c.speaking].Label)
	return true
}

// read writes an event of a candidate. It omits thinking, so that another candidate can be read meanwhile.
func (c *comparison) read(n int, e session.Event) {
	t := c.turns[n]
	if r, ok := e.(llm.Retry); ok && len(r.Discards) > 0 {
		defer c.writeLine("The answer begins again.")
	}
	for _, change := range t.live.Apply(e, c.now()) {
		if change.Kind != blocks.ThinkingBlock && change.Kind != blocks.RetryBlock && !(change.Kind == blocks.EventBlock && c.List[n].Blind) {
			t.change(change)
		}
	}
}

// finishAnswer ends the answer being read.
func (c *comparison) finishAnswer(n int) {
	c.speaking = -1
	one := c.List[n]
	c.turns[n].finish()
	for _, call := range one.Answer.Message.Calls() {
		c.writeLine("%s.", candidates.CallText(act.DisplayName(call.Name), blocks.CallFailed))
	}
	if err := one.Failure(); err != nil {
		c.writeLine("%s", failure(err))
	}
	c.writeLine("Answer %d: %s.", n+1, resultText(one))
}

// resultText returns how an answer ended, with its tokens, cost and duration.
func resultText(one *candidates.Candidate) string {
	parts, a := []string{one.Outcome()}, one.Answer
	if !one.Done || one.Blind { // figures may reveal the model
		return parts[0]
	}
	if a.UsageKnown && one.Usage.Output > 0 {
		parts = append(parts, tokensOut(one.Usage))
	}
	if a.UsageKnown {
		parts = append(parts, money(one.Usage))
	}
	return format.Join(", ", append(parts, length(a.Duration))...)
}

// activity returns the activity that the turn is waiting for; "" while an answer is read.
func (c *comparison) activity() string {
	if c.speaking >= 0 {
		return ""
	}
	var left []string
	for _, one := range c.List {
		if !one.Done {
			left = append(left, one.Label)
		}
	}
	return "waiting for " + strings.Join(left, " and ")
}

// compare sends parts to several models. heard reports that the user has just typed them.
func (t *turns) compare(p *candidates.Prompt, heard bool, parts []llm.Part) {
	s := t.app.Session
	t.play(heard, func(ctx context.Context) iter.Seq[session.Event] { return p.Ask(ctx, s, parts) })
	if t.current != nil {
		t.current.compared = newComparison(p, t.transcript)
		t.current.set(t.current.compared.activity(), t.now())
	}
}

// askWinner asks which answer of a comparison to continue with, and then calls then. If there
// is nothing to choose, it returns false without calling then.
func (t *turns) askWinner(c *comparison, then func()) bool {
	var answered []*candidates.Candidate
	kept := 0
	path := t.app.Session.Path()
	for i, one := range c.List {
		if one.Answer.Seq > 0 {
			answered = append(answered, one)
		}
		if slices.ContainsFunc(path, func(n session.Node) bool { return n.Seq == one.Answer.Seq }) {
			kept = i
		}
	}
	if len(answered) == 0 || len(answered) == 1 && answered[0].Name == t.app.Session.Model().Name {
		return false
	}
	keep := "the first"
	if kept > 0 {
		keep = "answer " + strconv.Itoa(kept+1)
	}
	stay := func() {
		t.writeLine("Keeping %s.", keep)
		if names := c.Reveal(t.app); names != "" {
			t.writeLine("%s.", names)
		}
		then()
	}
	t.questions.enqueue(&question{
		prompt: "Continue with which answer? Number, or nothing to keep " + keep + ":",
		describe: func() {
			for i, one := range c.List {
				t.writeLine("%d. %s, %s", i+1, one.Label, resultText(one))
			}
		},
		answer: func(line string) bool {
			n, err := strconv.Atoi(line)
			switch {
			case line == "":
				stay()
				return true
			case err != nil || n < 1 || n > len(c.List):
				t.writeLine("No answer %s.", truncate(line, 60))
				return false
			case c.List[n-1].Answer.Seq == 0:
				t.writeLine("Answer %d cannot be chosen: %s.", n, c.List[n-1].Outcome())
				return false
			}
			t.apply(c.Choose(t.app, n-1))
			then()
			return true
		},
		leave: stay,
	})
	return true
}
