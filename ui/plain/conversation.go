package plain

import (
	"context"

	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// A conversation follows the open session. It reads out its end when it is opened, and reports
// whether it is saved.
type conversation struct {
	*deps
	transcript *transcript
	drafts     *drafts
	turns      *turns

	saveErr error // why the conversation cannot be saved; nil if it can be
}

// open reads out the end of a conversation that has messages, and loads its draft.
func (c *conversation) open() {
	path := c.app.Session.Path()
	if n := len(path); n > 0 {
		c.writeLine("Conversation: %s, %s. The end of it:", c.app.Session.Title(), format.Plural(n, "message"))
		c.transcript.readBack("")
		if c.app.Session.Unanswered() && !endedEarly(c.app.Session, path) {
			c.writeLine("%s", ended(session.Done{Err: context.Canceled}))
		}
	}
	c.drafts.load()
}

// onSave reports errors when saving the open session, and the end of these errors.
func (c *conversation) onSave() {
	s := c.app.Session
	s.OnSave(func(err error) {
		c.mail.post(func() {
			if c.app.Session == s {
				c.reportSave(err)
			}
		})
	})
}

// reportSave writes a line when saving begins to fail and when it works again.
func (c *conversation) reportSave(err error) {
	text, lasting := wording.Saving(c.saveErr, err)
	if c.saveErr = lasting; text != "" {
		c.writeLine("%s.", oneLine(text))
	}
}

// onOpened switches to the newly opened session.
func (c *conversation) onOpened(e app.SessionOpened) {
	if e.Previous == nil { // another branch of the same session
		return
	}
	c.concurrent(func() {
		if lost := e.Close(); lost != "" {
			c.mail.post(func() { c.writeLine("%s.", oneLine(lost)) })
		}
	})
	c.saveErr, c.drafts.text = nil, ""
	c.onSave()
	if c.app.Session.Head() == 0 {
		c.writeLine("New conversation.")
	}
	c.open()
}
