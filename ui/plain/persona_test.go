package plain

import (
	"strings"
	"testing"

	"parley/providers/llmtest"
)

// The current value is marked as current, as on the screen. The row that turns personas off is not counted.
func TestCurrentIsSaid(t *testing.T) {
	d := talk(t, nil, llmtest.Say("Well."))
	d.enter("/effort").heard("provider default, current").enter("").idle()
	d.enter("/persona").heard("No personas. A prompt file with a system prompt is one: /manual prompts").idle()
	if strings.Contains(d.said(), "1 persona") {
		t.Error(d.said())
	}
}
