package plain

import (
	"testing"

	"parley/session"
)

// A question is answered by a number or a word.
func TestAnswerTo(t *testing.T) {
	q := session.Question{Choices: []session.Choice{{Action: session.SwitchModel}, {Action: session.WaitAndTry}, {Action: session.StopTurn}}}
	for line, want := range map[string]int{
		"1": 0, "3": 2, " 2 ": 1, "now": 0, "/now": 0, "Switch": 0, "wait": 1, "/stop": 2, "0": -1, "4": -1, "": -1, "perhaps": -1, "-1": -1,
	} {
		if n, ok := answerTo(q, line); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %t, want %d", line, n, ok, want)
		}
	}
}
