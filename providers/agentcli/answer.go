package agentcli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/sanitize"
)

// An answer collects the output of a run and sends its events. Decoders write to it.
type answer struct {
	out    *llm.Out
	run    *run
	flavor flavor

	gotEvent bool              // at least one line was an event
	calls    map[string]string // names of the called tools by block, also by blocks of results

	// The program's own retries of the message being received.
	shown      bool     // part of the answer was sent
	settled    bool     // part of that can no longer be discarded
	pending    []string // blocks of the current message that were sent
	said       bool     // text was sent since the last call
	saidBefore bool     // said, for complete messages only
	retries    int      // retries of the program
	lost       int      // retries after errors that are not temporary

	// From the line that ends the answer.
	done   bool
	finish llm.Finish
	fault  *llm.Error // why there is no answer; may also come from earlier lines
	silent bool       // the reason may be only on stderr
	next   state      // session to resume; zero for none

	unknown      string // first event that the decoder did not know
	noticed      string // last message of the program that became a notice
	lastError    string // last error reported by the program
	pendingError string // error that becomes a notice unless the answer ends with it
	plain        []byte // lines before the first event
	firstStderr  string // beginning of stderr

	mask sanitize.Mask // masks credentials, before texts are truncated
}

// maxPlain bounds how much plain text an answer may hold, in bytes.
const maxPlain = 4 << 20

// onLine handles one line of stdout.
func (a *answer) onLine(d decoder, line []byte) {
	var event struct {
		Type  string    `json:"type"`
		Event wire.Text `json:"event"` // other programs send an object here
	}
	if json.Unmarshal(line, &event) == nil && event.Type+string(event.Event) != "" {
		a.gotEvent = true
		d.line(line)
		return
	}
	if !a.gotEvent && len(a.plain)+len(line) < maxPlain {
		a.plain = append(append(a.plain, line...), '\n')
	}
}

// delta sends a piece of the answer.
func (a *answer) delta(block string, p llm.Part) {
	a.shown = true
	p.Begins = p.Begins && a.said
	switch p.Kind {
	case llm.Text:
		a.said = true
	case llm.Call, llm.Result:
		a.said = false
	}
	if n := len(a.pending); n == 0 || a.pending[n-1] != block && !slices.Contains(a.pending, block) {
		a.pending = append(a.pending, block)
	}
	a.out.Send(llm.Delta{Block: block, Part: p})
}

// call sends a call of one of the program's own tools. It returns false if the call was sent
// before, or has no id.
func (a *answer) call(id, name, input string) bool {
	return id != "" && a.once(id, name, llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input, Remote: true})
}

// result sends the result of a call that was sent, once.
func (a *answer) result(id, text string, failed bool) {
	if name, called := a.calls[id]; called {
		a.once("result of "+id, name, llm.Part{Kind: llm.Result, ID: id, Name: name, Text: text, Failed: failed, Remote: true})
	}
}

// once sends p as a separate block unless it was sent before.
func (a *answer) once(block, tool string, p llm.Part) bool {
	if _, sent := a.calls[block]; sent {
		return false
	}
	if a.calls == nil {
		a.calls = map[string]string{}
	}
	a.calls[block] = tool
	a.delta(block, p)
	return true
}

// inputOf returns the first object in the arguments that programs report for a call; "{}" if there is
// none.
func inputOf(arguments ...json.RawMessage) string {
	for _, raw := range arguments {
		if bytes.HasPrefix(raw, []byte("{")) {
			return string(raw)
		}
	}
	return "{}"
}

// settle marks the current message as complete, so that no retry discards it.
func (a *answer) settle() { a.settled, a.pending, a.saidBefore = a.shown, nil, a.said }

// restart sends a retry of the program that discards the blocks of the unfinished message, and
// reports whether there are any. A program may repeat a hopeless request for minutes: after maxLostTries of them,
// restart ends the answer with the error why.
func (a *answer) restart(r llm.Retry, why *llm.Error) bool {
	discarded := a.pending
	a.pending, a.shown, a.said = nil, a.settled, a.saidBefore
	for _, block := range discarded {
		delete(a.calls, block)
	}
	a.retries++
	if !why.Fault.Temporary() && why.Fault != llm.Unknown {
		a.lost++
	}
	if a.lost > maxLostTries {
		a.done, a.fault = true, why
	} else {
		r.Attempt, r.Fault, r.Remote, r.Discards = cmp.Or(r.Attempt, a.retries), why.Fault, true, discarded
		a.out.Send(r)
	}
	return len(discarded) > 0
}

// onStderrTry handles a retry that the program reports on stderr.
func (a *answer) onStderrTry(try stderrTry) {
	attempt, _ := strconv.Atoi(try.attempt)
	status, _ := strconv.Atoi(strings.ReplaceAll(try.status, "xx", "00"))
	ms, _ := strconv.Atoi(try.wait)
	a.settle() // the failed request sent nothing
	a.restart(llm.Retry{Attempt: attempt, Wait: min(time.Duration(ms)*time.Millisecond, time.Hour)}, a.toError("", status, try.words))
}

// maxLostTries is how often a program may retry after an error that is not temporary, such as a
// refused key. Claude Code renews its login after the first.
const maxLostTries = 2

// noticeOnce sends a message of the program as a notice, unless it repeats the last one.
func (a *answer) noticeOnce(words string) {
	if words != "" && words != a.noticed {
		a.noticed = words
		a.notice("%s", words)
	}
}

// noticePending sends the error that did not end the answer as a notice.
func (a *answer) noticePending() {
	a.noticeOnce(a.pendingError)
	a.pendingError = ""
}

