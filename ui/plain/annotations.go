package plain

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
)

// show says an event that stays between the messages, as it comes and when the
// conversation is read back.
func (p *front) show(e session.Event) {
	switch e := e.(type) {
	case llm.Notice:
		p.say("Note: %s", sentence(oneLine(e.Text)))
	case llm.Retry:
		p.say("%s. Trying again in %s, attempt %d.", capital(fault(e.Fault)), length(e.Wait), e.Attempt)
	case session.Fallback:
		p.say("%s: %s. Going on with %s.", e.From, fault(e.Fault), e.To)
	case session.ModelSwitched: // and what the other model cannot be told
		text := fmt.Sprintf("The model is %s now, in place of %s", e.To, e.From)
		for i, c := range e.Changes {
			text += []string{": ", ", "}[min(i, 1)] + c.String()
		}
		p.say("%s.", text)
	case session.Compacted:
		p.say("Summarized: %s stand as a summary of %d tokens, in place of %d. The conversation itself stays whole.", format.Plural(e.Messages, "message"), e.After, e.Before)
	case session.ShellCommand: // as it was typed and said
		p.block("You: !" + e.Command)
		p.block(lastLine(e.Output)[0])
		if !e.Ended {
			p.say("Interrupted: what it did until then is not known.")
			return
		}
		p.say("%s", shellEnd(e))
	case session.Done:
		if llm.Canceled(e.Err) {
			p.say("Stopped. /retry goes on.")
			return
		}
		text := sentence("Error: " + oneLine(e.Err.Error()))
		p.say("%s Type /retry to try again.", strings.TrimSpace(text+" "+hint(app.Hint(e.Err))))
	}
}

// annotated keeps an event of this front end with the conversation, and returns it.
func annotated(s *session.Session, e session.Event) session.Event {
	s.Annotate(0, e)
	return e
}

// shellEnd says how a command of the user's own ended.
func shellEnd(e session.ShellCommand) string {
	end := "Done in "
	if e.Failed {
		end = "Failed after "
	}
	return fmt.Sprintf("%s%s: %s.", end, length(e.Duration), strings.Trim(lastLine(e.Output)[1], "[]()."))
}

// lastLine returns output without its last line, which says how a command ended,
// and that line.
func lastLine(output string) []string {
	output = strings.TrimRight(output, "\n")
	i := strings.LastIndexByte(output, '\n')
	return []string{output[:max(i, 0)], output[i+1:]}
}

// readPath reads back what was said and shown before.
func (p *front) readPath(path []session.Node) {
	app.Replay(p.app.Session, path, 0, len(path), nil, func(c app.Change) {
		switch c.Kind {
		case app.UserBlock:
			p.prompt(c.Event.(session.Prompt), false)
		case app.SummaryBlock:
			p.say("Summary of what was said before:")
			p.readWhole(c.Whole)
		case app.TextBlock:
			if c.Op != app.Closed {
				p.readWhole(c.Text)
			}
		case app.ToolBlock:
			p.readCall(c)
		case app.EventBlock, app.RetryBlock:
			if c.Op != app.Dropped && !c.Implied {
				p.show(c.Event)
			}
		}
	})
}

// readWhole reads a text that is whole.
func (p *front) readWhole(text string) {
	var whole prose
	p.read(whole.add(text, p.now()) + whole.end(p.now()))
	p.out.end()
}

// readCall says that a call was made, and what it brought.
func (p *front) readCall(c app.Change) {
	switch e := c.Event.(type) {
	case nil:
		if c.Op == app.Opened {
			p.say("Tool %s.", callText(c.Tool.Name, c.Tool.Input))
		}
	case session.Result:
		p.output = &result{e.Part.Name, e.Part.Text}
		if c.Tool.Status == app.CallLost {
			p.say("%s: %s", e.Part.Name, e.Part.Text)
			return
		}
		p.say("%s answered %s.", e.Part.Name, format.Plural(lines(e.Part.Text), "line"))
	}
}

// endedEarly reports whether it was shown why the last turn of a path did not come
// to its end.
func endedEarly(s *session.Session, path []session.Node) bool {
	return slices.ContainsFunc(s.Annotations(path)[len(path)], func(a session.Annotation) bool {
		_, ok := session.DecodeAnnotation(a).(session.Done)
		return ok
	})
}
