// Package panel holds the dependencies of separate views, such as the list of models.
package panel

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/tools/lazy"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A Deps holds the dependencies of every view.
type Deps struct {
	*common.Screen
	dialog.Host
	App     *app.App
	Perform func(app.Effect) tea.Cmd     // shows the effect of an action of the user
	Run     func(command string) tea.Cmd // runs a command by name
	Prompt  func(text string) tea.Cmd    // sends a prompt
	Show    func(seq int)                // scrolls to a message of the open conversation
	Themed  []Themeable                  // views to redraw when the theme changes
}

// A Themeable has a theme that can be changed.
type Themeable interface{ SetTheme(*theme.Theme) }

// A RunInfo holds the version, directory and model of a run, for a header. Its texts are sanitized.
type RunInfo struct {
	Version   string // "" if the build has none
	Directory string
	Model     string
	Notice    string // shown at the start; "" for none
}

// RunInfo describes the run as of now.
func (d *Deps) RunInfo() RunInfo {
	a := d.App
	return RunInfo{
		Version: shortVersion(sanitize.Line(a.FirstScreen.Version)), Directory: sanitize.Line(a.Workspace),
		Model: sanitize.Line(a.Session.Model().Name), Notice: sanitize.Line(a.FirstScreen.Notice),
	}
}

// shortVersion reduces the version of an untagged commit to its hash: v0.0.0-DATE-HASH is too long for a small screen.
func shortVersion(version string) string {
	if parts := untagged.FindStringSubmatch(version); parts != nil {
		return parts[1]
	}
	return strings.TrimPrefix(version, "devel")
}

// untagged matches pseudo-versions: https://go.dev/ref/mod#pseudo-versions
var untagged = lazy.NewRegexp(`^v\d+\.\d+\.\d+-(?:.*\.)?\d{14}-([0-9a-f]{12}(?:\+dirty)?)$`)