// skip records an event that a decoder does not know.
func (a *answer) skip(line []byte) {
	if a.unknown == "" {
		words := a.masked(string(line))
		a.unknown = words[:min(len(words), maxErrorBytes)]
	}
}

// complete ends an answer of an undocumented program. It is an error if no line was understood.
func (a *answer) complete(f llm.Finish) {
	a.done, a.finish = true, f
	if !a.shown && a.unknown != "" {
		a.fault = a.unknownFormError()
	}
}

func (a *answer) notice(format string, args ...any) {
	a.out.Send(llm.Notice{Text: a.flavor.program + ": " + oneLine(a.masked(fmt.Sprintf(format, args...)), maxNotice)})
}

// toError returns flavor.toError with credentials masked.
func (a *answer) toError(code string, status int, words string) *llm.Error {
	return a.flavor.toError(code, status, a.masked(words))
}

// masked returns a message of the program without escape sequences, invisible characters and
// credentials.
func (a *answer) masked(words string) string { return a.mask.Plain(words) }

// maxNotice bounds the length of a notice, in bytes.
const maxNotice = 400

// run starts the program and sends its answer. When it returns, the program has ended.
func (m *Model) run(ctx context.Context, argv []string, a *answer) error {
	if m.o.Replay != nil {
		return m.replay(a)
	}
	p, err := start(ctx, argv, a, m.flavor.endSignal, m.o.Grace)
	if err != nil {
		return &llm.Error{Fault: llm.Unknown, Message: fmt.Sprintf("cannot start %s: %v", argv[0], err), Err: err}
	}
	p.exchange = m.beginExchange(a.run)
	err = m.readAnswer(ctx, p, a)
	code, _ := p.status()
	p.exchange.End(code, p.stderr.text(), err)
	return err
}

// readAnswer reads the answer of a started program. When it returns, the program has ended.
func (m *Model) readAnswer(ctx context.Context, p *process, a *answer) error {
	err := m.readLines(ctx, p, a)
	if err != nil || a.out.Stopped() && !a.done {
		p.end(0, false)
		a.firstStderr = p.stderr.beginning()
		return err
	}
	ended := p.end(m.o.Grace, a.done && a.fault == nil)
	a.firstStderr = p.stderr.beginning()
	code, signal := p.status()
	return m.resultOf(a, exitInfo{code, signal, p.stderr.text(), ended})
}

// resultOf returns the error of an answer whose program has ended; nil if the answer is complete. It
// releases the session for the next request.
func (m *Model) resultOf(a *answer, e exitInfo) error {
	if !a.done {
		return m.exitError(a, e)
	}
	if a.fault != nil {
		if said := a.masked(e.stderr); a.silent && said != "" {
			found := m.flavor.toError("", 0, said)
			found.Message = a.fault.Message + ": " + oneLine(said, maxErrorBytes)
			return found
		}
		return a.fault
	}
	m.releaseSession(a.next)
	return nil
}

// readLines reads up to the last line of the answer or the end of the output. It returns an error if
// it gave up waiting.
func (m *Model) readLines(ctx context.Context, p *process, a *answer) error {
	d := m.flavor.decoder(a)
	pulse := llm.PulseOf(ctx)
	beats, content := pulse.Beats(), time.Now() // number of beats so far, and time of the last content
	silence := time.NewTimer(m.o.IdleTimeout)
	defer silence.Stop()
	for !a.done && !a.out.Stopped() {
		if now := pulse.Beats(); now != beats {
			beats, content = now, time.Now()
		}
		last := time.Now()
		silence.Reset(min(m.o.IdleTimeout, content.Add(m.contentTimeout(pulse)).Sub(last)))
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil
			}
			p.exchange.WriteLine(line)
			a.onLine(d, line)
		case try := <-p.retries:
			a.onStderrTry(try)
		case <-p.activity:
		case <-silence.C:
			if pulse.Beats() != beats { // the user chose to keep waiting
				continue
			}
			if quiet := m.contentTimeout(pulse); quiet != m.o.IdleTimeout && time.Since(last) < m.o.IdleTimeout {
				return m.timeoutError(p, "no more of its answer", quiet)
			}
			return m.timeoutError(p, "nothing", m.o.IdleTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if a.done && a.fault == nil {
		a.close()
	}
	return nil
}

// contentTimeout returns how long the program may send output without content.
func (m *Model) contentTimeout(pulse *llm.Pulse) time.Duration {
	if pulse != nil && pulse.Limit > 0 {
		return pulse.Limit
	}
	return m.o.IdleTimeout
}

// timeoutError returns the error of a program that was killed because it said something, such as
// "nothing", for limit.
func (m *Model) timeoutError(p *process, something string, limit time.Duration) error {
	message := fmt.Sprintf("%s said %s for %s and was ended", m.flavor.program, something, limit)
	if said := p.stderr.text(); said != "" {
		message += "; last output: " + oneLine(said, maxErrorBytes)
	}
	return &llm.Error{Fault: llm.Network, Message: message}
}

// close sends the end of a complete answer, with the session to resume.
func (a *answer) close() {
	if a.next.Session != "" {
		a.next.Seen, a.next.Turn = a.run.historyDigest, a.run.resume.Turn+1
		if data, err := json.Marshal(a.next); err == nil {
			a.out.Send(llm.Delta{Block: "session", Part: llm.Part{Kind: llm.Opaque, State: data}})
		}
	}
	a.finish.Model = cmp.Or(a.finish.Model, a.run.model)
	a.out.Send(a.finish)
}
