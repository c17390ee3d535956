package plain

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/format"
)

// aKeyless sets up a run without a key, and an Ollama on its machine.
func aKeyless(o *app.Options, so *session.Options) {
	so.Model.Name = "demo/parley"
	o.FirstScreen.NoKey = true
	o.Models.Local.Discover = func(context.Context) []access.Service {
		return []access.Service{{Provider: "ollama", Name: "Ollama", Models: 3, Model: "ollama/llama3.2"}}
	}
}

// TestLocalOffer: a server found on this machine is offered in plain mode too, and answers
// from then on.
func TestLocalOffer(t *testing.T) {
	d := talk(t, aKeyless, llmtest.Say("Hello."))
	d.until(func() bool { return strings.Contains(d.said(), "use llama3.2?") })
	d.enter("y").heard("Using ollama/llama3.2")
	d.enter("hi").heard("Hello.")
}

// TestPromptWaitsForTheOffer: the prompt of the command line is a draft until the
// offer is answered.
func TestPromptWaitsForTheOffer(t *testing.T) {
	d := talk(t, func(o *app.Options, so *session.Options) {
		aKeyless(o, so)
		o.Start.Prompt = llm.UserText("explain this").Parts
	}, llmtest.Say("Hello."))
	d.until(func() bool { return strings.Contains(d.said(), "use llama3.2?") })
	d.enter("y", "/send")
	d.heard("Hello.")
}

// TestDoctor: a checkup is read section by section.
func TestDoctor(t *testing.T) {
	d := talk(t, func(o *app.Options, _ *session.Options) {
		o.Machine.Checkup = func(context.Context, app.TerminalState) []format.Part {
			return []format.Part{
				{Title: "Providers", Lines: []format.Line{{Sign: "✗", Text: "xai: invalid API key"}, {Sign: " ", Text: "check XAI_API_KEY"}}},
				{Title: "Sandbox", Lines: []format.Line{{Sign: "✓", Text: "commands: landlock"}}},
			}
		}
	})
	d.enter("/doctor")
	d.heard("Providers:\n✗ xai: invalid API key\ncheck XAI_API_KEY\nSandbox:\n✓ commands: landlock\n")
}

// TestServerTellsContextWindow: facts that only the model's server knows are learned once it
// has answered.
func TestServerTellsContextWindow(t *testing.T) {
	var asked atomic.Int32
	d := talk(t, func(o *app.Options, so *session.Options) {
		learned := so.Model
		so.Model.Context, learned.Context = 0, 40_000
		o.Models.Local.Learn = func(context.Context, string) (llm.Endpoint, bool) { asked.Add(1); return learned, true }
	}, llmtest.Say("hi"))
	if asked.Load() != 0 {
		t.Error("asked before a prompt was sent")
	}
	d.enter("hello").idle().until(func() bool { return d.app.Session.Model().Context == 40_000 })
}
