package client

import (
	"encoding/json"
	"errors"
	"strings"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/sanitize"
)

// A secretMask processes all text from a server before a user, a model or the disk gets it: it
// sanitizes the text and masks the server's credentials, before any truncation. It also finds
// credentials interrupted by escape sequences or invisible characters.
type secretMask struct {
	all   sanitize.Mask
	names sanitize.Mask // for names: without credentials that are plain words
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

// text returns a server's text on one or more lines, of at most limit characters, and notes
// about invisible characters that were removed.
func (m secretMask) text(text string, limit int) (plain string, notes []string) {
	plain, notes = tools.Sanitize(m.all.Text(text))
	plain, _ = tools.SanitizeAndTruncate(sanitize.Text(m.all.Text(plain)), limit) // direction marks are replaced by their names
	return strings.TrimSpace(plain), notes
}

// sanitizeText returns a server's text for a user, on one or more lines.
func (m secretMask) sanitizeText(text string, limit int) string {
	plain, _ := m.text(text, limit)
	return plain
}

// whole returns a text on which a user bases a decision, untruncated.
func (m secretMask) whole(text string) string {
	plain, _ := tools.Sanitize(m.all.Text(text))
	return strings.TrimSpace(m.all.Text(plain))
}

// line returns a server's text on one line.
func (m secretMask) line(text string, limit int) string { return m.all.Line(text, limit) }

// canShow reports whether a name can be shown byte for byte.
func (m secretMask) canShow(name string) bool {
	return name != "" && len(name) <= 1000 && strings.TrimSpace(name) == name && m.names.Plain(name) == name
}

// error returns err with a text that can be shown to a user.
func (m secretMask) error(err error) error {
	said := err.Error()
	text, notes := m.text(said, 2000)
	if text = strings.Join(append([]string{text}, notes...), "\n"); text == said {
		return err
	}
	return &shownError{text, err}
}

// A shownError replaces the texts of an error and its wrapped errors, which cannot be shown.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string        { return e.text }
func (e *shownError) Is(target error) bool { return errors.Is(e.err, target) }

// schema returns the schema of a tool's arguments without credentials; properties whose name
// contains one are left out.
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

// schemaValue masks a part of a schema, and its strings with mask.
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
			if key == "enum" || key == "const" { // the server accepts only these values
				of = m.names
			}
			v[key] = m.schemaValue(inner, of)
		}
	}
	return value
}
