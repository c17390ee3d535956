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

// A nextRequest is the next request of the conversation besides its messages: the settings, and estimates of its size.
// The conversation's mutex guards it.
type nextRequest struct {
	conversation *conversation
	tools        act.Set // all tools of the session; nil: none
	tokens       tokenCounter

	model        llm.Endpoint
	effort       llm.Effort
	system       string
	answerSchema *llm.Schema // nil: free text
	mode         HistoryMode
	turnTools    act.Set      // tools offered in the running turn; nil: no turn runs
	omitsOldest  bool         // in this turn, messages that do not fit are left out regardless of mode
	settings     llm.Settings // the conversation's settings over the configured ones
	prompt       TurnSettings // those of the running prompt, over all others
	forRun       runModel
	persona      Persona  // source of the system prompt, and of a choice of tools
	own          Settings // of the conversation; settings has them over the configured ones

	standIn llm.Endpoint // model that answers this turn instead of the chosen one; zero Name: none
	stoodIn string       // model that answered an earlier turn instead of the chosen one; "": none
}

// now returns the settings of the next request: those of the running prompt, over those of the conversation. Its
// Tools are the prompt's.
func (r *nextRequest) now() TurnSettings {
	o := r.prompt
	if o.Model.Name == "" {
		o.Model = r.model
	}
	o.Effort, o.System, o.Schema = cmp.Or(o.Effort, r.effort), cmp.Or(o.System, r.system), cmp.Or(o.Schema, r.answerSchema)
	o.Web = o.Web || r.settings.Web
	return o
}

// current returns the model that answers in this turn: the chosen one, or its stand-in.
func (r *nextRequest) current() llm.Endpoint { return locked(&r.conversation.mu, r.answering) }

// answering is current with the conversation locked.
func (r *nextRequest) answering() llm.Endpoint {
	if r.standIn.Name != "" {
		return r.standIn
	}
	return r.now().Model
}

// A runModel is a model and an effort for this run only, and those that the
// conversation stores instead. The zero value has none.
type runModel struct {
	model, storedModel   string
	effort, storedEffort llm.Effort
}

// SetModelForRun limits the current model and effort to this run: the conversation stores stored
// (provider/model) and effort for the next run instead. A model or effort set later is stored as
// usual.
func (r *nextRequest) SetModelForRun(stored string, effort llm.Effort) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	r.forRun = runModel{r.model.Name, stored, r.effort, effort}
}

// storedModel returns the model and the effort to store with the conversation. The caller
// locks the session.
func (r *nextRequest) stored() (model string, effort llm.Effort) {
	model, effort = r.model.Name, r.effort
	if r.forRun == (runModel{}) {
		return model, effort
	}
	if model == r.forRun.model {
		model = r.forRun.storedModel
	}
	if effort == r.forRun.effort {
		effort = r.forRun.storedEffort
	}
	return model, effort
}

// Model returns the model of the next request.
func (s *Session) Model() llm.Endpoint { return locked(&s.mu, s.Next.now).Model }

// SetModel sets the model of the next request, also in the middle of a turn, and
// returns the changes needed for it. Nothing is lost: switching back restores
// the first model's messages byte for byte.
func (s *Session) SetModel(model llm.Endpoint) ModelSwitched {
	s.mu.Lock()
	from := s.Next.now().Model.Name
	if from == model.Name { // the prompt's own was chosen for the conversation
		from = s.Next.model.Name
	}
	s.Next.model, s.Next.prompt.Model, s.Next.standIn, s.Next.stoodIn = model, llm.Endpoint{}, llm.Endpoint{}, ""
	s.mu.Unlock()
	return ModelSwitched{From: from, To: model.Name, Changes: s.ChangesFor(model)}
}

