//go:build !linux

package sandbox

import (
	"io/fs"
	"os/exec"
	"time"

	"parley/tools/process"
)

func fileTimeNow() time.Time { return time.Now() }

func fileTimeAfter(time.Time) time.Time { return time.Now() }

func changeTime(info fs.FileInfo) time.Time { return info.ModTime() }

// awaitReady waits until the command may run.
func (p *Policy) awaitReady() {
	if p.Ready != nil {
		<-p.Ready
	}
}

// Supervise returns argv, not yet started, of p with its Workspace and Env. There is no
// helper here, and so nothing to clean up, and nothing that could wait: Supervise itself does so
// for p.Ready.
func Supervise(p Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.Workspace, p.Env
	process.Detach(cmd)
	p.awaitReady()
	return cmd, nil, nil
}
