package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// TypeScript returns the schema raw as a TypeScript type, with descriptions and constraints as
// comments. Models trained on code read it better than JSON Schema, and it takes a third of the
// tokens.
func TypeScript(raw json.RawMessage) string {
	var w typeWriter
	w.write(openDocumentOrObject(raw).canonical(), "")
	return w.String()
}

type typeWriter struct{ strings.Builder }

func (w *typeWriter) write(s *object, indent string) {
	if v := values(s); v != nil {
		var all []string
		for _, one := range v {
			all = append(all, string(encode(one)))
		}
		w.WriteString(strings.Join(all, " | "))
		return
	}
	if branches := slices.Concat(s.list("anyOf"), s.list("oneOf")); len(branches) > 0 {
		for i, b := range branches {
			if i > 0 {
				w.WriteString(" | ")
			}
			w.write(merge(b.(*object), withoutKeys(s, "anyOf", "oneOf", "description")), indent)
		}
		return
	}
	kinds := typesOf(s)
	switch {
	case kinds == nil && s.has("properties"):
		kinds = []string{"object"}
	case kinds == nil && (s.has("items") || s.has("prefixItems")):
		kinds = []string{"array"}
	case kinds == nil:
		kinds = []string{"unknown"}
	}
	for i, k := range kinds {
		if i > 0 {
			w.WriteString(" | ")
		}
		switch k {
		case "object":
			w.object(s, indent)
		case "array":
			w.array(s, indent)
		case "integer":
			w.WriteString("number")
		default:
			w.WriteString(k)
		}
	}
}

func withoutKeys(s *object, keys ...string) *object {
	out := s.copy()
	out.delete(keys...)
	return out
}

func (w *typeWriter) array(s *object, indent string) {
	item := typeWriter{}
	switch prefix, items := s.list("prefixItems"), s.object("items"); {
	case prefix != nil:
		for i, p := range prefix {
			if i > 0 {
				item.WriteString(", ")
			}
			item.write(p.(*object), indent)
		}
		w.WriteString("[" + item.String() + "]")
		return
	case items != nil:
		item.write(items, indent)
	default:
		item.WriteString("unknown")
	}
	if text := item.String(); strings.Contains(text, " | ") {
		w.WriteString("Array<" + text + ">")
	} else {
		w.WriteString(text + "[]")
	}
}

// isIdentifier reports whether name can be a property name without quotes.
func isIdentifier(name string) bool {
	return name != "" && !(name[0] >= '0' && name[0] <= '9') &&
		strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !isWordByte(byte(r)) }) < 0
}

func (w *typeWriter) object(s *object, indent string) {
	properties := s.object("properties")
	if properties == nil || len(properties.keys) == 0 {
		extra := s.object("additionalProperties")
		switch {
		case isFalse(extra):
			w.WriteString("{}")
		case extra == nil:
			w.WriteString("Record<string, unknown>")
		default:
			w.WriteString("Record<string, ")
			w.write(extra, indent)
			w.WriteString(">")
		}
		return
	}
	inner := indent + "  "
	w.WriteString("{\n")
	required := s.required()
	for _, name := range properties.keys {
		p := properties.object(name)
		for line := range strings.Lines(typeComment(p)) {
			w.WriteString(inner + "// " + strings.TrimRight(line, "\r\n\t ") + "\n")
		}
		if !isIdentifier(name) {
			w.WriteString(inner + string(encode(name)))
		} else {
			w.WriteString(inner + name)
		}
		if !required[name] {
			w.WriteByte('?')
		}
		w.WriteString(": ")
		w.write(p, inner)
		w.WriteString(";\n")
	}
	w.WriteString(indent + "}")
}

// typeComment returns the description of s and the constraints that a TypeScript type cannot express.
func typeComment(s *object) string {
	c := newObject("description", strings.TrimSpace(s.text("description")))
	if slices.Contains(typesOf(s), "integer") {
		addRemark(c, "integer")
	}
	for _, key := range s.keys {
		switch key {
		case "type", "enum", "const", "contains", "oneOf", "propertyNames", "patternProperties", "dependentSchemas", "if", "then", "else":
			continue // expressed by the type, or too long to help
		}
		noteConstraint(c, key, s.values[key])
	}
	return c.text("description")
}
