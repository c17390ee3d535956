package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"parley/providers/llm"
	"parley/session/settings"
	"parley/session/store"
	"parley/tools/act"
)

// requestSettings holds what the next request asks for. All of it is guarded by the mutex of the
// conversation.
type requestSettings struct {
	model        llm.Endpoint
	effort       llm.Effort
	system       string
	answerSchema *llm.Schema // nil: free text
	mode         HistoryMode
	turnTools    act.Set      // that models are offered in the running turn; nil: none runs
	omitsOldest  bool         // in this turn, what does not fit is left out in spite of mode
	settings     llm.Settings // those of the conversation over those that are configured
	replaced     *replaced    // by settings that hold for the running prompt alone; nil: nothing is
	forRun       runModel
}

// A runModel is a model and an effort that hold for this run only, and those that the
// conversation stores instead. The zero value: none do.
type runModel struct {
	model, storedModel   string
	effort, storedEffort llm.Effort
}

// SetModelForRun makes the current model and effort hold for this run only: the conversation
// stores stored (provider/model) and effort for the next run instead. A model or an effort that is
// set later is stored as usual.
func (s *Session) SetModelForRun(stored string, effort llm.Effort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request.forRun = runModel{s.request.model.Name, stored, s.request.effort, effort}
}

// storedModel returns the model and the effort to store with the conversation. The session is
// locked.
func (s *Session) storedModel() (model string, effort llm.Effort) {
	model, effort = s.request.model.Name, s.request.effort
	if s.request.forRun == (runModel{}) {
		return model, effort
	}
	if model == s.request.forRun.model {
		model = s.request.forRun.storedModel
	}
	if effort == s.request.forRun.effort {
		effort = s.request.forRun.storedEffort
	}
	return model, effort
}

// Model returns the model that the next request goes to.
func (s *Session) Model() llm.Endpoint { return get(&s.mu, &s.request.model) }

// SetModel makes the next request go to model, also in the middle of a turn, and
// returns what of the conversation has to be adapted for it. Nothing is lost:
// going back restores what the first model said, byte for byte.
func (s *Session) SetModel(model llm.Endpoint) ModelSwitched {
	s.mu.Lock()
	from := s.request.model.Name
	s.request.model, s.fallback.standIn, s.fallback.stoodIn = model, llm.Endpoint{}, ""
	if s.request.replaced != nil {
		from = s.request.replaced.chooseModel(from, model.Name)
	}
	s.mu.Unlock()
	return ModelSwitched{From: from, To: model.Name, Changes: s.changesFor(model)}
}

// Switched reports whether another model wrote the last answer, as where a conversation is
// continued with a model of its own, and what of the conversation has to be adapted for this one.
func (s *Session) Switched() (e ModelSwitched, ok bool) {
	for _, n := range slices.Backward(s.Path()) {
		if model := s.Model(); n.Role == llm.RoleAssistant && n.Origin != llm.OriginImages {
			return ModelSwitched{From: n.Model, To: model.Name, Changes: s.changesFor(model)}, n.Model != model.Name
		}
	}
	return e, false
}

// RefreshModel replaces the model in use by known, the same model opened again, now that more is
// known of it, such as its context window. If another model is in use by now, nothing happens.
func (s *Session) RefreshModel(known llm.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.request.model.Name == known.Name {
		s.request.model = known
	}
	if own := s.request.replaced; own != nil && own.model != nil && own.model.Name == known.Name {
		own.model = &known
	}
}

// Effort returns the reasoning effort of the next request; "" is the provider's default.
func (s *Session) Effort() llm.Effort { return get(&s.mu, &s.request.effort) }

// SetEffort changes the reasoning effort of later requests.
func (s *Session) SetEffort(e llm.Effort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.request.effort = e; s.request.replaced != nil {
		s.request.replaced.effort = nil
	}
}

// System returns the system prompt of the next request.
func (s *Session) System() string { return get(&s.mu, &s.request.system) }

// SetSystem changes the system prompt. Providers' prompt caches of the conversation are then
// of no use.
func (s *Session) SetSystem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.request.system = text; s.request.replaced != nil {
		s.request.replaced.system = nil
	}
	s.tokens.reset()
}

