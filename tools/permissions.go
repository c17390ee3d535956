package tools

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"parley/tools/act"
	"parley/tools/places"
	"parley/tools/rule"
)

// AllowFlag adds an allow rule from the command line, such as "shell:git status" or
// "edit:src/**"; see package permission. Own names the user's custom tools.
func (p *Policy) AllowFlag(text string, own ...string) error {
	r, err := ParseRule(text, own...)
	if err == nil {
		err = rule.Engine.Validate(r)
	}
	if err != nil {
		return err
	}
	r.Effect, r.Source = act.Allow, rule.FromFlag
	p.AddRules([]rule.Rule{r})
	return nil
}

// Permissions are the rules of the configuration.
type Permissions struct {
	Allow []string `toml:"allow"` // run without approval
	Ask   []string `toml:"ask"`   // always need approval, even if the mode or another rule allows them
	Deny  []string `toml:"deny"`  // never run, in any mode
}

// Rules parses the rules. Own names the user's custom tools. The error names each invalid
// rule, and each that could never allow anything.
func (c Permissions) Rules(own ...string) ([]rule.Rule, error) {
	var rs []rule.Rule
	var faults []error
	for _, part := range []struct {
		effect act.Verdict
		texts  []string
	}{{act.Allow, c.Allow}, {act.Ask, c.Ask}, {act.Deny, c.Deny}} {
		for _, text := range part.texts {
			r, err := ParseRule(text, own...)
			if err == nil && part.effect == act.Allow {
				err = rule.Engine.Validate(r)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("permissions.%s: %w", part.effect, err))
				continue
			}
			r.Effect, r.Source = part.effect, rule.FromConfig
			rs = append(rs, r)
		}
	}
	return rs, errors.Join(faults...)
}

// Validate names the invalid rules.
func (c Permissions) Validate(own ...string) error {
	_, err := c.Rules(own...)
	return err
}

// ParseRule parses a rule for the known tools, including the user's custom tools in own, or for a class of sensitive
// files: "credentials" and "startup" rules apply to all tools that access such files.
func ParseRule(text string, own ...string) (rule.Rule, error) {
	name, match, narrow := strings.Cut(text, ":")
	if runtime.GOOS == "windows" && narrow && name != shellTool {
		text = name + ":" + slashes(match)
	}
	if slices.Contains(own, name) && narrow {
		return rule.Rule{}, fmt.Errorf("rule %q: a tool of your own is named alone", text)
	}
	class := slices.Contains(places.Classes, places.Class(text))
	if !class && !strings.HasPrefix(name, "mcp__") && name != act.SkillName && !slices.Contains(own, name) && !act.IsOwn(name) {
		return rule.Rule{}, unknownTool(name, append(Names(), own...))
	}
	return rule.Engine.Parse(text)
}

// slashes returns a glob of Windows with slashes between its parts. A backslash before a bracket or brace
// takes its meaning away; no name there has an asterisk or a question mark.
func slashes(glob string) string {
	b := []byte(glob)
	for i := range b {
		if b[i] == '\\' && (i+1 == len(b) || !strings.ContainsRune("[]{}", rune(b[i+1]))) {
			b[i] = '/'
		}
	}
	return string(b)
}
