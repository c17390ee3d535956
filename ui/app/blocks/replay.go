package blocks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// storedConversation gives access to a stored conversation.
type storedConversation interface {
	At(seq int) (session.Node, error)
	Head() int
	PathBack(seq, n int) []session.Node
	Summarized(seq int) int
	Annotations(path []session.Node) [][]session.Annotation
}

// Replay calls show with the changes that draw the messages path[from:to] and the events after each of them, the same
// changes as from Turn when they arrived live. From and to must be boundaries of turns, so that consecutive pages show
// the same as one replay of the whole. newID may be nil.
func Replay(s storedConversation, path []session.Node, from, to int, newID func() string, show func(Change)) {
	r := replay{Turn: NewTurn(newID), stored: s, show: show, abandoned: map[int]bool{}, summarized: -1}
	along := s.Annotations(path)
	r.model, _ = r.modelBefore(path, along, from)
	r.sent, r.before = lastSent(path[:from])
	r.branch(path, along, from, to)
	r.end()
}

// ReplayBack replays n or more messages, in whole turns, that end before the message next; for next 0, the last ones of
// the current branch. It returns the Seq of the first of them, where the previous page ends; 0 if there is none.
func ReplayBack(s storedConversation, next, n int, newID func() string, show func(Change)) (first int) {
	for back := 2 * n; ; back *= 2 { // reads messages before the page as well, to know which model answered there
		end, more := s.Head(), 0
		if next > 0 {
			end, more = next, 1
		}
		path := s.PathBack(end, back)
		whole, to := len(path) < back, len(path)-more
		from := max(to-n, 0)
		for from > 0 && !beginsTurn(path, from) {
			from--
		}
		if !whole {
			r := replay{stored: s}
			_, known := r.modelBefore(path, s.Annotations(path), from)
			sent := 0 // prompts: a footer needs the times of its own and of the one before
			for _, n := range path[:from+1] {
				if n.Role == llm.RoleUser && !n.Steers && !n.Summary {
					sent++
				}
			}
			if from == 0 || !known || sent < 2 {
				continue
			}
		}
		Replay(s, path, from, to, newID, show)
		if from == 0 {
			return 0
		}
		return path[from].Seq
	}
}

// ReplayAhead replays n or more messages, in whole turns, from the message first on, and returns the Seq of the message after
// them. Each message up to next must follow the one before it.
func ReplayAhead(s storedConversation, first, next, n int, newID func() string, show func(Change)) (after int) {
	for after = first + n; after < next; after++ {
		if path := s.PathBack(after, 2); beginsTurn(path, len(path)-1) {
			break
		}
	}
	after = min(after, next)
	ReplayBack(s, after, after-first, newID, show)
	return after
}

// lastSent returns when the last two prompts of path were sent; zero for none.
func lastSent(path []session.Node) (sent, before time.Time) {
	for _, n := range slices.Backward(path) {
		switch {
		case n.Role != llm.RoleUser || n.Steers || n.Summary || n.At.IsZero():
		case sent.IsZero():
			sent = n.At
		default:
			return sent, n.At
		}
	}
	return sent, before
}

// beginsTurn reports whether path[i] may begin a turn.
func beginsTurn(path []session.Node, i int) bool {
	return i <= 0 || i >= len(path) || path[i].Role == llm.RoleUser && !path[i].Steers && !(path[i].Summary && continues(path, i))
}

// continues reports whether path[i] may continue a turn: a summary after tool results does not end it.
func continues(path []session.Node, i int) bool { return i > 0 && path[i-1].Role == llm.RoleTool }

// replay feeds stored messages and events to a Turn as if they were live.
type replay struct {
	Turn
	stored storedConversation
	show   func(Change)
	now    time.Time // clock of the replay; only differences count

	model       string        // model that wrote the last answer or was switched to after it
	interrupted *session.Node // the last answer, if it broke off and nothing shown so far says why; else nil
	abandoned   map[int]bool  // Seqs of shown answers on other branches

	summarized int // number of messages replaced by the last summary; negative if not known yet
}

func (r *replay) apply(e session.Event, note int) {
	r.Apply(e, r.now)
	r.flush(note)
}

// flush shows the gathered changes. Note is the number of the annotation that caused them.
func (r *replay) flush(note int) {
	for _, c := range r.out.changes {
		c.Note = note
		r.show(c)
	}
	r.out.reset()
}

