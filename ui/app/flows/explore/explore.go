// Package explore offers the model a tool that has another model look around in the workspace: in a window of its
// own, with the tools that read, and without questions to the user.
package explore

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
)

// Bounds of one look around.
const (
	maxRequests = 12
	maxTime     = 5 * time.Minute
	maxTask     = 8 << 10 // bytes
	maxReport   = 4 << 10 // bytes, with the places
	maxPlaces   = 1 << 10 // bytes
	maxPlace    = 200     // bytes
	maxAtOnce   = 3
	minContext  = 16_000 // tokens of the window of models that are offered the tool
)

const (
	description = "Has a helper look around in the workspace for one task. It only reads, does not know this conversation, and reports in a page, with the files and lines it read. Use it for wide searches that would fill your window; separate tasks in one answer run at once."
	schema      = `{"type":"object","properties":{"task":{"type":"string"}},"required":["task"]}`
	lastLook    = "This was your last look. Report now what you found, and what you did not."
)

// prompt instructs the helper.
//
//go:embed prompt.md
var prompt string

// Register adds the tool to those of a.
func Register(a *app.App) {
	if a.Machine.ToolSet == nil {
		return
	}
	if set, ok := a.Machine.ToolSet(act.ExploreTool).(*tools.Set); ok {
		running := make(chan struct{}, maxAtOnce)
		_ = set.AddExternal(tools.External{ // its name is valid
			Name: act.ExploreTool, Description: description, Schema: json.RawMessage(schema), MinContext: minContext,
			Plan: func(ctx context.Context, input json.RawMessage) (*act.Action, error) {
				return plan(ctx, running, input)
			},
		})
	}
}

// plan reads the task of a call. Running holds an entry for each look around that runs.
func plan(ctx context.Context, running chan struct{}, input json.RawMessage) (*act.Action, error) {
	var args struct{ Task string }
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, err
	}
	s := session.Of(ctx)
	switch {
	case s == nil:
		return nil, session.ErrNoModels
	case strings.TrimSpace(args.Task) == "":
		return nil, errors.New("the task is empty")
	case len(args.Task) > maxTask:
		return nil, fmt.Errorf("the task has %d KB: shorten it to %d", len(args.Task)>>10, maxTask>>10)
	}
	return &act.Action{Access: act.AccessRead, Title: "explore " + args.Task, Do: func(ctx context.Context, progress func(string)) act.Outcome {
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		case <-ctx.Done():
			return act.Outcome{Text: "not begun: " + format.ErrorText(context.Cause(ctx)), Failed: true}
		}
		return look(ctx, s, args.Task, progress)
	}}, nil
}

// look has the helper of s do a task, and returns its report.
func look(ctx context.Context, s *session.Session, task string, progress func(string)) act.Outcome {
	helper, err := s.Beside.NewHelper(store.PurposeExplore, session.Options{System: prompt, MaxSteps: maxRequests})
	if err != nil {
		return act.Outcome{Text: err.Error(), Failed: true}
	}
	defer helper.Close()
	model := helper.Model()
	model.Model = &lastAnswers{Model: model.Model}
	helper.SetModel(model)
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it took longer than %s", maxTime))
	defer cancel()
	var r report
	for e := range helper.Turn(ctx, llm.Part{Kind: llm.Text, Text: task}) {
		r.add(e, progress)
	}
	return r.outcome(model.Name)
}

// lastAnswers is a model that may call no tools in the last request.
type lastAnswers struct {
	llm.Model
	requests int
}

// Stream implements llm.Model.
func (m *lastAnswers) Stream(ctx context.Context, req llm.Request) llm.Stream {
	if m.requests++; m.requests >= maxRequests {
		req.ToolChoice = "none"
		req.Messages = append(slices.Clip(req.Messages), llm.UserText(lastLook))
	}
	return m.Model.Stream(ctx, req)
}

// A report gathers what a helper says and reads.
type report struct {
	calls    []looked
	text     string // of its last answer with one
	used     llm.Usage
	requests int
	err      error
}

// looked is a call, and what it looked at; "" if it failed.
type looked struct {
	call llm.Part
	at   string
}

// add adds an event of the helper's turn.
func (r *report) add(e session.Event, progress func(string)) {
	switch e := e.(type) {
	case session.Step:
		r.requests = e.N
	case session.ApprovalRequest: // a hook wants it
		e.Reply(act.Approval{Verdict: act.Deny, Reason: "it needs the approval of the user, who is not asked here."})
	case session.Call:
		r.calls = append(r.calls, looked{call: e.Part})
		progress(place(e.Part, "") + "\n")
	case session.Result:
		for i := len(r.calls) - 1; i >= 0 && !e.Part.Failed; i-- { // later answers may repeat an id
			if c := &r.calls[i]; c.call.ID == e.Part.ID {
				c.at = place(c.call, e.Part.Text)
				break
			}
		}
	case session.Response:
		r.used = r.used.Add(e.Usage)
		if text := strings.TrimSpace(e.Message.Text()); text != "" {
			r.text = text
		}
	case session.Done:
		r.err = e.Err
	}
}

// outcome returns the report for the model that asked, and says who made it.
func (r *report) outcome(model string) act.Outcome {
	by := format.ModelID(model) + " · " + format.Plural(r.requests, "request") + " · " + format.Cost(r.used.Cost, r.used.Priced)
	out := act.Outcome{By: strings.TrimSuffix(by, " · "), Failed: r.err != nil}
	var places []string
	for _, c := range r.calls {
		if c.at != "" && !slices.Contains(places, c.at) {
			places = append(places, c.at)
		}
	}
	end := ""
	if len(places) > 0 {
		end = "\n\nLooked at:\n" + sanitize.TruncateBytes(strings.Join(places, "\n"), maxPlaces)
	}
	switch text, _ := tools.Sanitize(r.text); {
	case r.err != nil:
		out.Text = fmt.Sprintf("%s did not finish: %s\n\n%s", model, format.ErrorText(r.err), text)
	case text == "":
		out.Text, out.Failed = model+" reported nothing.", true
	default:
		out.Text = text
	}
	out.Text = sanitize.TruncateBytes(strings.TrimSpace(out.Text), maxReport-len(end)-len("…")) + end
	return out
}

// place describes what a call looks at, with the lines of a file that its result shows.
func place(call llm.Part, result string) string {
	var args struct{ Path, Pattern string }
	_ = json.Unmarshal([]byte(call.Input), &args) // a call that cannot be read is named
	text, path := call.Name, act.QuotePath(args.Path)
	switch {
	case args.Pattern != "" && args.Path != "":
		text += fmt.Sprintf(" %q in %s", args.Pattern, path)
	case args.Pattern != "":
		text += fmt.Sprintf(" %q", args.Pattern)
	case args.Path != "":
		text += " " + path
	}
	if call.Name == "read" {
		text += numbers(result)
	}
	return sanitize.Line(sanitize.TruncateBytes(text, maxPlace))
}

// numbers returns the numbers of the first and the last line that a result of read shows, as ":12-40"; "" if there
// are none.
func numbers(result string) string {
	first, last := "", ""
	for line := range strings.Lines(result) {
		n, _, _ := strings.Cut(strings.TrimLeft(line, " "), "\t")
		if _, err := strconv.Atoi(n); err == nil {
			first, last = cmp.Or(first, n), n
		}
	}
	if first == "" {
		return ""
	}
	return ":" + first + "-" + last
}
