package acp

import (
	"cmp"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// A view sends a client updates for the changes of a conversation that a screen would draw. It
// remembers what was sent.
type view struct {
	send     func(sdk.SessionUpdate)
	turn     app.Turn
	folder   string // that paths are told from
	minted   int
	replays  bool // messages come from the store, and the client knows none of them
	title    string
	commands *string // that were told; nil: none yet

	texts map[string]*sanitize.Stream // of blocks that grow
	cut   bool                        // text that was told is no part of the answer, which was not told yet
	last  *app.Change                 // that the last chunk came from; nil: something else came since
	calls map[string]*sentCall        // by block
	asked sdk.ToolCallId              // the call that was asked about last
}

// A sentCall is a call that the client knows.
type sentCall struct {
	status sdk.ToolCallStatus
	input  string // the arguments, once they are whole
	output string // the end of its output so far
}

func newView(folder string, send func(sdk.SessionUpdate)) *view {
	v := &view{send: send, folder: folder, texts: map[string]*sanitize.Stream{}, calls: map[string]*sentCall{}}
	v.live()
	return v
}

// live begins a turn: its messages are new to parley, and its prompt is known to the client.
func (v *view) live() {
	v.turn, v.replays = app.NewTurn(v.newID), false
	clear(v.texts)
	clear(v.calls)
	v.last = nil
}

// newID mints the id of a block, which is that of a call as well: of one that no other block of
// the conversation had.
func (v *view) newID() string {
	v.minted++
	return "b" + strconv.Itoa(v.minted)
}

// replay tells the client all that was said.
func (c *conversation) replay() {
	v, s := c.view, c.opened.App.Session
	v.replays = true
	path := s.Path()
	app.Replay(s, path, 0, len(path), v.newID, v.show)
	v.title = sanitize.Line(s.Title())
	c.tellUsage()
}

// announcedCommands reports whether commands were told before, and notes that they are now.
func (c *conversation) announcedCommands(commands string) bool {
	c.appMu.Lock()
	defer c.appMu.Unlock()
	if c.view.commands != nil && *c.view.commands == commands {
		return true
	}
	c.view.commands = &commands
	return false
}

// show sends the updates for a change.
func (v *view) show(c app.Change) {
	switch {
	case c.Op == app.Dropped:
		v.dropped(c)
	case c.Kind == app.TextBlock, c.Kind == app.ThinkingBlock:
		v.text(c)
	case c.Kind == app.ToolBlock:
		v.tool(c)
	case c.Kind == app.UserBlock:
		if p, ok := c.Event.(session.Prompt); ok && v.replays {
			v.prompted(p.Message)
		}
	case c.Kind == app.MediaBlock:
		v.media(c)
	case c.Kind == app.SourceBlock:
		v.link(c, app.SourceText(c))
	case c.Kind == app.EventBlock:
		v.event(c)
	case c.Kind == app.RetryBlock:
		v.retry(c)
	}
}

// say sends a text that stands apart: as a part of the answer, or aside as thinking.
func (v *view) say(text string, aside bool) {
	v.last = nil
	v.sendText(text+"\n\n", aside)
}

func (v *view) sendText(text string, thinking bool) {
	if thinking {
		v.send(sdk.UpdateAgentThoughtText(text))
		return
	}
	v.send(sdk.UpdateAgentMessageText(text))
}

// media shows an image of an answer, or names another file.
func (v *view) media(c app.Change) {
	if p := c.Part; len(p.Data) == 0 || !strings.HasPrefix(p.MIME, "image/") {
		v.link(c, attach.PartLabel(*p))
		return
	}
	v.last = nil
	v.send(sdk.UpdateAgentMessage(sdk.ImageBlock(encoded(c.Part.Data), c.Part.MIME)))
}

// link names a source or a file of an answer: by its address, or else in words.
func (v *view) link(c app.Change, words string) {
	if url := sanitize.Line(c.Part.URL); strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		v.send(sdk.UpdateAgentMessage(sdk.ResourceLinkBlock(cmp.Or(sanitize.Line(c.Part.Name), url), url)))
		return
	}
	v.say("\n\n["+words+"]", false)
}

// dropped tells that something is no part of the answer.
func (v *view) dropped(c app.Change) {
	switch c.Kind {
	case app.TextBlock, app.ThinkingBlock:
		v.cut = v.cut || c.Kind == app.TextBlock && v.texts[c.ID] != nil
		delete(v.texts, c.ID)
	case app.ToolBlock:
		if v.calls[c.ID] != nil {
			delete(v.calls, c.ID)
			v.send(sdk.UpdateToolCall(sdk.ToolCallId(c.ID), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
		}
	}
}

// retry reports once that an answer begins again whose text was sent already: it cannot be taken back.
func (v *view) retry(c app.Change) {
	if r, ok := c.Event.(llm.Retry); ok && len(r.Discards) > 0 && v.cut {
		v.cut = false
		v.say("\n\n"+app.RetryText(r, 0)+". The answer begins again:", false)
	}
}

// event tells of something between the messages: aloud if it is about who is paid, else aside.
func (v *view) event(c app.Change) {
	aloud, text := false, ""
	switch e := c.Event.(type) {
	case llm.Notice:
		aloud, text = e.Urgent, e.Text
	case session.Sandbox:
		aloud, text = true, app.SandboxText(e)
	case session.Fallback:
		aloud, text = true, app.FallbackText(e)
	case session.Compacted:
		aloud, text = true, app.CompactedText(e)
	}
	if text != "" {
		v.say(sanitize.Text(text), !aloud)
	}
}

// text tells of text as it comes. What was told of a block that turns out to be of another kind
// cannot be taken back: the rest is sent as its own kind.
func (v *view) text(c app.Change) {
	stream := v.texts[c.ID]
	if c.Op == app.Renamed {
		stream = v.texts[c.Was]
		delete(v.texts, c.Was)
	}
	if stream == nil {
		stream = &sanitize.Stream{}
	}
	v.texts[c.ID] = stream
	var text string
	switch c.Op {
	case app.Opened, app.Grown:
		text = stream.Add(c.Text).String()
	case app.Closed:
		text = stream.End().String()
	}
	if text == "" {
		return
	}
	if l := v.last; l != nil && l.Kind == c.Kind && l.ID != c.ID {
		text = "\n\n" + text // a client joins chunks of one kind
	}
	v.last = &c
	v.sendText(text, c.Kind == app.ThinkingBlock)
}

// prompted tells of a prompt that is stored.
func (v *view) prompted(m llm.Message) {
	v.last = nil
	for _, p := range m.Parts {
		switch {
		case p.Kind == llm.Text && p.Name == "":
			v.send(sdk.UpdateUserMessageText(sanitize.Text(p.Text)))
		case p.Kind == llm.Media && strings.HasPrefix(p.MIME, "image/") && len(p.Data) > 0:
			v.send(sdk.UpdateUserMessage(sdk.ImageBlock(encoded(p.Data), p.MIME)))
		case p.Kind == llm.Text, p.Kind == llm.Media:
			v.send(sdk.UpdateUserMessageText("[" + sanitize.Line(attach.PartLabel(p)) + "]\n"))
		}
	}
}
