package process

import "testing"

func TestPrefixBuffer(t *testing.T) {
	b := PrefixBuffer{Limit: 5}
	for _, text := range []string{"abc", "", "defg", "h"} {
		if n, err := b.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if string(b.Bytes()) != "abcde" {
		t.Errorf("kept %q", b.Bytes())
	}
	if n, err := new(PrefixBuffer).Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("without room: %d, %v", n, err)
	}
}
