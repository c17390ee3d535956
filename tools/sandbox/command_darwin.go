package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const seatbelt = "/usr/bin/sandbox-exec"

// Child does nothing here: sandbox-exec is the helper.
func Child() {}

// Probe reports whether commands can be held.
func Probe() Backend {
	if _, err := os.Stat(seatbelt); err != nil {
		return Backend{Why: err.Error()}
	}
	return Backend{Name: "seatbelt"}
}

// Command returns argv held by p, not yet started, in a session of its own.
// Cleanup, to be called once it has ended, removes the private temp directory.
func Command(p Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	p.findRepositories()
	p.Protected = behind(p.Workspace, p.Protected)
	p.joinWorktree(false)
	cleanup, err = tempDir(&p)
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(seatbelt, append([]string{"-p", Profile(p)}, argv...)...)
	cmd.Dir, cmd.Env = p.Workspace, append(p.Env, "TMPDIR="+p.Temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cleanup, nil
}
