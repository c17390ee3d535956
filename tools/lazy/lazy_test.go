package lazy_test

import (
	"testing"

	"parley/tools/lazy"
)

var number = lazy.NewRegexp(`[0-9]+`)

func TestRegexp(t *testing.T) {
	t.Parallel()
	for range 2 { // compiled, and compiled before
		if got := number.FindString("at 22 of 30"); got != "22" {
			t.Errorf("FindString: got %q, want 22", got)
		}
		if got := number.ReplaceAllString("at 22 of 30", "N"); got != "at N of N" {
			t.Errorf("ReplaceAllString: got %q, want %q", got, "at N of N")
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression did not panic")
		}
	}()
	lazy.NewRegexp(`(`).MatchString("")
}
