package plain

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
)

// A transcript says what happens in the conversation, as it comes and when it is read
// back, in the same words.
type transcript struct {
	*deps
	output *result // of the last tool; nil: none has answered
}

// longRest is how long a request waits before it is said what can be done about that.
const longRest = 10 * time.Second

// A result is what a tool answered.
type result struct{ name, text string }

// event writes an event that stays between the messages, as it comes and when the
// conversation is read back.
func (t *transcript) event(e session.Event) {
	switch e := e.(type) {
	case llm.Notice:
		t.writeLine("Note: %s", sentence(oneLine(e.Text)))
	case llm.Retry:
		again := fmt.Sprintf("attempt %d", e.Attempt)
		if e.Max > 0 {
			again += fmt.Sprintf(" of %d", e.Max)
		}
		t.writeLine("%s. Retrying in %s, %s.", app.FaultName(e.Fault), length(e.Wait), again)
		if len(e.Discards) > 0 {
			t.writeLine("The answer begins again.")
		}
		if e.Wait >= longRest && !e.Remote {
			t.writeLine("/now retries at once, /wait says how long it takes, /stop stops.")
		}
	case session.Fallback:
		t.writeLine("%s.", strings.Replace(app.FallbackText(e), " · continuing", ". Continuing", 1))
	case session.Question:
		t.writeLine("%s.", app.CountdownText(e, e.Wait))
	case session.ModelSwitched: // and what the other model cannot be told
		text := fmt.Sprintf("Model: %s, was %s", e.To, e.From)
		for i, c := range e.Changes {
			text += []string{": ", ", "}[min(i, 1)] + c.String()
		}
		t.writeLine("%s.", text)
	case session.Directories:
		t.writeLine("%s.", app.FoldersText(e))
	case session.Persona:
		t.writeLine("%s.", app.PersonaText(e))
	case session.Settings:
		t.writeLine("%s.", app.SettingsText(e))
	case session.Verdict:
		t.writeLine("%s", sentence(oneLine(app.VerdictText(e, t.app.Unnamed))))
	case session.Compacted:
		t.writeLine("%s.", app.CompactedText(e))
	case session.ShellCommand: // as it was typed and said
		t.out.Block("You: !" + e.Command)
		t.out.Block(lastLine(e.Output)[0])
		if !e.Ended {
			t.writeLine("Interrupted; what it did until then is unknown.")
			return
		}
		t.writeLine("%s", shellEnd(e))
	case session.Done:
		if llm.Canceled(e.Err) {
			t.writeLine("Stopped. /retry continues.")
			return
		}
		text := sentence("Error: " + oneLine(app.ErrorText(e.Err)))
		text = strings.TrimSpace(text + " " + hint(app.Hint(e.Err)))
		if !e.AnswerComplete {
			text += " Type /retry to try again."
		}
		t.writeLine("%s", text)
	}
}

// note keeps a notice with the conversation, and says it.
func (t *transcript) note(text string) {
	notice := llm.Notice{Text: text}
	t.app.Session.Annotate(0, notice)
	t.event(notice)
}

// prompt writes what was sent, unless the user just typed it.
func (t *transcript) prompt(e session.Prompt, heard bool) {
	text, attached := app.SplitPrompt(e.Message)
	if !heard {
		t.out.Block("You: " + text)
	}
	for _, label := range app.Labels(attached) {
		t.writeLine("Attached: %s.", label)
	}
}

// part writes what else is in an answer, once.
func (t *transcript) part(c app.Change) {
	switch {
	case c.Op != app.Opened, c.Event != nil: // which is not finished
	case c.Kind == app.SourceBlock:
		t.writeLine("Source %s", app.SourceText(c))
	case len(c.Part.Data) > 0:
		t.writeLine("%s.", app.Labels([]llm.Part{*c.Part})[0])
	}
}

// shellEnd writes how a command of the user's own ended.
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
