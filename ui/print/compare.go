package print

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// compare writes the answers of several models to the writers of o, in the order of their names, each as run does:
// the first as it arrives, the others from the events received meanwhile. As text, each answer has the name of its
// model as a heading. As JSON, they form one array. As JSON lines, each goes from its start to its done object. It
// returns the first exit status that is not 0.
func compare(s *session.Session, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o cmdutil.PrintOptions) int {
	queues := make([]*eventQueue, len(o.Compared))
	for i := range queues {
		queues[i] = newQueue()
	}
	var demuxing sync.WaitGroup
	var ending judging
	demuxing.Go(func() { ending = demux(turn, queues) })
	defer demuxing.Wait()
	status, begun := exit.OK, false
	put := func(text string) error {
		_, err := io.WriteString(o.Out, text)
		if err != nil {
			cancel(fmt.Errorf("%w: %w", wording.ErrPipe, err))
		}
		return err
	}
	for i, name := range o.Compared {
		events, ok := queues[i].started()
		if !ok && i > 0 {
			continue // the first turn has reported why no model was asked
		}
		o.Model = name
		if o.Answers > 1 {
			o.Answer = i%o.Answers + 1
		}
		if err := put(between(o, begun, ok)); err != nil {
			return pipeStatus(err, o.Err)
		}
		begun = true
		got := run(s, events, cancel, o)
		if status == exit.OK {
			status = got
		}
	}
	demuxing.Wait()
	if status != exit.OK {
		ending.done.Err = nil // already reported with an answer
	} else if ending.done.Err != nil {
		status = exit.Of(ending.done.Err)
	}
	if err := put(end(o, ending)); err != nil {
		return pipeStatus(err, o.Err)
	}
	if o.Format == "json" {
		if err := put("]\n"); err != nil {
			return pipeStatus(err, o.Err)
		}
	}
	return status
}

// between returns the separator or heading before an answer. begun reports that another answer
// precedes it, asked that the model was asked at all.
func between(o cmdutil.PrintOptions, begun, asked bool) string {
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
	verdict *session.Verdict // nil for none
	notices []llm.Notice     // such as the reason why there is none
	done    session.Done
}

// end returns the text after all answers in the format of o. In the text format, it writes
// notices and the end of the turn to Err.
func end(o cmdutil.PrintOptions, j judging) (text string) {
	before := map[string]string{"json": ","}[o.Format]
	stderr := stderrWriter{o: o}
	for _, n := range j.notices {
		if o.Format == "text" {
			stderr.event(n)
			continue
		}
		text += before + jsonLine(noticeObject(n))
	}
	text += verdict(o, j.verdict)
	if o.Format == "text" {
		stderr.done(j.done)
	} else if j.done.Err != nil {
		text += before + jsonLine(o.ErrorObject(j.done.Err))
	}
	return text
}

// jsonLine returns o as a line of JSON.
func jsonLine(o cmdutil.Object) string {
	var b strings.Builder
	_ = o.Write(&b)
	return b.String()
}

// verdict returns the judge's verdict in the format of o; "" if there is none.
func verdict(o cmdutil.PrintOptions, v *session.Verdict) string {
	if v == nil {
		return ""
	}
	about := cmdutil.Object{"type", "verdict", "judge", v.Judge, "reason", v.Reason}
	if v.Winner >= 0 {
		about = append(about, "answer", v.Winner+1, "model", v.Model)
	}
	switch {
	case o.Format == "json":
		return "," + jsonLine(about)
	case o.Format == "jsonl":
		return jsonLine(about)
	case o.Code:
		return ""
	}
	return "\n" + sanitize.Text(wording.Verdict(*v, false)) + "\n"
}

// demux splits the events of a comparison into a turn for each model. It returns the events after
// all answers.
func demux(turn iter.Seq[session.Event], queues []*eventQueue) (ending judging) {
	ended, done := make([]bool, len(queues)), make([]session.Done, len(queues))
	for e := range turn {
		switch e := e.(type) {
		case session.CandidateEvent:
			queues[e.N].put(e.Event, true)
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
				queues[e.N].put(done[e.N], true)
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
					q.put(e, false)
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

// An eventQueue holds the events of one model until they are printed. It is unbounded, because
// an answer must not be delayed while another one is printed.
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

// put adds an event. With asked it is the model's own.
func (q *eventQueue) put(e session.Event, asked bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.events, q.asked = append(q.events, e), q.asked || asked
		q.news.Signal()
	}
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
