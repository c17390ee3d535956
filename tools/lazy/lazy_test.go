package lazy_test

import (
	"testing"

	"parley/tools/lazy"
)

var number = lazy.NewRegexp(`[0-9]+`)

func TestValue(t *testing.T) {
	t.Parallel()
	made := 0
	v := lazy.Value[int]{New: func() int { made++; return 22 }}
	if made != 0 {
		t.Error("made before it was used")
	}
	if got := v.Get() + v.Get(); got != 44 || made != 1 {
		t.Errorf("twice the value: got %d, made %d times; want 44, made once", got, made)
	}
}

// A table that could not be made is none, also for who uses it next.
func TestValuePanicsAgain(t *testing.T) {
	t.Parallel()
	v := lazy.Value[map[string]bool]{New: func() map[string]bool { panic("broken") }}
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			v.Get()
		}()
	}
}

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
