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

// Supervise returns argv, not yet started, in dir and with the environment env. There is no
// helper here, and so nothing to clean up.
func Supervise(dir string, env []string, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	process.Detach(cmd)
	return cmd, nil, nil
}
