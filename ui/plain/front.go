package plain

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"parley/ui/app"
	"parley/ui/format"
)

const (
	// together is how soon behind one another lines come that are one message: as
	// fast as that they are pasted.
	together = 60 * time.Millisecond
	// alone is how long nothing may have come before a line that is a command: what is
	// pasted in pieces commands nothing.
	alone = time.Second
	// quitWithin is how soon behind the first ctrl+c the second one has to come.
	quitWithin = 2 * time.Second
)

// A front is the conversation of a user with a session. One goroutine, that of
// run, owns it; what others have to say they post.
type front struct {
	app  *app.App
	out  *speaker
	keys *keyboard // nil in tests
	now  func() time.Time

	ctx     context.Context // canceled at the end
	cancel  context.CancelCauseFunc
	gone    chan struct{} // closed at the end: nobody listens any more
	typed   chan typed
	events  chan func() // of the turn, which waits for the terminal
	mail    mailbox     // of all others
	running sync.WaitGroup

	over      bool
	status    int
	prompted  bool      // the prompt stands on the last line
	pending   int       // what will be said soon: there is no prompt before
	quitAsked time.Time // by a first ctrl+c
	typing    typing

	turn      *turn // nil: idle
	failed    bool  // the last turn can be tried again
	questions []*question
	asked     bool // the first of the questions was asked
	draft     draft
	shells    shells
	unsaved   error       // why what is said is not on disk
	output    *result     // of the last tool
	again     bool        // the failed turn is tried again once the conversation is summarized
	away      atomic.Bool // an editor has the terminal
}

// draft is what was written and not sent.
type draft struct {
	text string
	key  string // under which it was stored; "" if it was not
}

// shells are the commands of the user's own that run, by number.
type shells struct {
	running map[int]context.CancelFunc
	count   int // of all there were
}

