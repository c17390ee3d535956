package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/settings"
	"parley/session/store"
	"parley/tools"
)

// A Template is a prompt that is not whole yet: it waits for what commands print.
type Template struct {
	Commands []string                          // run first, in order, each as the policy allows
	Project  string                            // the file they stand in, if it came with the working directory: each is asked about, whatever is allowed; "": the user's own
	Parts    func(outputs []string) []llm.Part // what is sent
	Settings TurnSettings
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

// TurnFrom runs the commands of a template and sends what it becomes, as Turn does. Where a
// command is not allowed, or cannot run, the turn ends and nothing is sent.
func TurnFrom(ctx context.Context, s *Session, from Template) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		outputs, err := runCommands(t, from)
		if err != nil {
			return err
		}
		defer t.restoreSettings()
		if err := useSettings(t, from.Settings); err != nil {
			return err
		}
		return t.run(from.Parts(outputs))
	})
}

// runCommands runs the commands of a prompt through the shell tool, and returns what they
// printed. They are no calls of a model: what stays of them in the conversation is a record.
func runCommands(t *turn, from Template) (outputs []string, err error) {
	for _, command := range from.Commands {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			return nil, err
		}
		j := &job{call: llm.Part{Kind: llm.Call, ID: "prompt_" + rand.Text(), Name: "shell", Input: string(input)}, project: from.Project}
		if !t.planCall(j, j.call.Input) {
			return nil, fmt.Errorf("the prompt runs %q: %w", command, j.err)
		}
		t.emit(Call{j.call})
		if !t.decide(j) {
			return nil, cmp.Or(context.Cause(t.ctx), fmt.Errorf("%w: %s", ErrNotAllowed, command))
		}
		if j.action.Command != "" {
			command = j.action.Command // as the user edited it
		}
		j.notice = ""
		record := t.Annotate(0, ShellCommand{Command: command})
		t.executeCalls([]*job{j})
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
	before, all := t.requestSettings, t.tools
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
	now := t.requestSettings
	t.revert = func() { // but for what the user changed meanwhile
		if t.model.Name == now.model.Name {
			t.model = before.model
		}
		if t.effort == now.effort {
			t.effort = before.effort
		}
		if t.system == now.system {
			t.system = before.system
		}
		if t.settings.Web == now.settings.Web {
			t.settings.Web = before.settings.Web
		}
		t.answerSchema, t.tools, t.turnTools = before.answerSchema, all, all
		t.tokens.reset()
	}
	return nil
}

// restoreSettings ends what useSettings began.
func (t *turn) restoreSettings() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.revert != nil {
		t.revert()
		t.revert = nil
	}
}

// persistResults writes how far the calls of a response are. Commands of a prompt belong to no
// response; see runCommands.
func (t *turn) persistResults() {
	if t.results.Seq > 0 {
		t.persist(t.results.node())
	}
}

// MaxPersona is how many bytes the system prompt of a persona may have.
const MaxPersona = 128 << 10

// A Persona is a system prompt that stays with a conversation, with the tools it offers. It is
// an event: the last one on a branch holds.
type Persona struct {
	Name    string   `json:"name"` // "": none from here on
	System  string   `json:"system,omitempty"`
	Tools   []string `json:"tools,omitempty"`   // as tools.Set.WithTools has them; nil: all
	Project string   `json:"project,omitempty"` // the directory that it came with; "": it is the user's own
	Ended   string   `json:"ended,omitempty"`   // without a Name: that of the one before
}

// OwnSystem is the Name of a persona that is no file's: its System is what the user typed.
const OwnSystem = "/system"

// PersonaOf returns the persona of the current branch; without a Name there is none.
func PersonaOf(s *Session) Persona {
	a, ok := s.lastAnnotation(store.KindPersona)
	if !ok {
		return Persona{}
	}
	p, _ := DecodeAnnotation(a).(Persona)
	return p
}

// SetPersona has the conversation continue with a persona, or without one, and system as the
// system prompt that this makes. It stays with the conversation.
func SetPersona(s *Session, p Persona, system string) error {
	if len(p.System) > MaxPersona {
		return fmt.Errorf("the persona %s is too large: its system prompt may have %d KB", p.Name, MaxPersona>>10)
	}
	if s.tools != nil && len(p.Tools) > 0 {
		if _, err := s.tools.WithTools(p.Tools...); err != nil {
			return fmt.Errorf("the persona %s: %w", p.Name, err)
		}
	}
	if p.Name != "" || PersonaOf(s).Name != "" {
		s.Annotate(0, p)
	}
	RestorePersona(s, p, system)
	return nil
}

// RestorePersona does as SetPersona for the persona that the conversation has.
func RestorePersona(s *Session, p Persona, system string) {
	set(s, &s.onlyTools, p.Tools)
	s.SetSystem(system)
}

// Settings are what the user set for a conversation. It is an event: the last one of the
// conversation holds, on all branches.
type Settings = settings.Settings

// SettingsOf returns what was set for the conversation. It is the caller's.
func SettingsOf(s *Session) Settings {
	return locked(&s.mu, func() Settings { return s.own.Clone() })
}

// ChangeSettings has change set values of the conversation for its next requests, and returns what
// holds then. It stays with the conversation. Two calls at a time follow one another; change must
// not call the session. With an error of change, or where nothing is Changed, all is as before.
func ChangeSettings(s *Session, change func(*Settings) error) (Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.own.Clone()
	if err := change(&now); err != nil {
		return s.own.Clone(), err
	}
	if now.Changed == "" {
		return now, nil
	}
	if data, err := json.Marshal(now); err != nil || len(data) > maxAnnotationText {
		return s.own.Clone(), cmp.Or(err, fmt.Errorf("the settings of a conversation may have %d KB", maxAnnotationText>>10))
	}
	annotateBetween(s, 0, now)
	useOwn(s, now.Clone())
	return now, nil
}

// restoreSettings finds the settings of a conversation that was kept.
func restoreSettings(s *Session) {
	for _, a := range slices.Backward(s.tree.annotations) {
		if a.Kind == store.KindSettings {
			if now, ok := DecodeAnnotation(a).(Settings); ok {
				useOwn(s, now.Clone())
			}
			return
		}
	}
}

// useOwn makes own the settings of the conversation. The session is locked.
func useOwn(s *Session, own Settings) {
	given := s.given
	given.Web = s.settings.Web // a prompt may search the web while it is answered
	s.own, s.settings = own, own.Over(given)
	s.tokens.reset()
}

// Tools returns the tools of the session, and of these what the next request offers.
func Tools(s *Session) (all, offered []llm.Tool) {
	if s.tools != nil {
		all = s.tools.Tools()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return all, s.emptyRequest(s.model).Tools
}

// offeredTools returns the tools as they are now that a persona and the user leave; nil for
// none. The session is locked.
func offeredTools(s *Session) *tools.Set {
	if s.tools == nil {
		return nil
	}
	offered := s.tools.Snapshot()
	if len(s.onlyTools) > 0 {
		only, err := offered.WithTools(s.onlyTools...)
		if err != nil { // one of them is gone since
			only, _ = offered.WithTools("none")
		}
		offered = only
	}
	if len(s.own.Tools) == 0 {
		return offered
	}
	names := []string{}
	for _, t := range offered.Tools() {
		if s.own.Offers(t.Name) {
			names = append(names, t.Name)
		}
	}
	left, _ := offered.WithTools(names...) // which are its own
	return left
}
