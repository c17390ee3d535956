package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/rule"
	"parley/ui/cli/cmdutil"
)

// newPolicy returns what decides whether a tool may run: the mode, the rules of the
// configuration, those the user made before, and --allow.
func (a *program) newPolicy() (*tools.Policy, error) {
	mode := cmp.Or(a.config.Mode, act.ModeAsk)
	if a.flags.yolo {
		mode = act.ModeYolo
	}
	policy := tools.NewPolicy(mode)
	folder, err := filepath.EvalSymlinks(a.dir)
	if err != nil {
		return nil, fmt.Errorf("the working folder: %w", err)
	}
	policy.SetWorkspace(folder)
	own, err := a.config.Permissions.Rules(a.config.toolNames()...)
	if err != nil {
		return nil, err
	}
	stored := ruleStore{a.library}
	kept, _ := stored.load() // nothing is allowed by what cannot be read
	policy.AddRules(slices.Concat(own, tools.CustomToolRules(a.config.Tools), kept))
	policy.OnChange(func(now []rule.Rule) { kept = stored.save(kept, now) })
	for _, rule := range a.flags.allow {
		if err := policy.AllowFlag(rule, a.config.toolNames()...); err != nil {
			return nil, cmdutil.Usagef("--allow %s: %w", rule, err)
		}
	}
	return policy, nil
}

// ruleStore keeps the permission rules that the user made in approvals.
type ruleStore struct{ library *session.Store }

// load returns the rules.
func (s ruleStore) load() ([]rule.Rule, error) {
	text, err := s.library.Get("rules")
	if err != nil {
		return nil, err
	}
	return rule.Engine.Unmarshal(text)
}

// save stores what changed from before to now, as another parley may have changed
// the rules too, and returns the rules that are stored.
func (s ruleStore) save(before, now []rule.Rule) []rule.Rule {
	kept, err := s.load()
	if err != nil {
		return before // what is there is not to be written over
	}
	kept = slices.DeleteFunc(kept, func(r rule.Rule) bool { return slices.Contains(before, r) && !slices.Contains(now, r) })
	for _, r := range now {
		if !slices.Contains(kept, r) && !slices.Contains(before, r) {
			kept = append(kept, r)
		}
	}
	text, err := rule.Engine.Marshal(kept)
	if err == nil {
		err = s.library.Set("rules", text)
	}
	if err != nil {
		return before // it is tried again with the next change
	}
	return slices.Clone(now)
}
