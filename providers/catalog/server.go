package catalog

import (
	"slices"
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
