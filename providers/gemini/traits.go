package gemini

import (
	"regexp"
	"strconv"
	"strings"
)

// traits are what a model's id tells about it. An id that tells nothing is taken
// for one of the newest, which refuse the least.
type traits struct {
	gemma        bool
	major, minor int    // of the version; newest if the id has none
	tier         string // the word behind the version: "pro", "flash", "flash-lite", "argon"
	plain        bool   // made for images or speech rather than thinking
}

const newest = 1 << 10

var (
	versioned = regexp.MustCompile(`(gemini|gemma)-([0-9]+)(?:\.([0-9]+))?(?:-([a-z]+(?:-lite)?))?`)
	moving    = regexp.MustCompile(`gemini-([a-z]+(?:-lite)?)-latest`)
	modal     = regexp.MustCompile(`-(image|tts|audio|live)\b`)
)

// traitsOf reads an id such as "models/gemini-2.5-flash-lite-preview-09-2025".
func traitsOf(id string) traits {
	id = strings.ToLower(id)
	t := traits{gemma: strings.Contains(id, "gemma"), major: newest, plain: modal.MatchString(id)}
	if m := versioned.FindStringSubmatch(id); m != nil {
		t.major, _ = strconv.Atoi(m[2])
		t.minor, _ = strconv.Atoi(m[3])
		t.tier = m[4]
	} else if m := moving.FindStringSubmatch(id); m != nil {
		t.tier = m[1]
	}
	return t
}

// since reports whether the version is major.minor or later.
func (t traits) since(major, minor int) bool {
	return t.major > major || t.major == major && t.minor >= minor
}

// three reports whether the model is a Gemini 3 or later: those give calls ids
// and check signatures, take pictures in results, and an answer schema beside
// tools.
func (t traits) three() bool { return !t.gemma && t.since(3, 0) }

// generation names the models that may read each other's signatures.
func (t traits) generation() string {
	switch {
	case t.gemma:
		return "gemma"
	case t.major == newest:
		return "latest"
	}
	return strconv.Itoa(t.major)
}
