package cli

import (
	"cmp"
	"slices"
	"strings"

	"parley/ui/cli/cmdutil"
)

// withOptionalValues gives -r without a value one that is empty: nothing, a flag or -- comes
// after it.
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

// formatOf returns the format of the output that args ask for. They may have been read in part only,
// up to an unknown flag before -o; known is the format that was read, or empty.
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
