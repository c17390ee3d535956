package plain

import (
	"context"
	"testing"

	"parley/providers/llmtest"
	"parley/session"
	"parley/session/hooks"
	hookrunner "parley/session/hooks/runner"
	"parley/session/prompts"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app"
	flow "parley/ui/app/flows/prompts"
)

// promptFiles returns a function that finds some prompts.
func promptFiles(t *testing.T, _ *session.Options) func() ([]prompts.Prompt, []error) {
	return func() (found []prompts.Prompt, problems []error) {
		for name, text := range map[string]string{
			"greet": "Greet $1", "tone": "Be {{tone:short|long}}", "named": "Ask {{who}}", "runs": "It printed !`echo hello`",
		} {
			p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley}, "/p/"+name+".md", []byte(text))
			if err != nil {
				t.Error(err)
			}
			found = append(found, p)
		}
		return found, nil
	}
}

// Denying a command of a prompt does not ask for a reason, because no model would get it.
func TestPromptCommandDenied(t *testing.T) {
	d := talk(t, func(o *app.Options, so *session.Options) {
		o.Prompts = &flow.Flow{Find: promptFiles(t, so)}
	})
	d.enter("/runs").heard("Deny (n)").enter("d").heard("a command of the prompt was not allowed: echo hello").idle()
}

// A prompt that a hook blocks is reported, and becomes the draft again.
func TestBlockedPrompt(t *testing.T) {
	d := talk(t, func(_ *app.Options, so *session.Options) {
		so.Hooks = hookrunner.New("/", func(context.Context, process.Run) process.Result {
			return process.Result{Exit: 2, Stderr: "no secrets"}
		}, hooks.Hook{Config: hooks.Config{Event: act.HookUserPromptSubmit}})
	})
	d.enter("the secret").heard("This message is your draft again: the secret. /send sends it").heard("a hook blocked the prompt: no secrets").idle()
	if d.drafts.text != "the secret" {
		t.Errorf("the draft is %q", d.drafts.text)
	}
}

// An error in a prompt file is reported when its name is typed, and a key without effect
// when it is sent.
func TestPromptFileProblems(t *testing.T) {
	p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley}, "/p/strict.md", []byte("---\nrequired: true\n---\nCheck $1"))
	if err != nil {
		t.Fatal(err)
	}
	broken := &prompts.Error{Path: "/p/broken.md", Line: 3, Text: "no key"}
	d := talk(t, func(o *app.Options, _ *session.Options) {
		o.Prompts = &flow.Flow{Find: func() ([]prompts.Prompt, []error) { return []prompts.Prompt{p}, []error{broken} }}
	}, llmtest.Say("Checked."))
	d.enter("/broken x").heard("/p/broken.md:3: no key").enter("/strict main.go").heard(`/p/strict.md:2: unknown key "required"`).heard("Checked.").idle()
}
