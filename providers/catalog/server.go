package catalog

import (
	"slices"
	"strings"
)

// A Server is a model server that runs on this machine.
type Server struct {
	Provider string  // ID, such as "ollama"
	Name     string  // as users write it, such as "Ollama"
	BaseURL  string  // of chat completions, such as "http://127.0.0.1:11434/v1"
	Models   []Facts // that chat, loaded ones first
	Embedded []Facts // that turn texts into vectors
	More     bool    // it has more models than were read
	Problem  string  // why it cannot be asked now; "" if it can
	NeedsKey bool    // the reason is that it asks for a key
}

// Embeds reports whether a row of a list is a model that turns texts into vectors: by what the
// server says of it, else by its family or its name.
func Embeds(row map[string]any, id string) bool {
	if words, _ := row["capabilities"].([]any); slices.Contains(words, any("embedding")) || slices.Contains(words, any("completion")) {
		return !slices.Contains(words, any("completion"))
	}
	kind, _ := row["type"].(string)
	details, _ := row["details"].(map[string]any)
	family, _ := details["family"].(string)
	return strings.HasPrefix(kind, "embedding") || strings.Contains(family, "bert") || strings.Contains(strings.ToLower(id), "embed")
}
