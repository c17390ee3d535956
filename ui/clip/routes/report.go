package routes

import (
	"context"
	"fmt"
	"strings"

	"parley/ui/format"
)

// Report lists the available routes, one line each, in the order in which they
// are tried.
func (b *Board) Report(ctx context.Context) []string {
	p := b.environment(ctx)
	var lines []string
	for _, w := range escapeRoutes {
		if p.supportsOSC52() && w.here(&p) {
			lines = append(lines, fmt.Sprintf("%s, up to %s: %s", w.name, format.Size(p.limit()*3/4), certainty(&p)))
		}
	}
	if !p.supportsOSC52() {
		lines = append(lines, "the terminal ("+strings.TrimSpace(p.term+" "+p.program)+") has no clipboard for programs")
	}
	for i := range commands {
		row := &commands[i]
		if !row.here(&p) {
			continue
		}
		path, err := b.findCommand(row.put(false)[0])
		switch {
		case err != nil:
			lines = append(lines, row.name+": not installed")
		case row.buffer:
			lines = append(lines, row.name+": checked"+p.tmux.tmuxAdvice())
		case row.get == nil:
			lines = append(lines, row.name+": "+path)
		default:
			lines = append(lines, row.name+": "+path+", checked")
		}
	}
	return append(lines, "else a file in parley's state folder, readable by you only")
}

func certainty(p *environment) string {
	if p.answers() {
		return "asked whether it took it"
	}
	return "it does not say whether it took it"
}

// tmuxAdvice returns the setting that makes tmux pass the text to the terminal.
func (s *server) tmuxAdvice() string {
	switch {
	case s.knows:
		return "; tmux hands it on to the terminal"
	case s.passes, s.accepts():
		return ""
	}
	return "; for the terminal around it: set -as terminal-features ',*:clipboard'"
}
