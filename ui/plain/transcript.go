package plain

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// A transcript writes the events of the conversation, with the same words when they happen and
// when they are read back.
type transcript struct {
	*deps
	output *result // output of the last tool; nil if there was none
}

// longRest is the shortest wait before a retry for which the commands that shorten it are listed.
const longRest = 10 * time.Second

// A result is the output of a tool or of a shell command.
type result struct{ name, text string }

// event writes an event between messages.
func (t *transcript) event(e session.Event) {
	switch e := e.(type) {
	case llm.Notice:
		t.writeLine("Note: %s", sentence(oneLine(e.Text)))
	case llm.Retry:
		again := fmt.Sprintf("attempt %d", e.Attempt)
		if e.Max > 0 {
			again += fmt.Sprintf(" of %d", e.Max)
		}
		if until := e.Until; until.IsZero() {
			t.writeLine("%s. Retrying in %s, %s.", wording.Fault(e.Fault), length(e.Wait), again)
		} else {
			t.writeLine("%s. Continues at %s, in %s.", wording.Fault(e.Fault), format.Clock(until, until.Add(-e.Wait)), length(e.Wait))
		}
		if len(e.Discards) > 0 {
			t.writeLine("The answer begins again.")
		}
		if e.Wait >= longRest && !e.Remote {
			t.writeLine("/now retries at once, /wait says how long it takes, /stop stops.")
		}
	case session.Sandbox:
		for line := range strings.Lines(e.Text) {
			t.writeLine("%s", sentence(oneLine(line)))
		}
	case session.Fallback:
		t.writeLine("%s.", strings.Replace(wording.Event(e), " · continuing", ". Continuing", 1))
	case session.Question:
		t.writeLine("%s.", wording.Countdown(e, e.Wait))
	case session.ModelSwitched: // includes losses with the new model
		text := fmt.Sprintf("Model: %s, was %s", e.To, e.From)
		for i, c := range e.Changes {
			text += []string{": ", ", "}[min(i, 1)] + c.String()
		}
		t.writeLine("%s.", text)
	case session.AddedDirectories, session.Persona, session.Settings, session.Compacted:
		t.writeLine("%s.", wording.Event(e))
	case session.Verdict:
		t.writeLine("%s", sentence(oneLine(wording.Verdict(e, t.app.Unnamed))))
	case session.ShellCommand: // in the same form as when it ran
		t.out.Block("You: !" + e.Command)
		t.out.Block(strings.TrimRight(e.Output+e.Notes[:strings.LastIndexByte(e.Notes, '\n')+1], "\n"))
		if !e.Ended {
			t.writeLine("Interrupted; what it did until then is unknown.")
			return
		}
		t.writeLine("%s", shellEnd(e))
	case session.Done:
		if !e.Unsent { // the return of a prompt to the draft was already reported
			t.writeLine("%s", ended(e))
		}
	}
}

// ended returns why an answer ended early, and the next step.
func ended(e session.Done) string {
	text, retry := wording.StoppedText(e.Err)+".", " /retry starts it again."
	if !llm.Canceled(e.Err) {
		text, retry = failure(e.Err), " Type /retry to try again."
	}
	if e.AnswerComplete {
		return text
	}
	return text + retry
}

// note writes a notice and stores it in the conversation.
func (t *transcript) note(text string) {
	notice := llm.Notice{Text: text}
	t.app.Session.Annotate(0, notice)
	t.event(notice)
}

// prompt writes a prompt with its attachments. If heard, it writes only the attachments, because
// the user has just typed the prompt.
func (t *transcript) prompt(e session.Prompt, heard bool) {
	text, attached := app.SplitPrompt(e.Message)
	if !heard {
		t.out.Block("You: " + text)
	}
	for _, label := range app.Labels(attached) {
		t.writeLine("Attached: %s.", label)
	}
}

// part writes a source or file of an answer when it is complete.
func (t *transcript) part(c blocks.Change) {
	switch {
	case c.Op != blocks.Opened, c.Event != nil: // already written when it was opened
	case c.Kind == blocks.SourceBlock:
		t.writeLine("Source %s", blocks.SourceText(c))
	default:
		t.writeLine("%s.", app.Labels([]llm.Part{*c.Part})[0])
	}
}

// shellEnd returns how a shell command of the user ended.
func shellEnd(e session.ShellCommand) string {
	if e.Stopped {
		return "Stopped after " + length(e.Duration) + "."
	}
	end := "Done in "
	if e.Failed {
		end = "Failed after "
	}
	return fmt.Sprintf("%s%s: %s.", end, length(e.Duration), strings.Trim(e.Notes[strings.LastIndexByte(e.Notes, '\n')+1:], "[]()."))
}
