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

// statusInterval is the minimum time between two runs of the user's command.
const statusInterval = 300 * time.Millisecond

// A StatusCommand is the user's own command for the status line. It runs when its input
// has changed, one run at a time, and never again after a failure.
type StatusCommand struct {
	*panel.Deps

	sent    statusFacts // input of the last run
	next    time.Time   // earliest time of the next run
	running bool
	waiting bool // a timer for the next run is pending
	failed  bool
	cancel  context.CancelFunc // cancels the current run
}

// statusFacts holds the changing facts in the input of a status-line command.
type statusFacts struct {
	Session, Title, Model, Effort, Mode string
	Window, Filled                      int // tokens: size of the context window, 0 if unknown; tokens in use
	Total                               llm.Usage
	Busy                                bool // a turn is running
	Queue                               int  // number of queued prompts
}

type (
	statusDueMsg struct{}
	statusMsg    struct {
		text string
		err  error
	}
)

// Update handles the result of the command, and reports whether msg is one.
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

// isConfigured reports whether there is a command that may run.
func (s *StatusCommand) isConfigured() bool {
	return s.Config.StatusCommand != "" && s.App.Machine.Filter != nil && !s.failed
}

// updated passes the current facts to the command.
func (s *StatusCommand) updated() tea.Cmd {
	if !s.isConfigured() {
		return nil
	}
	c := s.App.Session
	model := c.Model()
	total, _ := c.Spending.Usage()
	if s.App.Unnamed { // the cost would reveal the model
		total = llm.Usage{}
	}
	return s.changed(statusFacts{
		Session: c.ID(), Title: c.Title(), Model: model.Name, Effort: string(c.Next.Effort()), Mode: string(c.Policy().Mode()),
		Window: model.Context, Filled: s.App.FrontEnd.RequestTokens(), Total: total, Busy: s.App.FrontEnd.Busy(), Queue: c.Queue.Len(),
	})
}

// changed runs the command if the facts differ from its last input, now or as soon as allowed.
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
	run, command, input := s.App.Machine.Filter, string(s.Config.StatusCommand), s.input(now)
	said := make(chan tea.Msg, 1)
	s.Go(func() { // the program waits for it before it exits
		text, err := run(ctx, command, input)
		said <- statusMsg{text, err}
	})
	return func() tea.Msg { return <-said }
}

// input returns the command's input, with the fields of Claude Code's statusLine, so that
// scripts for it work: https://code.claude.com/docs/en/statusline.
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
		cost["total_cost_usd"] = nil // unknown, not zero
	}
	b, err := json.Marshal(object{
		"session_id": now.Session, "session_name": now.Title, "version": s.App.FirstScreen.Version, "cwd": s.App.Directory,
		"model":     object{"id": now.Model, "display_name": name},
		"workspace": object{"current_dir": s.App.Directory, "project_dir": s.App.Directory},
		"cost":      cost, "context_window": window,
		"effort": object{"level": now.Effort}, "approval_mode": now.Mode, "busy": now.Busy, "queued": now.Queue,
	})
	if err != nil { // a number is NaN or infinite
		return []byte("{}")
	}
	return append(b, '\n')
}
