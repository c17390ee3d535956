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

// newPolicy returns the permission policy of tools: the mode, the rules of the configuration, the rules from earlier
// approvals, and --allow.
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
	kept, _ := stored.load() // unreadable rules allow nothing
	policy.AddRules(slices.Concat(own, tools.CustomToolRules(a.config.Tools), kept))
	policy.OnChange(func(now []rule.Rule) { kept = stored.save(kept, now) })
	for _, rule := range a.flags.allow {
		if err := policy.AllowFlag(rule, a.config.toolNames()...); err != nil {
			return nil, cmdutil.Usagef("--allow %s: %w", rule, err)
		}
	}
	return policy, nil
}

// ruleStore stores the permission rules made in approvals.
type ruleStore struct{ library *session.Store }

// load returns the rules.
func (s ruleStore) load() ([]rule.Rule, error) {
	text, err := s.library.Get("rules")
	if err != nil {
		return nil, err
	}
	return rule.Engine.Unmarshal(text)
}

// save stores the changes from before to now, because another parley may have changed the rules too. It returns the
// stored rules.
func (s ruleStore) save(before, now []rule.Rule) []rule.Rule {
	kept, err := s.load()
	if err != nil {
		return before // do not overwrite unreadable rules
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
		return before // the next change tries again
	}
	return slices.Clone(now)
}
