package print

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// Compare plays the answers of several models to the writers of o, one behind the
// other in the order of names, each as Run plays a turn: the first while it
// comes, the others as far as they have come meanwhile. As text, each has the
// model's name for a heading; as JSON, they are one array; as lines of JSON, each
// begins with its start and ends with its done. The exit status is the first that
// is not 0.
func Compare(s *session.Session, names []string, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o Options) int {
	queues := make([]*eventQueue, len(names))
	for i := range queues {
		queues[i] = newQueue()
	}
	var told sync.WaitGroup
	var verdict *session.Verdict
	told.Go(func() { verdict = demux(turn, queues) })
	defer told.Wait()
	status, begun := OK, false
	put := func(text string) error {
		_, err := io.WriteString(o.Out, text)
		if err != nil {
			cancel(fmt.Errorf("%w: %w", app.ErrPipe, err))
		}
		return err
	}
	for i, name := range names {
		events, ok := queues[i].started()
		if !ok && i > 0 {
			continue // what ended the turn before anybody was asked was told
		}
		o.Model = name
		if o.Answers > 1 {
			o.Answer = i%o.Answers + 1
		}
		if err := put(o.between(begun, ok)); err != nil {
			return pipeStatus(err, o.Err)
		}
		begun = true
		got := Run(s, events, cancel, o)
		if status == OK {
			status = got
		}
	}
	told.Wait()
	if text := o.verdict(verdict); text != "" {
		if err := put(text); err != nil {
			return pipeStatus(err, o.Err)
		}
	}
	if o.Format == "json" {
		if err := put("]\n"); err != nil {
			return pipeStatus(err, o.Err)
		}
	}
	return status
}

// RequestsNotice returns what several answers of each of models cost, which stand
// there as often as they answer; "" if each answers once.
func RequestsNotice(models []llm.Endpoint, answers int) string {
	requests := 0
	for i, model := range models {
		if !model.Candidates || i%answers == 0 {
			requests++
		}
	}
	switch {
	case answers < 2 || requests == 0:
		return ""
	case requests == len(models)/answers:
		return fmt.Sprintf("%d answers of one model are one request; usage is shown once", answers)
	}
	return fmt.Sprintf("%d answers are %d requests; each pays for the prompt", len(models), requests)
}

// between returns what stands before an answer: the first one, or, begun, one behind
// others. Asked says that the model was asked at all.
func (o Options) between(begun, asked bool) string {
	switch {
	case o.Format == "json" && begun:
		return ","
	case o.Format == "json":
		return "["
	case o.Format != "text" || o.Code || !asked:
		return ""
	}
	heading := "## " + sanitize.Line(o.Model)
	if o.Answer > 0 {
		heading += fmt.Sprintf(" (%d of %d)", o.Answer, o.Answers)
	}
	if begun {
		heading = "\n" + heading
	}
	return heading + "\n\n"
}

// verdict returns what stands behind the answers about who is best, told as such; "" if
// nobody judged.
func (o Options) verdict(v *session.Verdict) string {
	if v == nil {
		return ""
	}
	said := object{{"type", "verdict"}, {"judge", v.Judge}, {"reason", v.Reason}}
	if v.Winner >= 0 {
		said = append(said, field{"answer", v.Winner + 1}, field{"model", v.Model})
	}
	switch {
	case o.Format == "json":
		return "," + string(encode(said)) + "\n"
	case o.Format == "jsonl":
		return string(encode(said)) + "\n"
	case o.Code:
		return ""
	}
	return "\n" + sanitize.Text(app.VerdictText(*v, false)) + "\n"
}

// demux gives every model what happened to it, as the events of a turn of its own, and returns
// the verdict on all of them; nil: there is none.
func demux(turn iter.Seq[session.Event], queues []*eventQueue) (said *session.Verdict) {
	ended, done := make([]bool, len(queues)), make([]session.Done, len(queues))
	for e := range turn {
		switch e := e.(type) {
		case session.CandidateEvent:
			queues[e.N].ask()
			queues[e.N].put(e.Event)
			switch one := e.Event.(type) {
			case session.Step:
				done[e.N].Steps++
			case session.Response:
				done[e.N].Usage, done[e.N].Duration = done[e.N].Usage.Add(one.Usage), done[e.N].Duration+one.Duration
				if !e.Done {
					break
				}
				ended[e.N] = true
				done[e.N].Reason, done[e.N].Err = one.Finish.Reason, e.Err
				queues[e.N].put(done[e.N])
				queues[e.N].close()
			}
		case session.Verdict:
			said = &e
		default:
			for i, q := range queues {
				if !ended[i] {
					q.put(e)
				}
			}
		}
	}
	for _, q := range queues {
		q.close()
	}
	return said
}

