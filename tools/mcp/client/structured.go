package client

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxLeaves is how many values of a structured result are searched in the text.
const maxLeaves = 2000

// maxExact is the smallest number that the SDK may have rounded.
const maxExact = 1 << 53

// missingFrom returns structured as JSON, or "" if texts already contain all of it. MCP asks a server
// to repeat it as text, but many only summarize it there.
func missingFrom(texts []string, structured any) string {
	encoded, err := json.Marshal(structured)
	if structured == nil || err != nil {
		return ""
	}
	var value any
	if json.Unmarshal(encoded, &value) != nil || value == nil {
		return ""
	}
	for _, text := range texts {
		var same any
		if json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(same, value) {
			return ""
		}
	}
	all := strings.Join(texts, "\n")
	if len(all) > 4*maxText { // not a summary, and truncated already
		return ""
	}
	left := maxLeaves
	if strings.TrimSpace(all) != "" && saysLeaves(all, value, &left) {
		return ""
	}
	return string(encoded)
}

// saysLeaves reports whether text contains every string and number in value. Left bounds the search.
func saysLeaves(text string, value any, left *int) bool {
	switch v := value.(type) {
	case string:
		*left--
		return *left >= 0 && (strings.Contains(text, v) || strings.Contains(text, escaped(v)))
	case float64:
		*left--
		return *left >= 0 && (math.Abs(v) >= maxExact || strings.Contains(text, strconv.FormatFloat(v, 'f', -1, 64)))
	case []any:
		for _, inner := range v {
			if !saysLeaves(text, inner, left) {
				return false
			}
		}
	case map[string]any:
		for _, inner := range v {
			if !saysLeaves(text, inner, left) {
				return false
			}
		}
	}
	return true
}

// escaped returns s as it appears in JSON.
func escaped(s string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	quoted := strings.TrimSpace(out.String())
	return quoted[1 : len(quoted)-1]
}
