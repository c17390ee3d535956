package permission

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/tools/rule"
)

// storedRule is the JSON form of a rule.
type storedRule struct {
	Effect    Effect `json:"effect"`
	Rule      string `json:"rule"`
	Workspace string `json:"folder,omitempty"`
	Sandboxed bool   `json:"held,omitempty"`
}

// Marshal encodes rules as JSON text; Source is not part of it.
func Marshal(rs []Rule) (string, error) {
	list := make([]storedRule, 0, len(rs))
	for _, r := range rs {
		list = append(list, storedRule{r.Effect, r.String(), r.Workspace, r.Sandboxed})
	}
	out, err := json.Marshal(list)
	return string(out), err
}

// Unmarshal parses the output of Marshal as rules of source FromState. Invalid rules are
// left out and joined in the error; the others are valid. "" is no rules.
func Unmarshal(text string) ([]Rule, error) {
	if text == "" {
		return nil, nil
	}
	var list []storedRule
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("remembered rules: %w", err)
	}
	var rs []Rule
	var faults []error
	for _, s := range list {
		r, err := ParseRule(s.Rule)
		if err == nil && s.Effect != Allow && s.Effect != Ask && s.Effect != Deny {
			err = fmt.Errorf("rule %q: unknown effect %q", s.Rule, s.Effect)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("remembered %w", err))
			continue
		}
		r.Effect, r.Workspace, r.Source, r.Sandboxed = s.Effect, s.Workspace, rule.FromState, s.Sandboxed
		rs = append(rs, r)
	}
	return rs, errors.Join(faults...)
}
