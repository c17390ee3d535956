package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"parley/providers/llm"
)

// mintedID begins the ids of calls that came without one. They stay here: the
// API refuses ids that it did not mint.
const mintedID = "unnamed_"

var (
	goodName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	badRune  = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// wireName is a tool's name as the API takes it: at most 64 letters, digits, _
// and -, and no digit or - at the front. Equal names give equal names, different
// ones different.
func wireName(name string) string {
	if goodName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	clean := "_" + strings.TrimLeft(badRune.ReplaceAllString(name, "_"), "_-")
	return clean[:min(len(clean), 64-9)] + "_" + hex.EncodeToString(sum[:4])
}

// back maps the names on the wire of tools that had to be renamed to ours.
func back(tools []llm.Tool) map[string]string {
	names := map[string]string{}
	for _, t := range tools {
		if name := wireName(t.Name); name != t.Name {
			names[name] = t.Name
		}
	}
	return names
}
