package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// A disk that fails at a write or a sync, once or from then on: what failed is told, nothing that
// was acknowledged is lost, and the next start reads the store. Strace has the system calls of a
// child fail; each thread counts its own. With PARLEY_LONG=1 at many more calls.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: what a failing disk leaves is not checked")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "-e", "inject=getppid:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot have calls fail here, so what a failing disk leaves is not checked: %s", out)
	}
	failed, acknowledged := 0, 0
	for n := 1; n <= either(40, 80); n += either(12, 1) {
		for _, calls := range []string{"pwrite64,write", "fsync,fdatasync"} {
			for _, when := range []string{fmt.Sprint(n), fmt.Sprintf("%d+", n)} {
				bad, good := failingDisk(t, strace, calls, ":error=EIO:when="+when)
				failed, acknowledged = failed+bad, acknowledged+good
			}
		}
	}
	if failed == 0 || acknowledged == 0 {
		t.Errorf("%d turns and drafts failed, %d turns were acknowledged: neither may be none", failed, acknowledged)
	}
	t.Logf("%d turns and drafts failed, %d turns were acknowledged", failed, acknowledged)
}

// failingDisk runs childFailing on a disk whose calls fail, and returns how many turns and
// drafts failed, and how many turns were acknowledged.
func failingDisk(t *testing.T, strace, calls, how string) (failed, acknowledged int) {
	t.Helper()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	inject := calls + how
	cmd := exec.Command(strace, "-f", "--seccomp-bpf", "-o", os.DevNull, "-P", path, "-P", path+"-wal", "-e", "trace="+calls, "-e", "inject="+inject, os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_STORE_CHILD=failing", "PARLEY_STORE_PATH="+path)
	out, _ := cmd.CombinedOutput() // a store that cannot even be made is an error of its own
	said := string(out)
	if strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		t.Fatalf("%s: %s", inject, said)
	}
	db, err := Open(path)
	if err != nil {
		t.Fatalf("%s: the next start: %v\n%s", inject, err, said)
	}
	defer db.Close()
	if err := db.Check(); err != nil {
		t.Errorf("%s: %v\n%s", inject, err, said)
	}
	kept := map[string]bool{}
	if _, nodes, err := db.Read("one"); err == nil {
		for _, n := range nodes {
			kept[n.Text()] = true
		}
	}
	draft := 0
	if d, ok, err := db.Drafts().Take("here"); ok && err == nil {
		fmt.Sscan(d.Text, &draft)
	}
	for line := range strings.Lines(said) {
		var seq int
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "turn "):
			fmt.Sscanf(line, "turn %d", &seq)
			if acknowledged++; !kept[text(seq)] {
				t.Errorf("%s: turn %d was acknowledged, and is lost\n%s", inject, seq, said)
			}
		case strings.HasPrefix(line, "draft "):
			if fmt.Sscanf(line, "draft %d", &seq); draft < seq {
				t.Errorf("%s: draft %d was acknowledged, and is %d\n%s", inject, seq, draft, said)
			}
		case strings.HasPrefix(line, "failed "), strings.HasPrefix(line, "error "):
			if failed++; !strings.Contains(line, "I/O error") {
				t.Errorf("%s: %q does not say what failed", inject, line)
			}
		}
	}
	return failed, acknowledged
}

// childFailing holds a conversation, and says which drafts and turns were acknowledged.
func childFailing(path, _ string) error {
	db, err := Open(path)
	if err != nil {
		return err
	}
	l := db.Create(Session{ID: "one"})
	for i := 1; i <= powerTurns; i++ {
		if err := db.Drafts().Save("here", Draft{Text: fmt.Sprint(i)}); err != nil {
			fmt.Println("failed draft", i, err)
		} else {
			fmt.Println("draft", i)
		}
		if err := l.Put(says(i, llm.RoleUser, text(i))); err != nil {
			fmt.Println("failed turn", i, err)
			continue
		}
		fmt.Println("turn", i)
	}
	l.Close()
	return db.Close()
}

func init() { children["failing"] = childFailing }
