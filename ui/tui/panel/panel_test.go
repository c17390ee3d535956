package panel

import "testing"

// The version of an untagged commit is its hash.
func TestShortVersion(t *testing.T) {
	for version, want := range map[string]string{
		"devel": "", "v1.2.3": "v1.2.3", "v1.2.3-rc.1": "v1.2.3-rc.1",
		"v0.0.0-20261123085527-cba709e05d29":             "cba709e05d29",
		"v0.0.0-20261123085527-cba709e05d29+dirty":       "cba709e05d29+dirty",
		"v1.2.4-0.20261123085527-cba709e05d29":           "cba709e05d29",
		"v1.2.3-pre.0.20261123085527-cba709e05d29+dirty": "cba709e05d29+dirty",
	} {
		if got := shortVersion(version); got != want {
			t.Errorf("shortVersion(%q) = %q, want %q", version, got, want)
		}
	}
}
