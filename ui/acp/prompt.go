package acp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/blocks"
)

// Cancel stops the running prompt and those waiting for it. The conversation can continue, as
// after esc on the screen. Later messages are not read before Cancel has ended; see countedReader.
func (a *agent) Cancel(_ context.Context, p sdk.CancelNotification) error {
	defer a.owed.carriedOut()
	prompts := a.owed.canceled(string(p.SessionId))
	c, err := a.find(p.SessionId)
	if err != nil {
		return err
	}
	a.owed.waitBegun(prompts, c.begun, promptTime)
	c.cancel()
	return nil
}

// promptTime is how long a received prompt may take to begin.
const promptTime = 2 * time.Second

// begun returns the number of prompts that cancel would stop.
func (c *conversation) begun() int {
	c.cancelMu.Lock()
	defer c.cancelMu.Unlock()
	return len(c.cancels)
}

func (c *conversation) cancel() {
	c.cancelMu.Lock()
	defer c.cancelMu.Unlock()
	for f := range c.cancels {
		(*f)()
	}
}

// cancelable returns a context that ends with cancel, the connection, or a call of done.
func (c *conversation) cancelable(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(c.ctx, cancel)
	c.cancelMu.Lock()
	c.cancels[&cancel] = true
	c.cancelMu.Unlock()
	c.owed.began()
	return ctx, func() {
		unhook()
		c.cancelMu.Lock()
		delete(c.cancels, &cancel)
		c.cancelMu.Unlock()
		cancel()
	}
}

// Prompt answers a prompt. A conversation answers one prompt at a time.
func (a *agent) Prompt(ctx context.Context, p sdk.PromptRequest) (r sdk.PromptResponse, err error) {
	done, ok := a.begin()
	if !ok {
		return r, failed(errGone)
	}
	defer done()
	c, err := a.find(p.SessionId)
	if err != nil {
		return r, err
	}
	ctx, end := c.cancelable(ctx)
	defer end()
	parts, err := promptParts(p.Prompt, c.opened.App.Directory, func(file string) string { return c.editor.Text(ctx, file) })
	if err != nil {
		return r, err
	}
	c.prompting.Lock()
	defer c.prompting.Unlock()
	if c.closed {
		return r, invalid("session %q is closed", p.SessionId)
	}
	if c.notice != "" {
		c.view.say(sanitize.Text(c.notice), true)
		c.notice = ""
	}
	c.askServers(ctx)
	if ctx.Err() == nil {
		c.opened.Ready(ctx, func(notice string) {
			c.view.say(sanitize.Text(notice), false)
		})
	}
	if ctx.Err() != nil {
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	c.tellCommands() // servers may have added commands
	turn, err := c.turnOf(ctx, parts)
	switch {
	case ctx.Err() != nil:
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	case err != nil:
		return r, err
	case turn == nil: // a command without a model request
		return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, nil
	}
	return c.answer(ctx, turn)
}

// answer runs a turn and sends its events to the client.
func (c *conversation) answer(ctx context.Context, turn iter.Seq[session.Event]) (r sdk.PromptResponse, err error) {
	c.view.live()
	for e := range turn {
		for _, change := range c.view.turn.Apply(e, time.Now()) {
			c.view.show(change)
		}
		switch e := e.(type) {
		case session.ApprovalRequest:
			e.Reply(c.ask(ctx, e))
		case session.Decision:
			c.tellMode()
		case session.Response:
			if text := blocks.IncompleteText(e); e.Message.Empty() && text != "" {
				c.view.say(text, false)
			}
			c.tellUsage()
		case session.Done:
			r, err = ending(ctx, e)
		}
	}
	if title := sanitize.Line(c.opened.App.Session.Title()); title != c.view.title {
		c.view.title = title
		c.update(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{Title: &title}})
	}
	return r, err
}

// ending returns the outcome of a turn as the protocol reports it: an error is the error of the request.
func ending(ctx context.Context, d session.Done) (sdk.PromptResponse, error) {
	reason := sdk.StopReasonEndTurn
	switch {
	case d.Err != nil && (ctx.Err() != nil || errors.Is(d.Err, context.Canceled)):
		reason = sdk.StopReasonCancelled
	case errors.Is(d.Err, session.ErrSteps):
		reason = sdk.StopReasonMaxTurnRequests
	case llm.FaultOf(d.Err) == llm.ContentFilter:
		reason = sdk.StopReasonRefusal
	case d.Err != nil:
		return sdk.PromptResponse{}, failed(d.Err)
	case d.Reason == llm.Length:
		reason = sdk.StopReasonMaxTokens
	case d.Reason == llm.Refused:
		reason = sdk.StopReasonRefusal
	}
	return sdk.PromptResponse{StopReason: reason}, nil
}

// tellUsage sends the fill of the model's context window, and the cost of the conversation so far.
func (c *conversation) tellUsage() {
	total, last := c.opened.App.Session.Spending.Usage()
	u := sdk.SessionUsageUpdate{Used: last.Input + last.Output, Size: c.opened.App.Session.Model().Context}
	if u.Size == 0 || u.Used == 0 {
		return // nothing to show
	}
	if total.Priced {
		u.Cost = &sdk.Cost{Amount: total.Cost, Currency: "USD"}
	}
	c.update(sdk.SessionUpdate{UsageUpdate: &u})
}

// turnOf returns the turn that a prompt begins, or nil for a command without a model request.
func (c *conversation) turnOf(ctx context.Context, parts []llm.Part) (iter.Seq[session.Event], error) {
	last := len(parts) - 1
	line := parts[last]
	c.appMu.Lock()
	defer c.appMu.Unlock()
	var effect app.Effect
	ok := false
	if line.Kind == llm.Text && line.Name == "" {
		effect, ok = c.command(strings.TrimSpace(line.Text))
	}
	if !ok {
		return c.app.Session.Turn(ctx, parts...), nil
	}
	c.app.Attached = parts[:last]
	defer func() { c.app.Attached = nil }()
	return c.follow(ctx, effect)
}

