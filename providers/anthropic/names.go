package anthropic

import "parley/providers/adapter"

// isValidID reports whether s is a valid id: 1 to 64 letters, digits, _ and -.
func isValidID(s string) bool {
	return s != "" && len(s) <= adapter.MaxName && adapter.CleanName(s) == s
}

// callID returns the id of a call on the wire.
func (h *history) callID(id string) string {
	clean := id
	if !isValidID(id) {
		clean = idPrefix + adapter.Hash(id)[:24]
	}
	return h.ids.Call(id, clean, idPrefix)
}

// idPrefix begins generated ids.
const idPrefix = "toolu_"
