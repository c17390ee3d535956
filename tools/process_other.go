//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

// A processTree is a command; what it started cannot be told here.
type processTree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newProcessTree(*os.File) *processTree { return &processTree{mark: "PARLEY_CALL=1"} }

func detach(*exec.Cmd) {}

// unsandboxedCommand is argv, not yet started, with nothing held back.
func unsandboxedCommand(dir string, env, argv []string, _ bool) (cmd *exec.Cmd, letGo func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	detach(cmd)
	return cmd, nil, nil
}

// terminate ends the command. There is nothing to spare.
func (t *processTree) terminate(bool) int {
	if t.process.Kill() != nil {
		return 0
	}
	return 1
}
