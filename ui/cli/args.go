package cli

import (
	"cmp"
	"slices"
	"strings"

	"parley/ui/cli/cmdutil"
)

// withOptionalValues gives -r an empty value if no value follows: it is last, or a flag or -- comes next.
func withOptionalValues(args []string) []string {
	var out []string
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		alone := i == len(args)-1 || strings.HasPrefix(args[i+1], "-")
		if (arg == "-r" || arg == "--resume") && alone {
			arg = "--resume="
		}
		out = append(out, arg)
	}
	return out
}

// formatOf returns the output format that args ask for. Parsing may have stopped at an unknown flag before -o; known is
// the format parsed so far, or "".
func formatOf(args []string, known string) string {
	format := cmp.Or(known, "text")
	for i, arg := range args {
		value, isOutput := strings.CutPrefix(arg, "--output")
		if !isOutput {
			value, isOutput = strings.CutPrefix(arg, "-o")
		}
		switch {
		case arg == "--":
			return format
		case !isOutput:
			continue
		case value == "" && i+1 < len(args):
			value = args[i+1]
		}
		if value = strings.TrimPrefix(value, "="); slices.Contains(cmdutil.Formats, value) {
			format = value
		}
	}
	return format
}