// summarize is the command offered to clients beside those of [app.Command.Editors] and the user's prompts. The others
// are up to the client, or require a screen.
const summarize = "compact"

// command returns the effect of a line that begins with the name of a command or prompt.
func (c *conversation) command(line string) (app.Effect, bool) {
	if !strings.HasPrefix(line, "/") {
		return nil, false
	}
	if line == "/"+summarize {
		return c.app.Command(summarize).Do(""), true
	}
	name, arg, _ := strings.Cut(line[1:], " ")
	if own := c.app.Command(name); own.Editors {
		return inWords(own.Do(strings.TrimSpace(arg))), true
	}
	return c.app.Prompts.Run(line)
}

// inWords returns a list as text to read: a client has no dialog for it.
func inWords(e app.Effect) app.Effect {
	list, ok := e.(*app.List)
	if !ok {
		return e
	}
	text := list.Title + "\n"
	for i, item := range list.Items {
		text += fmt.Sprintf("\n%d. ", i+1) + strings.TrimSuffix(item.Title+" · "+item.Detail, " · ")
	}
	return app.Toast(text)
}

// follow applies an effect until it yields a turn, and returns the turn, or nil if there is none. An
// effect that a client cannot show is an error. The caller holds appMu.
func (c *conversation) follow(ctx context.Context, e app.Effect) (iter.Seq[session.Event], error) {
	switch e := e.(type) {
	case app.Then:
		for _, one := range e {
			if turn, err := c.follow(ctx, one); turn != nil || err != nil {
				return turn, err
			}
		}
	case app.Notes:
		for _, note := range e {
			c.update(sdk.UpdateAgentThoughtText(sanitize.Text(note) + "\n"))
		}
	case app.Failure:
		return nil, failed(e.Err)
	case app.Play:
		return e(ctx), nil
	case app.Prepare:
		return c.follow(ctx, e(ctx)())
	case app.Async:
		return c.follow(ctx, e(ctx))
	case app.Beside:
		c.beside(ctx, e)
	case *app.Secret:
		return nil, invalid("%s is missing: add it after the command as NAME=VALUE", e.Title)
	case *app.List:
		return nil, invalid("%s is missing: add it after the command as NAME=VALUE", e.Title)
	case *app.Confirm:
		return c.follow(ctx, e.Answer(c.confirm(ctx, e)))
	case app.PickModel:
		return nil, invalid("%s Name it after the command, as provider/model", e.Title)
	case app.Draft: // a server's prompt; a screen would show it in the draft
		return c.app.Session.Turn(ctx, append(c.app.Attached, llm.Part{Kind: llm.Text, Text: string(e)})...), nil
	case app.Toast:
		if e == "" {
			return nil, nil
		}
		c.update(sdk.UpdateAgentMessageText(sanitize.Text(string(e))))
	case nil, app.Shown, app.Attached, app.Progress, app.Reconfigured: // nothing to show
	default:
		return nil, invalid("an editor cannot show this: use parley in a terminal")
	}
	return nil, nil
}

// beside sends the text of e as it grows. No other answer arrives meanwhile.
func (c *conversation) beside(ctx context.Context, e app.Beside) {
	c.update(sdk.UpdateAgentMessageText("**" + e.Title + "**, not part of the conversation\n\n"))
	sent := ""
	send := func() {
		text := e.Read()
		all := strings.Join(text.Lines, "\n")
		rest, continues := strings.CutPrefix(all, sent)
		switch {
		case !continues && text.Running: // it began again, or the last characters are incomplete
			return
		case !continues:
			rest = "\n\nThe answer begins again:\n\n" + all
		}
		if sent = all; rest != "" {
			c.update(sdk.UpdateAgentMessageText(rest))
		}
	}
	e.Watch(send)
	e.Grow(ctx)
	e.Watch(nil)
	send()
	c.update(sdk.UpdateAgentMessageText("\n\n(" + e.Read().State + ")\n"))
}

// settle applies an effect that begins no turn.
func (c *conversation) settle(ctx context.Context, e app.Effect) error {
	switch e := e.(type) {
	case app.Then:
		for _, one := range e {
			if err := c.settle(ctx, one); err != nil {
				return err
			}
		}
	case app.Failure:
		return failed(e.Err)
	case app.Async:
		return c.settle(ctx, e(ctx))
	}
	return nil
}

// tellCommands sends the commands to the client if they have changed.
func (c *conversation) tellCommands() {
	c.appMu.Lock()
	c.app.Prompts.Read()
	items := c.app.Prompts.Items()
	c.appMu.Unlock()
	commands := []sdk.AvailableCommand{{Name: summarize, Description: "Summarize to free context"}}
	notice := ""
	for _, own := range c.app.Commands {
		if own.Editors {
			commands = append(commands, sdk.AvailableCommand{Name: own.Name, Description: own.Help, Input: &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: own.Arg}}})
		}
	}
	for _, i := range items {
		name, about := sanitize.Line(i.Value), sanitize.Line(i.Detail)
		notice += name + "\n" + about + "\n"
		commands = append(commands, sdk.AvailableCommand{
			Name: name, Description: about, Input: &sdk.AvailableCommandInput{Unstructured: &sdk.UnstructuredCommandInput{Hint: "arguments"}},
		})
	}
	if c.announcedCommands(notice) {
		return
	}
	c.update(sdk.SessionUpdate{AvailableCommandsUpdate: &sdk.SessionAvailableCommandsUpdate{AvailableCommands: commands}})
}
