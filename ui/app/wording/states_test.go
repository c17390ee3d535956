package wording

import (
	"testing"

	"parley/session"
)

// Lists distinguish a copy from its original until the copy is renamed.
func TestListTitle(t *testing.T) {
	for want, about := range map[string]session.Info{
		"whales": {Title: "whales"}, "copy: seals": {Title: "seals", Origin: "fork 0a1b"}, "copy: untitled": {Origin: "fork 0a1b"},
		"mine": {Title: "mine", Origin: "fork 0a1b", Named: true}, "theirs": {Title: "theirs", Origin: "codex"},
	} {
		if got := ListTitle(about); got != want {
			t.Errorf("%+v is listed as %q, want %q", about, got, want)
		}
	}
}
