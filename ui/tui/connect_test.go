package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/app/access"
)

// keyCanary is a key that must not appear on the screen or be left anywhere.
const keyCanary = "sk-CANARY-0123456789"

// A keyring has the key of openai once it received the canary, and can delay checks.
type keyring struct {
	mu      sync.Mutex
	stored  bool
	stopped int // number of canceled checks
	hang    bool
}

func (k *keyring) ready() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stored
}

// connectStage returns a screen whose openai/gpt-x lacks a key.
func connectStage(t *testing.T, w, h int, turns ...llmtest.Turn) (*stage, *keyring) {
	k := &keyring{}
	return setUpWith(t, w, h, k.needs, turns...), k
}

// needs makes openai/gpt-x lack the key that k receives.
func (k *keyring) needs(o *Options) {
	open := o.App.Models.Open
	o.App.Models.Open = func(name string) (llm.Endpoint, error) {
		if name != "openai/gpt-x" {
			return open(name)
		}
		if !k.ready() {
			return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "openai", Message: "no key", Err: llm.ErrNoKey}
		}
		m, err := open("fake/two")
		m.Name = name
		return m, err
	}
	o.App.Models.Choices = func() []app.ModelChoice {
		return []app.ModelChoice{{Name: "fake/one", Ready: true}, {Name: "openai/gpt-x", Ready: k.ready(), Why: "set OPENAI_API_KEY", LacksKey: !k.ready()}}
	}
	o.App.Models.Connections = func() []access.Connection { return []access.Connection{{Provider: "openai", Name: "OpenAI"}} }
	o.App.Models.Connection = func(name string) (access.Connection, error) {
		if name != "openai" {
			return access.Connection{}, errors.New("there is no provider " + name)
		}
		return access.Connection{Provider: "openai", Name: "OpenAI"}, nil
	}
	o.App.Models.Connect = func(ctx context.Context, key access.Key) (string, error) {
		k.mu.Lock()
		hang := k.hang
		k.mu.Unlock()
		switch {
		case hang:
			<-ctx.Done()
			k.mu.Lock()
			defer k.mu.Unlock()
			k.stopped++
			return "", ctx.Err()
		case key.Text != keyCanary:
			return "", errors.New("OpenAI rejected this key: Incorrect API key provided")
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stored = true
		return "OpenAI connected: 1 model\nKey stored in the system keyring", nil
	}
}

// Enter on a model without a key asks for the key, reports why one is rejected, continues
// with the model once one is accepted, and leaves the typed text unchanged.
func TestConnect(t *testing.T) {
	s, _ := connectStage(t, 80, 24, llmtest.Say("the answer"))
	s.Type("my prompt").Press("ctrl+x", "m").WaitForText("no key · enter adds one")
	s.Type("gpt-x").Press("enter").WaitForText("OpenAI API key")
	s.Type("sk-wrong").WaitForText("8 characters").Press("enter").WaitForText("OpenAI rejected this key: Incorrect API key provided")
	if screen := s.Screen(); strings.Contains(screen, "characters") || strings.Contains(screen, "wrong") {
		t.Errorf("the field is not fresh:\n%s", screen)
	}
	s.Paste(keyCanary).WaitForText("20 characters")
	s.Golden("connect-80x24")
	s.Press("enter").WaitForText("OpenAI connected: 1 model · Key stored in the system keyring")
	s.WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, band+"my prompt") && strings.Contains(screen, "\n  openai/gpt-x ")
	})
	s.Press("enter").WaitForText("the answer")
	s.idle()
	s.Press("ctrl+x", "m").WaitForText("openai/gpt-x · current").Lacks("no key")
	s.Press("esc")
	traceless(t, s)
}

// traceless verifies that the canary is nowhere a user could come across it.
func traceless(t *testing.T, s *stage) {
	t.Helper()
	for _, keys := range [][]string{nil, {"up"}, {"up", "up"}, {"ctrl+_"}, {"ctrl+y"}, {"alt+y"}, {"ctrl+r"}, {"esc"}} {
		s.Press(keys...)
		if screen := s.Screen(); strings.Contains(screen, "CANARY") {
			t.Errorf("after %q it is on the screen:\n%s", keys, screen)
		}
	}
	for _, key := range []string{"history", "draft", "prompts"} {
		if kept, _ := s.m.App.Library.Get(key); strings.Contains(kept, "CANARY") {
			t.Errorf("it is kept as %s: %q", key, kept)
		}
	}
}

// Esc leaves without a key and cancels a check. The typed text goes nowhere.
func TestConnectLeft(t *testing.T) {
	s, k := connectStage(t, 50, 15)
	s.Type("my prompt").Press("alt+p").WaitForText("Model").Type("gpt-x").Press("enter").WaitForText("OpenAI API key")
	s.Golden("connect-50x15")
	s.Paste(keyCanary).WaitForText("20 characters").Press("esc")
	s.WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "▌ my prompt") && !strings.Contains(screen, "API key")
	})
	k.mu.Lock()
	k.hang = true
	k.mu.Unlock()
	s.Press("alt+p").WaitForText("Model").Type("gpt-x").Press("enter").WaitForText("OpenAI API key")
	s.Paste(keyCanary).Press("enter").WaitForText("Checking it…").Press("esc")
	s.WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "▌ my prompt") && !strings.Contains(screen, "API key")
	})
	s.WaitFor(func() bool { k.mu.Lock(); defer k.mu.Unlock(); return k.stopped == 1 })
	if screen := s.Screen(); strings.Contains(screen, "canceled") || !strings.Contains(screen, "fake/one") {
		t.Errorf("it says what was left:\n%s", screen)
	}
	traceless(t, s)
}