// A eventQueue holds events until they are wanted. It has no bound: an answer is not
// held up because another is printed first.
type eventQueue struct {
	mu     sync.Mutex
	news   *sync.Cond
	events []session.Event
	asked  bool // it is about a model that was asked
	closed bool
}

func newQueue() *eventQueue {
	q := &eventQueue{}
	q.news = sync.NewCond(&q.mu)
	return q
}

func (q *eventQueue) put(e session.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.events = append(q.events, e)
		q.news.Signal()
	}
}

func (q *eventQueue) ask() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked = true
	q.news.Signal()
}

func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.news.Signal()
}

// started waits until something is known of the model, and reports whether it was
// asked at all.
func (q *eventQueue) started() (events iter.Seq[session.Event], asked bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.asked && !q.closed {
		q.news.Wait()
	}
	return q.all(), q.asked
}

// all yields the events until the queue is closed and empty.
func (q *eventQueue) all() iter.Seq[session.Event] {
	return func(yield func(session.Event) bool) {
		for {
			q.mu.Lock()
			for len(q.events) == 0 && !q.closed {
				q.news.Wait()
			}
			events := q.events
			q.events = nil
			q.mu.Unlock()
			if len(events) == 0 {
				return
			}
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// comparisons prints which answers were chosen when models were compared.
func (s SessionCommands) comparisons(since, until time.Time, output string) error {
	return s.with(func(lib *session.Store) error {
		all, err := lib.Comparisons().List(since, until)
		if fatal(err, len(all)) != nil {
			return err
		}
		if output == "csv" {
			return app.UsageError{Err: errors.New("--compare: use -o text, json or jsonl")}
		}
		if output != "text" {
			for _, c := range all {
				if err := WriteJSON(s.Out, c); err != nil {
					return err
				}
			}
			return err
		}
		if len(all) == 0 {
			s.Note("no comparisons in this period")
			return nil
		}
		return s.lines(comparisonTally(all))
	})
}

// A score is how often a model, or the first of a pair, was preferred.
type score struct{ won, of, blind int }

// comparisonTally returns a table of models, the most preferred first, and one of pairs.
func comparisonTally(all []session.Comparison) string {
	models, pairs := map[string]score{}, map[[2]string]score{}
	add := func(s score, won, blind bool) score {
		s.of++
		if won {
			s.won++
		}
		if blind {
			s.blind++
		}
		return s
	}
	for _, c := range all {
		models[c.Winner] = add(models[c.Winner], true, c.Blind)
		for _, loser := range c.Losers {
			models[loser] = add(models[loser], false, c.Blind)
			pair, won := [2]string{c.Winner, loser}, true
			if loser < c.Winner {
				pair, won = [2]string{loser, c.Winner}, false
			}
			pairs[pair] = add(pairs[pair], won, c.Blind)
		}
	}
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	blind := func(s score) string {
		if s.blind == 0 {
			return ""
		}
		return fmt.Sprintf("%d blind", s.blind)
	}
	names := slices.SortedFunc(maps.Keys(models), func(a, b string) int {
		x, y := models[a], models[b]
		return cmp.Or(y.won*x.of-x.won*y.of, y.of-x.of, strings.Compare(a, b))
	})
	for _, name := range names {
		s := models[name]
		fmt.Fprintf(w, "%s\tchosen %d of %d\t%d%%\t%s\n", sanitize.Line(name), s.won, s.of, 100*s.won/s.of, blind(s))
	}
	fmt.Fprintln(w)
	for _, pair := range slices.SortedFunc(maps.Keys(pairs), func(a, b [2]string) int {
		return cmp.Or(pairs[b].of-pairs[a].of, strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	}) {
		s := pairs[pair]
		fmt.Fprintf(w, "%s\t%d – %d\t%s\t%s\n", sanitize.Line(pair[0]), s.won, s.of-s.won, sanitize.Line(pair[1]), blind(s))
	}
	w.Flush()
	var text strings.Builder
	for line := range strings.Lines(out.String()) {
		text.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return text.String()
}
