package plain

import (
	"testing"

	"parley/providers/llmtest"
)

// TestKinds: plain mode has every kind of part.
func TestKinds(t *testing.T) {
	d := talk(t, nil, llmtest.KindsTurns()...)
	d.enter("hi")
	llmtest.CheckKinds(t, llmtest.Plain, d.said())
}
