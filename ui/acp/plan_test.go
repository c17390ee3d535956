package acp

import (
	"fmt"
	"testing"
)

func TestPlanOf(t *testing.T) {
	for input, want := range map[string]string{
		`{"text":"- [x] read\n- [>] write\n- [ ] test\n\nnotes"}`: "[{completed read} {in_progress write} {pending test}]",
		`{"text":"no list"}`:                     "[]",
		`{"text":["- [ ] a"]}`:                   "[]",
		`{"a":1,"text":"  - [X] \u001b[31mred"}`: "[{completed ␛[31mred}]",
		`{"text":"- [`:                           "[]",
		`{"text":"- [?] what\n- [ ]"}`:           "[{pending }]",
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
