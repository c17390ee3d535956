package plain

import (
	"context"
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/format"
)

// apply applies the effect of a command.
func (p *frontend) apply(e app.Effect) {
	switch e := e.(type) {
	case app.Then:
		for _, one := range e {
			p.apply(one)
		}
	case app.SessionOpened:
		p.conversation.onOpened(e)
	case app.Shown:
		p.transcript.event(e.Event)
	case app.Notes:
		for _, n := range e {
			p.transcript.note(n)
		}
	case app.Failure:
		p.fail(e)
	case app.Draft:
		p.toDraft(string(e))
	case app.DraftCommand:
		p.toDraft(string(e))
	case app.Attached:
		p.drafts.writeAttachments(e)
	case app.Toast:
		if e != "" {
			p.writeLine("%s", sentence(format.Capital(strings.TrimSuffix(oneLine(string(e)), "…"))))
		}
	case app.Page:
		p.page(e.Parts)
	case app.Output:
		p.output(e.Read())
	case app.Beside:
		if p.asides == 0 || p.asideCtx.Err() != nil {
			p.asideCtx, p.endAsides = context.WithCancel(p.ctx)
		}
		p.asides++
		ctx := p.asideCtx
		p.async(func() func() {
			e.Grow(ctx)
			return func() {
				if p.asides--; p.asides == 0 {
					p.endAsides()
				}
				text := e.Read()
				p.writeLine("%s: %s", e.Title, text.Title)
				p.transcript.writeText(strings.Join(text.Lines, "\n"))
				p.writeLine("End of the %s, %s.", strings.ToLower(e.Title), strings.ReplaceAll(text.State, " · ", ", "))
			}
		})
	case app.PanelQuery:
		if !p.panels.open(e.Panel, e.Query) {
			p.help()
		}
	case app.PickModel:
		p.panels.chooseModel(e.Title+":", func(name string) { p.apply(e.Chosen(name)) })
	case *app.List:
		p.list(e)
	case *app.Confirm:
		p.confirm(e)
	case *app.Secret:
		p.askSecret(e, true)
	case *app.ModelQuestion:
		p.askUser(e)
	case app.Play:
		p.turns.play(true, e)
	case app.Async:
		p.async(func() func() {
			done := e(p.ctx)
			return func() { p.apply(done) }
		})
	case app.Prepare:
		p.preparing++
		p.async(func() func() {
			done := e(p.ctx)
			return func() { p.finishPreparing(done()) }
		})
	case app.Edit:
		p.apply(p.drafts.edit(int(e)))
	case app.Exit:
		p.quit()
	}
}

// stopAsides stops the side questions, and reports whether there are any.
func (p *frontend) stopAsides() bool {
	if p.asides == 0 {
		return false
	}
	p.endAsides()
	p.writeLine("Stopping.")
	return true
}

// output writes the output received so far.
func (p *frontend) output(text app.OutputText) {
	p.writeLine("%s.", format.Join(" · ", text.Title, text.State))
	for _, line := range text.Lines {
		p.writeLine("%s", line)
	}
}

// page writes a page of text.
func (p *frontend) page(parts []format.Part) {
	words := strings.NewReplacer(" · ", ", ", "≥", "at least ")
	for _, part := range parts {
		if part.Render != nil || part.Verbatim {
			p.out.Block(part.Source)
			continue
		}
		p.writeLine("%s:", part.Title)
		for _, line := range part.Lines {
			p.writeLine("%s", words.Replace(strings.TrimSpace(line.String())))
		}
	}
}

// fail writes an error. If a multi-line command did not run, it becomes the draft.
func (p *frontend) fail(f app.Failure) {
	if f.Lasting {
		p.writeLine("%s", failure(f.Err))
	} else {
		p.writeError(f.Err)
	}
	if strings.Contains(f.Line, "\n") { // a single line is easy to retype
		p.toDraft(f.Line)
	}
}

// confirm asks a yes-or-no question.
func (p *frontend) confirm(c *app.Confirm) {
	lower := func(s string) string { return strings.ToLower(s[:1]) + s[1:] }
	q := p.questions.confirm(c.Text, lower(c.Yes), lower(c.No), !c.Harmless, func(yes bool) { p.apply(c.Answer(yes)) })
	p.dropWhenLapsed(c.Lapse, nil, q)
}

// toDraft adds text to the draft.
func (p *frontend) toDraft(text string) {
	p.drafts.add(text)
	p.writeLine("It is your draft now. /draft reads it, /send sends it, /edit opens it.")
}

