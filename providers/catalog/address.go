package catalog

import (
	"fmt"
	"net/url"
	"strings"
)

// A Variable is a part of a service's address that the user supplies, such as the region of an
// account. Addresses contain it as {name}.
type Variable struct {
	Name    string            `toml:"name"`
	Title   string            `toml:"title"`   // shown to the user, such as "Region"
	Help    string            `toml:"help"`    // explanation in one sentence
	Env     []string          `toml:"env"`     // environment variables that may hold it, best first
	Default string            `toml:"default"` // "" for none
	Hosts   map[string]string `toml:"hosts"`   // replacement of {host} by value, may contain {name}; "*" for other values
	Models  bool              `toml:"models"`  // holds comma-separated model names, and is not part of an address
}

// maxModels bounds the number of model names in a variable.
const maxModels = 50

// Parse returns the value of v in a text entered by the user: the value itself, or an address of
// the service that contains it. The error says which characters are allowed.
func (p Provider) Parse(v Variable, text string) (string, error) {
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("the %s must not be empty", v.Noun())
	}
	if v.Models {
		names := v.ModelNames(text)
		if len(names) == 0 || len(names) > maxModels {
			return "", fmt.Errorf("%s: name 1 to %d, separated by commas", v.Name, maxModels)
		}
		for _, name := range names {
			if !isName(name, "-._:/@") {
				return "", fmt.Errorf("%s: %q is not a name of letters, digits and -._:/@", v.Name, name)
			}
		}
		return strings.Join(names, ","), nil
	}
	if strings.Contains(text, "://") {
		text = p.fromAddress(v, text)
	}
	if p.inHost(v) {
		text = strings.ToLower(text)
		if !isName(text, "-") || len(text) > 63 || strings.HasSuffix(text, "-") {
			return "", fmt.Errorf("%s: %q must be letters, digits and hyphens", v.Name, text)
		}
		return text, nil
	}
	if !isName(text, "-._:") || len(text) > 128 || strings.Contains(text, "..") {
		return "", fmt.Errorf("%s: %q must be letters, digits and any of -._:, as in a path", v.Name, text)
	}
	return text, nil
}

// Noun returns the title of v in lower case, for use in a sentence.
func (v Variable) Noun() string { return strings.ToLower(v.Title[:1]) + v.Title[1:] }

// ModelNames splits a value of v into model names; nil if v does not hold any.
func (v Variable) ModelNames(value string) []string {
	if !v.Models {
		return nil
	}
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// isName reports whether s begins with an ASCII letter or digit and contains only those and marks.
func isName(s, marks string) bool {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case i == 0 || !strings.ContainsRune(marks, r):
			return false
		}
	}
	return s != ""
}

// inHost reports whether a variable is part of a host.
func (p Provider) inHost(v Variable) bool {
	if v.Hosts != nil {
		return true
	}
	for _, address := range p.addresses() {
		_, rest, _ := strings.Cut(address, "://")
		host, _, _ := strings.Cut(rest, "/")
		if strings.Contains(host, "{"+v.Name+"}") {
			return true
		}
	}
	return false
}

// addresses lists the base URLs of p, with their variables.
func (p Provider) addresses() []string {
	list := []string{p.BaseURL}
	for _, address := range p.Regions {
		list = append(list, address)
	}
	return list
}

// fromAddress returns the value that v has in the host of the address text; text itself if it does
// not look like an address of p.
func (p Provider) fromAddress(v Variable, text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	for _, address := range p.addresses() {
		_, rest, _ := strings.Cut(address, "://")
		host, _, _ := strings.Cut(rest, "/")
		before, after, found := strings.Cut(host, "{"+v.Name+"}")
		if value, ok := strings.CutSuffix(strings.TrimPrefix(u.Hostname(), before), after); found && ok {
			return value
		}
	}
	return text
}

// Expand replaces the variables in an address of p with values from Parse, or with their defaults.
// A variable without either is replaced by its name and returned in missing.
func (p Provider) Expand(address string, values map[string]string) (expanded string, missing []Variable) {
	for _, v := range p.Variables {
		value := values[v.Name]
		if value == "" {
			value = v.Default
		}
		if value == "" {
			value = v.Name
			if strings.Contains(address, "{"+v.Name+"}") {
				missing = append(missing, v)
			}
		}
		if host, ok := v.Hosts[value]; ok {
			address = strings.ReplaceAll(address, "{host}", host)
		} else if v.Hosts != nil {
			address = strings.ReplaceAll(address, "{host}", v.Hosts["*"])
		}
		address = strings.ReplaceAll(address, "{"+v.Name+"}", value)
	}
	return address, missing
}
