package chat

import "testing"

// Half blocks stand in the place of an image where there are colors enough to make one of; with
// NO_COLOR they would be a gray field, and the image is named alone.
func TestImagesOfATerminal(t *testing.T) {
	for _, test := range []struct {
		env               []string
		supported, blocks bool
	}{
		{[]string{"TERM=xterm-256color"}, false, true},
		{[]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, false, true},
		{[]string{"TERM=xterm-256color", "NO_COLOR=1"}, false, false},
		{[]string{"TERM=xterm-256color", "COLORTERM=truecolor", "NO_COLOR=1"}, false, false},
		{[]string{"TERM=linux"}, false, false},
		{[]string{"TERM=dumb"}, false, false},
		{nil, false, false},
		{[]string{"TERM=xterm-kitty", "NO_COLOR=1"}, true, false},
	} {
		if got := newImages(test.env); got.supported != test.supported || got.blocks != test.blocks {
			t.Errorf("%q: draws %t, blocks %t", test.env, got.supported, got.blocks)
		}
	}
}
