package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
)

// A Template is a prompt that includes the output of commands.
type Template struct {
	Commands []string                          // run first, in order, each subject to the policy
	Project  string                            // file of the project that defines them: each needs approval, whatever is allowed; "": the user's own
	Parts    func(outputs []string) []llm.Part // returns the parts to send
	Settings TurnSettings
	Draft    Unsent // given back to the user if nothing is sent; zero: nothing
}

// ErrNotAllowed ends a turn whose prompt has a command that was not allowed. Nothing was sent.
var ErrNotAllowed = errors.New("not sent: a command of the prompt was not allowed")

// TurnFromTemplate runs the commands of a template and sends the resulting prompt, as Turn does. If
// a command is not allowed, or cannot run, the turn ends and nothing is sent.
func (s *Session) TurnFromTemplate(ctx context.Context, from Template) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		defer func() { _ = useSettings(t, TurnSettings{}) }()
		outputs, err := runCommands(t, from)
		if err == nil {
			err = useSettings(t, from.Settings)
		}
		if err != nil {
			t.given = givenPrompt{turn: t, Unsent: from.Draft}
			t.given.giveBackBlocked()
			return err
		}
		return t.run(from.Parts(outputs))
	})
}

// origin marks a as an action of the prompt.
func (from Template) origin(a *act.Action) *act.Action {
	own := *a
	own.OfPrompt = true
	if from.Project != "" {
		return act.FromProject(&own, from.Project)
	}
	return &own
}

// runCommands runs the commands of a prompt through the shell tool, and returns their
// output. They are not tool calls of a model; the conversation keeps only a record of them.
func runCommands(t *turn, from Template) (outputs []string, err error) {
	for _, command := range from.Commands {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return nil, err
		}
		call := &pendingCall{part: llm.Part{Kind: llm.Call, ID: "prompt_" + rand.Text(), Name: "shell", Input: string(input)}, origin: from.origin}
		b := &callBatch{turn: t, calls: []*pendingCall{call}}
		if !b.plan(call, call.part.Input) {
			return nil, fmt.Errorf("the prompt runs %q: %w", command, call.err)
		}
		t.emit(Call{call.part})
		if !b.decide(call) {
			return nil, cmp.Or(context.Cause(t.ctx), fmt.Errorf("%w: %s", ErrNotAllowed, command))
		}
		if call.action.Command != "" {
			command = call.action.Command // the user may have edited it
		}
		call.notice = ""
		record := t.Annotate(0, ShellCommand{Command: command})
		b.execute(b.calls)
		ended := EndedCommand(t.ctx, command, call.outcome)
		ended.Output, ended.Stopped = strings.TrimPrefix(ended.Output, stoppedCallText), call.stopped
		t.Annotate(record, ended)
		if t.ctx.Err() != nil {
			return nil, context.Cause(t.ctx)
		}
		outputs = append(outputs, withoutSuccess(call.outcome))
	}
	return outputs, nil
}

// withoutSuccess returns the text of a command's outcome for the model, without the note of
// success.
func withoutSuccess(out act.Outcome) string {
	notes := strings.Split(out.Notes, "\n")
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "[exit status 0]" })
	return strings.TrimSuffix(strings.TrimSuffix(out.Text, out.Notes)+strings.Join(notes, "\n"), "\n")
}

// A promptQueue holds user messages until the running turn can take them. Steering messages
// go along with the next tool results and come first; the others wait until the turn has
// nothing more to do. The zero value is empty.
type promptQueue struct {
	lock   sync.Mutex
	queued []llm.Message
	steers int         // number of steering messages at the front
	taken  *queuePlace // place of the message last taken by Edit; nil: none, or the queue was emptied
}

// A queuePlace is the former place of a message.
type queuePlace struct {
	ahead  int // how many messages before it are still queued
	steers bool
}

// Add queues a user message until the current answer is complete.
func (q *promptQueue) Add(parts ...llm.Part) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.queued = append(q.queued, llm.Message{Role: llm.RoleUser, Parts: parts})
}

// Steer queues a user message to go along with the next tool results; without any, it is
// sent after the answer.
func (q *promptQueue) Steer(parts ...llm.Part) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.taken != nil && !q.taken.steers {
		q.taken.ahead++
	}
	q.queued = slices.Insert(q.queued, q.steers, llm.Message{Role: llm.RoleUser, Parts: parts})
	q.steers++
}

// Requeue puts a user message back where Edit took the last one, and reports whether it
// steers; ok is false if the place is gone.
func (q *promptQueue) Requeue(parts ...llm.Part) (steers, ok bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	place := q.taken
	if place == nil {
		return false, false
	}
	q.taken = nil
	q.queued = slices.Insert(q.queued, place.ahead, llm.Message{Role: llm.RoleUser, Parts: parts})
	if place.steers {
		q.steers++
	}
	return place.steers, true
}

