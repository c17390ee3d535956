package app

import (
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
)

// A Tool is what is known of a call of a tool.
type Tool struct {
	Name     string
	Title    string // what the call does in one line, if that was asked about; "" otherwise
	Input    string // the arguments as far as they arrived: JSON, perhaps cut anywhere
	Status   CallStatus
	Output   string        // what it answered, whole
	Diff     string        // unified diff of what it changed
	Started  time.Time     // when it began to run; zero before, and of calls that are stored
	Duration time.Duration // how long it ran

	Remote   bool // the provider runs it
	Stops    bool // the user can stop it
	Asked    bool // the user was asked, and saw all of it
	Ran      bool // it was allowed to run
	Live     bool // it had output before it ended
	Parallel bool // others ran at the same time
}

// CallStatus is how far a call is.
type CallStatus int

// The statuses. A call from CallDone on goes no further.
const (
	CallArriving CallStatus = iota // its arguments do
	CallAsking                     // waits for the user's word
	CallRunning
	CallDone
	CallFailed
	CallDenied
	CallCanceled
	CallLost // parley ended while it ran: what it did is not known
)

// setTool changes what is known of a call. Event is why.
func (t *Turn) setTool(b *block, event session.Event, change func(*Tool)) {
	change(&b.tool)
	b.tool.Name = tools.DisplayName(b.tool.Name)
	tool := b.tool
	t.putBlock(b, Change{Op: Replaced, Kind: ToolBlock, Tool: &tool, Event: event})
}

// blockOf returns the block of a call.
func (t *Turn) blockOf(call string) *block {
	b := t.calls[call]
	if b == nil {
		b = &block{id: t.newID(), kind: llm.Call}
		if t.calls == nil {
			t.calls = map[string]*block{}
		}
		t.calls[call] = b
	}
	return b
}

// callGrows shows a call whose arguments arrive.
func (t *Turn) callGrows(b *block, part llm.Part) {
	if part.ID != "" {
		t.calls[part.ID] = b
	}
	t.setTool(b, nil, func(tool *Tool) {
		tool.Name, tool.Input, tool.Remote, tool.Status = part.Name, part.Input, part.Remote, CallArriving
		if part.Remote {
			tool.Status, tool.Started = CallRunning, b.began
		}
	})
}

// remoteResult shows what a tool that the provider ran answered.
func (t *Turn) remoteResult(part llm.Part) {
	t.setTool(t.blockOf(part.ID), nil, func(tool *Tool) {
		tool.Output, tool.Status = part.Text, CallDone
		if part.Failed {
			tool.Status = CallFailed
		}
	})
}

// nameCalls notes under which ids the calls of a whole answer go on: the session
// gives an id to those that came without one, and another to those that share
// one.
func (t *Turn) nameCalls(calls []llm.Part) {
	var blocks []*block
	for _, b := range t.order {
		if b.kind == llm.Call && !b.tool.Remote {
			blocks = append(blocks, b)
		}
	}
	if len(calls) != len(blocks) {
		return // some were dropped: the others have ids of their own
	}
	for i, call := range calls {
		t.calls[call.ID] = blocks[i]
	}
}

func (t *Turn) call(c session.Call, now time.Time) {
	t.asked = time.Time{}
	t.setActivity(Running, c.Part.Name, now)
	t.setTool(t.blockOf(c.Part.ID), c, func(tool *Tool) {
		tool.Name, tool.Input, tool.Status, tool.Started, tool.Stops = c.Part.Name, c.Part.Input, CallRunning, now, true
	})
}

func (t *Turn) ask(a session.ApprovalRequest, now time.Time) {
	t.setActivity(Asking, a.Call.Name, now)
	t.setTool(t.blockOf(a.Call.ID), a, func(tool *Tool) {
		tool.Status, tool.Asked = CallAsking, true // the question shows the diff
		tool.Title = strings.TrimPrefix(a.Action.Title, a.Call.Name+" ")
	})
}

func (t *Turn) decided(d session.Decision, now time.Time) {
	b := t.blockOf(d.ID)
	t.Kind, t.Tool, t.Since = Running, b.tool.Name, now // waiting for the user is not running
	for _, other := range t.calls {
		if allowed := d.Verdict != tools.Deny; allowed && other != b && other.tool.Ran && other.tool.Status == CallRunning {
			other.tool.Parallel, b.tool.Parallel = true, true
		}
	}
	t.setTool(b, d, func(tool *Tool) {
		tool.Status, tool.Started, tool.Ran = CallRunning, now, true
		if d.Verdict == tools.Deny {
			tool.Status, tool.Ran = CallDenied, false
		}
	})
}

func (t *Turn) progress(p session.Progress) {
	b := t.blockOf(p.ID)
	b.tool.Live = true
	t.putBlock(b, Change{Op: Grown, Kind: ToolBlock, Text: p.Text})
}

func (t *Turn) result(r session.Result, lost bool, now time.Time) {
	t.setTool(t.blockOf(r.Part.ID), r, func(tool *Tool) {
		tool.Output, tool.Duration, tool.Diff = r.Part.Text, r.Duration, r.Diff
		switch {
		case tool.Status == CallDenied:
		case r.Stopped:
			tool.Status = CallCanceled
		case lost:
			tool.Status = CallLost
		case r.Part.Failed:
			tool.Status = CallFailed
		default:
			tool.Status = CallDone
		}
	})
	for _, b := range t.calls {
		if b.tool.Status == CallRunning || b.tool.Status == CallAsking {
			return
		}
	}
	t.setActivity(Waiting, "", now)
}
