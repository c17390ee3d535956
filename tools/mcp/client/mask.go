package client

import (
	"encoding/json"
	"errors"
	"strings"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// A secretMask is the one door through which what a server says gets to a user, a model or the
// disk: it makes that plain and takes out the server's credentials, before anything is shortened.
// One that an escape sequence or something invisible ran through counts as well.
type secretMask struct {
	all   sanitize.Mask
	names sanitize.Mask // of what names consist of: without credentials that are plain words
}

func newMask(secrets []string) secretMask {
	var odd []string
	for _, s := range secrets {
		if !mcp.IsPlainWord(s) {
			odd = append(odd, s)
		}
	}
	return secretMask{sanitize.NewMask(secrets, mcp.MinSecretLength), sanitize.NewMask(odd, mcp.MinSecretLength)}
}

// text returns text of a server's on one line or several, of at most limit characters, and notes
// about what was taken out that a user would not see.
func (m secretMask) text(text string, limit int) (plain string, notes []string) {
	plain, notes = tools.Sanitize(m.all.Text(text))
	plain, _ = tools.SanitizeAndTruncate(sanitize.Text(m.all.Text(plain)), limit) // direction marks become their names
	return strings.TrimSpace(plain), notes
}

// sanitizeText returns text of a server's for a user, on one line or several.
func (m secretMask) sanitizeText(text string, limit int) string {
	plain, _ := m.text(text, limit)
	return plain
}

// whole returns text for a user who decides by it: all of it, however long it is.
func (m secretMask) whole(text string) string {
	plain, _ := tools.Sanitize(m.all.Text(text))
	return strings.TrimSpace(m.all.Text(plain))
}

// line returns text of a server's on one line.
func (m secretMask) line(text string, limit int) string { return m.all.Line(text, limit) }

// canShow reports whether a name can stand on the screen byte for byte.
func (m secretMask) canShow(name string) bool {
	return name != "" && len(name) <= 1000 && strings.TrimSpace(name) == name && m.names.Plain(name) == name
}

// error returns an error that says what err does, as a user can see it.
func (m secretMask) error(err error) error {
	said := err.Error()
	text, notes := m.text(said, 2000)
	if text = strings.Join(append([]string{text}, notes...), "\n"); text == said {
		return err
	}
	return &shownError{text, err}
}

// A shownError is an error whose own words, and those within it, cannot be shown.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string        { return e.text }
func (e *shownError) Is(target error) bool { return errors.Is(e.err, target) }

// schema returns the schema of a tool's arguments without credentials; what has one for a name is
// left out of it.
func (m secretMask) schema(schema json.RawMessage) json.RawMessage {
	var value any
	numbers := json.NewDecoder(strings.NewReader(string(schema)))
	numbers.UseNumber()
	if m.all.IsZero() || numbers.Decode(&value) != nil {
		return schema
	}
	masked, err := json.Marshal(m.schemaValue(value, m.all))
	if err != nil {
		return schema
	}
	return masked
}

// schemaValue masks a part of a schema, whose strings by themselves mask takes care of.
func (m secretMask) schemaValue(value any, mask sanitize.Mask) any {
	switch v := value.(type) {
	case string:
		if mask.Plain(v) != sanitize.Plain(v) {
			return mask.Plain(v)
		}
	case []any:
		for i := range v {
			v[i] = m.schemaValue(v[i], mask)
		}
	case map[string]any:
		for key, inner := range v {
			if m.names.Plain(key) != sanitize.Plain(key) {
				delete(v, key)
				continue
			}
			of := m.all
			if key == "enum" || key == "const" { // the server takes these and no others
				of = m.names
			}
			v[key] = m.schemaValue(inner, of)
		}
	}
	return value
}