// All returns the queued messages, next one first, and how many of the first ones steer.
func (q *promptQueue) All() (waiting []llm.Message, steer int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	return slices.Clone(q.queued), q.steers
}

// Len returns how many messages wait.
func (q *promptQueue) Len() int {
	q.lock.Lock()
	defer q.lock.Unlock()
	return len(q.queued)
}

// TakeAt removes and returns the nth queued message, from 0; false if its text differs from
// text.
func (q *promptQueue) TakeAt(n int, text string) (llm.Message, bool) {
	return q.take(n, text, false)
}

// Edit is TakeAt for a message to be put back by Requeue.
func (q *promptQueue) Edit(n int, text string) (llm.Message, bool) {
	return q.take(n, text, true)
}

func (q *promptQueue) take(n int, text string, comesBack bool) (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if n < 0 || n >= len(q.queued) || q.queued[n].Text() != text {
		return llm.Message{}, false
	}
	if comesBack {
		q.taken = &queuePlace{n, n < q.steers}
	}
	return q.remove(n), true
}

// TakeAll removes and returns every waiting message.
func (q *promptQueue) TakeAll() []llm.Message {
	waiting, _ := q.drain()
	return waiting
}

// drain removes and returns the queued messages, and how many of the first ones steer.
func (q *promptQueue) drain() (waiting []llm.Message, steer int) {
	q.lock.Lock()
	defer q.lock.Unlock()
	waiting, steer = q.queued, q.steers
	q.queued, q.steers, q.taken = nil, 0, nil
	return waiting, steer
}

// Take removes and returns the first waiting message, to begin a turn with; false if none waits.
// Those after it stay queued: some may steer that turn.
func (q *promptQueue) Take() (llm.Message, bool) { return q.next(false) }

// MoveTo moves the waiting messages to another session, those that steer first.
func (q *promptQueue) MoveTo(to *Session) {
	waiting, steer := q.drain()
	for i, m := range waiting {
		if i < steer {
			to.Queue.Steer(m.Parts...)
		} else {
			to.Queue.Add(m.Parts...)
		}
	}
}

// next removes and returns the next message, or the next that steers; false if none waits.
func (q *promptQueue) next(steers bool) (llm.Message, bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if len(q.queued) == 0 || steers && q.steers == 0 {
		return llm.Message{}, false
	}
	return q.remove(0), true
}

func (q *promptQueue) remove(n int) llm.Message {
	m := q.queued[n]
	q.queued = slices.Delete(q.queued, n, n+1)
	if n < q.steers {
		q.steers--
	}
	if q.taken != nil && n < q.taken.ahead {
		q.taken.ahead--
	}
	return m
}

// A skill in a conversation is the result of the tool that loads it, or a part with this name
// prefix from a user or a summary.
const (
	skillPrefix = "skill "
	skillMark   = "<skill name="

	maxSkills = 32 << 10 // bytes of skills kept with a summary
)

// SkillPart returns the text of a skill as a part of a prompt. Name is that of the skill.
func SkillPart(name, text string) llm.Part {
	return llm.Part{Kind: llm.Text, Name: skillPrefix + name, Text: text}
}

// skillsOf returns the skills on path to keep after a summary: the most recently loaded ones,
// within maxSkills.
func skillsOf(path []store.Node) (kept []llm.Part) {
	room := maxSkills
	for i := len(path) - 1; i >= 0; i-- {
		for _, p := range path[i].Parts {
			mark, _, _ := strings.Cut(p.Text, ">")
			again := func(k llm.Part) bool { return strings.HasPrefix(k.Text, mark) }
			if !isSkill(p) || len(p.Text) > room || slices.ContainsFunc(kept, again) {
				continue
			}
			room -= len(p.Text)
			name, _, _ := strings.Cut(strings.TrimPrefix(p.Text, skillMark+`"`), `"`)
			kept = append(kept, SkillPart(name, p.Text))
		}
	}
	return kept
}

// isSkill reports whether parley added a part as a skill's text, as opposed to text that only claims to be one.
func isSkill(p llm.Part) bool {
	own := p.Kind == llm.Result && p.Name == act.SkillName && !p.Failed || p.Kind == llm.Text && strings.HasPrefix(p.Name, skillPrefix)
	return own && strings.HasPrefix(p.Text, skillMark)
}

// HasSkill reports whether the next request includes a skill's text. Mark is the beginning
// of that text; see skills.Skill.Mark.
func (s *Session) HasSkill(mark string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var prompt []llm.Part
	if s.turnSeq == 0 { // the next request begins a turn
		prompt = llm.UserText(".").Parts
	}
	req, _ := s.Next.compile(s.Next.answering(), prompt)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if isSkill(p) && strings.HasPrefix(p.Text, mark) {
				return true
			}
		}
	}
	return false
}
