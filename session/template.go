package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"parley/providers/llm"
	"parley/tools"
)

// A Template is a prompt that is not whole yet: it waits for what commands print.
type Template struct {
	Commands []string                          // run first, in order, each as the policy allows
	Project  string                            // the file they stand in, if it came with the working directory: each is asked about, whatever is allowed; "": the user's own
	Parts    func(outputs []string) []llm.Part // what is sent
	Settings TurnSettings
	Draft    Unsent // what the user has back where nothing is sent; the zero value is nothing
}

// TurnSettings hold while a prompt is answered. What is not set stays as it is.
type TurnSettings struct {
	Model  llm.Endpoint // without a Name: the session's
	Effort llm.Effort
	System string
	Tools  []string // that are offered, as tools.Set.WithTools has them; nil: all
	Schema *llm.Schema
	Web    bool // the answer may search the web
}

// ErrNotAllowed ends a turn whose prompt has a command that was not allowed. Nothing was sent.
var ErrNotAllowed = errors.New("not sent: a command of the prompt was not allowed")

// TurnFromTemplate runs the commands of a template and sends what it becomes, as Turn does. Where a
// command is not allowed, or cannot run, the turn ends and nothing is sent.
func TurnFromTemplate(ctx context.Context, s *Session, from Template) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		defer t.restoreSettings()
		outputs, err := runCommands(t, from)
		if err == nil {
			err = useSettings(t, from.Settings)
		}
		if err != nil {
			t.given = givenPrompt{Unsent: from.Draft}
			giveBackBlocked(t)
			return err
		}
		return t.run(from.Parts(outputs))
	})
}

// origin returns a as an action that the prompt runs.
func (from Template) origin(a *tools.Action) *tools.Action {
	own := *a
	own.OfPrompt = true
	if from.Project != "" {
		return tools.FromProject(&own, from.Project)
	}
	return &own
}

// runCommands runs the commands of a prompt through the shell tool, and returns what they
// printed. They are no calls of a model: what stays of them in the conversation is a record.
func runCommands(t *turn, from Template) (outputs []string, err error) {
	for _, command := range from.Commands {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return nil, err
		}
		j := &job{call: llm.Part{Kind: llm.Call, ID: "prompt_" + rand.Text(), Name: "shell", Input: string(input)}, origin: from.origin}
		b := &callBatch{turn: t, jobs: []*job{j}}
		if !b.plan(j, j.call.Input) {
			return nil, fmt.Errorf("the prompt runs %q: %w", command, j.err)
		}
		t.emit(Call{j.call})
		if !b.decide(j) {
			return nil, cmp.Or(context.Cause(t.ctx), fmt.Errorf("%w: %s", ErrNotAllowed, command))
		}
		if j.action.Command != "" {
			command = j.action.Command // as the user edited it
		}
		j.notice = ""
		record := t.Annotate(0, ShellCommand{Command: command})
		b.execute(b.jobs)
		if t.ctx.Err() != nil {
			return nil, context.Cause(t.ctx)
		}
		out := j.result
		t.Annotate(record, ShellCommand{Command: command, Output: out.Part.Text, Failed: out.Part.Failed, Ended: true, Duration: out.Duration})
		outputs = append(outputs, strings.TrimSuffix(out.Part.Text, "\n[exit status 0]"))
	}
	return outputs, nil
}

// useSettings has the running prompt answered with settings of its own.
func useSettings(t *turn, o TurnSettings) error {
	offered := t.tools
	if len(o.Tools) > 0 && t.tools != nil {
		var err error
		if offered, err = t.tools.WithTools(o.Tools...); err != nil {
			return fmt.Errorf("tools of the prompt: %w", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	model, effort, system := t.model, t.effort, t.system
	t.replaced = &replaced{&model, &effort, &system, t.answerSchema, t.tools}
	if o.Model.Name != "" {
		t.model, t.fallback.standIn, t.fallback.stoodIn = o.Model, llm.Endpoint{}, ""
	}
	t.effort, t.system = cmp.Or(o.Effort, t.effort), cmp.Or(o.System, t.system)
	if o.Schema != nil {
		t.answerSchema = o.Schema
	}
	t.settings.Web = t.settings.Web || o.Web
	t.tools, t.turnTools = offered, offered
	t.tokens.reset()
	return nil
}

// restoreSettings ends what useSettings began, but for what the user chose meanwhile.
func (t *turn) restoreSettings() {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.replaced
	if r == nil {
		return
	}
	if t.replaced = nil; r.model != nil {
		t.model = *r.model
	}
	if r.effort != nil {
		t.effort = *r.effort
	}
	if r.system != nil {
		t.system = *r.system
	}
	t.settings = t.own.Override(t.configured)
	t.answerSchema, t.tools, t.turnTools = r.answerSchema, r.tools, r.tools
	t.tokens.reset()
}

// HasPromptModel reports whether the running prompt is answered by a model of its own, which the user
// did not choose for what follows.
func HasPromptModel(s *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replaced != nil && s.replaced.model != nil && s.replaced.model.Name != s.model.Name
}

// chooseModel notes that the user chose a model, and returns which it is in the place of: that in
// use, or the conversation's where the prompt's own is chosen.
func (r *replaced) chooseModel(from, to string) string {
	if r.model != nil && from == to {
		from = r.model.Name
	}
	r.model = nil
	return from
}

// RenewModels opens the models of a provider again that s uses, such as after another key was given:
// that of the next request, and that which holds again after a prompt with one of its own. It
// chooses none of them. Where open fails, the model stays as it is.
func RenewModels(s *Session, provider string, open func(name string) (llm.Endpoint, error)) {
	s.mu.Lock()
	names := []string{s.model.Name}
	if r := s.replaced; r != nil && r.model != nil && r.model.Name != s.model.Name {
		names = append(names, r.model.Name)
	}
	s.mu.Unlock()
	for _, name := range names {
		if own, _, _ := strings.Cut(name, "/"); own != provider {
			continue
		}
		model, err := open(name)
		if err != nil {
			continue
		}
		RefreshModel(s, model)
		if s.Model().Name == name {
			set(s, &s.fallback.standIn, llm.Endpoint{})
			set(s, &s.fallback.stoodIn, "")
		}
	}
}