// finishPreparing applies the effect of preparing, and continues with the lines typed meanwhile.
func (p *frontend) finishPreparing(e app.Effect) {
	p.preparing--
	p.apply(e)
	if app.TypedBecomesDraft(e) && p.pendingToDraft() {
		p.writeLine("Not sent; it is your draft now. /draft reads it, /send sends it, /edit opens it.")
	}
	if prompt := p.pendingPrompt; len(prompt) > 0 && p.preparing == 0 {
		p.pendingPrompt = nil
		p.sendInitial(prompt, app.TypedBecomesDraft(e))
	}
	if end := p.ended; end != nil && p.preparing == 0 {
		p.ended = nil
		p.line(*end)
	}
}

// sendInitial sends the prompt of the command line, or makes it the draft.
func (p *frontend) sendInitial(prompt []llm.Part, draft bool) {
	if !draft {
		p.turns.run(false, prompt...)
		return
	}
	p.draftPrompt(prompt)
	p.writeLine("Your prompt is your draft now: /send sends it once you have answered.")
}

// pendingToDraft moves typed lines that will not be handled to the draft, and reports whether there
// were any.
func (p *frontend) pendingToDraft() bool {
	lines := p.input.takeLines()
	if len(lines) == 0 || p.questions.isHidden() {
		return false
	}
	text, _ := p.input.join(lines)
	p.drafts.add(p.input.finish(text))
	return true
}

// list lets the user choose an item of l.
func (p *frontend) list(l *app.List) {
	rows := make([]choice, len(l.Items))
	for i, item := range l.Items {
		rows[i] = choice{name: item.Title, detail: item.Detail, unavailable: item.Disabled, value: item.Value}
		if item.Current {
			rows[i].detail = format.Join(", ", item.Detail, "current")
		}
	}
	q := p.lists.chooseOr(l.Title, l.Noun, rows, func(value string) { p.apply(l.Choose(value)) }, l.OnDismiss)
	p.dropWhenLapsed(l.Lapse, nil, q)
}

// askSecret asks for a line. A secret line is not echoed. After a rejected line it asks again,
// with first unset.
func (p *frontend) askSecret(s *app.Secret, first bool) {
	canceled := func() {
		p.writeLine("Canceled.")
		if s.OnDismiss != nil {
			s.OnDismiss()
		}
	}
	gone := make(chan struct{}) // closed when the question is answered or left
	submit := func(line string) {
		p.async(func() func() {
			then, err := s.Submit(p.ctx, line)
			return func() {
				if err != nil {
					p.writeError(err)
					p.askSecret(s, false)
					return
				}
				p.apply(then())
			}
		})
	}
	q := &question{
		describe: func() {
			if first {
				p.writeLine("%s", secretHelp(s))
			}
		},
		prompt: s.Title + ":",
		secret: !s.Visible, line: true,
		answer: func(line string) bool {
			close(gone)
			if line == "" {
				line = s.Value
			}
			if line == "" && !s.Optional {
				canceled()
				return true
			}
			if !s.Visible {
				p.writeLine("Checking.")
			}
			submit(line)
			return true
		},
		leave: func() {
			close(gone)
			canceled()
		},
	}
	p.questions.enqueueFirst(q)
	if s.Ready != nil {
		p.dropWhenOver(s.Ready, gone, q, func() { submit("") })
	}
	p.dropWhenLapsed(s.Lapse, gone, q)
}

// dropWhenLapsed withdraws a question when it no longer needs an answer. A nil gone never closes.
func (p *frontend) dropWhenLapsed(l app.Lapse, gone <-chan struct{}, q *question) {
	if l.Done != nil {
		p.dropWhenOver(l.Done, gone, q, func() { p.apply(l.OnDone()) })
	}
}

// secretHelp returns the text of s with the meaning of an empty line.
func secretHelp(s *app.Secret) string {
	switch {
	case !s.Visible:
		return s.Text + " What you type is not shown. An empty line cancels."
	case s.Value != "":
		return s.Text + ". An empty line is " + s.Value + "."
	case s.Optional:
		return s.Text + ". An empty line skips it."
	}
	return s.Text + ". An empty line cancels."
}

// dropWhenOver withdraws a question and calls ended when over is closed, unless gone is closed
// first.
func (p *frontend) dropWhenOver(over, gone <-chan struct{}, q *question, ended func()) {
	p.concurrent(func() {
		select {
		case <-over:
			p.mail.post(func() {
				if p.questions.drop(q) {
					ended()
				}
			})
		case <-gone:
		case <-p.ctx.Done():
		}
	})
}
