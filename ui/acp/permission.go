package acp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/describe"
)

// ask asks the client's user to allow a call. A missing answer denies it.
func (c *conversation) ask(ctx context.Context, request session.ApprovalRequest) act.Approval {
	options, approvals := offersFor(request)
	if approval, ok := approvals[c.choose(ctx, c.view.call(request), options)]; ok {
		return approval
	}
	return act.Approval{Verdict: act.Deny}
}

// choose lets the client's user choose one of options; it returns "" for no answer.
func (c *conversation) choose(ctx context.Context, call sdk.ToolCallUpdate, options []sdk.PermissionOption) sdk.PermissionOptionId {
	r, err := c.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{SessionId: c.id, ToolCall: call, Options: options})
	if err != nil || r.Outcome.Selected == nil {
		return ""
	}
	return r.Outcome.Selected.OptionId
}

// askServers asks the client's user to allow each of the client's servers once. A missing answer
// denies, unless the prompt was canceled.
func (c *conversation) askServers(ctx context.Context) {
	const always, once = "always", "session"
	options := []sdk.PermissionOption{
		{OptionId: once, Kind: sdk.PermissionOptionKindAllowOnce, Name: "Start in this session"},
		{OptionId: always, Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always start in this folder"},
		{OptionId: "deny", Kind: sdk.PermissionOptionKindRejectOnce, Name: "Don't start"},
	}
	for len(c.opened.Questions) > 0 && ctx.Err() == nil {
		q := c.opened.Questions[0]
		text := describe.Reveal(q.Location)
		if len(q.Given) > 0 {
			text += "\nIt is given " + describe.Reveal(strings.Join(q.Given, ", "))
		}
		c.view.last = nil
		call, end := c.startQuestion(sdk.ToolCallId(c.view.newID()), sdk.ToolKindExecute, "Start MCP server "+q.Name+"?", text)
		status := sdk.ToolCallStatusFailed
		if chosen := c.choose(ctx, call, options); chosen == always || chosen == once {
			status = sdk.ToolCallStatusCompleted
			if err := q.Allow(chosen == always); err != nil {
				c.view.say(sanitize.Text(wording.Error(err)), false)
			}
		}
		end(status)
		if ctx.Err() == nil {
			c.opened.Questions = c.opened.Questions[1:]
		}
	}
}

// confirm asks the client's user a yes-or-no question. A missing answer is no. The caller holds appMu.
func (c *conversation) confirm(ctx context.Context, q *app.Confirm) bool {
	c.appMu.Unlock() // the user may take long
	defer c.appMu.Lock()
	const yes = "yes"
	c.view.last = nil
	call, end := c.startQuestion(sdk.ToolCallId(c.view.newID()), sdk.ToolKindThink, q.Text, q.Text)
	status := sdk.ToolCallStatusFailed
	chosen := c.choose(ctx, call, []sdk.PermissionOption{
		{OptionId: yes, Kind: sdk.PermissionOptionKindAllowOnce, Name: q.Yes},
		{OptionId: "no", Kind: sdk.PermissionOptionKindRejectOnce, Name: q.No},
	})
	if chosen == yes {
		status = sdk.ToolCallStatusCompleted
	}
	end(status)
	return chosen == yes
}

// startQuestion shows a question of parley's own as a call, for choose. End shows its status.
func (c *conversation) startQuestion(id sdk.ToolCallId, kind sdk.ToolKind, title, text string) (call sdk.ToolCallUpdate, end func(sdk.ToolCallStatus)) {
	status := sdk.ToolCallStatusPending
	call = sdk.ToolCallUpdate{ToolCallId: id, Title: sdk.Ptr(sanitize.Line(title)), Kind: &kind, Status: &status, Content: textContent(text)}
	c.update(sdk.StartToolCall(id, *call.Title, sdk.WithStartKind(kind), sdk.WithStartStatus(status), sdk.WithStartContent(call.Content)))
	return call, func(status sdk.ToolCallStatus) { c.update(sdk.UpdateToolCall(id, sdk.WithUpdateStatus(status))) }
}

// askUser asks the client's user the questions that next begins with, as requests for permission: every client can show
// these, and the SDK cannot name the session in a form.
func (c *conversation) askUser(next func() app.Effect) {
	for {
		c.appMu.Lock()
		q, ok := next().(*app.ModelQuestion)
		c.questions++
		id := sdk.ToolCallId("question" + strconv.Itoa(c.questions))
		c.appMu.Unlock()
		if !ok {
			return
		}
		chosen, text := c.askQuestion(id, q)
		next = func() app.Effect { return q.Answer(chosen, text) }
	}
}

// askQuestion asks one question, and again for each further choice if several may be chosen.
func (c *conversation) askQuestion(id sdk.ToolCallId, q *app.ModelQuestion) (chosen []int, text string) {
	const done, own = "done", "own"
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.work.Go(func() {
		select {
		case <-q.Done:
			cancel()
		case <-ctx.Done():
		}
	})
	call, end := c.startQuestion(id, sdk.ToolKindThink, q.Text, q.Text)
	defer end(sdk.ToolCallStatusCompleted)
	for {
		var options []sdk.PermissionOption
		add := func(id string, kind sdk.PermissionOptionKind, name string) {
			options = append(options, sdk.PermissionOption{OptionId: sdk.PermissionOptionId(id), Kind: kind, Name: name})
		}
		if len(chosen) > 0 {
			add(done, sdk.PermissionOptionKindAllowOnce, fmt.Sprintf("Done, %d chosen", len(chosen)))
		}
		for i, item := range q.Choices {
			name := strings.TrimSuffix(item.Title+" – "+item.Detail, " – ")
			if i == 0 {
				name += " (recommended)"
			}
			if !slices.Contains(chosen, i) {
				add(strconv.Itoa(i), sdk.PermissionOptionKindAllowOnce, name)
			}
		}
		add(own, sdk.PermissionOptionKindRejectOnce, "Another answer, in my next message")
		add("none", sdk.PermissionOptionKindRejectOnce, "No answer")
		picked := string(c.choose(ctx, call, options))
		n, err := strconv.Atoi(picked)
		switch {
		case picked == done:
			return chosen, ""
		case picked == own:
			return chosen, "I answer in my next message: end your turn and wait for it."
		case err != nil || n < 0 || n >= len(q.Choices):
			return nil, ""
		}
		if chosen = append(chosen, n); !q.Several || len(chosen) == len(q.Choices) {
			return chosen, ""
		}
	}
}

// offersFor returns the possible answers for a call, and their effects. Each answer states all that
// it allows; a lasting one names the stored rule.
func offersFor(request session.ApprovalRequest) (options []sdk.PermissionOption, approvals map[sdk.PermissionOptionId]act.Approval) {
	a := request.Action
	approvals = map[sdk.PermissionOptionId]act.Approval{}
	add := func(id sdk.PermissionOptionId, kind sdk.PermissionOptionKind, name string, approval act.Approval) {
		options = append(options, sdk.PermissionOption{OptionId: id, Kind: kind, Name: sanitize.Line(name)})
		approvals[id] = approval
	}
	for _, choice := range describe.Choices(a, false, false) {
		switch name := choice.Text(a, false); choice {
		case describe.AllowOnce:
			add("allow", sdk.PermissionOptionKindAllowOnce, name, act.Approval{Verdict: act.Allow})
		case describe.WithNetwork:
			add("network", sdk.PermissionOptionKindAllowOnce, name+" once", act.Approval{Verdict: act.Allow, Network: true})
		case describe.AllowSession:
			add("session", sdk.PermissionOptionKindAllowAlways, name, act.Approval{Verdict: act.Allow, Session: true})
		case describe.AlwaysAllow:
			if rule, _, err := describe.Rule(request.Policy, a, 0); err == nil {
				add("always", sdk.PermissionOptionKindAllowAlways, "Always allow in this folder: "+rule, act.Approval{Verdict: act.Allow, Always: true})
			}
		case describe.DenyCall:
			add("deny", sdk.PermissionOptionKindRejectOnce, name, act.Approval{Verdict: act.Deny})
		}
	}
	return options, approvals
}

// call describes a call completely, for the question to the user.
func (v *view) call(request session.ApprovalRequest) sdk.ToolCallUpdate {
	a := request.Action
	text := describe.Words(a, false)
	if a.Diff != "" { // the client shows the diff
		bare := *a
		bare.Diff, bare.Input = "", []byte("{}")
		text = describe.Words(&bare, false)
	}
	content := []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(codeBlock(strings.Join(text, "\n"))))}
	content = append(content, v.diffs(a.Diff)...)
	status := sdk.ToolCallStatusPending
	return sdk.ToolCallUpdate{
		ToolCallId: v.asked, Title: sdk.Ptr(describe.Title(a)), Kind: sdk.Ptr(kindOf(a.Tool)), Status: &status,
		Content: content, Locations: v.locations(string(a.Input)), RawInput: rawInput(string(a.Input)),
	}
}