// Switched reports whether another model wrote the last answer, such as in a continued
// conversation, and returns the changes needed for the current model.
func (r *nextRequest) Switched() (e ModelSwitched, ok bool) {
	r.conversation.mu.Lock()
	model, last := r.now().Model, ""
	for n := range r.conversation.tree.back(r.conversation.tree.head) {
		if n.Role == llm.RoleAssistant && n.Origin != llm.OriginImages {
			last, ok = n.Model, n.Model != model.Name
			break
		}
	}
	r.conversation.mu.Unlock()
	if ok {
		e = ModelSwitched{From: last, To: model.Name, Changes: r.conversation.ChangesFor(model)}
	}
	return e, ok
}

// RefreshModel replaces the current model by known, the same model opened again with more facts,
// such as its context window. It does nothing if another model is in use now.
func (r *nextRequest) RefreshModel(known llm.Endpoint) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	for _, model := range []*llm.Endpoint{&r.model, &r.prompt.Model} {
		if model.Name == known.Name {
			*model = known
		}
	}
}

// Effort returns the reasoning effort of the next request; "" is the provider's default.
func (r *nextRequest) Effort() llm.Effort { return locked(&r.conversation.mu, r.now).Effort }

// SetEffort changes the reasoning effort of later requests.
func (r *nextRequest) SetEffort(e llm.Effort) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	r.effort, r.prompt.Effort = e, ""
}

// System returns the system prompt of the next request.
func (r *nextRequest) System() string { return locked(&r.conversation.mu, r.now).System }

// SetSystem changes the system prompt. That invalidates providers' prompt caches of the
// conversation.
func (r *nextRequest) SetSystem(text string) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	r.system, r.prompt.System = text, ""
	r.tokens.reset()
}

// WebSearch reports whether answers may search the web; see llm.Settings.Web.
func (r *nextRequest) WebSearch() bool { return locked(&r.conversation.mu, r.now).Web }

// HistoryMode returns which messages of the conversation requests include.
func (r *nextRequest) HistoryMode() HistoryMode { return get(&r.conversation.mu, &r.mode) }

// SetHistoryMode changes which messages of the conversation later requests include.
func (r *nextRequest) SetHistoryMode(h HistoryMode) {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	r.mode = h
	r.tokens.branch = branchCounts{} // counts for earlier requests no longer apply
}

// Settings are the user's settings for a conversation. It is an event; the last one of
// the conversation applies, on all branches.
type Settings = settings.Settings

// ownSettings changes the settings of a conversation, which override the configured ones.
type ownSettings struct {
	session    *Session
	configured llm.Settings // by the command line and the configuration
}

// Get returns a copy of the conversation's own settings.
func (o *ownSettings) Get() Settings {
	o.session.mu.Lock()
	defer o.session.mu.Unlock()
	return o.session.Next.own.Clone()
}

// Change calls change to set values for the conversation's next requests, and returns the new
// settings, which are stored. Concurrent calls are serialized; change must not call the session.
// If change returns an error, or nothing is Changed, all settings stay.
func (o *ownSettings) Change(change func(*Settings) error) (Settings, error) {
	o.session.mu.Lock()
	defer o.session.mu.Unlock()
	next := o.session.Next.own.Clone()
	if err := change(&next); err != nil {
		return o.session.Next.own.Clone(), err
	}
	if next.Changed == "" {
		return next, nil
	}
	if data, err := json.Marshal(next); err != nil || len(data) > maxAnnotationText {
		return o.session.Next.own.Clone(), cmp.Or(err, fmt.Errorf("the settings of a conversation may have %d KB", maxAnnotationText>>10))
	}
	o.session.annotateBetween(0, next)
	o.apply(next.Clone())
	return next, nil
}

// restore loads the settings of a stored conversation.
func (o *ownSettings) restore() {
	for _, a := range slices.Backward(o.session.tree.annotations) {
		if a.Kind == store.KindSettings {
			if stored, ok := DecodeAnnotation(a).(Settings); ok {
				o.apply(stored.Clone())
			}
			return
		}
	}
}

// apply sets the settings of the conversation to next. The caller locks the
// session.
func (o *ownSettings) apply(next Settings) {
	r := &o.session.Next
	r.own, r.settings = next, next.Override(o.configured)
	r.prompt.Web = r.prompt.Web && next.Web == nil
	r.tokens.reset()
}

