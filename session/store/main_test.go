package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/providers/llm"
)

// long runs the long forms of kill loops and damage.
var long = os.Getenv("PARLEY_LONG") == "1"

// either returns a number for the short form of a test, or for the long one.
func either(short, long_ int) int {
	if long {
		return long_
	}
	return short
}

// TestMain runs what a child process of a test does, or the tests.
func TestMain(m *testing.M) {
	if f, ok := children[os.Getenv("PARLEY_STORE_CHILD")]; ok {
		if err := f(os.Getenv("PARLEY_STORE_PATH"), os.Getenv("PARLEY_STORE_ID")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// children holds what other processes do to a store.
var children = map[string]func(path, id string) error{
	"write": childWrite,
	"turns": childTurns,
	"hold":  childHold,
	"spend": childSpend,
	"take":  childTake,
	"fork":  childFork,
}

// child starts a process that does one of children, and a reader of what it
// prints.
func child(t testing.TB, what, path, id string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_STORE_CHILD="+what, "PARLEY_STORE_PATH="+path, "PARLEY_STORE_ID="+id)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// childWrite puts until it is killed, and says what was acknowledged.
func childWrite(path, id string) error {
	db, err := Open(path)
	if err != nil {
		return err
	}
	l := db.Create(Session{ID: id})
	for seq := 1; ; seq++ {
		if err := l.Put(says(seq, llm.RoleUser, text(seq))); err != nil {
			return err
		}
		fmt.Println(seq)
	}
}

// childFork makes forks of a session, and forks of these, and removes every other original, until it is killed.
func childFork(path, id string) error {
	db, err := Open(path)
	if err != nil {
		return err
	}
	for round := 1; ; round++ {
		l, _, err := db.ForkInto(db, id, 0)
		if err != nil {
			return err
		}
		seq := l.Session().Messages + 1
		if err := errors.Join(l.Put(says(seq, llm.RoleUser, text(seq))), l.Close()); err != nil {
			return err
		}
		fmt.Println(l.Session().ID)
		if round%2 == 0 {
			if err := db.Remove(id); err != nil {
				return err
			}
		}
		id = l.Session().ID
	}
}

// text returns what message seq says: short, long, and in several pages.
func text(seq int) string {
	return fmt.Sprintf("message %d %s", seq, strings.Repeat("word ", seq*37%3000))
}

// childTurns holds a conversation of PARLEY_STORE_ID messages.
func childTurns(path, id string) error {
	n, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	l := db.Create(Session{})
	for seq := 1; seq <= n; seq++ {
		if err := l.Put(says(seq, llm.RoleUser, text(seq))); err != nil && code(err) != sqlite3.SQLITE_BUSY {
			return err
		}
	}
	// Messages that the lock of others delayed are held, and written once it is gone.
	for deadline := time.Now().Add(time.Minute); code(l.Flush()) == sqlite3.SQLITE_BUSY && time.Now().Before(deadline); {
	}
	return errors.Join(l.Close(), db.Close())
}

// childHold opens a session and waits to be killed.
func childHold(path, id string) error {
	db, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := db.Resume(id); err != nil {
		return err
	}
	fmt.Println("held")
	time.Sleep(time.Minute)
	return nil
}

// line returns the next line that a child printed.
func line(t testing.TB, out *bufio.Scanner) string {
	t.Helper()
	if !out.Scan() {
		t.Fatal("the child said nothing", out.Err())
	}
	return out.Text()
}

// Pending returns how many messages are not on disk yet, and why. With 0 and an
// error it is the title or the like.
func (l *Log) Pending() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasContent {
		return 0, nil
	}
	n := 0
	for i := range l.nodes {
		if l.nodes[i].saved != l.nodes[i].gen {
			n++
		}
	}
	return n, l.err
}
