//go:build unix

package ability_test

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"

	"parley/ui/cli/ability"
)

// onTerminal makes a terminal of 12 columns the standard files, types text, and returns what was shown while do ran.
func onTerminal(t *testing.T, typed string, do func(tty *os.File)) string {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	stdin, stdout, stderr := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = tty, tty, tty
	defer func() { os.Stdin, os.Stdout, os.Stderr = stdin, stdout, stderr }()
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 4, Cols: 12}); err != nil {
		t.Fatal(err)
	}
	ptmx.WriteString(typed)
	do(tty)
	tty.WriteString("$")
	var shown []byte
	for chunk := make([]byte, 4096); !strings.HasSuffix(string(shown), "$"); {
		n, err := ptmx.Read(chunk)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, chunk[:n]...)
	}
	return strings.TrimSuffix(string(shown), "$")
}

// On a terminal, a high price is a question.
func TestConfirmCostAsks(t *testing.T) {
	for typed, yes := range map[string]bool{"y\n": true, "n\n": false, "\n": false} {
		shown := onTerminal(t, typed, func(*os.File) {
			err := (&ability.Env{ConfirmAbove: 1}).ConfirmCost("it", 2, true)
			if (err == nil) != yes || err != nil && (err.Error() != "not sent" || !isLimit(err)) {
				t.Errorf("%q: got %v", typed, err)
			}
		})
		if !strings.Contains(shown, "it cost about $2.00, more than $1.00. Continue? [y/N] ") {
			t.Errorf("%q: shown is %q", typed, shown)
		}
	}
}

// Files are not written to a terminal.
func TestCheckTargetTerminal(t *testing.T) {
	onTerminal(t, "", func(*os.File) {
		if err := ability.CheckTarget("-", "text", false); err == nil || !strings.Contains(err.Error(), "standard output is a terminal") {
			t.Errorf("got %v", err)
		}
	})
}

// The line is not wider than the terminal, so that redrawing replaces it.
func TestProgressWidth(t *testing.T) {
	shown := onTerminal(t, "", func(tty *os.File) {
		synctest.Test(t, func(t *testing.T) {
			p := ability.NewProgress(tty, time.Now(), func(elapsed, text string) string { return elapsed + " · " + text })
			p.Show("downloading")
			p.Stop()
		})
	})
	if want := "\r\x1b[K0 s · down…\r\x1b[K"; shown != want {
		t.Errorf("shown is %q, want %q", shown, want)
	}
}