func newFront(o app.Options, out io.Writer) *front {
	a := app.New(o)
	p := &front{
		app: a, out: &speaker{w: out, width: widthOf(out)}, now: a.Now,
		gone: make(chan struct{}), typed: make(chan typed), events: make(chan func()), mail: newMailbox(),
		shells: shells{running: map[int]context.CancelFunc{}},
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	a.Busy, a.Failed = func() bool { return p.turn != nil }, func() bool { return p.failed }
	a.Leaving, a.Clipboard = func() { _ = p.keepDraft() }, a.Board(nil)
	return p
}

// widthOf tells how wide the terminal is that out is; 0 if it is none.
func widthOf(out io.Writer) func() int {
	return func() int {
		f, ok := out.(*os.File)
		if !ok {
			return 0
		}
		width, _, _ := term.GetSize(f.Fd())
		return width
	}
}

// run is the front's own goroutine.
func (p *front) run() {
	p.start()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !p.over {
		p.settle()
		timer.Reset(p.pause())
		select {
		case t := <-p.typed:
			p.line(t)
		case f := <-p.events:
			f()
		case <-p.mail.news:
			p.mail.deliver()
		case <-timer.C:
			p.tick()
		}
	}
}

// pause is how long there is nothing to do by itself.
func (p *front) pause() time.Duration {
	next := p.now().Add(time.Hour)
	for _, due := range p.dues() {
		if !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return max(next.Sub(p.now()), time.Millisecond)
}

func (p *front) dues() []time.Time {
	var dues []time.Time
	dues = append(dues, p.typing.due())
	if p.turn != nil {
		dues = append(dues, p.turn.due())
	}
	if q := p.question(); q != nil && p.asked && !q.settled {
		dues = append(dues, q.opened.Add(settle))
	}
	return dues
}

// tick does what is due by now.
func (p *front) tick() {
	now := p.now()
	if due := p.typing.due(); !due.IsZero() && !now.Before(due) {
		p.message(p.typing.take())
	}
	if q := p.question(); q != nil && p.asked && !q.settled && !now.Before(q.opened.Add(settle)) {
		q.settled = true
		p.forget() // a line that was begun before the question could be heard
	}
	if p.turn != nil {
		p.tickTurn(now)
	}
}

// settle asks what is to be asked, or shows the prompt when nothing goes on.
func (p *front) settle() {
	switch q := p.question(); {
	case p.over, len(p.typing.held) > 0:
	case q != nil && !p.asked:
		p.ask(q)
	case q != nil && !p.prompted:
		p.out.ask(q.prompt + " ")
		p.prompted = true
	case q == nil && p.turn == nil && p.pending == 0 && !p.prompted:
		prompt := "You: "
		if len(p.typing.begun) > 0 {
			prompt = "More: "
		}
		p.out.ask(prompt)
		p.prompted = true
	}
}

// say writes a line of parley's own.
func (p *front) say(format string, args ...any) {
	p.hush()
	p.out.say(format, args...)
}

// fail says what went wrong.
func (p *front) fail(err error) { p.say("Error: %s", sentence(oneLine(err.Error()))) }

// block writes lines.
func (p *front) block(text string) {
	p.hush()
	p.out.block(text)
}

// soon has f work beside the front, and done by the front once it has. There is no
// prompt before.
func (p *front) soon(f func() (done func())) {
	p.pending++
	p.running.Go(func() {
		done := func() {}
		defer func() {
			p.mail.post(func() {
				p.pending--
				done()
			})
		}()
		p.guard(func() { done = f() })
	})
}

// hush notes that something else than the prompt is on the last line.
func (p *front) hush() { p.prompted = false }

// line takes a line of the terminal's.
func (p *front) line(t typed) {
	p.out.entered()
	p.prompted = false
	p.quitAsked = time.Time{}
	if !t.eof {
		p.typing.held = append(p.typing.held, t)
		return
	}
	if held := p.typing.take(); len(held) > 0 {
		p.message(held)
	}
	p.out.open = true // no enter has ended the line
	p.endOfInput()
}

// message takes what was typed or pasted at once.
func (p *front) message(lines []typed) {
	if p.over {
		return
	}
	var texts []string
	cut := false
	for _, l := range lines {
		texts = append(texts, l.text)
		cut = cut || l.cut
	}
	text := strings.Join(texts, "\n")
	p.typing.hasty = !p.typing.came.IsZero() && lines[0].at.Sub(p.typing.came) < alone
	p.typing.came = lines[len(lines)-1].at
	if q := p.question(); q != nil && p.asked && p.answer(q, lines, text) {
		return
	}
	if cut {
		p.addDraft(strings.Join(append(p.typing.begun, text), "\n"))
		p.typing.begun = nil
		p.say("Not sent: a line of %d bytes is all that the terminal takes, and its end may be lost. /edit opens what there is in your editor.", longestLine)
		return
	}
	if begun, more := strings.CutSuffix(text, `\`); more {
		p.typing.begun = append(p.typing.begun, begun)
		return
	}
	text, p.typing.begun = strings.Join(append(p.typing.begun, text), "\n"), nil
	if len(lines) > 1 {
		p.say("Taken as one message of %s.", format.Plural(strings.Count(text, "\n")+1, "line"))
	}
	p.enter(text)
}

// enter carries out a command, or sends a message. One of several lines is never a
// command, and what came hastily is none: somebody else may have written it, and
// the user pasted it.
func (p *front) enter(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if !commanding(text) {
		p.send(text)
		return
	}
	if p.typing.hasty {
		p.say("Taken as a message: as soon as that behind another line, no line is a command.")
		p.send(text)
		return
	}
	if command, isShell := strings.CutPrefix(text, "!"); isShell {
		p.runShell(strings.TrimSpace(command))
		return
	}
	p.command(text)
}

// endOfInput is ctrl+d on an empty line, or that the terminal is gone.
func (p *front) endOfInput() {
	if p.keys != nil && !isTerminal(p.keys.in) {
		p.status = 128 + int(syscall.SIGHUP)
		p.cancel(errHangup)
	}
	p.quit()
}

func (p *front) quit() {
	if len(p.typing.begun) > 0 {
		p.addDraft(strings.Join(p.typing.begun, "\n"))
	}
	p.over = true
	if p.turn != nil {
		p.say("Stopping.")
	} else {
		p.say("Goodbye.")
	}
}

// interrupt is ctrl+c: it leaves a question, else stops the reply, else what runs
// beside, else asks whether to quit. The terminal has thrown away what was typed.
func (p *front) interrupt() {
	p.hush()
	p.out.open = true // the terminal's echo of it stands there
	p.typing.held, p.typing.begun = nil, nil
	switch q := p.question(); {
	case q != nil && q.call == "" && q.leave != nil:
		p.close()
		q.leave()
		return
	case p.turn != nil && !p.turn.stopped:
		p.stop()
		return
	case len(p.shells.running) > 0:
		for _, cancel := range p.shells.running {
			cancel()
		}
		p.say("Stopping the command.")
		return
	case p.now().Sub(p.quitAsked) < quitWithin:
		p.status = 128 + int(syscall.SIGINT)
		p.quit()
		return
	}
	p.quitAsked = p.now()
	p.say("Press ctrl+c again to quit.")
}

// watch hears signals until stop. One that ends programs calls everything off at
// once; if the front does not end by itself then, because its terminal takes
// nothing more, the program ends all the same.
func (p *front) watch() (stop func()) {
	const patience = 2500 * time.Millisecond
	ch, over := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(ch, os.Interrupt)
	for _, s := range endings {
		if !signal.Ignored(s) { // as nohup does
			signal.Notify(ch, s)
		}
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		var end <-chan time.Time
		status := 0
		for {
			select {
			case <-over:
				return
			case <-end:
				os.Exit(status)
			case s := <-ch:
				if s == os.Interrupt {
					if !p.away.Load() {
						p.mail.post(p.interrupt)
					}
					continue
				}
				if n, ok := s.(syscall.Signal); ok {
					status = 128 + int(n)
				}
				p.cancel(context.Canceled)
				p.mail.post(func() { p.status, p.over = status, true })
				end = time.After(patience)
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(over)
		watching.Wait()
	}
}
