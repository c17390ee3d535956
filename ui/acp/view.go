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
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
)

// A view sends updates to a client for the changes of a conversation that a screen would draw.
// It remembers the sent updates.
type view struct {
	send     func(sdk.SessionUpdate)
	turn     blocks.Turn
	folder   string // base directory of displayed paths
	minted   int
	replays  bool // messages come from the store, and the client has none of them
	title    string
	commands *string // as last sent; nil before the first time

	texts map[string]*sanitize.Stream // of growing blocks
	cut   bool                        // sent text was discarded, and the client was not informed yet
	last  *blocks.Change              // change of the last chunk; nil if another update followed it
	calls map[string]*sentCall        // by block ID
	asked sdk.ToolCallId              // the call in the last permission request
}

// A sentCall is a call that was sent to the client.
type sentCall struct {
	status sdk.ToolCallStatus
	input  string // the arguments, once complete
	output string // the end of its output so far
}

func newView(folder string, send func(sdk.SessionUpdate)) *view {
	v := &view{send: send, folder: folder, texts: map[string]*sanitize.Stream{}, calls: map[string]*sentCall{}}
	v.live()
	return v
}

// live begins a turn. Its messages are new to parley, and the client knows its prompt.
func (v *view) live() {
	v.turn, v.replays = blocks.NewTurn(v.newID), false
	clear(v.texts)
	clear(v.calls)
	v.last = nil
}

// newID returns a block ID that is unique in the conversation. It also serves as the ID of a
// tool call.
func (v *view) newID() string {
	v.minted++
	return "b" + strconv.Itoa(v.minted)
}

// replay sends the history of the conversation to the client.
func (c *conversation) replay() {
	v, s := c.view, c.opened.App.Session
	v.replays = true
	path := s.Path()
	blocks.Replay(s, path, 0, len(path), v.newID, v.show)
	v.title = sanitize.Line(s.Title())
	c.tellUsage()
}

// announcedCommands reports whether these commands were already sent, and records them as sent.
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
func (v *view) show(c blocks.Change) {
	switch {
	case c.Op == blocks.Dropped:
		v.dropped(c)
	case c.Kind == blocks.TextBlock, c.Kind == blocks.ThinkingBlock:
		v.text(c)
	case c.Kind == blocks.ToolBlock:
		v.tool(c)
	case c.Kind == blocks.UserBlock:
		if p, ok := c.Event.(session.Prompt); ok && v.replays {
			v.prompted(p.Message)
		}
	case c.Kind == blocks.MediaBlock:
		v.media(c)
	case c.Kind == blocks.SourceBlock:
		v.link(c, blocks.SourceText(c))
	case c.Kind == blocks.EventBlock:
		v.event(c)
	case c.Kind == blocks.RetryBlock:
		v.retry(c)
	}
}

// say sends a separate text: as a part of the answer, or as thinking if aside is set.
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

// media sends an image of an answer, or a link to another file.
func (v *view) media(c blocks.Change) {
	if p := c.Part; len(p.Data) == 0 || !strings.HasPrefix(p.MIME, "image/") {
		v.link(c, attach.PartLabel(*p))
		return
	}
	v.last = nil
	v.send(sdk.UpdateAgentMessage(sdk.ImageBlock(encoded(c.Part.Data), c.Part.MIME)))
}

// link sends a source or file of an answer: its address, or words if it has none.
func (v *view) link(c blocks.Change, words string) {
	if url := sanitize.Line(c.Part.URL); strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		v.send(sdk.UpdateAgentMessage(sdk.ResourceLinkBlock(cmp.Or(sanitize.Line(c.Part.Name), url), url)))
		return
	}
	v.say("\n\n["+words+"]", false)
}

// dropped records that a block was discarded.
func (v *view) dropped(c blocks.Change) {
	switch c.Kind {
	case blocks.TextBlock, blocks.ThinkingBlock:
		v.cut = v.cut || c.Kind == blocks.TextBlock && v.texts[c.ID] != nil
		delete(v.texts, c.ID)
	case blocks.ToolBlock:
		if v.calls[c.ID] != nil {
			delete(v.calls, c.ID)
			v.send(sdk.UpdateToolCall(sdk.ToolCallId(c.ID), sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
		}
	}
}

// retry reports once that an answer begins again although its text was already sent, because sent text
// cannot be withdrawn, and when a limit resets that the answer waits for.
func (v *view) retry(c blocks.Change) {
	switch r, _ := c.Event.(llm.Retry); {
	case len(r.Discards) > 0 && v.cut:
		v.cut = false
		v.say("\n\n"+wording.Retry(r, 0)+". The answer begins again:", false)
	case !r.Until.IsZero() && c.Op == blocks.Opened:
		v.say(wording.Retry(r, r.Wait), true)
	}
}

// event sends an event between messages: as answer text if it concerns who is paid, else as thinking.
func (v *view) event(c blocks.Change) {
	aloud, text := false, ""
	switch e := c.Event.(type) {
	case llm.Notice:
		aloud, text = e.Urgent, e.Text
	case session.Sandbox, session.Fallback, session.Compacted:
		aloud, text = true, wording.Event(e)
	}
	if text != "" {
		v.say(sanitize.Text(text), !aloud)
	}
}

// text sends text as it arrives. Sent text of a block whose kind changes cannot be withdrawn,
// so only the rest is sent as the new kind.
func (v *view) text(c blocks.Change) {
	stream := v.texts[c.ID]
	if c.Op == blocks.Renamed {
		stream = v.texts[c.Was]
		delete(v.texts, c.Was)
	}
	if stream == nil {
		stream = &sanitize.Stream{}
	}
	v.texts[c.ID] = stream
	var text string
	switch c.Op {
	case blocks.Opened, blocks.Grown:
		text = stream.Add(c.Text).String()
	case blocks.Closed:
		text = stream.End().String()
	}
	if text == "" {
		return
	}
	if l := v.last; l != nil && l.Kind == c.Kind && l.ID != c.ID {
		text = "\n\n" + text // clients join chunks of one kind
	}
	v.last = &c
	v.sendText(text, c.Kind == blocks.ThinkingBlock)
}

// prompted sends a stored prompt.
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
