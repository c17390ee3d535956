package tty_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"parley/ui/tty"
)

// terminal returns the two ends of a terminal: the user's, and the program's.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, program, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		user.Close()
		program.Close()
	})
	return user, program
}

// read reads within a time, and fails the test unless it gets text and err.
func read(t *testing.T, in *tty.Input, within time.Duration, want string, wantErr error) {
	t.Helper()
	buf := make([]byte, 10)
	if n, err := in.ReadWithin(buf, within); string(buf[:n]) != want || !errors.Is(err, wantErr) {
		t.Errorf("within %v: got %q, %v; want %q, %v", within, buf[:n], err, want, wantErr)
	}
}

// Reads end after a time or when they are paused, and lose no input.
func TestInput(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	keys, err := tty.NewInput(in)
	if err != nil {
		t.Fatal(err)
	}
	read(t, keys, 0, "", nil)
	read(t, keys, time.Millisecond, "", nil)
	out.WriteString("ab")
	read(t, keys, 0, "ab", nil)
	out.WriteString("c")
	read(t, keys, -1, "c", nil)

	interrupted := make(chan error)
	go func() {
		_, err := keys.ReadWithin(make([]byte, 10), -1)
		interrupted <- err
	}()
	time.Sleep(time.Millisecond) // either order of the two must work
	resume := keys.Pause()
	if err := <-interrupted; !errors.Is(err, tty.ErrPaused) {
		t.Errorf("the read ended with %v, want %v", err, tty.ErrPaused)
	}
	out.WriteString("d")
	read(t, keys, -1, "", tty.ErrPaused)
	resume()
	keys.Resumed()
	read(t, keys, -1, "d", nil)

	out.WriteString("e")
	keys.Close()
	read(t, keys, -1, "", tty.ErrPaused)
	read(t, keys, 0, "", tty.ErrPaused)
	if n, err := in.Read(make([]byte, 10)); n != 1 || err != nil {
		t.Errorf("the file was closed: %d bytes, %v", n, err)
	}
}

// Forget discards the lines that were typed before it.
func TestForget(t *testing.T) {
	user, program := terminal(t)
	keys, err := tty.NewInput(program)
	if err != nil {
		t.Fatal(err)
	}
	user.WriteString("old\nold\n")
	for range 1000 {
		if n, err := unix.IoctlGetInt(int(program.Fd()), unix.TIOCINQ); err != nil || n == 8 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	keys.Forget()
	read(t, keys, 0, "", nil)
	user.WriteString("new\n")
	read(t, keys, -1, "new\n", nil)
}

// Without echo, a terminal still shows the ends of lines.
func TestEcho(t *testing.T) {
	_, program := terminal(t)
	for _, on := range []bool{false, true, false} {
		tty.Echo(program.Fd(), on)
		modes, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if echo, ends := modes.Lflag&unix.ECHO != 0, modes.Lflag&unix.ECHONL != 0; echo != on || ends == on {
			t.Errorf("on %v: everything %v, ends of lines %v", on, echo, ends)
		}
	}
}
