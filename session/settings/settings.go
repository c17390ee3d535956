// Package settings holds the user's settings for one conversation: request values, offered tools,
// web search and spending limits. Unset ones stay as configured.
package settings

import (
	"fmt"
	"maps"
	"strings"

	"parley/providers/llm"
)

// MaxValue is the longest value in bytes.
const MaxValue = 16 << 10

// maxShown is how many bytes of a value Settings.Changed shows.
const maxShown = 80

// Settings are the user's settings for a conversation. The zero value sets nothing. In a session
// it is an event; the last one of the conversation applies, on all branches.
type Settings struct {
	Values  map[string]string `json:"values,omitempty"`  // by name, in the syntax of llm.Setting.Set, or of llm.ParseOption for other names
	Tools   map[string]bool   `json:"tools,omitempty"`   // whether a tool is offered, by name or by prefix and *; others are offered
	Web     *bool             `json:"web,omitempty"`     // answers may search the web; nil: as configured
	Changed string            `json:"changed,omitempty"` // describes the change from the previous settings; "": none
}

// Clone returns an independent copy with Changed empty.
func (s Settings) Clone() Settings {
	return Settings{Values: maps.Clone(s.Values), Tools: maps.Clone(s.Tools), Web: s.Web}
}

// Set sets a request value, one of llm.Adjustable or another field; "" resets it. An error lists
// the allowed values; then nothing changes.
func (s *Settings) Set(name, value string) error {
	if s.Values[name] == value {
		return nil
	}
	if value == "" {
		delete(s.Values, name)
		s.changed(name + " default")
		return nil
	}
	if err := check(name, value); err != nil {
		return err
	}
	if s.Values == nil {
		s.Values = map[string]string{}
	}
	s.Values[name] = value
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	s.changed(name + " " + value)
	return nil
}

// SetWeb sets whether answers may search the web.
func (s *Settings) SetWeb(on bool) {
	if s.Web != nil && *s.Web == on {
		return
	}
	s.Web = &on
	s.changed("web search " + onOff(on))
}

// SetTool sets whether a tool is offered, or with a * at the end, all tools with this
// prefix.
func (s *Settings) SetTool(name string, on bool) {
	before := maps.Clone(s.Tools)
	if prefix, all := strings.CutSuffix(name, "*"); all {
		maps.DeleteFunc(s.Tools, func(known string, _ bool) bool { return strings.HasPrefix(known, prefix) })
	}
	delete(s.Tools, name)
	if s.Offers(name) != on {
		if s.Tools == nil {
			s.Tools = map[string]bool{}
		}
		s.Tools[name] = on
	}
	switch {
	case maps.Equal(before, s.Tools):
	case name == "*":
		s.changed("all tools " + onOff(on))
	default:
		s.changed("tool " + name + " " + onOff(on))
	}
}

// Offers reports whether a tool is offered. The full name takes precedence over prefixes, and
// longer prefixes over shorter ones.
func (s Settings) Offers(tool string) bool {
	if on, ok := s.Tools[tool]; ok {
		return on
	}
	offers, longest := true, 0
	for name, on := range s.Tools {
		if prefix, all := strings.CutSuffix(name, "*"); all && strings.HasPrefix(tool, prefix) && len(name) > longest {
			offers, longest = on, len(name)
		}
	}
	return offers
}

// Override returns the given request settings with those of s replaced. It skips values that this
// version does not allow, which another version may have stored.
func (s Settings) Override(given llm.Settings) llm.Settings {
	given.Options = maps.Clone(given.Options)
	if s.Web != nil {
		given.Web = *s.Web
	}
	for name, value := range s.Values {
		if known, ok := llm.FindSetting(name); ok {
			_ = known.Set(&given, value)
			continue
		}
		if field := llm.OptionField(name); llm.CheckOption(field) == nil {
			if given.Options == nil {
				given.Options = map[string]any{}
			}
			given.Options[field] = llm.ParseOption(value)
		}
	}
	return given
}

func (s *Settings) changed(words string) {
	if s.Changed != "" {
		words = s.Changed + " · " + words
	}
	s.Changed = words
}

func check(name, value string) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%s: a value may have %d KB", name, MaxValue>>10)
	}
	if known, ok := llm.FindSetting(name); ok {
		return known.Set(new(llm.Settings), value)
	}
	return llm.CheckOption(llm.OptionField(name))
}

func onOff(on bool) string { return map[bool]string{true: "on", false: "off"}[on] }
