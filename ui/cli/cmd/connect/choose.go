package connect

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/tools/sanitize"
	"parley/ui/app/access"
	"parley/ui/cli/cmdutil"
)

// chooseProvider asks for a provider with a numbered list.
func (c *command) chooseProvider() (string, error) {
	if !term.IsTerminal(os.Stdin.Fd()) || c.flags != (flags{}) {
		return "", errors.New("which provider? parley connect PROVIDER, such as parley connect anthropic")
	}
	all := c.Connecting().Connections()
	_, height, err := term.GetSize(os.Stderr.Fd())
	shown := len(all)
	if err == nil && height > 0 && height <= shown { // show only the first ones, which are the most used, so that they do not scroll away
		shown = max(height-2, 1)
	}
	line := ""
	for {
		fmt.Fprintln(os.Stderr, strings.Join(providerRows(all)[:shown], "\n"))
		ask := "Number or name: "
		if shown < len(all) {
			ask = fmt.Sprintf("Number or name (? shows all %d): ", len(all))
		}
		if line, err = cmdutil.AskLine(ask); err != nil {
			return "", err
		}
		if line != "?" {
			break
		}
		shown = len(all)
	}
	if n, err := strconv.Atoi(line); err == nil && n > 0 && n <= len(all) {
		return all[n-1].Provider, nil
	}
	if line == "" {
		return "", errors.New("no provider was chosen")
	}
	return line, nil
}

// providerRows returns a numbered row for each provider.
func providerRows(all []access.Connection) []string {
	width := 0
	for _, p := range all {
		width = max(width, ansi.StringWidth(sanitize.Line(p.Provider)))
	}
	rows := make([]string, len(all))
	for i, p := range all {
		rows[i] = fmt.Sprintf("%3d  %-*s  %-40s %s", i+1, width, sanitize.Line(p.Provider), sanitize.Line(p.Name), p.State())
	}
	return rows
}
