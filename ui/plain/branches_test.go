package plain

import (
	"testing"

	"parley/providers/llmtest"
)

// TestBranches: an earlier message is edited as a branch, and the old one is still there.
func TestBranches(t *testing.T) {
	d := talk(t, nil, llmtest.Say("One."), llmtest.Say("Two."), llmtest.Say("Three."))
	d.enter("first", "second")
	d.enter("/tree", "/undo", "1", "/draft", "another second", "/branches", "2", "/tree", "")
	d.golden("branches")
	d.valid()
}
