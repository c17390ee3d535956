package chat

import "testing"

// Half blocks replace an image if the terminal has enough colors. With NO_COLOR they would be a
// gray area, so the image is only named.
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
