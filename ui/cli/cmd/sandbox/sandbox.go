// Package sandbox implements parley sandbox, which runs a command as the shell tool would.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"parley/tools"
	"parley/tools/process"
	"parley/ui/cli/cmdutil"
)

// New returns the command. Load reads the configuration into config.
func New(load func() error, config *tools.SandboxConfig) *cobra.Command {
	var network bool
	cmd := &cobra.Command{
		Use: "sandbox [flags] -- COMMAND [ARG...]", Short: "Run a command in the sandbox, like the shell tool",
		Args: func(_ *cobra.Command, argv []string) error {
			if len(argv) == 0 {
				return errors.New("which command? As in parley sandbox -- ls -la")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, argv []string) error {
			if err := load(); err != nil {
				return err
			}
			folder, err := os.Getwd()
			if err != nil {
				return err
			}
			set, err := tools.Open(folder)
			if err != nil {
				return err
			}
			defer set.Close()
			set.EnableSandbox(*config)
			if backend := set.Sandbox(); !backend.Available() {
				return fmt.Errorf("there is no sandbox: %s", backend.Reason)
			}
			held, cleanup, err := process.Sandbox.Command(set.SandboxPolicy(network), argv...)
			if errors.Is(err, exec.ErrNotFound) {
				return cmdutil.Fail(127, fmt.Errorf("%s is not on PATH", argv[0])) // in the words of shells
			}
			if err != nil {
				return err
			}
			defer func() {
				if text := set.TakeSandboxNotices(); text != "" {
					cmdutil.Warn(text)
				}
			}()
			defer cleanup()
			held.Stdin, held.Stdout, held.Stderr = os.Stdin, os.Stdout, os.Stderr
			err = held.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return cmdutil.Exit(exit.ExitCode())
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&network, "network", false, "allow network access")
	return cmd
}
