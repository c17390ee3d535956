package tui

import (
	"testing"

	"parley/providers/llm"

	"parley/session/prompts"
	flow "parley/ui/app/flows/prompts"
)

// A prompt file is sent by name, even if a command has the same prefix. Its variables are asked
// for, and it is listed among the commands. The complete name of a command means the command.
func TestPromptFiles(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Prompts = &flow.Flow{Find: func() (found []prompts.Prompt, problems []error) {
			for name, text := range map[string]string{"mod": "---\nargument-hint: [file]\ndescription: Look closely\n---\nLook at $1", "tone": "Be {{tone:short|long}}", "mouse": "Draw a mouse"} {
				p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley}, "/p/"+name+".md", []byte(text))
				if err != nil {
					t.Error(err)
				}
				found = append(found, p)
			}
			return found, nil
		}}
	})
	s.Type("x").Press("backspace") // the first frame has been drawn
	s.Type("/mouse").Press("enter").WaitForText("Mouse off: the terminal selects")
	s.Type("/mod ").WaitForText("Look closely")
	s.Type("main.go").Press("enter").WaitForText("Look at main.go")
}

// A prompt that was not sent becomes the draft again, as typed, with its attachments.
func TestPromptFileNotSent(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Prompts = &flow.Flow{Find: func() ([]prompts.Prompt, []error) {
			p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley}, "/p/runs.md", []byte("It printed !`echo hello`"))
			if err != nil {
				t.Error(err)
			}
			return []prompts.Prompt{p}, nil
		}}
		o.App.Attached = []llm.Part{{Kind: llm.Text, Name: "note.txt", Text: "a note"}}
	})
	s.WaitForText("[").Type("/runs now").Press("enter").WaitForText("Run this command?")
	s.seen().Press("esc").WaitForText("Not sent: a command of the prompt was not allowed: echo hello")
	if got := s.m.input.Composer.Value(); got != "/runs now" || len(s.m.App.Attached) != 1 {
		t.Errorf("the draft is %q with %d attachments", got, len(s.m.App.Attached))
	}
}
