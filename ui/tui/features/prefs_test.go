package features

import "testing"

// Favorites and hidden models set with keys take precedence over patterns of the configuration.
func TestPreferred(t *testing.T) {
	prefs := []string{"openai/*", "-openai/a", "+far/b"}
	for name, want := range map[string]bool{"openai/a": false, "openai/x/y": true, "far/b": true, "far/c": false} {
		if got, _ := preferred(prefs, name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
