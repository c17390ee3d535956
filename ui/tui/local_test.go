package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app/access"
	"parley/ui/tui/common"
)

// withLocal sets up a screen on which no model was chosen, and which looks for servers with look.
func withLocal(look func(context.Context) []access.Service) func(*Options) {
	return func(o *Options) {
		open := o.App.Models.Open
		o.App.FirstScreen.NoKey = true
		o.App.Session.SetModel(llm.Endpoint{Model: o.App.Session.Model().Model, Name: "demo/parley"})
		o.App.Models.Local.Discover = look
		o.App.Models.Open = func(name string) (llm.Endpoint, error) {
			if name == "ollama/llama3.2" {
				e, err := open("fake/one")
				e.Name = name
				return e, err
			}
			return open(name)
		}
	}
}

func anOllama(context.Context) []access.Service {
	return []access.Service{{Provider: "ollama", Name: "Ollama", Models: 3, Model: "ollama/llama3.2"}}
}

// TestLocalOffer: a server found on this machine is offered above the first screen, and
// answers from then on.
func TestLocalOffer(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{50, 15}, {80, 24}} {
		name := fmt.Sprintf("local-%dx%d", size[0], size[1])
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, size[0], size[1], withLocal(anOllama), llmtest.Say("hello from llama"))
			s.Send(common.FirstFrameMsg{})
			s.WaitForText("use llama3.2?")
			s.Golden(name)
			s.seen().Press("y").WaitForText("ollama/llama3.2")
			s.ask("hi", "hello from llama")
		})
	}
}

// TestLocalOfferDeclined: nothing changes, and the offer is not repeated.
func TestLocalOfferDeclined(t *testing.T) {
	s := setUpWith(t, 80, 24, withLocal(anOllama))
	s.Send(common.FirstFrameMsg{})
	s.WaitForText("use llama3.2?")
	s.seen().Press("n").WaitForScreen(lacks("use llama3.2?")).Shows("No API key yet")
	s.WaitFor(func() bool { return len(access.ReadAnswers(s.m.App.Library)) == 1 })
}

// MCP servers start after the first frame. A prompt does not wait for them, and their error is shown.
func TestServersStartAfterTheFirstFrame(t *testing.T) {
	started := 0
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.MCP.StartServers = func() error {
			started++
			return errors.New(".mcp.json: not a list of servers")
		}
	}, llmtest.Say("an answer"))
	s.ask("hi", "an answer")
	if started != 0 {
		t.Error("they started before the first frame was drawn")
	}
	s.Send(common.FirstFrameMsg{})
	s.WaitForText("not a list of servers")
	if started != 1 {
		t.Errorf("started %d times", started)
	}
}

// TestLookingDoesNotHold: while the search of this machine never ends, the first frame
// is drawn and keys work; submitted prompts are sent.
func TestLookingDoesNotHold(t *testing.T) {
	begun := make(chan struct{})
	s := setUpWith(t, 80, 24, withLocal(func(context.Context) []access.Service {
		close(begun)
		select {}
	}), llmtest.Say("an answer"))
	s.WaitForText("No API key yet")
	s.Send(common.FirstFrameMsg{})
	<-begun
	s.Type("typed meanwhile").WaitForText("typed meanwhile")
	s.Press("enter").WaitForText("an answer")
}

// TestPromptOfTheCommandLineWaits: the prompt of the command line goes to the model that
// the user accepts.
func TestPromptOfTheCommandLineWaits(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		withLocal(anOllama)(o)
		o.App.Start.Prompt = llm.UserText("explain this").Parts
	}, llmtest.Say("an answer"))
	s.Send(common.FirstFrameMsg{})
	s.WaitForText("use llama3.2?")
	s.seen().Press("y").WaitForText("ollama/llama3.2")
	s.Shows("explain this")
	s.Press("enter").WaitForText("an answer").Shows("ollama/llama3.2")
}
