package tui

import (
	"context"
	"fmt"
	"testing"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/report"
)

// aCheckup returns checks of every status.
func aCheckup(context.Context, app.TerminalState) []format.Part {
	return report.Checkup([]report.Check{
		{Section: report.SectionProviders, Name: "openai", Status: report.Works, Detail: "key from OPENAI_API_KEY · https://api.openai.com/v1 · 210ms · 84 models · default gpt-6.1-sol"},
		{Section: report.SectionProviders, Name: "xai", Status: report.Broken, Detail: "Authentication failed (401, xai): invalid API key", Hint: "check XAI_API_KEY"},
		{Section: report.SectionLocal, Name: "ollama", Status: report.Works, Detail: "http://localhost:11434/v1 · 2ms · 3 models · default llama3.2:latest"},
		{Section: report.SectionMCP, Name: "files", Status: report.Warns, Detail: "new", Hint: "Its tools are off until you review them: /mcp files"},
		{Section: report.SectionSandbox, Name: "commands", Status: report.Works, Detail: "landlock+seccomp+pidns"},
		{Section: report.SectionConfiguration, Name: "config.toml", Status: report.Works, Detail: "~/.config/parley/config.toml"},
	})
}

// TestDoctor: a checkup is a page that lists broken parts with their hints.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{50, 15}, {80, 24}} {
		name := fmt.Sprintf("doctor-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, size[0], size[1], func(o *Options) { o.App.Checkup = aCheckup })
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
		o.App.Checkup = func(ctx context.Context, t app.TerminalState) []format.Part { <-proceed; return aCheckup(ctx, t) }
	})
	s.Type("/doctor").Press("enter").WaitForText("Checking")
	s.Type("a draft").WaitForText("a draft")
	close(proceed)
	s.WaitForText("✗ xai")
}