// TurnSettings apply while one prompt is answered. Unset fields change nothing.
type TurnSettings struct {
	Model  llm.Endpoint // zero Name: the session's
	Effort llm.Effort
	System string
	Tools  []string // names for act.Set.Only; nil: all
	Schema *llm.Schema
	Web    bool // the answer may search the web
}

// useSettings applies settings to the running prompt; the zero value ends those of an earlier one.
func useSettings(t *turn, o TurnSettings) error {
	s := t.session
	offered := t.offered
	if len(o.Tools) > 0 && offered != nil {
		var err error
		if offered, err = offered.Only(o.Tools...); err != nil {
			return fmt.Errorf("tools of the prompt: %w", err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Next.prompt = o; o.Model.Name != "" {
		s.Next.standIn, s.Next.stoodIn = llm.Endpoint{}, ""
	}
	t.callable, s.Next.turnTools = offered, offered
	s.Next.tokens.reset()
	return nil
}

// HasPromptModel reports whether the running prompt uses a model set for it alone.
func (r *nextRequest) HasPromptModel() bool {
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	return r.now().Model.Name != r.model.Name
}

// RenewModels opens the session's models of a provider again, for instance after a new key: that of the next
// request, and the one to restore after a prompt with its own model. It changes no choice. If open fails, the
// model stays as it is.
func (r *nextRequest) RenewModels(provider string, open func(name string) (llm.Endpoint, error)) {
	r.conversation.mu.Lock()
	names := []string{r.model.Name, r.prompt.Model.Name}
	r.conversation.mu.Unlock()
	for _, name := range slices.Compact(names) {
		if store.ProviderOf(name) != provider {
			continue
		}
		model, err := open(name)
		if err != nil {
			continue
		}
		r.RefreshModel(model)
		if locked(&r.conversation.mu, r.now).Model.Name == name {
			set(&r.conversation.mu, &r.standIn, llm.Endpoint{})
			set(&r.conversation.mu, &r.stoodIn, "")
		}
	}
}

// Tools returns the tools of the session, and those that the next request offers.
func (r *nextRequest) Tools() (all, offered []llm.Tool) {
	if r.tools != nil {
		all = r.tools.Tools()
	}
	r.conversation.mu.Lock()
	defer r.conversation.mu.Unlock()
	return all, r.empty(r.now().Model).Tools
}

// notOffered returns an error if a tool may not be called regardless of the policy: the request offered no
// tools, or the user has turned the tool off since. It returns nil if the call may run.
func (t *turn) notOffered(name string) error {
	if t.callable == nil || t.latest.toolless {
		return noTools(name)
	}
	t.mu.Lock()
	off := len(t.session.Next.own.Tools) > 0 && !t.session.Next.own.Offers(name)
	model := t.session.Next.answering()
	t.mu.Unlock()
	for _, tool := range t.callable.Tools() {
		switch {
		case tool.Name != name:
		case off:
			return fmt.Errorf("the user has turned the tool %q off", name)
		case !tool.Suits(model):
			return fmt.Errorf("no tool %q: %s is not offered it", name, model.Name)
		}
	}
	return nil
}

// noTools returns the error for a call when no tools are offered.
func noTools(name string) error {
	return fmt.Errorf("no tool %q: no tools are available here", name)
}

// offeredTools returns the current tools restricted by the persona and the user; nil for
// none. The caller locks the session.
func (r *nextRequest) offered() act.Set {
	if r.tools == nil {
		return nil
	}
	offered := r.tools.Snapshot()
	if len(r.persona.Tools) > 0 {
		only, err := offered.Only(r.persona.Tools...)
		if err != nil { // a tool has been removed since
			only, _ = offered.Only("none")
		}
		offered = only
	}
	if len(r.own.Tools) == 0 {
		return offered
	}
	names := []string{}
	for _, t := range offered.Tools() {
		if r.own.Offers(t.Name) {
			names = append(names, t.Name)
		}
	}
	left, _ := offered.Only(names...) // cannot fail for its own names
	return left
}
