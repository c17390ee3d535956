package tui

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A paste from a terminal is text, even if it contains the end of a paste and a return, which not
// every terminal removes, and regardless of its size, 1 MB or with PARLEY_LONG=1 10 MB: nothing
// is sent until the user presses enter.
func TestPastesAreText(t *testing.T) {
	t.Parallel()
	lines := 1 << 20 / 9
	if long {
		lines *= 10
	}
	many, chip := strings.Repeat("rm -rf /\r", lines), fmt.Sprintf("[pasted %d lines]", lines)
	for name, c := range map[string]struct {
		paste string
		shows []string // in the input
		left  string   // rest of the input when it is sent; "" if not tested
	}{
		"the end of a paste in it":        {"ls\x1b[201~rm -rf /\r", []string{"lsrm -rf /"}, "lsrm -rf /"},
		"lines behind that":               {"ls\x1b[201~rm -rf /\rid\r\r", []string{"lsrm -rf /", "id"}, "lsrm -rf /"},
		"a second paste behind the first": {"ls\x1b[201~\x1b[200~\rrm -rf /\r", []string{"ls", "rm -rf /"}, "rm -rf /"},
		"many":                            {many, []string{chip}, ""},
		"many with the end behind":        {many + "\x1b[201~\r", []string{chip}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, "answered", "streaming is over")
			s.out.waitForScreen(t, "Ask anything")
			if _, err := io.WriteString(s.tty, "\x1b[200~"+c.paste+"\x1b[201~"); err != nil {
				t.Fatal(err)
			}
			io.WriteString(s.tty, "Z") // the last key
			s.out.waitForScreen(t, "Z")
			screen := strings.Join(s.out.rows(), "\n")
			for _, text := range c.shows {
				if !strings.Contains(screen, text) {
					t.Errorf("%q is not shown:\n%s", text, screen)
				}
			}
			const sent = "request 2" // the second request fails, because the model has only one answer
			if strings.Contains(s.out.String(), sent) {
				t.Errorf("something was sent:\n%s", screen)
			}
			if c.left != "" {
				time.Sleep(200 * time.Millisecond) // an immediate enter is part of the paste
				io.WriteString(s.tty, "\r")
				s.out.waitForScreen(t, sent)
				if screen := strings.Join(s.out.rows(), "\n"); !strings.Contains(screen, c.left) {
					t.Errorf("%q was not sent:\n%s", c.left, screen)
				}
			}
			s.Process.Signal(syscall.SIGTERM)
			if status := wait(t, s.Cmd); status != 143 {
				t.Errorf("exit status %d", status)
			}
		})
	}
}
