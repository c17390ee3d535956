package plain

import (
	"context"
	"io"
	"strings"
	"syscall"
	"time"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/format"
	"parley/ui/plain/console"
)

// quitWithin is the maximum time between two ctrl+c that quit.
const quitWithin = 2 * time.Second

// A frontend connects a user with a session. The goroutine of run owns it and its parts. Other
// goroutines reach it through the runner.
type frontend struct {
	*deps
	input        *input
	editor       *editor
	questions    *questions
	lists        *lists
	transcript   *transcript
	drafts       *drafts
	turns        *turns
	sender       *sender
	shells       *shells
	panels       *panels
	conversation *conversation

	quitRequested time.Time     // time of the first ctrl+c
	preparing     int           // running calls of Effect.Prepare, which the next message waits for
	pendingPrompt []llm.Part    // prompt of the command line, waiting for preparing
	ended         *console.Line // end of input, waiting for preparing; nil for none

	asides    int             // side questions without an answer
	asideCtx  context.Context // of those that were not stopped
	endAsides context.CancelFunc
}

func newFrontend(o app.Options, out io.Writer) *frontend {
	d := newDeps(o, out)
	p := &frontend{deps: d, input: &input{lines: make(chan console.Line)}, transcript: &transcript{deps: d}}
	d.apply = p.apply
	p.editor = &editor{deps: d, input: p.input}
	p.questions = &questions{deps: d, input: p.input}
	p.lists = &lists{deps: d, input: p.input, questions: p.questions, command: p.command}
	p.drafts = &drafts{deps: d, editor: p.editor}
	asking := &approvals{deps: d, questions: p.questions, editor: p.editor}
	p.turns = &turns{deps: d, transcript: p.transcript, questions: p.questions, approvals: asking, drafts: p.drafts}
	p.sender = &sender{deps: d, transcript: p.transcript, drafts: p.drafts, turns: p.turns, questions: p.questions}
	p.drafts.send = func(text string) { p.sender.send(text, false) }
	p.shells = &shells{deps: d, transcript: p.transcript, drafts: p.drafts, running: map[int]context.CancelFunc{}}
	p.panels = &panels{deps: d, lists: p.lists, questions: p.questions}
	p.conversation = &conversation{deps: d, transcript: p.transcript, drafts: p.drafts, turns: p.turns}
	d.app.FrontEnd.Busy = func() bool { return p.turns.current != nil }
	d.app.FrontEnd.BeforeSwitch = func() {
		_ = p.drafts.store()
		if p.asides > 0 {
			p.endAsides()
		}
	}
	return p
}

// run handles lines, events and deadlines until the user leaves.
func (p *frontend) run() {
	p.start()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !p.isOver {
		p.settle()
		timer.Reset(p.pause())
		select {
		case l := <-p.input.lines:
			p.line(l)
		case f := <-p.events:
			f()
		case <-p.mail.signal:
			p.mail.runPosted()
		case <-timer.C:
			p.tick()
		}
	}
}

