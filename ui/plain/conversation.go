package plain

import (
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
)

// A conversation describes the one that is open: its end when it is opened, and whether it
// is saved.
type conversation struct {
	*deps
	transcript *transcript
	drafts     *drafts
	turns      *turns

	saveErr error // why what is said is not on disk
}

// open introduces a conversation that was held before, and reads its end.
func (c *conversation) open() {
	path := c.app.Session.Path()
	if n := len(path); n > 0 {
		c.writeLine("Conversation: %s, %s. The end of it:", c.app.Session.Title(), format.Plural(n, "message"))
		c.transcript.readBack("")
		if session.Unanswered(c.app.Session) && !endedEarly(c.app.Session, path) {
			c.writeLine("Stopped. /retry continues.")
		}
	}
	c.drafts.load()
}

// onSave listens to the session's news of the disk.
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

// reportSave says that what is said cannot be kept, for as long as that is so.
func (c *conversation) reportSave(err error) {
	text, lasting := app.SaveText(c.saveErr, err)
	if c.saveErr = lasting; text != "" {
		c.writeLine("%s.", oneLine(text))
	}
}

// onOpened goes on with the conversation that is open now.
func (c *conversation) onOpened(e app.SessionOpened) {
	if e.Previous == nil { // another branch of the same one
		return
	}
	c.concurrent(e.Close)
	c.saveErr, c.drafts.text = nil, ""
	c.onSave()
	if c.app.Session.Head() == 0 {
		c.writeLine("New conversation.")
	}
	c.open()
}