// A question that arrives meanwhile replaces the dialog.
func TestConnectInterrupted(t *testing.T) {
	s, k := connectStage(t, 80, 24)
	s.Type("/connect openai").Press("enter").WaitForText("OpenAI API key")
	s.Send(&app.Confirm{Text: "Really?", Yes: "yes", No: "no", Accept: func() app.Effect { return nil }})
	s.WaitForText("Really?")
	s.Press("esc")
	s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Really?") })
	if k.ready() {
		t.Error("the key was taken")
	}
	traceless(t, s)
}

// A line that is no longer needed is withdrawn, leaving one is reported, and an optional line
// may be empty.
func TestLineNotNeeded(t *testing.T) {
	s := setUpWith(t, 80, 24, func(*Options) {})
	ready, left := make(chan struct{}), make(chan struct{})
	ask := func(take string, ready <-chan struct{}, optional bool) {
		s.Send(&app.Secret{
			Title: "The line", Text: "What becomes of it", Visible: true, Ready: ready, Optional: optional, OnDismiss: func() { close(left) },
			Submit: func(_ context.Context, line string) (func() app.Effect, error) {
				return func() app.Effect { return app.Toast(take + "<" + line + ">") }, nil
			},
		})
		s.WaitForText("The line")
	}
	ask("By itself ", ready, false)
	close(ready)
	s.WaitForText("By itself <>")
	ask("Empty ", nil, true)
	s.Press("enter").WaitForText("Empty <>")
	ask("Left ", nil, false)
	s.Press("esc")
	<-left
}

// A question that needs no answer any more is withdrawn. Another question open by then is not.
func TestQuestionNotNeeded(t *testing.T) {
	s := setUpWith(t, 80, 24, func(*Options) {})
	ask := func(text string, over <-chan struct{}) {
		s.Send(&app.Confirm{
			Text: text, Yes: "Yes", No: "No", Harmless: true, OnDismiss: func() {},
			Accept: func() app.Effect { return app.Toast(text + ": true") }, Decline: func() app.Effect { return app.Toast(text + ": false") },
			Lapse: app.Lapse{Done: over, OnDone: func() app.Effect { return app.Toast(text + " is over") }},
		})
		s.WaitForText(text)
	}
	first := make(chan struct{})
	ask("The first", first)
	close(first)
	s.WaitForText("The first is over").WaitFor(func() bool { return !strings.Contains(s.Screen(), "n no") })
	second := make(chan struct{})
	ask("The second", second)
	ask("The third", nil)
	close(second)
	s.Press("y").WaitForText("The third: true")
}

// So are lists and lines. A line that the user is typing stays until it is left, and shows the reason: the
// rest of it must not go to the model.
func TestFieldNotNeeded(t *testing.T) {
	s := setUpWith(t, 80, 24, func(*Options) {})
	asked := 0
	lapse := func() (app.Lapse, func()) {
		asked++
		over, said := make(chan struct{}), fmt.Sprintf("Number %d is over", asked)
		return app.Lapse{Done: over, OnDone: func() app.Effect { return app.Toast(said) }}, func() { close(over) }
	}
	closed := func() {
		t.Helper()
		s.WaitForText(fmt.Sprintf("Number %d is over", asked)).Shows(band + "Ask anything")
	}
	l, end := lapse()
	s.Send(&app.List{Title: "Tea", Items: []app.Item{{Title: "green"}}, Lapse: l}).WaitForText("green")
	end()
	closed()
	ask := func() func() {
		l, end := lapse()
		s.Send(&app.Secret{Title: "Name", Visible: true, Lapse: l, Submit: func(context.Context, string) (func() app.Effect, error) {
			t.Error("a line was taken")
			return nil, nil
		}}).WaitForText("Name")
		return end
	}
	ask()()
	closed()
	end = ask()
	s.Press("A", "d", "a").WaitForText("› Ada")
	end()
	s.WaitForText("Number 3 is over").Press("space", "L", ".").Shows("Name").Press("enter").Shows(band + "Ask anything")
	if n := len(s.fake.Requests()); n != 0 {
		t.Errorf("%d prompts were sent", n)
	}
}

// A value that is not listed can be typed and chosen in a free list.
func TestFreeList(t *testing.T) {
	s := setUp(t, 80, 24)
	tea := &app.List{Title: "Tea", Free: true, Items: []app.Item{{Title: "green", Value: "green"}}, Choose: func(value string) app.Effect {
		return app.Toast("Chose " + value)
	}}
	s.Send(tea).WaitForText("green").Type("oolong").Press("enter").WaitForText("Chose oolong")
	s.Send(tea).WaitForText("green").Type("gr").Press("enter").WaitForText("Chose green")
}
