package features

import (
	"path"
	"slices"
	"strings"
)

// preferred reports whether prefs select a model, and the index of the deciding word, -1 for none. prefs holds
// patterns of the configuration, then +name or -name for single models, set with keys. The last match wins.
func preferred(prefs []string, name string) (yes bool, at int) {
	for i, word := range slices.Backward(prefs) {
		if word == "-"+name {
			return false, i
		}
		if word == "+"+name || matchesModel(word, name) {
			return true, i
		}
	}
	return false, -1
}

// matchesModel reports whether a pattern matches a name. A star also matches slashes,
// which the model names of gateways contain.
func matchesModel(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}
