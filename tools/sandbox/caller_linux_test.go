package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"parley/tools/sandbox"
)

// role, as the first argument of the test program, makes it a caller of
// Command with the policy in the environment, as another user or to be killed.
const (
	role   = "call-sandbox"
	policy = "SANDBOX_POLICY"
	free   = "SANDBOX_FREE" // calls Supervise instead

	holdUntil = "SANDBOX_HOLD_UNTIL" // file without which the command may not run
)

func runAsCaller(argv []string) int {
	var p sandbox.Policy
	if err := json.Unmarshal([]byte(os.Getenv(policy)), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 200
	}
	if file := os.Getenv(holdUntil); file != "" {
		ready := make(chan struct{})
		p.Ready = ready
		go func() {
			defer close(ready)
			for {
				if _, err := os.Stat(file); err == nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	cmd, cleanup, err := sandbox.Command(p, argv...)
	if os.Getenv(free) != "" {
		cmd, cleanup, err = sandbox.Supervise(p, argv...)
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
