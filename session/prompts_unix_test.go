//go:build unix

package session_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools/act"
)

// TestTemplateNotes: parley's notes after the output of a prompt's command go to the model, and are stored
// apart from the output for the user, all of its lines.
func TestTemplateNotes(t *testing.T) {
	const hook = `PostToolUse: echo '{"hookSpecificOutput":{"additionalContext":"seen"}}'`
	output, notes := "a\n", "[ended 1 process still running in the background: nothing outlives its command]\n[exit status 3]"
	if runtime.GOOS == "linux" { // its helper reports that, as output
		output, notes = "a\n[ended what still ran in the background, processes: 1; nothing outlives its command]\n", "[exit status 3]"
	}
	const stopped = "The user stopped this call before it was finished. Until then:\n\n"
	tests := []struct {
		name, command string
		hooks         []string
		stop          bool
		sent          string // as far as it is the same each time
		output, notes string
	}{
		{"a success", "echo a", nil, false, "a", "a\n", "[exit status 0]"},
		{"no output", "true", nil, false, "[no output]", "", "[no output]\n[exit status 0]"},
		{"its own last line", "echo '[exit status 0]'", nil, false, "[exit status 0]", "[exit status 0]\n", "[exit status 0]"},
		{"a failure", "echo a; exit 3", nil, false, "a\n[exit status 3]", "a\n", "[exit status 3]"},
		{"removed characters", `printf 'a\342\200\213b\n'`, nil, false, "ab\n[1 invisible character removed]", "ab\n", "[1 invisible character removed]\n[exit status 0]"},
		{"left running", "sleep 1000 & echo a; exit 3", nil, false, output + notes, output, notes},
		{"a hook's", "echo a", []string{hook}, false, "a\n\nA hook adds: seen", "a\n", "[exit status 0]\n\nA hook adds: seen"},
		{"stopped", "echo a; sleep 1000", nil, true, stopped + "a\n[", "a\n", "["},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, fake, _ := hooked(t, act.ModeYolo, nil, false, []llmtest.Turn{llmtest.Say("ok")}, tt.hooks...)
			for e := range s.TurnFromTemplate(t.Context(), template(tt.command)) {
				if _, ok := e.(Progress); ok && tt.stop {
					s.Calls.Stop("")
				}
			}
			messages := fake.Requests()[0].Messages
			sent := messages[len(messages)-1].Text()
			c := ranCommands(s)[0]
			if tt.stop { // the last note has a time
				sent, c.Notes = sent[:min(len(sent), len("got ")+len(tt.sent))], c.Notes[:min(len(c.Notes), 1)]
			}
			if sent != "got "+tt.sent {
				t.Errorf("sent %q, want %q", sent, "got "+tt.sent)
			}
			if c.Output != tt.output || c.Notes != tt.notes || c.Stopped != tt.stop || !c.Ended {
				t.Errorf("kept %+v, want output %q and notes %q", c, tt.output, tt.notes)
			}
		})
	}
}

// TestTemplateCanceled: a command of a prompt that ended with its turn is kept as stopped.
func TestTemplateCanceled(t *testing.T) {
	s, fake, _ := hooked(t, act.ModeYolo, nil, false, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e := range s.TurnFromTemplate(ctx, template("echo a; sleep 1000")) {
		if _, ok := e.(Progress); ok {
			cancel()
		}
	}
	if c := ranCommands(s)[0]; !c.Ended || !c.Stopped || c.Output != "a\n" || len(fake.Requests()) > 0 {
		t.Errorf("kept %+v, and sent %d requests", c, len(fake.Requests()))
	}
}

// ranCommands returns the commands that a conversation keeps.
func ranCommands(s *Session) (ran []ShellCommand) {
	for _, notes := range s.Annotations(s.Path()) {
		for _, a := range notes {
			if c, ok := DecodeAnnotation(a).(ShellCommand); ok {
				ran = append(ran, c)
			}
		}
	}
	return slices.Clip(ran)
}
