package gemini

import (
	"slices"
	"strconv"
	"strings"
)

// traits holds the features of a model derived from its id. An unknown id is treated like one of
// the newest models, which refuse the least.
type traits struct {
	gemma        bool
	major, minor int    // version; newest if the id has none
	tier         string // word after the version: "pro", "flash", "flash-lite", "argon"
	mediaModel   bool   // made for images or speech rather than thinking
}

const unknownVersion = 1 << 10

// mediaWords lists words in the ids of models for other media than text.
var mediaWords = []string{"image", "tts", "audio", "live"}

// traitsOf parses an id such as "models/gemini-2.5-flash-lite-preview-09-2025".
func traitsOf(id string) traits {
	id = strings.ToLower(id)
	words := strings.Split(id[strings.LastIndexByte(id, '/')+1:], "-")
	t := traits{gemma: words[0] == "gemma", major: unknownVersion}
	t.mediaModel = slices.ContainsFunc(words, func(w string) bool { return slices.Contains(mediaWords, w) })
	if words[0] != "gemini" && words[0] != "gemma" {
		return t
	}
	words = words[1:]
	if len(words) > 0 {
		major, minor, _ := strings.Cut(words[0], ".")
		if n, err := strconv.Atoi(major); err == nil {
			t.major, words = n, words[1:]
			t.minor, _ = strconv.Atoi(minor)
		}
	}
	if len(words) > 0 {
		t.tier = words[0]
	}
	if len(words) > 1 && words[1] == "lite" {
		t.tier += "-lite"
	}
	return t
}

// atLeast reports whether the version is major.minor or later.
func (t traits) atLeast(major, minor int) bool {
	return t.major > major || t.major == major && t.minor >= minor
}

// isGemini3 reports whether the model is a Gemini 3 or later. Those assign ids to calls, check
// signatures, and accept images in results and an answer schema together with tools.
func (t traits) isGemini3() bool { return !t.gemma && t.atLeast(3, 0) }

// generation names the group of models that accept each other's signatures.
func (t traits) generation() string {
	switch {
	case t.gemma:
		return "gemma"
	case t.major == unknownVersion:
		return "latest"
	}
	return strconv.Itoa(t.major)
}
