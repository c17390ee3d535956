package tui

import (
	"context"
	"fmt"
	"testing"

	"parley/ui/app"
)

// aCheckup has something of everything.
func aCheckup(context.Context, app.TerminalState) []app.Check {
	return []app.Check{
		{Section: app.SectionProviders, Name: "openai", Status: app.Works, Detail: "key from OPENAI_API_KEY · https://api.openai.com/v1 · 210ms · 84 models · default gpt-6.1-sol"},
		{Section: app.SectionProviders, Name: "xai", Status: app.Broken, Detail: "Authentication failed (401, xai): invalid API key", Hint: "check XAI_API_KEY"},
		{Section: app.SectionLocal, Name: "ollama", Status: app.Works, Detail: "http://localhost:11434/v1 · 2ms · 3 models · default llama3.2:latest"},
		{Section: app.SectionMCP, Name: "files", Status: app.Warns, Detail: "new", Hint: "Its tools are off until you review them: /mcp files"},
		{Section: app.SectionSandbox, Name: "commands", Status: app.Works, Detail: "landlock+seccomp+pidns"},
		{Section: app.SectionConfiguration, Name: "config.toml", Status: app.Works, Detail: "~/.config/parley/config.toml"},
	}
}

// TestDoctor: a checkup is a page to read, which names what is broken and what to do.
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

// TestDoctorKeepsTheScreen: while a checkup takes its time, the screen is there.
func TestDoctorKeepsTheScreen(t *testing.T) {
	proceed := make(chan struct{})
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Checkup = func(ctx context.Context, t app.TerminalState) []app.Check { <-proceed; return aCheckup(ctx, t) }
	})
	s.Type("/doctor").Press("enter").WaitForText("Checking")
	s.Type("a draft").WaitForText("a draft")
	close(proceed)
	s.WaitForText("✗ xai")
}
