package features

import (
	"path"
	"slices"
	"strings"
)

// preferred reports whether prefs mean a model, and by which word; -1 if none does. Prefs are patterns of the
// configuration, then +name or -name for single models, set with keys. The last match counts.
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

// matchesModel reports whether a pattern stands for a name. A star stands for slashes
// as well: gateways have them in the names of models.
func matchesModel(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}