// branch replays path[from:to]. Events before the first message belong to the previous page, if there is one.
func (r *replay) branch(path []session.Node, along [][]session.Annotation, from, to int) {
	for i, n := range path[from:to] {
		i += from
		list := along[i]
		if i == from && from > 0 {
			list = nil
		}
		if n.Role == llm.RoleAssistant {
			r.answer(n, list, path[i+1:to])
			continue
		}
		r.annotations(list)
		switch {
		case n.Summary:
			if !continues(path, i) {
				r.end()
			}
			r.summary(path, i)
		case n.Role == llm.RoleUser:
			if !n.Steers {
				r.end()
			}
			r.apply(session.Prompt{Message: n.Message, Seq: n.Seq, At: n.At, Steers: n.Steers}, 0)
		default:
			r.results(n)
		}
	}
	r.annotations(along[to])
}

// summary shows the summary path[i] without the introduction that is meant for the model.
func (r *replay) summary(path []session.Node, i int) {
	n := path[i]
	text := n.Text()
	if _, rest, ok := strings.Cut(text, "\n\n"); ok {
		text = rest
	}
	r.out.seq, r.summarized = n.Seq, r.stored.Summarized(n.Seq)
	r.out.put(Change{Kind: SummaryBlock, Text: text, Whole: n.Text(), Count: r.summarized})
	r.flush(0)
}

// lastSummarized returns how many messages are replaced by the last summary of the branch that ends with the message
// seq; 0 if it has no summary.
func lastSummarized(s storedConversation, seq int) int {
	for back := 64; ; back *= 2 {
		path := s.PathBack(seq, back)
		for _, n := range slices.Backward(path) {
			if n.Summary {
				return s.Summarized(n.Seq)
			}
		}
		if len(path) < back {
			return 0
		}
	}
}

// annotations shows the events between messages.
func (r *replay) annotations(list []session.Annotation) {
	for _, a := range list {
		if a.Idle {
			r.end()
		}
		switch e := session.DecodeAnnotation(a).(type) {
		case session.Abandoned:
			if n, ok := r.abandonedAnswer(e, a); ok && !r.abandoned[n.Seq] {
				r.abandoned[n.Seq] = true
				path := []session.Node{n}
				r.branch(path, r.stored.Annotations(path), 0, 1)
				r.interrupted = nil
			}
		case session.Done:
			r.interrupted, r.response.calls = nil, calls{}
			r.apply(e, a.N)
		case session.Compacted:
			if r.summarized < 0 {
				r.summarized = lastSummarized(r.stored, a.After)
			}
			e.Messages = r.summarized // the annotation does not store it
			r.apply(e, a.N)
		default:
			if to := switchedTo(e); to != "" {
				r.model = to
			}
			r.apply(e, a.N)
		}
	}
}

// abandonedAnswer returns the answer of e, which broke off before the turn continued from its parent.
func (r *replay) abandonedAnswer(e session.Abandoned, a session.Annotation) (session.Node, bool) {
	n, err := r.stored.At(e.Seq)
	return n, err == nil && n.Interrupted && n.Parent == a.After
}

// switchedTo returns the model that answers after e; "" if e changes no model.
func switchedTo(e session.Event) string {
	switch e := e.(type) {
	case session.Fallback:
		return e.To
	case session.ModelSwitched:
		return e.To
	}
	return ""
}

// switchedDuring returns the model that was chosen while an answer of model arrived; "" if none was. List holds the
// events shown before that answer.
func switchedDuring(list []session.Annotation, model string) (to string) {
	for _, a := range list {
		e, ok := session.DecodeAnnotation(a).(session.ModelSwitched)
		if ok && !a.Idle && (to != "" || e.From == model) {
			to = e.To
		}
	}
	return to
}

// modelBefore returns the current model before path[i], as a replay of the whole path would have it, and whether there
// is one.
func (r *replay) modelBefore(path []session.Node, along [][]session.Annotation, i int) (string, bool) {
	if i == 0 {
		return "", false
	}
	for ; i >= 0; i-- {
		for _, a := range slices.Backward(along[i]) {
			e := session.DecodeAnnotation(a)
			if to := switchedTo(e); to != "" {
				return to, true
			}
			if left, ok := e.(session.Abandoned); ok {
				if n, ok := r.abandonedAnswer(left, a); ok {
					own := []session.Node{n}
					return r.modelBefore(own, r.stored.Annotations(own), 1)
				}
			}
		}
		if i > 0 && path[i-1].Role == llm.RoleAssistant {
			return cmp.Or(switchedDuring(along[i-1], path[i-1].Model), path[i-1].Model), true
		}
	}
	return "", false
}

