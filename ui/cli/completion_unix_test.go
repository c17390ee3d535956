//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestBashCompletes types lines and a tab into bash, with and without the package bash-completion, whose functions the
// script for bash calls.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not on PATH")
	}
	const pkg = "/usr/share/bash-completion/bash_completion"
	for name, load := range map[string]string{"alone": ":", "with bash-completion": "source " + pkg} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(pkg); err != nil && load != ":" {
				t.Skipf("there is no %s", pkg)
			}
			shell := startBash(t, bash)
			if got := shell.run("{ " + load + "; source <(parley completion bash); }"); got != "" {
				t.Errorf("loading it prints %q", got)
			}
			for typed, want := range map[string]string{
				"parley conn":                       "<parley><connect>",
				"parley --effort hi":                "<parley><--effort><high>",
				"parley --effort=hi":                "<parley><--effort=high>",
				"parley   'a  b=c:d'  --effort  hi": "<parley><a  b=c:d><--effort><high>",
				"parley -O a=b:c --effort hi":       "<parley><-O><a=b:c><--effort><high>",
				"parley --tools=read,gr":            "<parley><--tools=read,grep>",
				"parley -m demo/p":                  "<parley><-m><demo/parley>",
				"parley --add-dir my":               "<parley><--add-dir><my folder/>",
				"parley --add-dir=my":               "<parley><--add-dir=my folder/>",
				"parley -f note":                    "<parley><-f><notes.txt>",
				"parley connect note":               "<parley><connect><note>",
			} {
				// The line becomes the arguments of another command.
				if got := shell.run(typed + "\t\x01printf '<%s>' "); got != want {
					t.Errorf("%s: got %q, want %q", typed, got, want)
				}
			}
		})
	}
}

// A bashShell is an interactive bash.
type bashShell struct {
	t   *testing.T
	tty *os.File
	dir string
}

func startBash(t *testing.T, path string) bashShell {
	cmd := exec.Command(path, "--noprofile", "--norc", "-i")
	cmd.Dir, cmd.Env = manualHome(t)
	if err := os.Mkdir(filepath.Join(cmd.Dir, "my folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "PS1=$ ", "INPUTRC=/dev/null", "HISTFILE=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 500})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tty.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return bashShell{t, tty, cmd.Dir}
}

// run types a line and returns the output of its last command.
func (b bashShell) run(typed string) string {
	b.t.Helper()
	// The computed sum distinguishes the printed end from the echo of the typed line.
	fmt.Fprintf(b.tty, "%s\x05 >printed 2>&1; printf '\\n%%s\\n' end$((40+2))\r", typed)
	var out bytes.Buffer
	for piece := make([]byte, 4096); !strings.Contains(out.String(), "\nend42\r"); {
		n, err := b.tty.Read(piece)
		out.Write(piece[:n])
		if err != nil {
			b.t.Fatalf("bash ended: %v, after %q", err, out.String())
		}
	}
	if strings.Contains(out.String(), "bash: ") {
		b.t.Errorf("%s: bash says %q", typed, out.String())
	}
	printed, err := os.ReadFile(filepath.Join(b.dir, "printed"))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(printed)
}
