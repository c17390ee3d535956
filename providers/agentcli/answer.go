package agentcli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"parley/providers/llm"
)

// An answer is what a run of the program says, on its way to the consumer.
// Decoders write to it.
type answer struct {
	out    *llm.Out
	run    *run
	flavor flavor

	shown bool // something of the answer was
	heard bool // at least one line was an event

	// What the line says that ends an answer.
	done   bool
	finish llm.Finish
	fault  *llm.Error // why there is no answer; also from lines before the last
	next   state      // where to go on; no session if there is none

	plain []byte // lines that are no events, as long as none was
	head  string // the first that the program said on stderr
}

// plainLimit is how much plain text an answer may hold, in bytes.
const plainLimit = 4 << 20

// take is one line of stdout.
func (a *answer) take(d decoder, line []byte) {
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(line, &event) == nil && event.Type != "" {
		a.heard = true
		d.line(line)
		return
	}
	if !a.heard && len(a.plain)+len(line) < plainLimit {
		a.plain = append(append(a.plain, line...), '\n')
	}
}

// delta shows a piece of the answer.
func (a *answer) delta(block string, p llm.Part) {
	a.shown = true
	a.out.Send(llm.Delta{Block: block, Part: p})
}

func (a *answer) notice(format string, args ...any) {
	a.out.Send(llm.Notice{Text: a.flavor.program + ": " + oneLine(fmt.Sprintf(format, args...), noticeLimit)})
}

// noticeLimit is how long a notice may be, in bytes.
const noticeLimit = 400

// run starts the program and hands on what it says, until the answer is
// complete. When it returns, the program has ended.
func (m *Model) run(ctx context.Context, program string, a *answer) error {
	if m.o.Replay != nil {
		return m.again(a)
	}
	p, err := start(program, a.run, m.flavor.polite, m.o.Grace)
	if err != nil {
		return &llm.Error{Fault: llm.Unknown, Message: fmt.Sprintf("cannot start %s: %v", program, err), Err: err}
	}
	p.tapped = m.tapped(a.run)
	err = m.converse(ctx, p, a)
	code, _ := p.status()
	p.tapped.End(code, p.said.text(), err)
	return err
}

// converse is run with a program that was started. When it returns, the program
// has ended.
func (m *Model) converse(ctx context.Context, p *process, a *answer) error {
	err := m.follow(ctx, p, a)
	if err != nil || a.out.Stopped() && !a.done {
		p.end(0)
		a.head = p.said.beginning()
		return err
	}
	ended := p.end(m.o.Grace)
	a.head = p.said.beginning()
	code, signal := p.status()
	return m.judge(a, end{code, signal, p.said.text(), ended})
}

// judge is what an answer has come to whose program ended so.
func (m *Model) judge(a *answer, e end) error {
	if !a.done {
		return m.verdict(a, e)
	}
	if a.fault != nil {
		return a.fault
	}
	m.release(a.next)
	return nil
}

// follow reads until the last line of the answer, or the end of the output. It
// returns an error if it gave up.
func (m *Model) follow(ctx context.Context, p *process, a *answer) error {
	d := m.flavor.decoder(a)
	pulse := llm.PulseOf(ctx)
	beats, content := pulse.Beats(), time.Now() // the last content, and when it came
	silence := time.NewTimer(m.o.Idle)
	defer silence.Stop()
	for !a.done && !a.out.Stopped() {
		if now := pulse.Beats(); now != beats {
			beats, content = now, time.Now()
		}
		last := time.Now()
		silence.Reset(min(m.o.Idle, content.Add(m.quiet(pulse)).Sub(last)))
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil
			}
			p.tapped.WriteLine(line)
			a.take(d, line)
		case <-p.alive:
		case <-silence.C:
			if pulse.Beats() != beats { // the user waits on
				continue
			}
			if quiet := m.quiet(pulse); quiet != m.o.Idle && time.Since(last) < m.o.Idle {
				return m.silent(p, "no more of its answer", quiet)
			}
			return m.silent(p, "nothing", m.o.Idle)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if a.done && a.fault == nil {
		a.close()
	}
	return nil
}

// quiet returns how long the program may go without content while it says other
// things.
func (m *Model) quiet(pulse *llm.Pulse) time.Duration {
	if pulse != nil && pulse.Limit > 0 {
		return pulse.Limit
	}
	return m.o.Idle
}

// silent is the error for a program that said something, such as "nothing", for
// too long.
func (m *Model) silent(p *process, something string, limit time.Duration) error {
	message := fmt.Sprintf("%s said %s for %s and was ended", m.flavor.program, something, limit)
	if said := p.said.text(); said != "" {
		message += "; the last it said: " + oneLine(said, shownLimit)
	}
	return &llm.Error{Fault: llm.Network, Message: message}
}

// close ends an answer that is complete.
func (a *answer) close() {
	if a.next.Session != "" {
		a.next.Seen, a.next.Turn = a.run.seen, a.run.past.Turn+1
		if data, err := json.Marshal(a.next); err == nil {
			a.out.Send(llm.Delta{Block: "session", Part: llm.Part{Kind: llm.Opaque, State: data}})
		}
	}
	a.out.Send(a.finish)
}
