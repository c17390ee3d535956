package cli

import (
	"strings"
	"testing"
)

// Arguments that are missing or mistyped are answered with what to write.
func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"help promts":      `no help on "promts": did you mean parley help prompts?`,
		"help prompts nwe": `unknown command "nwe": did you mean parley prompts new?`,
		"help xyzzy":       `no help on "xyzzy": parley help lists topics and commands`,
		"prompts new":      "accepts 1 arg(s), received 0: usage: parley prompts new NAME",
		"mcp logn":         `unknown command "logn": did you mean parley mcp login?`,
		"mcp xyzzy":        `unknown command "xyzzy": parley mcp --help lists them`,
		"prompts sho":      `unknown command "sho": did you mean parley prompts show?`,
		"sessions diff":    "requires at least 1 arg(s), only received 0: usage: parley sessions diff SESSION",
	} {
		root := newProgram().rootCommand()
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("parley %s: %v, want %s", args, err, want)
		}
	}
}