// pause returns the time until the next deadline.
func (p *frontend) pause() time.Duration {
	next := p.now().Add(time.Hour)
	for _, due := range p.deadlines() {
		if !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return max(next.Sub(p.now()), time.Millisecond)
}

// deadlines returns the times when tick has work; zero means never.
func (p *frontend) deadlines() []time.Time {
	return []time.Time{p.inputDue(), p.turns.due(), p.questions.due()}
}

// inputDue returns when the typed lines become a message; zero if there are none, or preparing is
// not done.
func (p *frontend) inputDue() time.Time {
	if p.preparing > 0 {
		return time.Time{}
	}
	return p.input.due()
}

// tick does the work that is due.
func (p *frontend) tick() {
	now := p.now()
	if due := p.inputDue(); !due.IsZero() && !now.Before(due) {
		p.message(p.input.takeLines())
	}
	p.questions.tick(now)
	p.turns.tick(now)
}

// settle asks a waiting question, or shows the prompt if nothing is running.
func (p *frontend) settle() {
	switch {
	case p.isOver, len(p.input.pending) > 0, p.questions.settle():
	case !p.app.FrontEnd.Busy() && p.pending == 0 && !p.out.Prompted():
		p.out.Ask(p.input.prompt())
	}
}

// line handles a line from the terminal.
func (p *frontend) line(l console.Line) {
	p.out.Entered()
	p.quitRequested = time.Time{}
	if !l.EOF {
		p.input.pending = append(p.input.pending, l)
		return
	}
	if p.preparing > 0 {
		p.ended = &l
		return
	}
	if lines := p.input.takeLines(); len(lines) > 0 {
		p.message(lines)
	}
	p.out.Echoed() // ctrl+d does not end the line on the screen
	p.endOfInput()
}

// message handles lines that were typed or pasted together.
func (p *frontend) message(lines []console.Line) {
	if p.isOver {
		return
	}
	text, cut := p.input.join(lines)
	if p.questions.answer(lines, text) {
		return
	}
	if cut {
		p.drafts.add(p.input.finish(text))
		p.writeLine("Not sent: the terminal takes lines of at most %d bytes, so the end may be missing. /edit opens the text in your editor.", console.LongestLine)
		return
	}
	if p.input.continues(text) {
		return
	}
	text = p.input.finish(text)
	if len(lines) > 1 {
		p.writeLine("Read as one message of %s.", format.Plural(strings.Count(text, "\n")+1, "line"))
	}
	p.enter(text)
}

// enter runs a command or sends a message. Several lines are never a command. Neither is a line
// that may have been pasted, because somebody else may have written it; if it names a command, it
// is held back.
func (p *frontend) enter(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	switch l, _ := p.classify(text); {
	case strings.Contains(text, "\n") && classify.AllowsMultiline(text, p.app.Commands):
		p.drafts.add(text)
		p.writeLine("Not run yet: it is a command of several lines. /send runs it.")
	case l.Kind == classify.Prompt, strings.Contains(text, "\n"):
		p.sender.send(text, p.input.pasted)
	case p.input.maybePasted && strings.TrimSpace(text) == "/stop": // harmless and urgent
		p.command(text)
	case p.input.maybePasted && l.Kind == classify.Command:
		p.holdBack(text)
	case p.input.maybePasted:
		p.writeLine("Read as a message: a line that follows this fast is not a command.")
		p.sender.send(text, true)
	case l.Kind == classify.Shell:
		p.shells.run(l.Arg)
	default:
		p.command(text)
	}
}

// queue sends text after the running answer.
func (p *frontend) queue(text string) {
	if strings.TrimSpace(text) == "" {
		p.writeLine("Nothing to queue: write a message after /queue.")
		return
	}
	p.sender.sendMessage(text, false, true)
}

// unqueue moves queued messages to the draft.
func (p *frontend) unqueue() {
	if !p.drafts.unqueue() {
		p.writeLine("Nothing is queued.")
	}
}

// endOfInput ends the front end after ctrl+d on an empty line, or when the terminal is gone.
func (p *frontend) endOfInput() {
	if keys := p.input.keys; keys != nil && keys.Gone() {
		p.status = 128 + int(syscall.SIGHUP)
		p.cancel(errHangup)
	}
	p.quit()
}

func (p *frontend) quit() {
	if len(p.input.continued) > 0 {
		p.drafts.add(strings.Join(p.input.continued, "\n"))
	}
	p.isOver = true
	if jobs := p.app.Machine.EndingJobs(); jobs != "" {
		p.writeLine("Ending %s", strings.ReplaceAll(jobs, "\n", ""))
	}
	if p.app.FrontEnd.Busy() {
		p.writeLine("Stopping.")
	} else {
		p.writeLine("Goodbye.")
	}
}

// interrupt handles ctrl+c: it leaves a question, else stops the turn, else side questions, else the
// user's commands, else asks for a second ctrl+c to quit. The terminal has discarded the line.
func (p *frontend) interrupt() {
	p.out.Echoed()
	p.input.pending, p.input.continued = nil, nil
	switch {
	case p.questions.leave(), p.turns.interrupt(), p.stopAsides(), p.shells.interrupt():
	case p.now().Sub(p.quitRequested) < quitWithin:
		p.status = 128 + int(syscall.SIGINT)
		p.quit()
	default:
		p.quitRequested = p.now()
		p.writeLine("Press ctrl+c again to quit.")
	}
}
