package acp

import (
	"fmt"
	"testing"
)

func TestPlanOf(t *testing.T) {
	for input, want := range map[string]string{
		`{"plan":"- [x] read\n- [>] write\n- [ ] test\n\nnotes"}`: "[{completed read} {in_progress write} {pending test}]",
		`{"plan":"no list"}`:                      "[]",
		`{"plan":["- [ ] a"]}`:                    "[]",
		`{"a":1,"items":"  - [X] \u001b[31mred"}`: "[{completed ␛[31mred}]",
		`{"plan":"- [`:                            "[]",
		`{"plan":"- [?] what\n- [ ]"}`:            "[{pending }]",
	} {
		type entry struct{ status, content string }
		list := []entry{}
		for _, e := range planOf(input) {
			list = append(list, entry{string(e.Status), e.Content})
		}
		if got := fmt.Sprint(list); got != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
}
