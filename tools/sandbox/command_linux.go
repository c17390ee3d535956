package sandbox

import (
	"errors"
	"os/exec"
)

// Child does nothing in a process that was not started as the helper.
func Child() {}

// Probe reports what the system offers.
func Probe() Backend { return Backend{Why: "not probed"} }

// Command returns argv held by p.
func Command(p Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	return nil, nil, errors.New(Probe().Why)
}
