package tools

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"parley/tools/act"
	"parley/tools/places"
	"parley/tools/process"
	"parley/tools/rule"
)

// A Policy decides whether a tool call may run; nothing else does. It is safe
// for concurrent use. The zero value asks for every call.
type Policy struct {
	changeMu  sync.Mutex // held while stored rules change and onChange is called
	mu        sync.Mutex
	mode      act.Mode
	workspace string
	rules     []rule.Rule
	onChange  func([]rule.Rule)
}

// NewPolicy returns a policy in the given mode.
func NewPolicy(mode act.Mode) *Policy { return &Policy{mode: mode} }

// Mode returns the approval mode.
func (p *Policy) Mode() act.Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.currentMode()
}

func (p *Policy) currentMode() act.Mode {
	if p.mode == "" {
		return act.ModeAsk
	}
	return p.mode
}

// SetMode changes the mode.
func (p *Policy) SetMode(mode act.Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// SetWorkspace sets the workspace, an absolute path without symbolic links.
// Rules of a directory apply only in that workspace, and absolute paths below it
// count as inside. ModeEdits ends with the workspace.
func (p *Policy) SetWorkspace(directory string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == act.ModeEdits && p.workspace != directory {
		p.mode = act.ModeAsk
	}
	p.workspace = directory
}

// Decide returns whether a may run now. In order of precedence: deny rules; read-only mode and plan mode, in which a
// plan asks; actions from the project's own files, which ask; credentials and start files, which ask in every mode
// unless a rule allows that very file or that class; commands that may run something that a rule denies, which ask;
// yolo mode; ask rules; allow rules; the mode. A guarded file asks unless a rule allows that very file. If the directory
// is not used as a workspace, a read asks unless a rule allows that very file, and a write does unless the user wrote
// that rule.
func (p *Policy) Decide(a *act.Action) act.Verdict {
	verdict, _ := p.evaluate(a)
	return verdict
}

// MayHookAllow reports whether a hook may approve a in the user's place: it may if a rule for
// the whole tool could. Denials, ask rules and decisions reserved for the user are not
// affected.
func (p *Policy) MayHookAllow(a *act.Action) bool {
	if a.Caution != "" || a.AskEachTime || a.OfProject || a.PlaceClass != "" {
		return false
	}
	p.mu.Lock()
	trial := &Policy{mode: p.mode, workspace: p.workspace, rules: append(slices.Clip(p.rules), rule.Rule{Effect: act.Allow, Tool: a.Tool, Source: rule.FromConfig})}
	p.mu.Unlock()
	return trial.Decide(a) == act.Allow
}

// DenialReason tells the model why a may not run.
func (p *Policy) DenialReason(a *act.Action) string {
	if verdict, by := p.evaluate(a); verdict == act.Deny && by.Effect == act.Deny {
		return fmt.Sprintf("the rule %q denies it.", by)
	}
	if p.Mode() == act.ModePlan {
		return "the approval mode is plan: nothing is changed before the user accepts a plan. Look at what you need, then call plan with it."
	}
	return fmt.Sprintf("the approval mode is %s.", p.Mode())
}

func (p *Policy) evaluate(a *act.Action) (act.Verdict, rule.Rule) {
	p.mu.Lock()
	mode, directory, rs := p.currentMode(), p.workspace, p.rules // the slice of rules is never changed in place
	p.mu.Unlock()
	if a.AskEachTime { // no earlier approval counts
		rs = slices.DeleteFunc(slices.Clone(rs), func(r rule.Rule) bool { return r.Effect == act.Allow && !r.IsConfigured() })
	}
	call := rule.Call{Tool: a.Tool, Command: a.Command, Foreign: a.ForeignShell, Path: a.Path, Host: a.Host, Workspace: directory, Class: a.PlaceClass}
	if a.Sandboxed {
		call.Hides = process.Sandbox.Hides
	}
	effect, by, ruled := rule.Engine.Decide(rs, call)
	if a.Access == act.AccessRead && a.Tool != readTool && effect != act.Deny {
		e, r, ok := rule.Engine.Decide(rs, rule.Call{Tool: readTool, Path: a.Path, Workspace: directory, Class: a.PlaceClass})
		if ok && (e == act.Deny || e == act.Ask) {
			effect, by, ruled = e, r, ok
		}
	}
	is := func(e act.Verdict) bool { return ruled && effect == e }
	switch {
	case is(act.Deny):
		return act.Deny, by
	case (mode == act.ModeReadOnly || mode == act.ModePlan) && a.Access != act.AccessRead:
		return act.Deny, rule.Rule{}
	case a.Proposal != "":
		return act.Ask, by
	case a.OfProject || a.Question != "":
		return act.Ask, by
	case a.PlaceClass != "" && !(is(act.Allow) && (by.IsLiteral() || by.Tool == a.PlaceClass)):
		return act.Ask, by
	case is(act.Ask) && by.Effect == act.Deny:
		return act.Ask, by // it may run something that the rule denies
	case mode == act.ModeYolo:
		return act.Allow, by
	case is(act.Ask):
		return act.Ask, by
	case a.NoWorkspace && !(is(act.Allow) && by.IsLiteral()):
		return act.Ask, by
	case a.NeedsRule && !is(act.Allow):
		return act.Ask, by
	case a.Access == act.AccessRead:
		return act.Allow, by
	case a.IsGuarded() && !(is(act.Allow) && by.IsLiteral()):
		return act.Ask, by
	case is(act.Allow) && by.Sandboxed && !a.Sandboxed:
		return act.Ask, by // it was approved for the sandbox, which is not available now
	case is(act.Allow), a.Allowed:
		return act.Allow, by
	case mode == act.ModeAuto && (a.Access == act.AccessWrite || a.Access == act.AccessRun && a.Sandboxed && !a.Network):
		return act.Allow, by
	case mode == act.ModeEdits && a.IsOrdinaryEdit():
		return act.Allow, by
	}
	return act.Ask, by
}

// readTool reads files. Its rules apply to every tool that only reads, because a search
// may show a file's name or content.
const readTool = "read"

// readRules returns a function that evaluates the deny and ask rules for reading a
// file; nil if there are no such rules.
func (p *Policy) readRules() func(file string) act.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	var strict []rule.Rule
	for _, r := range p.rules {
		if r.Tool == readTool && (r.Effect == act.Deny || r.Effect == act.Ask && p.mode != act.ModeYolo) {
			strict = append(strict, r)
		}
	}
	if len(strict) == 0 {
		return nil
	}
	directory := p.workspace
	return func(file string) act.Verdict {
		effect, _, _ := rule.Engine.Decide(strict, rule.Call{Tool: readTool, Path: file, Workspace: directory})
		return effect
	}
}

