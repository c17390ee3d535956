package settings

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/similar"
)

// Commands lists the settings that have commands of their own.
var Commands = []string{"effort", "web", "system"}

// Name returns the stored name of the setting that a user calls name: one of llm.Adjustable, or a
// request field. A likely misspelling is an error, which says how to send it anyway.
func Name(name string) (string, error) {
	if _, ok := llm.FindSetting(name); ok {
		return name, nil
	}
	field := llm.OptionField(name)
	if err := llm.CheckOption(field); err != nil {
		return "", err
	}
	meant := llm.SettingFor(field)
	if outer, _, dotted := strings.Cut(field, "."); meant == "" && !dotted && !slices.Contains(llm.CommonOptions, outer) {
		known := slices.Clone(Commands)
		for _, s := range llm.Adjustable {
			known = append(known, s.Name)
		}
		slices.Sort(known)
		meant = similar.Name(field, known)
	}
	switch {
	case meant == "":
		return field, nil
	case name != field:
		return name, nil
	}
	return "", fmt.Errorf("%s: unknown setting, did you mean %s? %s%s sends the field to the provider as typed", name, meant, llm.RawFieldPrefix, name)
}

// Parse parses "NAME=VALUE" for Settings.Set. The values default, off and none reset
// the setting.
func Parse(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok {
		return "", "", fmt.Errorf("%s: give a value, as in %s=VALUE", name, name)
	}
	if slices.Contains(Commands, name) {
		return "", "", fmt.Errorf("%s: use --%s", name, name)
	}
	if name, err = Name(name); err != nil {
		return "", "", err
	}
	if value == "default" || value == "off" {
		value = ""
	}
	if known, ok := llm.FindSetting(name); ok && value != "" {
		err = known.Set(new(llm.Settings), value)
	}
	return name, value, err
}
