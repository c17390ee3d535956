package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"parley/tools/sandbox"
)

// role, as the first argument of the test program, makes it a caller of
// Command with the policy in the environment, as another user or to be killed.
const (
	role   = "call-sandbox"
	policy = "SANDBOX_POLICY"
	free   = "SANDBOX_FREE" // calls Supervise instead
)

func runAsCaller(argv []string) int {
	var p sandbox.Policy
	if err := json.Unmarshal([]byte(os.Getenv(policy)), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 200
	}
	cmd, cleanup, err := sandbox.Command(p, argv...)
	if os.Getenv(free) != "" {
		cmd, cleanup, err = sandbox.Supervise(p.Workspace, p.Env, argv...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 201
	}
	defer cleanup()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 202
	}
	return 0
}
