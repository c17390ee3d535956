package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/tools"
	"parley/tools/sandbox"
	"parley/tools/sanitize"
	"parley/ui/print"
)

// backendLine says what holds commands here.
func backendLine(c tools.SandboxConfig) string {
	if c.Off {
		return "off, by the configuration"
	}
	b := sandbox.Probe()
	if !b.Available() {
		return "none: " + b.Reason
	}
	return strings.Join(append([]string{b.Name}, b.Details...), "; ")
}

// doctorCommand checks every provider.
func (a *program) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check every provider: key, address, models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.load(); err != nil {
				return a.fail(print.Config, err)
			}
			var rows []print.Checkup
			for _, h := range providers.Check(cmd.Context(), a.local.services(), a.openOptions()) {
				rows = append(rows, print.Checkup{
					Provider: h.Provider, Where: h.URL, Key: h.Key, Took: h.Latency, Models: h.Models, Model: h.Model,
					Tools: h.Tools, Version: h.Version, OK: h.OK(), Error: h.Error, Hint: h.Hint, JSON: h,
				})
				if !h.OK() {
					a.status = print.Failed
				}
			}
			if err := print.Doctor(os.Stdout, rows, asJSON); err != nil {
				return a.fail(print.Failed, err)
			}
			if !asJSON {
				fmt.Println("sandbox: " + sanitize.Line(backendLine(a.config.Sandbox)))
			}
			if len(rows) == 0 {
				a.note("no provider has a key or is configured: only the built-in demo can answer")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}
