// Package settings holds what a user sets for one conversation: values of requests, which tools
// are offered, whether answers may search the web, and what may be spent. What is not set stays as
// the configuration has it.
package settings

import (
	"fmt"
	"maps"
	"strings"

	"parley/providers/llm"
)

// MaxValue is how many bytes one value may have.
const MaxValue = 16 << 10

// maxShown is how many bytes Settings.Changed has of a value.
const maxShown = 80

// Settings are what the user set for a conversation. The zero value sets nothing. In a session it
// is an event: the last one of the conversation holds, on all branches.
type Settings struct {
	Values  map[string]string `json:"values,omitempty"`  // as llm.Setting.Set reads them, by name; of other names, as llm.ParseOption does
	Tools   map[string]bool   `json:"tools,omitempty"`   // whether a tool is offered, by name; one that ends in * is that of all which begin so; others are
	Web     *bool             `json:"web,omitempty"`     // answers may search the web; nil: as configured
	Changed string            `json:"changed,omitempty"` // what differs from the one before, in words; "": nothing
}

// Clone returns a copy that shares nothing with s, and in which nothing is Changed.
func (s Settings) Clone() Settings {
	return Settings{Values: maps.Clone(s.Values), Tools: maps.Clone(s.Tools), Web: s.Web}
}

// Set sets a value of requests, one of llm.Adjustable or another field; "" takes it back. The error
// says what is allowed; then nothing changes.
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

// SetTool sets whether a tool is offered, or all whose names begin with the text before
// a *.
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

// Offers reports whether a tool is offered: what is said of it by its whole name counts before
// what is said of more of the beginning of it.
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

// Override returns the settings of requests with what is set in the place of what was given. Values
// that this version does not allow are left out: another one may have kept them.
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