// WebSearch reports whether answers may search the web; see llm.Settings.Web.
func (s *Session) WebSearch() bool {
	return locked(&s.mu, func() bool { return s.request.settings.Web })
}

// HistoryMode returns which messages of the conversation requests hold.
func (s *Session) HistoryMode() HistoryMode { return get(&s.mu, &s.request.mode) }

// SetHistoryMode changes which messages of the conversation later requests hold.
func (s *Session) SetHistoryMode(h HistoryMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request.mode = h
	s.tokens.branch = branchCounts{} // what was sent says something else now
}

// Settings are what the user set for a conversation. It is an event: the last one of the
// conversation holds, on all branches.
type Settings = settings.Settings

// OwnSettings holds the settings of a conversation, over those that are configured.
type OwnSettings struct {
	session    *Session
	configured llm.Settings // by the command line and the configuration

	now Settings // guarded by the session's mutex
}

// OwnSettings returns the settings of the conversation.
func (s *Session) OwnSettings() *OwnSettings { return &s.ownSettings }

// Get returns what was set for the conversation. It is the caller's.
func (o *OwnSettings) Get() Settings {
	return locked(&o.session.mu, func() Settings { return o.now.Clone() })
}

// Change has change set values of the conversation for its next requests, and returns what holds
// then. It stays with the conversation. Two calls at a time follow one another; change must not
// call the session. With an error of change, or where nothing is Changed, all is as before.
func (o *OwnSettings) Change(change func(*Settings) error) (Settings, error) {
	o.session.mu.Lock()
	defer o.session.mu.Unlock()
	next := o.now.Clone()
	if err := change(&next); err != nil {
		return o.now.Clone(), err
	}
	if next.Changed == "" {
		return next, nil
	}
	if data, err := json.Marshal(next); err != nil || len(data) > maxAnnotationText {
		return o.now.Clone(), cmp.Or(err, fmt.Errorf("the settings of a conversation may have %d KB", maxAnnotationText>>10))
	}
	o.session.annotateBetween(0, next)
	o.apply(next.Clone())
	return next, nil
}

// restore finds the settings of a conversation that was stored.
func (o *OwnSettings) restore() {
	for _, a := range slices.Backward(o.session.tree.annotations) {
		if a.Kind == store.KindSettings {
			if stored, ok := DecodeAnnotation(a).(Settings); ok {
				o.apply(stored.Clone())
			}
			return
		}
	}
}

// apply makes next the settings of the conversation. The session is locked.
func (o *OwnSettings) apply(next Settings) {
	given := o.configured
	given.Web = o.session.request.settings.Web // a prompt may search the web while it is answered
	o.now, o.session.request.settings = next, next.Override(given)
	o.session.tokens.reset()
}

// TurnSettings hold while a prompt is answered. What is not set stays as it is.
type TurnSettings struct {
	Model  llm.Endpoint // without a Name: the session's
	Effort llm.Effort
	System string
	Tools  []string // that are offered, as act.Set.Only takes them; nil: all
	Schema *llm.Schema
	Web    bool // the answer may search the web
}

// A replaced is what holds again after a prompt with settings of its own. Of what is nil, the user
// chose another meanwhile.
type replaced struct {
	model        *llm.Endpoint
	effort       *llm.Effort
	system       *string
	answerSchema *llm.Schema
	tools        act.Set
}

