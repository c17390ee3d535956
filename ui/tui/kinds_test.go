package tui

import (
	"testing"

	"parley/providers/llmtest"
)

// TestKinds: the screen has every kind of part.
func TestKinds(t *testing.T) {
	s := setUp(t, 100, 60, llmtest.KindsTurns()...)
	s.Type("hi").Press("enter")
	s.WaitForText("The end.")
	llmtest.CheckKinds(t, llmtest.Screen, s.Screen())
}
