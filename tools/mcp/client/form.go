package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools/lazy"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// A field is a form field with its schema.
type field struct {
	mcp.Field
	schema fieldSchema
}

// fieldSchema is a field's schema: MCP's PrimitiveSchemaDefinition.
type fieldSchema struct {
	Type        string
	Title       string
	Description string
	Format      string
	Default     any
	Enum        []string
	EnumNames   []string
	OneOf       []titledConst
	Minimum     *float64
	Maximum     *float64
	MinLength   *int
	MaxLength   *int
	MinItems    *int
	MaxItems    *int
	Items       struct {
		Enum  []string
		AnyOf []titledConst
	}
}

type titledConst struct{ Const, Title string }

// Bounds of a form.
const (
	maxFields  = 20
	maxChoices = 100
	maxValue   = 10_000 // characters
	maxDefault = 1000   // bytes
)

// A secretFieldError reports a form that asks for a secret, which MCP forbids: "elicitation".
type secretFieldError struct{ field string }

func (e *secretFieldError) Error() string {
	return fmt.Sprintf("it asks for %s, and what is secret is not for servers to ask", e.field)
}

// secretWord matches names of secrets.
var secretWord = lazy.NewRegexp(`(?i)passw|passphrase|passcode|secrets?\b|credential|\bapi[ _-]?key|apikey|private[ _-]?key|access[ _-]?token|auth[ _-]?token|bearer|\bcvv\b|card[ _-]?number|\bpin\b|\botp\b`)

// parseFields parses the schema of a form: an object of values that are not nested. Required
// fields come first, in their order; the order of the others is unknown.
func parseFields(schema any, mask secretMask) ([]mcp.Field, error) {
	if schema == nil {
		return nil, nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var form struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, errors.New("the form cannot be read")
	}
	if len(form.Properties) > maxFields {
		return nil, fmt.Errorf("a form has %d fields at most", maxFields)
	}
	names := slices.Sorted(maps.Keys(form.Properties))
	rank := func(name string) int {
		if i := slices.Index(form.Required, name); i >= 0 {
			return i
		}
		return len(form.Required)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var fields []mcp.Field
	for _, name := range names {
		f, err := parseField(name, form.Properties[name], mask)
		if err != nil {
			return nil, err
		}
		f.Required = slices.Contains(form.Required, name)
		fields = append(fields, f)
	}
	return fields, nil
}

func parseField(name string, raw json.RawMessage, mask secretMask) (mcp.Field, error) {
	f := field{Field: mcp.Field{Name: name}}
	if err := json.Unmarshal(raw, &f.schema); err != nil {
		return f.Field, fmt.Errorf("the field %s cannot be read", mask.line(name, 100))
	}
	s := f.schema
	f.Title, f.Help = mask.line(s.Title, 200), mask.line(s.Description, 500)
	if f.Title == "" {
		f.Title = mask.line(name, 200)
	}
	if secretWord.MatchString(name) || secretWord.MatchString(f.Title) { // the description may say what not to enter
		return f.Field, &secretFieldError{f.Title}
	}
	switch s.Type {
	case "boolean":
		f.Choices = []mcp.Choice{{Value: "true", Title: "yes"}, {Value: "false", Title: "no"}}
	case "array":
		f.Several, f.Choices = true, choices(mask, s.Items.Enum, nil, s.Items.AnyOf)
	case "string":
		f.Choices = choices(mask, s.Enum, s.EnumNames, s.OneOf)
	case "number", "integer":
	default:
		return f.Field, fmt.Errorf("the field %s is of a type that cannot be asked for", f.Title)
	}
	if f.Several && len(f.Choices) == 0 || len(f.Choices) > maxChoices {
		return f.Field, fmt.Errorf("the field %s has no choices, or too many", f.Title)
	}
	switch d := s.Default.(type) {
	case nil:
	case float64:
		f.Default = strconv.FormatFloat(d, 'f', -1, 64)
	case []any:
		var parts []string
		for _, one := range d {
			part := fmt.Sprint(one)
			for _, c := range f.Choices {
				if c.Value == part {
					part = c.Title
				}
			}
			parts = append(parts, part)
		}
		f.Default = strings.Join(parts, ", ")
	default:
		f.Default = fmt.Sprint(d)
	}
	f.Default = f.usableDefault(mask)
	f.Parse = f.parse
	return f.Field, nil
}

// usableDefault returns the default as a user can see it and send it back; "" if it is too long, contains
// a credential or cannot be parsed.
func (f field) usableDefault(mask secretMask) string {
	plain := sanitize.Plain(f.Default)
	if len(plain) > maxDefault || mask.all.Text(plain) != plain {
		return ""
	}
	shown := mask.line(plain, maxDefault)
	if _, err := f.parse(shown); err != nil {
		return ""
	}
	return shown
}

// choices merges the ways in which a schema can list choices.
func choices(mask secretMask, values, names []string, titled []titledConst) []mcp.Choice {
	var out []mcp.Choice
	add := func(value, title string) {
		if title = mask.line(title, 200); title == "" {
			title = mask.line(value, 200)
		}
		out = append(out, mcp.Choice{Value: value, Title: title})
	}
	for i, value := range values {
		title := ""
		if i < len(names) {
			title = names[i]
		}
		add(value, title)
	}
	for _, t := range titled {
		add(t.Const, t.Title)
	}
	return out
}

// parse parses the typed or chosen value of a field. An error says what the value must be.
func (f field) parse(text string) (any, error) {
	s := f.schema
	switch {
	case utf8.RuneCountInString(text) > maxValue:
		return nil, fmt.Errorf("%s: at most %d characters", f.Title, maxValue)
	case f.Several:
		return f.parseSeveral(text)
	case len(f.Choices) > 0:
		value, err := f.choice(text)
		if s.Type == "boolean" && err == nil {
			return value == "true", nil
		}
		return value, err
	case s.Type == "number" || s.Type == "integer":
		return f.parseNumber(strings.TrimSpace(text))
	}
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		return nil, fmt.Errorf("%s: at least %d characters", f.Title, *s.MinLength)
	case s.MaxLength != nil && n > *s.MaxLength:
		return nil, fmt.Errorf("%s: at most %d characters", f.Title, *s.MaxLength)
	}
	if check, ok := formats[s.Format]; ok && !check.ok(text) {
		return nil, fmt.Errorf("%s: %s", f.Title, check.want)
	}
	return text, nil
}

