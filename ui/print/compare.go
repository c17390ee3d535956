package print

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/theme"
)

// Compare writes the answers of several models to the writers of o, one after the other in the order
// of names, each as Run does: the first as it arrives, the others from events that have arrived meanwhile. As
// text, each has the name of its model as a heading; as JSON, they are one array; as JSON lines, each
// goes from its start to its done object. It returns the first exit status that is not 0.
func Compare(s *session.Session, names []string, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o Options) int {
	queues := make([]*eventQueue, len(names))
	for i := range queues {
		queues[i] = newQueue()
	}
	var demuxing sync.WaitGroup
	if o.Theme == nil {
		o.Theme = theme.Plain()
	}
	var ending judging
	demuxing.Go(func() { ending = demux(turn, queues) })
	defer demuxing.Wait()
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
			continue // the first one has reported why no model was asked
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
	demuxing.Wait()
	if status != OK {
		ending.done.Err = nil // told of an answer
	} else if ending.done.Err != nil {
		status = ErrorStatus(ending.done.Err)
	}
	if err := put(o.ending(ending)); err != nil {
		return pipeStatus(err, o.Err)
	}
	if o.Format == "json" {
		if err := put("]\n"); err != nil {
			return pipeStatus(err, o.Err)
		}
	}
	return status
}

// RequestsNotice says how many requests several answers of a model take; "" if each answers once.
// Models holds each model as often as it answers.
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

// between returns the separator or heading before an answer. Begun says that another answer precedes
// it, asked that the model was asked at all.
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

// A judging holds the events after all answers.
type judging struct {
	verdict *session.Verdict // nil: there is none
	notices []llm.Notice     // why there is none, for example
	done    session.Done
}

// ending returns the text after all answers in the format of o, and writes the rest of it to Err.
func (o Options) ending(j judging) (text string) {
	before := map[string]string{"json": ","}[o.Format]
	stderr := stderrWriter{o: o}
	for _, n := range j.notices {
		if o.Format == "text" {
			stderr.event(n)
			continue
		}
		text += before + string(encode(noticeObject(n))) + "\n"
	}
	text += o.verdict(j.verdict)
	if o.Format == "text" {
		stderr.done(j.done)
	} else if j.done.Err != nil {
		text += before + string(encode(errorObject(j.done.Err))) + "\n"
	}
	return text
}

// verdict returns the judge's verdict in the format of o; "" if there is none.
func (o Options) verdict(v *session.Verdict) string {
	if v == nil {
		return ""
	}
	line := object{{"type", "verdict"}, {"judge", v.Judge}, {"reason", v.Reason}}
	if v.Winner >= 0 {
		line = append(line, field{"answer", v.Winner + 1}, field{"model", v.Model})
	}
	switch {
	case o.Format == "json":
		return "," + string(encode(line)) + "\n"
	case o.Format == "jsonl":
		return string(encode(line)) + "\n"
	case o.Code:
		return ""
	}
	return "\n" + sanitize.Text(app.VerdictText(*v, false)) + "\n"
}

// demux splits the events of a comparison into a turn for each model. It returns the events after
// them all.
func demux(turn iter.Seq[session.Event], queues []*eventQueue) (ending judging) {
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
			ending.verdict = &e
		default:
			if !slices.Contains(ended, false) {
				ending.add(e)
			}
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
	return ending
}

func (j *judging) add(e session.Event) {
	switch e := e.(type) {
	case llm.Notice:
		j.notices = append(j.notices, e)
	case session.Done:
		j.done = e
	}
}

// An eventQueue holds the events of one model until they are printed. It has no bound: an answer
// must not be held up because another one is printed first.
type eventQueue struct {
	mu     sync.Mutex
	news   *sync.Cond
	events []session.Event
	asked  bool // the model was asked
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

// started waits until the model was asked or the queue is closed, and reports which. It returns the
// events of the queue.
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
