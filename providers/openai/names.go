package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"parley/providers/llm"
)

var (
	goodName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	goodID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	nineID   = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	badRune  = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// wireName is a tool's name as every service takes it: at most 64 letters,
// digits, _ and -. Equal names give equal names, different ones different.
func wireName(name string) string {
	if goodName.MatchString(name) {
		return name
	}
	clean := badRune.ReplaceAllString(name, "_")
	return clean[:min(len(clean), 64-9)] + "_" + hash(name)[:8]
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

// wireID is the id of a call as the service takes it. Own says that the service
// minted it itself: then it may have any form, and has to keep it.
func (d Dialect) wireID(id string, own bool) string {
	switch {
	case d.IDs == IDsNine && nineID.MatchString(id):
		return id
	case d.IDs == IDsNine:
		return hash(id)[:9]
	case own && id != "", goodID.MatchString(id):
		return id
	}
	return "call_" + hash(id)[:24]
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
