package tui

import (
	"context"
	"fmt"
	"testing"

	"parley/ui/app"
	"parley/ui/format"
)

// aCheckup returns checks of every status.
func aCheckup(context.Context, app.TerminalState) []format.Part {
	return []format.Part{
		{Title: "Providers", Lines: []format.Line{
			{Sign: "✓", Text: "openai: key from OPENAI_API_KEY · https://api.openai.com/v1 · 210ms · 84 models · default gpt-6.1-sol"},
			{Sign: "✗", Text: "xai: Authentication failed (401, xai): invalid API key"}, {Sign: " ", Text: "check XAI_API_KEY"},
		}},
		{Title: "Local servers", Lines: []format.Line{{Sign: "✓", Text: "ollama: http://localhost:11434/v1 · 2ms · 3 models · default llama3.2:latest"}}},
		{Title: "MCP servers", Lines: []format.Line{{Sign: "!", Text: "files: new"}, {Sign: " ", Text: "Its tools are off until you review them: /mcp files"}}},
		{Title: "Sandbox", Lines: []format.Line{{Sign: "✓", Text: "commands: landlock+seccomp+pidns"}}},
		{Title: "Configuration", Lines: []format.Line{{Sign: "✓", Text: "config.toml: ~/.config/parley/config.toml"}}},
	}
}

// TestDoctor: a checkup is a page that lists broken parts with their hints.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{50, 15}, {80, 24}} {
		name := fmt.Sprintf("doctor-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, size[0], size[1], func(o *Options) { o.App.Machine.Checkup = aCheckup })
			s.Type("/doctor").Press("enter").WaitForText("✓ openai")
			s.Golden(name)
			s.Press("esc").WaitForText("~/work")
		})
	}
}

// TestDoctorKeepsTheScreen: the screen works while a checkup runs.
func TestDoctorKeepsTheScreen(t *testing.T) {
	proceed := make(chan struct{})
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Checkup = func(ctx context.Context, t app.TerminalState) []format.Part { <-proceed; return aCheckup(ctx, t) }
	})
	s.Type("/doctor").Press("enter").WaitForText("Checking")
	s.Type("a draft").WaitForText("a draft")
	close(proceed)
	s.WaitForText("✗ xai")
}
