package plain

import (
	"os"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/format"
)

// edited has text changed in the user's own editor. Nothing is written
// meanwhile, and ctrl+c is the editor's.
func (p *front) edited(text string) (string, error) {
	cmd, written, err := app.Editor(p.app.Getenv, text)
	if err != nil {
		return "", err
	}
	p.hush()
	p.out.end()
	if p.keys != nil {
		defer p.keys.pause()()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = p.keys.in, os.Stdout, os.Stderr
	}
	p.away.Store(true)
	defer p.away.Store(false)
	return written(cmd.Run())
}

// write opens the draft in the editor. What is saved there is sent, as it is with
// a commit's message: nothing saved, nothing sent.
func (p *front) write(string) {
	if p.turn != nil {
		p.say("Stop the running reply first, with ctrl+c.")
		return
	}
	text, err := p.edited(p.draft.text)
	switch {
	case err != nil:
		p.fail(err)
	case strings.TrimSpace(text) == "":
		p.draft.text = ""
		p.say("Nothing was written, nothing is sent.")
	default:
		p.draft.text = ""
		p.say("Sending %s.", format.Plural(lines(text), "line"))
		p.send(text)
	}
}

// showDraft reads the draft.
func (p *front) showDraft(string) {
	if p.draft.text == "" {
		p.say("There is no draft.")
		return
	}
	p.block(p.draft.text)
	p.say("/send sends it, /edit opens it in your editor.")
}

// sendDraft sends the draft as it is.
func (p *front) sendDraft(string) {
	text := p.draft.text
	if strings.TrimSpace(text) == "" {
		p.say("There is no draft.")
		return
	}
	p.draft.text = ""
	p.send(text)
}

// addDraft puts text behind the draft.
func (p *front) addDraft(text string) {
	p.draft.text = strings.TrimPrefix(p.draft.text+"\n\n"+text, "\n\n")
}

// unqueue makes a draft of what waits to be sent.
func (p *front) unqueue() {
	waiting := p.app.Session.Unqueue()
	for _, m := range waiting {
		text, attached := attach.SplitMessage(m)
		p.app.Attached = append(p.app.Attached, attached...)
		p.addDraft(text)
	}
	if n := len(waiting); n > 0 {
		p.say("%s that waited became your draft: /send sends it, /edit opens it.", capital(format.Plural(n, "message")))
	}
}

// draftKey names the draft: that of the conversation, or of the directory in which
// none has begun.
func (p *front) draftKey() string {
	if len(p.app.Session.Path()) > 0 {
		return "session:" + p.app.Session.ID()
	}
	return "folder:" + p.app.Folder
}

// keepDraft keeps the draft for the next time. Where there never was one, none is
// taken away: it may be another window's.
func (p *front) keepDraft() error {
	if p.draft.text == "" && len(p.app.Attached) == 0 && p.draft.key == "" {
		return nil
	}
	if p.draft.key == "" {
		p.draft.key = p.draftKey()
	}
	key := p.draft.key
	if p.draft.text == "" && len(p.app.Attached) == 0 {
		p.draft.key = ""
	}
	return p.app.KeepDraft(key, session.Draft{Text: p.draft.text, Cursor: len(p.draft.text), Parts: p.app.Attached, At: p.now()})
}

// recall brings the draft of the conversation back.
func (p *front) recall() {
	p.draft.key = ""
	d, ok := p.app.Draft(p.draftKey())
	if !ok {
		return
	}
	p.draft.key = p.draftKey()
	p.app.Attached = append(p.app.Attached, d.Parts...)
	p.tellAttached(d.Parts)
	if strings.TrimSpace(d.Text) != "" {
		p.draft.text = d.Text
		p.say("There is a draft of %s, which begins: %s. /draft reads it, /send sends it, /edit opens it.", format.Plural(lines(d.Text), "line"), glance(d.Text, 60))
	}
}

func (p *front) tellAttached(parts []llm.Part) {
	for _, part := range parts {
		p.say("Attached, for your next message: %s.", attach.PartLabel(part))
	}
}
