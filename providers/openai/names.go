package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"parley/providers/llm"
)

// isAlnum reports whether r is a letter or a digit, or one of the others.
func isAlnum(r rune, others string) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r)
}

// cleanName is s with _ in place of what is neither letter, digit, _ nor -.
func cleanName(s string) string {
	return strings.Map(func(r rune) rune {
		if isAlnum(r, "_-") {
			return r
		}
		return '_'
	}, s)
}

// wireName is a tool's name as every service takes it: at most 64 letters,
// digits, _ and -. Equal names give equal names, different ones different.
func wireName(name string) string {
	safe := cleanName(name)
	if safe == name && name != "" && len(name) <= 64 {
		return name
	}
	return safe[:min(len(safe), 64-9)] + "_" + hash(name)[:8]
}

// originalNames maps the names on the wire of tools that had to be renamed to ours.
func originalNames(tools []llm.Tool) map[string]string {
	names := map[string]string{}
	for _, t := range tools {
		if name := wireName(t.Name); name != t.Name {
			names[name] = t.Name
		}
	}
	return names
}

// wireID is the id of a call as the service takes it. Own says that the service
// minted it itself: then it may have any form, and has to keep it.
func (d Dialect) wireID(id string, own bool) string {
	switch {
	case d.IDs == IDsNine && len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool { return !isAlnum(r, "") }):
		return id
	case d.IDs == IDsNine:
		return hash(id)[:9]
	case own && id != "", id != "" && len(id) <= 40 && cleanName(id) == id:
		return id
	}
	return "call_" + hash(id)[:24]
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