// storedParts holds the parts of a stored answer; their block names are their indexes.
type storedParts []llm.Part

func (p storedParts) Part(block string) (llm.Part, bool) {
	i, err := strconv.Atoi(block)
	if err != nil || i < 0 || i >= len(p) {
		return llm.Part{}, false
	}
	return p[i], true
}

// answer shows an answer and, between its parts, the events that came during it. The last argument holds the messages
// after it.
func (r *replay) answer(n session.Node, list []session.Annotation, behind []session.Node) {
	r.out.seq = n.Seq
	next := switchedDuring(list, n.Model)
	seen := 0
	before := func() {
		for len(list) > 0 && list[0].Part <= seen {
			r.annotations(list[:1])
			if list[0].Kind == "dropped" {
				seen++
			}
			list = list[1:]
		}
	}
	before()
	if r.model != "" && n.Model != r.model && next == "" && n.Origin != llm.OriginImages { // no event recorded the switch
		r.out.put(Change{Event: session.ModelSwitched{From: r.model, To: n.Model}, Implied: true})
		r.flush(0)
	}
	r.apply(session.Step{Model: n.Model, Seq: n.Seq}, 0)
	r.response.parts = storedParts(n.Parts)
	thought := n.ThinkingDurations
	for i, p := range n.Parts {
		before()
		if p.Visible() {
			seen++
		}
		var took time.Duration
		if p.Kind == llm.Thinking && len(thought) > 0 {
			took, thought = thought[0], thought[1:]
		}
		if p.Kind != llm.Thinking || p.Text != "" || n.ThinkingDurations != nil { // otherwise it holds only state for the provider
			r.apply(llm.Delta{Block: strconv.Itoa(i), Part: p}, 0)
		}
		r.now = r.now.Add(took)
	}
	r.annotations(list)
	a := session.Response{Message: n.Message, Seq: n.Seq, Finish: llm.Finish{Reason: n.Reason}, Missed: n.Missed, TTFT: n.TTFT, Duration: n.Duration, At: n.At}
	if n.Usage != nil {
		a.Usage = *n.Usage
	}
	r.apply(a, 0)
	if n.Origin != llm.OriginImages {
		r.model = cmp.Or(next, n.Model)
	}
	if r.interrupted = nil; n.Interrupted {
		r.interrupted = &n
	}
	r.loseCalls(n, behind)
}

// loseCalls marks the calls of an answer that have no result: their outcome is unknown.
func (r *replay) loseCalls(n session.Node, behind []session.Node) {
	for _, call := range n.Calls() {
		b := r.response.calls.blocks[call.ID]
		if b == nil || b.tool.Status >= CallDone || len(behind) > 0 && behind[0].Role == llm.RoleTool &&
			slices.ContainsFunc(behind[0].Parts, func(p llm.Part) bool { return p.Kind == llm.Result && p.ID == call.ID }) {
			continue
		}
		b.setTool(nil, &r.out, func(tool *Tool) { tool.Status, tool.Output = CallLost, llm.NoResult })
		r.flush(0)
	}
}

// storedResult is a Result as read from the store.
type storedResult struct {
	session.Result
	denied, lost bool
}

func (r *replay) results(n session.Node) {
	for i, p := range n.Parts {
		if p.Kind != llm.Result || r.response.calls.blocks[p.ID] == nil {
			continue
		}
		media := n.Parts[i+1:]
		if end := slices.IndexFunc(media, func(m llm.Part) bool { return m.Kind != llm.Media || m.ID != p.ID }); end >= 0 {
			media = media[:end]
		}
		o := n.Results[p.ID]
		r.apply(storedResult{session.Result{Part: p, Media: media, Input: o.Input, Diff: o.Diff, Duration: o.Duration, Stopped: o.Stopped, By: o.By}, o.Denied, o.Started}, 0)
	}
}

// end ends a turn with its footer.
func (r *replay) end() {
	r.endCountdown(&r.out)
	if r.interrupted != nil { // comparisons show the reason elsewhere; a killed program left none
		r.out.put(Change{Kind: InterruptedBlock, Text: r.interrupted.InterruptedBy})
	}
	r.addFooter(r.interrupted != nil)
	r.interrupted, r.response.calls = nil, calls{}
	r.flush(0)
}