// HoldsBack reports whether a rule denies reading a file or asks for approval. The path is absolute.
func (p *Policy) HoldsBack(file string) bool {
	p.mu.Lock()
	directory := p.workspace
	p.mu.Unlock()
	rules, held := p.readRules(), []act.Verdict{act.Deny, act.Ask}
	if rules == nil {
		return false
	}
	inside, err := filepath.Rel(directory, file)
	return slices.Contains(held, rules(filepath.ToSlash(file))) || err == nil && slices.Contains(held, rules(filepath.ToSlash(inside)))
}

// showsClass reports whether searches may show the content of files of a class: a rule
// allows all of them.
func (p *Policy) showsClass(class places.Class) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	effect, by, ok := rule.Engine.Decide(p.rules, rule.Call{Tool: readTool, Workspace: p.workspace, Class: string(class)})
	return ok && effect == act.Allow && by.Tool == string(class)
}

// deniedPrograms returns the names of the programs that rules deny with any arguments.
func (p *Policy) deniedPrograms() (names []string) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rules {
		if name := r.Program(); r.Effect == act.Deny && name != "" && (r.Workspace == "" || r.Workspace == p.workspace) {
			names = append(names, name)
		}
	}
	return names
}

// AddRules adds rules.
func (p *Policy) AddRules(rs []rule.Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range rs {
		if !slices.Contains(p.rules, r) {
			p.rules = append(slices.Clip(p.rules), r)
		}
	}
}

// Rules returns all rules in the order in which they were added.
func (p *Policy) Rules() []rule.Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rules)
}

// OnChange sets the function that is called with all rules of source rule.FromState after
// AllowAlways or Remove has changed them. Calls are serialized and in the order of changes. f
// must not change rules itself.
func (p *Policy) OnChange(f func([]rule.Rule)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onChange = f
}

