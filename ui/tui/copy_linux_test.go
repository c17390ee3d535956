package tui

import (
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"
)

// copiedWhole is the model's answer in TestCopiesOnTheWire: longer than most
// terminals accept, with characters of all kinds.
func copiedWhole() string {
	line := "# 標題 かな 한글 👩‍👩‍👧‍👦 🇨🇿 e\u0301 שלום \t`code` \"quoted\" \\ 100 %\n\nnext line\n\n"
	return strings.TrimSpace(strings.Repeat(line, 300_000/len(line)+1))
}

// TestCopiesOnTheWire verifies that the bytes that a terminal reads decode to the
// source of the answer.
func TestCopiesOnTheWire(t *testing.T) {
	t.Parallel()
	s := launch(t, "copies", "next line", "/usr/bin/env", "-i", "PARLEY_UI_CHILD=copies", "TERM=xterm-ghostty", "HOME="+t.TempDir(), "LANG=C.UTF-8")
	s.out.waitFor(t, " out") // part of the footer: the answer has ended
	io.WriteString(s.tty, "\x18y")
	var body string
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, rest, begun := strings.Cut(s.out.String(), "\x1b]52;c;")
		whole, _, ended := strings.Cut(rest, "\x07")
		if body = whole; begun && ended {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was copied: %.200q", rest)
		}
	}
	got, err := base64.StdEncoding.DecodeString(body)
	if want := copiedWhole(); err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("the terminal got %d bytes, want %d (%v)", len(got), len(want), err)
	}
	s.out.waitFor(t, "not confirmed")
	io.WriteString(s.tty, "\x04")
	if status := wait(t, s.Cmd); status != 0 {
		t.Errorf("exit status %d", status)
	}
	s.restored()
}
