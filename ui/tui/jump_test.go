package tui

import (
	"regexp"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// /jump lists the turns with their times, tells which got no answer, and goes to the chosen one.
func TestJump(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say(strings.Repeat("wonder\n\n", 30)), llmtest.Fail(&llm.Error{Fault: llm.Quota}), llmtest.Say(strings.Repeat("two\n\n", 30)+"end"))
	s.ask("the first question", "wonder")
	s.idle()
	s.ask("a question without luck", "Quota exceeded")
	s.idle()
	s.ask("the second question", "end")
	s.idle()
	s.Type("/jump").Press("enter").WaitForText("Turns")
	if screen := s.Screen(); !regexp.MustCompile(`the first question +(2\d{3}-\d\d-\d\d )?\d\d:\d\d`).MatchString(screen) {
		t.Errorf("no time in\n%s", screen)
	} else if strings.Count(screen, "no answer") != 1 || !regexp.MustCompile(`without luck +no answer · `).MatchString(screen) {
		t.Errorf("the failed prompt is not marked in\n%s", screen)
	}
	s.Type("first").Press("enter")
	s.WaitForText("wonder")
}