// useSettings has the running prompt answered with settings of its own.
func useSettings(t *turn, o TurnSettings) error {
	s := t.session
	offered := t.callable
	if len(o.Tools) > 0 && t.callable != nil {
		var err error
		if offered, err = t.callable.Only(o.Tools...); err != nil {
			return fmt.Errorf("tools of the prompt: %w", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	model, effort, system := s.request.model, s.request.effort, s.request.system
	s.request.replaced = &replaced{&model, &effort, &system, s.request.answerSchema, t.callable}
	if o.Model.Name != "" {
		s.request.model, s.fallback.standIn, s.fallback.stoodIn = o.Model, llm.Endpoint{}, ""
	}
	s.request.effort, s.request.system = cmp.Or(o.Effort, s.request.effort), cmp.Or(o.System, s.request.system)
	if o.Schema != nil {
		s.request.answerSchema = o.Schema
	}
	s.request.settings.Web = s.request.settings.Web || o.Web
	t.callable, s.request.turnTools = offered, offered
	s.tokens.reset()
	return nil
}

// restoreSettings ends what useSettings began, but for what the user chose meanwhile.
func (t *turn) restoreSettings() {
	s := t.session
	t.mu.Lock()
	defer t.mu.Unlock()
	r := s.request.replaced
	if r == nil {
		return
	}
	if s.request.replaced = nil; r.model != nil {
		s.request.model = *r.model
	}
	if r.effort != nil {
		s.request.effort = *r.effort
	}
	if r.system != nil {
		s.request.system = *r.system
	}
	s.request.settings = s.ownSettings.now.Override(s.ownSettings.configured)
	s.request.answerSchema, t.callable, s.request.turnTools = r.answerSchema, r.tools, r.tools
	s.tokens.reset()
}

// HasPromptModel reports whether the running prompt is answered by a model of its own, which the user
// did not choose for what follows.
func (s *Session) HasPromptModel() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.request.replaced != nil && s.request.replaced.model != nil && s.request.replaced.model.Name != s.request.model.Name
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

// RenewModels opens the models of a provider again that the session uses, such as after another key was given:
// that of the next request, and that which holds again after a prompt with one of its own. It
// chooses none of them. Where open fails, the model stays as it is.
func (s *Session) RenewModels(provider string, open func(name string) (llm.Endpoint, error)) {
	s.mu.Lock()
	names := []string{s.request.model.Name}
	if r := s.request.replaced; r != nil && r.model != nil && r.model.Name != s.request.model.Name {
		names = append(names, r.model.Name)
	}
	s.mu.Unlock()
	for _, name := range names {
		if store.ProviderOf(name) != provider {
			continue
		}
		model, err := open(name)
		if err != nil {
			continue
		}
		s.RefreshModel(model)
		if s.Model().Name == name {
			set(&s.mu, &s.fallback.standIn, llm.Endpoint{})
			set(&s.mu, &s.fallback.stoodIn, "")
		}
	}
}

// Tools returns the tools of the session, and of these what the next request offers.
func (s *Session) Tools() (all, offered []llm.Tool) {
	if s.tools != nil {
		all = s.tools.Tools()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return all, s.emptyRequest(s.request.model).Tools
}

// notOffered says why a call of a tool does not run, whatever the policy allows: the model had no tools, or
// the user has turned the tool off since it was asked; nil if it may run.
func (t *turn) notOffered(name string) error {
	if t.callable == nil || t.latest.toolless {
		return noTools(name)
	}
	t.mu.Lock()
	off := len(t.session.ownSettings.now.Tools) > 0 && !t.session.ownSettings.now.Offers(name)
	t.mu.Unlock()
	if off && slices.ContainsFunc(t.callable.Tools(), func(tool llm.Tool) bool { return tool.Name == name }) {
		return fmt.Errorf("the user has turned the tool %q off", name)
	}
	return nil
}

// noTools says that a call does not run where no tools are on offer.
func noTools(name string) error {
	return fmt.Errorf("no tool %q: no tools are available here", name)
}

// offeredTools returns the tools as they are now that a persona and the user leave; nil for
// none. The session is locked.
func (s *Session) offeredTools() act.Set {
	if s.tools == nil {
		return nil
	}
	offered := s.tools.Snapshot()
	if len(s.personas.inUse.Tools) > 0 {
		only, err := offered.Only(s.personas.inUse.Tools...)
		if err != nil { // one of them is gone since
			only, _ = offered.Only("none")
		}
		offered = only
	}
	if len(s.ownSettings.now.Tools) == 0 {
		return offered
	}
	names := []string{}
	for _, t := range offered.Tools() {
		if s.ownSettings.now.Offers(t.Name) {
			names = append(names, t.Name)
		}
	}
	left, _ := offered.Only(names...) // which are its own
	return left
}