// Remove removes a rule that an approval created, and reports whether it
// existed. Rules of the configuration and the command line stay.
func (p *Policy) Remove(r rule.Rule) bool {
	if r.Source != rule.FromState && r.Source != rule.FromSession {
		return false
	}
	p.changeMu.Lock()
	defer p.changeMu.Unlock()
	p.mu.Lock()
	i := slices.Index(p.rules, r)
	if i >= 0 {
		p.rules = slices.Delete(slices.Clone(p.rules), i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 && r.Source == rule.FromState {
		p.notifyChange()
	}
	return i >= 0
}

// notifyChange passes the stored rules to the function set by OnChange.
func (p *Policy) notifyChange() {
	p.mu.Lock()
	changed, kept := p.onChange, slices.DeleteFunc(slices.Clone(p.rules), func(r rule.Rule) bool { return r.Source != rule.FromState })
	p.mu.Unlock()
	if changed != nil {
		changed(kept)
	}
}

// Accept switches from plan mode to another, because the user accepted a plan. It returns the
// mode now in effect, which differs if the user left plan mode meanwhile.
func (p *Policy) Accept(to act.Mode) act.Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == act.ModePlan {
		p.mode = to
	}
	return p.currentMode()
}

// AllowForSession allows all ordinary edits if a is one, unless the mode is no longer the one that asked. Otherwise it
// allows, until parley ends and in this workspace only, exactly this command, further actions of the tool on this file,
// fetches from this host, or else the whole tool. Permission to write a file includes editing it.
func (p *Policy) AllowForSession(a *act.Action) {
	r := exactRule(a)
	p.mu.Lock()
	if a.IsOrdinaryEdit() {
		if p.currentMode() == act.ModeAsk {
			p.mode = act.ModeEdits
		}
		p.mu.Unlock()
		return
	}
	r.Source, r.Workspace, r.Sandboxed = rule.FromSession, p.workspace, a.Sandboxed
	p.mu.Unlock()
	p.AddRules([]rule.Rule{r})
	if r.Tool == writeTool && a.Path != "" {
		r.Tool = editTool
		p.AddRules([]rule.Rule{r})
	}
}

// AllowAlways permanently adds the rules of RulesFor in this workspace.
func (p *Policy) AllowAlways(a *act.Action, prefix int) error {
	rules, err := rulesFor(a, prefix)
	if err != nil {
		return err
	}
	p.changeMu.Lock()
	defer p.changeMu.Unlock()
	p.mu.Lock()
	for i := range rules {
		rules[i].Source, rules[i].Workspace, rules[i].Sandboxed = rule.FromState, p.workspace, a.Sandboxed
	}
	p.mu.Unlock()
	if rules[0].Workspace == "" {
		return errors.New("there is no workspace to remember a rule for")
	}
	p.AddRules(rules)
	p.notifyChange()
	return nil
}

// RulesFor returns, in configuration syntax, the rule that allows exactly a. With a prefix it
// returns rules for all commands that begin with that many words, one for each command of a list.
// The error says why there are none.
func (p *Policy) RulesFor(a *act.Action, prefix int) (texts []string, err error) {
	rules, err := rulesFor(a, prefix)
	for _, r := range rules {
		texts = append(texts, r.String())
	}
	return texts, err
}

func rulesFor(a *act.Action, prefix int) ([]rule.Rule, error) {
	if prefix == 0 {
		return []rule.Rule{exactRule(a)}, nil
	}
	if a.Tool != "shell" {
		return nil, fmt.Errorf("%s runs no command that a prefix could stand for", a.Tool)
	}
	if a.ForeignShell {
		return nil, errForeignShell
	}
	return rule.Engine.Prefix(a.Command, prefix)
}

var errForeignShell = errors.New("only exact commands can be allowed in PowerShell")

// PrefixLengths returns the prefix lengths in words that RulesFor accepts,
// narrowest first, and why wider ones are not accepted.
func (p *Policy) PrefixLengths(a *act.Action) (words []int, why string) {
	if a.Tool != "shell" {
		return nil, ""
	}
	if a.ForeignShell {
		return nil, errForeignShell.Error()
	}
	most, err := rule.Engine.CountWords(a.Command)
	if err != nil {
		return nil, fmt.Sprintf("the command %v", err)
	}
	for n := most; n > 0; n-- {
		if _, err := rule.Engine.Prefix(a.Command, n); err != nil {
			why = err.Error()
			continue
		}
		words, why = append(words, n), ""
	}
	return words, why
}

// exactRule returns the narrowest rule that allows a.
func exactRule(a *act.Action) rule.Rule {
	if target := a.Target(); target != "" {
		return rule.Engine.Exact(a.Tool, target)
	}
	return rule.Rule{Effect: act.Allow, Tool: a.Tool}
}
