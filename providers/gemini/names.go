package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"parley/providers/llm"
)

// generatedIDPrefix begins the ids of calls that came without one. They stay here: the
// API refuses ids that it did not mint.
const generatedIDPrefix = "unnamed_"

const maxName = 64

// wireName is a tool's name as the API takes it: at most 64 letters, digits, _
// and -, and no digit or - at the front. Equal names give equal names, different
// ones different.
func wireName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] == '-' || clean[0] >= '0' && clean[0] <= '9' {
		clean = "_" + clean
	}
	if clean == name && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return clean[:min(len(clean), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
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
