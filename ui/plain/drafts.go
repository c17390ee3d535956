package plain

import (
	"os"
	"strings"
	"sync/atomic"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/edit"
	"parley/ui/format"
)

// drafts holds the unsent message.
type drafts struct {
	*deps
	editor *editor
	send   func(text string)

	text string
	key  string // key under which the draft is stored; "" if it is not stored
}

// write opens the draft in the editor and sends the saved text, as git does with a commit
// message. It does not send an empty text.
func (d *drafts) write() {
	if !d.requireIdle() {
		return
	}
	text, err := d.editor.edit(d.text)
	if err != nil {
		d.writeError(err)
		return
	}
	d.text = ""
	if strings.TrimSpace(text) == "" {
		d.writeLine("Nothing written, nothing sent.")
		return
	}
	d.writeLine("Sending %s.", format.Plural(lines(text), "line"))
	d.send(text)
}

// read reads out the draft.
func (d *drafts) read() {
	if d.text == "" {
		d.writeLine("No draft.")
		return
	}
	d.out.Block(d.text)
	d.writeLine("/send sends it, /edit opens it in your editor.")
}

// sendAll sends the complete draft.
func (d *drafts) sendAll() {
	text := d.text
	if strings.TrimSpace(text) == "" {
		d.writeLine("No draft.")
		return
	}
	d.text = ""
	d.send(text)
}

// add appends text to the draft.
func (d *drafts) add(text string) {
	d.text = strings.TrimPrefix(d.text+"\n\n"+text, "\n\n")
}

// restore puts a user message back into the draft, with its attachments, and returns its text.
func (d *drafts) restore(m llm.Message) string {
	text, attached := app.SplitPrompt(m)
	d.app.Attached = append(d.app.Attached, attached...)
	d.add(text)
	return text
}

// edit moves a user message into the draft. The messages after it remain as a branch once the draft is sent.
func (d *drafts) edit(seq int) app.Effect {
	n, _ := d.app.Session.At(seq) // Edit reports the error
	if err := d.app.Session.Branch.Edit(seq); err != nil {
		return app.Fail(err)
	}
	text, attached := app.DraftFrom(n.Message)
	d.app.Attached = append(d.app.Attached, attached...)
	return app.Then{app.SessionOpened{}, app.Draft(text), app.Attached(attached)}
}

// restoreUnsent puts an unsent message back into the draft, and reports it.
func (d *drafts) restoreUnsent(e session.Unsent) {
	if e.Command != "" { // the user can retype the line, but not its attachments
		d.app.Attached = append(d.app.Attached, e.Message.Parts...)
		return
	}
	d.writeLine("This message is your draft again: %s. /send sends it, /edit opens it in your editor.", truncate(d.restore(e.Message), maxAddress))
}

// unqueue moves queued messages to the draft, and reports whether there were any.
func (d *drafts) unqueue() bool {
	waiting := d.app.Session.Queue.TakeAll()
	for _, m := range waiting {
		d.restore(m)
	}
	if n := len(waiting); n > 0 {
		d.writeLine("%s moved from the queue to your draft: /send sends it, /edit opens it.", format.Capital(format.Plural(n, "message")))
	}
	return len(waiting) > 0
}

// store saves the draft for the next start.
func (d *drafts) store() error {
	stored := d.storeSoon()
	_ = d.app.Library.Flush() // stored returns the error
	return stored()
}

// storeSoon is store without waiting for the disk. An empty draft removes the stored one only if this
// window loaded or stored it: it may belong to another window.
func (d *drafts) storeSoon() (stored func() error) {
	empty := d.text == "" && len(d.app.Attached) == 0
	if empty && d.key == "" {
		return func() error { return nil }
	}
	key, old := d.app.DraftKey(), []string(nil)
	if d.key != "" && d.key != key {
		old = []string{d.key}
	}
	if d.key = key; empty {
		d.key = ""
	}
	draft := d.app.Drafts().New(d.text, d.app.Attached)
	draft.Model = d.app.Models.Chosen
	return d.app.Library.Drafts().SaveAsync(key, draft, old...)
}

// load loads the stored draft of the conversation.
func (d *drafts) load() {
	d.key = ""
	stored, ok := d.app.Drafts().Take(d.app.DraftKey())
	if !ok {
		return
	}
	d.key = d.app.DraftKey()
	app.RestoreModel(d.app, stored.Model)
	d.app.Attached = append(d.app.Attached, stored.Parts...)
	d.writeAttachments(stored.Parts)
	if strings.TrimSpace(stored.Text) != "" {
		d.text = stored.Text
		d.writeLine("Draft of %s, beginning: %s. /draft reads it, /send sends it, /edit opens it.", format.Plural(lines(d.text), "line"), truncate(d.text, 60))
	}
}

// writeAttachments lists the files attached to the next message.
func (d *drafts) writeAttachments(parts []llm.Part) {
	for _, label := range app.Labels(parts) {
		d.writeLine("Attached to your next message: %s.", label)
	}
}

// detach removes the last attachment.
func (d *drafts) detach() {
	last := len(d.app.Attached) - 1
	if last < 0 {
		d.writeLine("Nothing is attached.")
		return
	}
	d.writeLine("Removed: %s.", app.Labels(d.app.Attached[last:])[0])
	d.app.Attached = d.app.Attached[:last]
}

// An editor runs the user's editor.
type editor struct {
	*deps
	input   *input
	running atomic.Bool // the editor has the terminal
}

// edit lets the user edit text and returns the saved result. It blocks the front end meanwhile,
// and ctrl+c goes to the editor.
func (e *editor) edit(text string) (string, error) {
	cmd, written, err := edit.Text(e.app.Getenv, text)
	if err != nil {
		return "", err
	}
	e.out.End()
	if keys := e.input.keys; keys != nil {
		defer keys.Pause()()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = keys.File, os.Stdout, os.Stderr
	}
	e.running.Store(true)
	defer e.running.Store(false)
	return written(cmd.Run())
}
