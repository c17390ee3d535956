package sandbox

import (
	"errors"
	"os"
	"os/exec"

	"parley/tools/places"
	"parley/tools/process"
)

const seatbeltPath = "/usr/bin/sandbox-exec"

// Probe reports whether sandbox-exec is available.
func Probe() Backend {
	if _, err := os.Stat(seatbeltPath); err != nil {
		return Backend{Reason: err.Error()}
	}
	return Backend{Name: "seatbelt"}
}

// Command returns argv confined by a policy, not yet started, in a session of its own. Call
// cleanup after its end to remove the private temp directory. Without a helper, Command itself
// waits for Ready.
func Command(allowed Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	p := policy{Policy: allowed}
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	if err := check(allowed, places.New(os.Getenv).WorkspaceProblem); err != nil {
		return nil, nil, err
	}
	p.dropReplaceable()
	if err := p.protectRepositories(); err != nil {
		return nil, nil, err
	}
	p.Protected = withLinkTargets(p.Workspace, p.Protected)
	p.allowWorktree(false)
	if err := p.allowDirectories(false); err != nil {
		return nil, nil, err
	}
	cleanup, err = makeTempDir(&p)
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(seatbeltPath, append([]string{"-p", Profile(p.Policy)}, argv...)...)
	cmd.Dir, cmd.Env = p.Workspace, append(p.Env, "TMPDIR="+p.TempDir)
	process.Detach(cmd)
	p.AwaitReady()
	return cmd, cleanup, nil
}
