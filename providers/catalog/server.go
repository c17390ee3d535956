package catalog

import (
	"slices"
	"strconv"
	"strings"
)

// A Server is a model server on this machine.
type Server struct {
	Provider string  // ID, such as "ollama"
	Name     string  // display name, such as "Ollama"
	BaseURL  string  // base URL of chat completions, such as "http://127.0.0.1:11434/v1"
	Models   []Facts // chat models, loaded ones first
	Embedded []Facts // embedding models
	More     bool    // it has more models than listed
	Problem  string  // why it is not ready; "" if it is
	NeedsKey bool    // it is not ready because it requires a key
}

// Embeds reports whether a row of a list is an embedding model: by the server's information, else
// by its family or name.
func Embeds(row map[string]any, id string) bool {
	if words, _ := row["capabilities"].([]any); slices.Contains(words, any("embedding")) || slices.Contains(words, any("completion")) {
		return !slices.Contains(words, any("completion"))
	}
	kind, _ := row["type"].(string)
	details, _ := row["details"].(map[string]any)
	family, _ := details["family"].(string)
	return strings.HasPrefix(kind, "embedding") || strings.Contains(family, "bert") || strings.Contains(strings.ToLower(id), "embed")
}

// Member returns the member of a row at path, in which a dot descends into an object; nil if there is none.
func Member(row map[string]any, path string) any {
	outer, inner, nested := strings.Cut(path, ".")
	if !nested {
		return row[outer]
	}
	object, _ := row[outer].(map[string]any)
	return Member(object, inner)
}

// FirstText returns the first member that is a nonempty string; "" if none is.
func FirstText(row map[string]any, paths ...string) string {
	for _, path := range paths {
		if s, ok := Member(row, path).(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// FirstCount returns the first member that is a positive number of tokens; 0 if none is.
func FirstCount(row map[string]any, paths ...string) int {
	for _, path := range paths {
		n, ok := Member(row, path).(float64)
		if s, isText := Member(row, path).(string); isText {
			var err error
			n, err = strconv.ParseFloat(s, 64)
			ok = err == nil
		}
		if ok && n >= 1 && n < 1<<40 {
			return int(n)
		}
	}
	return 0
}