// formats are the string formats of MCP.
var formats = map[string]struct {
	want string
	ok   func(string) bool
}{
	"email":     {"an address such as name@example.com", func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address == s }},
	"uri":       {"an address such as https://example.com", func(s string) bool { u, err := url.Parse(s); return err == nil && u.Scheme != "" }},
	"date":      {"a date such as 2026-01-31", func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }},
	"date-time": {"a time such as 2026-01-31T12:00:00Z", func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }},
}

func (f field) parseNumber(text string) (any, error) {
	n, err := strconv.ParseFloat(text, 64)
	s := f.schema
	whole, odd := strconv.ParseInt(text, 10, 64)
	if odd != nil { // such as 1e6
		whole = int64(n)
	}
	switch {
	case s.Type == "integer" && (err != nil || odd != nil && (n != float64(whole) || math.Abs(n) >= 1<<63)):
		return nil, fmt.Errorf("%s: a whole number", f.Title)
	case err != nil || n-n != 0:
		return nil, fmt.Errorf("%s: a number", f.Title)
	case s.Minimum != nil && n < *s.Minimum:
		return nil, fmt.Errorf("%s: at least %g", f.Title, *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		return nil, fmt.Errorf("%s: at most %g", f.Title, *s.Maximum)
	}
	if s.Type == "integer" {
		return whole, nil
	}
	return n, nil
}

// choice finds a choice by its value or its title.
func (f field) choice(text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, c := range f.Choices {
		if c.Value == text {
			return c.Value, nil
		}
	}
	for _, c := range f.Choices {
		if strings.EqualFold(c.Title, text) {
			return c.Value, nil
		}
	}
	return "", fmt.Errorf("%s: one of %s", f.Title, f.ChoiceTitles())
}

func (f field) parseSeveral(text string) (any, error) {
	out := []string{}
	most := 1 // the most parts of one choice, which may contain commas itself
	for _, c := range f.Choices {
		most = max(most, strings.Count(c.Value, ",")+1, strings.Count(c.Title, ",")+1)
	}
	for parts := strings.Split(text, ","); len(parts) > 0; {
		n := min(most, len(parts))
		value, err := f.choice(strings.Join(parts[:n], ","))
		for ; err != nil && n > 1; n-- {
			value, err = f.choice(strings.Join(parts[:n-1], ","))
		}
		blank := strings.TrimSpace(parts[0]) == ""
		switch {
		case err != nil && !blank:
			return nil, err
		case err == nil && !slices.Contains(out, value):
			out = append(out, value)
		}
		parts = parts[n:]
	}
	switch s := f.schema; {
	case s.MinItems != nil && len(out) < *s.MinItems:
		return nil, fmt.Errorf("%s: at least %d of %s", f.Title, *s.MinItems, f.ChoiceTitles())
	case s.MaxItems != nil && len(out) > *s.MaxItems:
		return nil, fmt.Errorf("%s: at most %d of %s", f.Title, *s.MaxItems, f.ChoiceTitles())
	}
	return out, nil
}

// pageURL checks the address of a page that a server wants the user to open. It is shown completely, so
// it must not contain a credential: MCP, "Safe URL Handling".
func pageURL(address string, mask secretMask) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !mcp.IsLoopback(u.Hostname())) || len(address) > 4000 || sanitize.Line(address) != address {
		return "", errors.New("the address of the page is not a valid https address")
	}
	if mask.names.Plain(u.String()) != u.String() {
		return "", errors.New("the address of the page contains a credential")
	}
	return u.String(), nil
}
