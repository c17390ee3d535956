package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// constraintWords describes constraints to a model or a user; %s is the keyword's value. Keywords
// missing here are not described.
var constraintWords = map[string]string{
	"type":              "%s",
	"enum":              "one of %s",
	"const":             "exactly %s",
	"format":            "format %s",
	"pattern":           "matches the pattern %s",
	"minLength":         "at least %s characters",
	"maxLength":         "at most %s characters",
	"minimum":           "at least %s",
	"maximum":           "at most %s",
	"exclusiveMinimum":  "greater than %s",
	"exclusiveMaximum":  "less than %s",
	"multipleOf":        "a multiple of %s",
	"minItems":          "at least %s items",
	"maxItems":          "at most %s items",
	"uniqueItems":       "no item twice",
	"contains":          "has an item like %s",
	"minProperties":     "at least %s properties",
	"maxProperties":     "at most %s properties",
	"propertyNames":     "names of properties: %s",
	"patternProperties": "properties by pattern of their name: %s",
	"dependentRequired": "properties that need others: %s",
	"dependentSchemas":  "properties that ask for more: %s",
	"not":               "not %s",
	"oneOf":             "also one of %s",
	"if":                "if it is %s",
	"then":              "then %s",
	"else":              "else %s",
	"default":           "default %s",
	"examples":          "for example %s",
}

// describeConstraint returns a constraint in words; "" for keywords without a description.
func describeConstraint(key string, value any) string {
	format, ok := constraintWords[key]
	if !ok {
		return ""
	}
	if !strings.Contains(format, "%s") {
		return format
	}
	return fmt.Sprintf(format, truncate(showKeywordValue(value), maxKeywordValue))
}

// maxKeywordValue bounds how much of a keyword's value a description quotes, in bytes.
const maxKeywordValue = 300

// showKeywordValue returns a keyword's value without quotes and brackets. It omits list items
// beyond maxKeywordValue.
func showKeywordValue(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var all []string
		for i, n := 0, 0; i < len(v) && n <= maxKeywordValue; i++ {
			all = append(all, string(encode(v[i])))
			n += len(all[i])
		}
		return strings.Join(all, ", ")
	}
	return string(encode(value))
}

// noteConstraint adds a dropped constraint to the description of s.
func noteConstraint(s *object, key string, value any) {
	if text := describeConstraint(key, value); text != "" {
		addRemark(s, text)
	}
}

// addRemark adds text to the description of s: "The name. [at least 3 characters; format email]".
func addRemark(s *object, text string) {
	description := s.text("description")
	switch rest, noted := strings.CutSuffix(description, noteEnd); {
	case description == "":
		description = noteBegin[1:] + text + noteEnd
	case noted && strings.Contains(rest, noteBegin[1:]):
		description = rest + "; " + text + noteEnd
	default:
		description += noteBegin + text + noteEnd
	}
	s.set("description", description)
}

const (
	noteBegin = " ["
	noteEnd   = "]"
)

// describeSchema returns the title, value or type of s, as a phrase for errors and descriptions.
func describeSchema(s *object) string {
	switch {
	case s.has("title"):
		return s.text("title")
	case s.has("const"):
		return string(encode(s.values["const"]))
	case s.has("enum"):
		return "one of " + truncate(showKeywordValue(s.values["enum"]), maxKeywordValue)
	case s.has("type"):
		return strings.Join(typesOf(s), " or ")
	}
	return "any value"
}

// truncate cuts s to at most n bytes, at the boundary of a rune, and marks the cut with "…".
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
