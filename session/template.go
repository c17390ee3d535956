package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
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
const MaxPersona = maxAnnotationText

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

// Settings are what the user set for a conversation, over what the command line and the
// configuration say. It is an event: the last one of the conversation holds, on all branches.
type Settings struct {
	Values  map[string]string `json:"values,omitempty"`  // as llm.Setting.Set reads them, by name; of other names, as llm.ParseOption does
	Tools   map[string]bool   `json:"tools,omitempty"`   // whether a tool is offered, by name; one that ends in * is that of all which begin so; others are
	Web     *bool             `json:"web,omitempty"`     // answers may search the web; nil: as given
	Changed string            `json:"changed,omitempty"` // what differs from the one before, in words
}

// SettingsOf returns what was set for the conversation. It is the caller's.
func SettingsOf(s *Session) Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Settings{Values: maps.Clone(s.own.Values), Tools: maps.Clone(s.own.Tools), Web: s.own.Web}
}

// ChangeSettings sets values of the conversation for its next requests, in the order of their
// names; "" takes one back. It stays with the conversation. The error says which value is not
// allowed, and what is; then nothing changes.
func ChangeSettings(s *Session, values map[string]string) (Settings, error) {
	now := SettingsOf(s)
	var words []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if value == "" {
			delete(now.Values, name)
			words = append(words, name+" default")
			continue
		}
		if err := checkSetting(name, value); err != nil {
			return now, err
		}
		if now.Values == nil {
			now.Values = map[string]string{}
		}
		now.Values[name] = value
		words = append(words, name+" "+elideMiddle(value, maxChanged))
	}
	now.Changed = strings.Join(words, " · ")
	return now, keepSettings(s, now)
}

// Bounds of what a conversation keeps of its settings.
const (
	maxSetting = 16 << 10 // bytes of a value
	maxChanged = 80       // of one in Settings.Changed
)

func checkSetting(name, value string) error {
	if len(value) > maxSetting {
		return fmt.Errorf("%s: a value may have %d KB", name, maxSetting>>10)
	}
	if known, ok := llm.FindSetting(name); ok {
		return known.Set(new(llm.Settings), value)
	}
	return llm.CheckOption(llm.OptionField(name))
}

// SetWebSearch says whether later answers may search the web. A provider that cannot is told of
// with the next answer. It stays with the conversation.
func SetWebSearch(s *Session, on bool) (Settings, error) {
	now := SettingsOf(s)
	now.Web, now.Changed = &on, "web search "+onOff(on)
	return now, keepSettings(s, now)
}

// UseWebSearch does as SetWebSearch, for as long as the conversation is open.
func UseWebSearch(s *Session, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.own
	now.Web = &on
	useOwn(s, now)
}

func onOff(on bool) string { return map[bool]string{true: "on", false: "off"}[on] }

// SwitchTool says whether the model is offered a tool from the next prompt on, or all whose names
// begin with what stands in front of a *. It stays with the conversation.
func SwitchTool(s *Session, name string, on bool) (Settings, error) {
	now := SettingsOf(s)
	if prefix, all := strings.CutSuffix(name, "*"); all {
		maps.DeleteFunc(now.Tools, func(known string, _ bool) bool { return strings.HasPrefix(known, prefix) })
	}
	delete(now.Tools, name)
	if now.Offers(name) != on {
		if now.Tools == nil {
			now.Tools = map[string]bool{}
		}
		now.Tools[name] = on
	}
	now.Changed = "tool " + name + " " + onOff(on)
	if name == "*" {
		now.Changed = strings.Replace(now.Changed, "tool *", "all tools", 1)
	}
	return now, keepSettings(s, now)
}

// Offers reports whether a tool is offered: what is said of it by its whole name counts before
// what is said of more of the beginning of it.
func (own Settings) Offers(tool string) bool {
	if on, ok := own.Tools[tool]; ok {
		return on
	}
	offers, longest := true, 0
	for name, on := range own.Tools {
		if prefix, all := strings.CutSuffix(name, "*"); all && strings.HasPrefix(tool, prefix) && len(name) > longest {
			offers, longest = on, len(name)
		}
	}
	return offers
}

// keepSettings has the conversation continue with these settings.
func keepSettings(s *Session, now Settings) error {
	if data, err := json.Marshal(now); err != nil || len(data) > maxAnnotationText {
		return cmp.Or(err, fmt.Errorf("the settings of a conversation may have %d KB", maxAnnotationText>>10))
	}
	s.Annotate(0, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	useOwn(s, now)
	return nil
}

// restoreSettings finds the settings of a conversation that was kept.
func restoreSettings(s *Session) {
	for _, a := range slices.Backward(s.tree.annotations) {
		if a.Kind == store.KindSettings {
			if now, ok := DecodeAnnotation(a).(Settings); ok {
				useOwn(s, now)
			}
			return
		}
	}
}

// useOwn makes own the settings of the conversation. The session is locked.
func useOwn(s *Session, own Settings) {
	own.Changed = ""
	all := s.given
	all.Web, all.Options = s.settings.Web, maps.Clone(s.given.Options)
	if own.Web != nil {
		all.Web = *own.Web
	}
	for name, value := range own.Values {
		if known, ok := llm.FindSetting(name); ok {
			_ = known.Set(&all, value) // another version may have allowed it
			continue
		}
		if field := llm.OptionField(name); llm.CheckOption(field) == nil {
			if all.Options == nil {
				all.Options = map[string]any{}
			}
			all.Options[field] = llm.ParseOption(value)
		}
	}
	s.own, s.settings = own, all
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
