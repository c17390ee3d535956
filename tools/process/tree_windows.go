package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a program and its descendants: the processes in its job object. None can leave it, and all
// end when parley does, which has the only handle.
type tree struct {
	process *os.Process
	mark    string // environment variable, as NAME=value
	job     windows.Handle
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=1"} }

// start starts cmd in a job. Its first instruction runs there.
func (t *tree) start(cmd *exec.Cmd) (err error) {
	if t.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	runtime.AddCleanup(t, func(job windows.Handle) { _ = windows.CloseHandle(job) }, t.job)
	if err := t.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_SUSPENDED
	if err := cmd.Start(); err != nil {
		return err
	}
	t.process = cmd.Process
	joined := errors.New("it has ended")
	err = cmd.Process.WithHandle(func(process uintptr) {
		if joined = windows.AssignProcessToJobObject(t.job, windows.Handle(process)); joined != nil {
			return
		}
		if status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess").Call(process); uint32(status) != 0 {
			joined = windows.NTStatus(status)
		}
	})
	if err = errors.Join(err, joined); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

func (t *tree) limit(flags uint32) error {
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags}}
	_, err := windows.SetInformationJobObject(t.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return err
}

// living returns the number of processes in the job.
func (t *tree) living() int {
	var info struct {
		times                             [4]int64
		faults, total, active, terminated uint32
	}
	_ = windows.QueryInformationJobObject(t.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return int(info.active)
}

// Detach gives cmd a console of its own, without a window.
func Detach(cmd *exec.Cmd) { newSession(cmd) }

func newSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
}

// EditorCommand returns the command that opens path in an editor. The editor may have arguments, as in
// "code --wait".
func EditorCommand(editor, path string) *exec.Cmd {
	words, err := windows.DecomposeCommandLine(editor)
	if err != nil || len(words) == 0 {
		words = []string{editor}
	}
	return exec.Command(words[0], append(words[1:], path)...)
}

// LineCommand returns the command that runs a line in cmd, found in path.
func LineCommand(ctx context.Context, path SearchPath, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path.Find("cmd"))
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /d /s /c "` + line + `"`} // it takes off the outer quotes only
	return cmd
}

func killGroup(p *os.Process) error { return p.Kill() }

// terminate kills all processes and returns how many there were. There is no helper to spare.
func (t *tree) terminate(bool) int {
	n := t.living()
	if t.process.WithHandle(func(uintptr) {}) != nil { // it has ended: its console does too, a moment later
		for deadline := time.Now().Add(killTime / 10); n > 0 && time.Now().Before(deadline); n = t.living() {
			time.Sleep(10 * time.Millisecond)
		}
	}
	t.kill()
	for deadline := time.Now().Add(killTime); t.living() > 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
	}
	return n
}

// signal kills all processes, because they could not handle a signal.
func (t *tree) signal(syscall.Signal) { t.kill() }

func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

// killGroup lets the rest survive, also the end of parley: there are no process groups.
func (t *tree) killGroup() { _ = t.limit(0) }

// Alive reports whether a process runs.
func Alive(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer windows.CloseHandle(process)
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}
