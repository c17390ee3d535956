//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

// A tree is a command; what it started cannot be told here.
type tree struct {
	process *os.Process
	mark    string // an environment variable, with its value
}

func newTree(*os.File) *tree { return &tree{mark: "PARLEY_CALL=1"} }

func prepare(*exec.Cmd) {}

// unheld is argv, not yet started, with nothing held back.
func unheld(dir string, env, argv []string, _ bool) (cmd *exec.Cmd, letGo func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	prepare(cmd)
	return cmd, nil, nil
}

// end ends the command. There is nothing to spare.
func (t *tree) end(bool) int {
	if t.process.Kill() != nil {
		return 0
	}
	return 1
}
