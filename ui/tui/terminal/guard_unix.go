//go:build unix

package terminal

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"

	"parley/tools/sanitize"
)

// A guard is a separate process that restores the terminal if this process ends
// without doing so: by a panic in a goroutine of a library, a fatal error of the
// runtime such as a concurrent map write, os.Exit, or kill -9. The process
// cannot catch these itself. The guard waits for a line on a pipe, and costs
// nothing until then.
//
//	"done"                 all is well
//	the runtime's report   goes to a file, once the terminal is back
//	nothing, and the end   the process is gone
type guard struct {
	shell *exec.Cmd
	pipe  *os.File
}

// guardian returns the guard's program. Its arguments are the modes in the form
// of stty -g, and the file for a report. Because the runtime is still writing its
// report while the terminal is restored, this is mostly done before the parent
// shell continues.
func guardian() string {
	return `trap '' HUP INT QUIT TERM TSTP TTIN TTOU
IFS= read -r first
ended=$?
[ "$first" = done ] && exit
printf '` + strings.NewReplacer("\x1b", `\033`, "\r", `\r`).Replace(reset) + `'
stty "$1" <&1 2>/dev/null || stty sane <&1
[ $ended = 0 ] || exit
umask 077
set -C
mkdir -p "${2%/*}"
{ printf '%s\n' "$first"; cat; } | sed -E 's/` + sanitize.KeyShapes + `/[redacted]/g' >"$2" &&
printf 'parley: crashed\n  the report is in %s\n' "$2"
`
}

// watch starts the guard of a terminal. It returns nil if the terminal needs no
// guard, or none can run.
func watch(t *Terminal, reports Reports) *guard {
	if t.state == nil || t.modes() == "" {
		return nil
	}
	report, err := reports.Path()
	if err != nil {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardian(), "parley-guard", t.modes(), report)
	cmd.Stdin, cmd.Stdout = r, t.out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}      // contains no API key
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals that end this process do not end the guard
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil
	}
	if debug.SetCrashOutput(w, debug.CrashOptions{}) != nil {
		w.Close()
		return nil
	}
	return &guard{cmd, w}
}

// dismiss ends the guard, because the terminal is restored.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // removing it cannot fail
	_, _ = g.pipe.WriteString("done\n")
	g.pipe.Close()
	_ = g.shell.Wait()
}
