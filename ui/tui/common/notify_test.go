package common

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A notice is sent only while another window has the focus. It is one short line without characters that have a
// meaning in sequences.
func TestNotify(t *testing.T) {
	s := New(Config{}, func(string) string { return "" }, func() time.Time { return time.Unix(0, 0) })
	s.notice = "osc777"
	if s.Notify("Done") != nil {
		t.Error("a notice came while the terminal has the focus")
	}
	s.Unfocused = true
	for in, want := range map[string]string{
		"Done":                  "Done",
		"a;b\\c\x1b]x":          "a b c␛]x",
		"two words":             "two words",
		strings.Repeat("é", 80): strings.Repeat("é", 80),
		strings.Repeat("é", 90): strings.Repeat("é", 80),
	} {
		cmd := s.Notify(in)
		if cmd == nil {
			t.Fatalf("%q: got no notice", in)
		}
		if got := fmt.Sprint(cmd()); !strings.Contains(got, want) || strings.Contains(got, want+"é") {
			t.Errorf("%q: got %q, want %q in it", in, got, want)
		}
	}
}
