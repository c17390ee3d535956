package features

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// statusInterval is the least time between two runs of the user's command.
const statusInterval = 300 * time.Millisecond

// A StatusCommand is the user's own command for the status line. It runs when what it is
// told has changed, never twice at a time, and not again once it failed.
type StatusCommand struct {
	*panel.Deps

	sent    statusFacts // to the last run
	next    time.Time   // it does not run before
	running bool
	waiting bool // a look at the clock is due
	failed  bool
	cancel  context.CancelFunc // of the run
}

// statusFacts is what a command for the status line is told that changes by itself.
type statusFacts struct {
	Session, Title, Model, Effort, Mode string
	Window, Filled                      int // tokens: of the context window, 0 if unknown; in use
	Total                               llm.Usage
	Busy                                bool // a turn runs
	Queue                               int  // prompts that wait
}

type (
	statusDueMsg struct{}
	statusMsg    struct {
		text string
		err  error
	}
)

// Update takes what came of the command, and reports whether msg is that.
func (s *StatusCommand) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.UpdatedMsg:
		return s.updated(), false
	case common.ShutdownMsg:
		if s.running {
			s.cancel()
		}
	case statusDueMsg:
		s.waiting = false
		return nil, true // an UpdatedMsg follows
	case statusMsg:
		s.running = false
		s.cancel()
		if msg.err != nil {
			s.StatusText, s.failed = "", true
			return s.ShowToast("Status line: status_command failed: " + format.ErrorText(msg.err)), true
		}
		line, _, _ := strings.Cut(strings.TrimLeft(msg.text, "\r\n"), "\n")
		s.StatusText = strings.TrimSpace(ansi.Strip(line))
		return nil, true
	}
	return nil, false
}

// isConfigured reports whether there is a command that can run.
func (s *StatusCommand) isConfigured() bool {
	return s.Config.StatusCommand != "" && s.App.Filter != nil && !s.failed
}

// updated tells the command how things stand.
func (s *StatusCommand) updated() tea.Cmd {
	if !s.isConfigured() {
		return nil
	}
	c := s.App.Session
	model := c.Model()
	total, _ := c.Spending.Usage()
	if s.App.Unnamed { // what they cost tells who is dear
		total = llm.Usage{}
	}
	return s.changed(statusFacts{
		Session: c.ID(), Title: c.Title(), Model: model.Name, Effort: string(c.Effort()), Mode: string(c.Policy().Mode()),
		Window: model.Context, Filled: s.App.RequestTokens(), Total: total, Busy: s.App.Busy(), Queue: c.Queue.Len(),
	})
}

// changed runs the command if something is another than it was told, now or as soon as that
// may be.
func (s *StatusCommand) changed(now statusFacts) tea.Cmd {
	if !s.isConfigured() || s.running || s.waiting || now == s.sent {
		return nil
	}
	if wait := s.next.Sub(s.Now()); wait > 0 {
		s.waiting = true
		return s.Tick(wait, statusDueMsg{})
	}
	s.sent, s.running, s.next = now, true, s.Now().Add(statusInterval)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	run, command, input := s.App.Filter, string(s.Config.StatusCommand), s.input(now)
	said := make(chan tea.Msg, 1)
	s.Go(func() { // which the end waits for
		text, err := run(ctx, command, input)
		said <- statusMsg{text, err}
	})
	return func() tea.Msg { return <-said }
}

// input returns what the command is told, in the fields that Claude Code's statusLine has, so
// that a script made for that works: https://code.claude.com/docs/en/statusline.
func (s *StatusCommand) input(now statusFacts) []byte {
	type object map[string]any
	name := now.Model
	if _, model, ok := strings.Cut(name, "/"); ok {
		name = model
	}
	window := object{"total_input_tokens": now.Total.Input, "total_output_tokens": now.Total.Output, "context_window_size": nil, "used_percentage": nil, "remaining_percentage": nil}
	if now.Window > 0 {
		used := min(float64(now.Filled)/float64(now.Window)*100, 100)
		window["context_window_size"], window["used_percentage"], window["remaining_percentage"] = now.Window, used, 100-used
	}
	cost := object{"total_cost_usd": now.Total.Cost}
	if now.Total.Cost == 0 && !now.Total.Priced && now.Total != (llm.Usage{}) {
		cost["total_cost_usd"] = nil // unknown, not nothing
	}
	b, err := json.Marshal(object{
		"session_id": now.Session, "session_name": now.Title, "version": s.App.Version, "cwd": s.App.Directory,
		"model":     object{"id": now.Model, "display_name": name},
		"workspace": object{"current_dir": s.App.Directory, "project_dir": s.App.Directory},
		"cost":      cost, "context_window": window,
		"effort": object{"level": now.Effort}, "approval_mode": now.Mode, "busy": now.Busy, "queued": now.Queue,
	})
	if err != nil { // a number that is none
		return []byte("{}")
	}
	return append(b, '\n')
}
