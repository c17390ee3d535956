package checklist

import "testing"

func TestStep(t *testing.T) {
	for line, want := range map[string]struct {
		mark Mark
		text string
	}{
		"- [ ] read it":       {Pending, "read it"},
		"  * [x] mend it \n":  {Done, "mend it"},
		"+ [X]  test it":      {Done, "test it"},
		"-[>] now":            {Current, "now"},
		"- [>]":               {Current, ""},
		"- [ ]()":             {Pending, "()"},
		"- [?] what":          {},
		"- a [ ] link":        {},
		"[ ] no list":         {},
		"":                    {},
		"-":                   {},
		"- [x":                {},
		"1. [ ] not numbered": {},
	} {
		mark, text, ok := Step(line)
		if mark != want.mark || text != want.text || ok != (want.mark != 0) {
			t.Errorf("%q: %q %q %v, want %q %q", line, mark, text, ok, want.mark, want.text)
		}
	}
}
