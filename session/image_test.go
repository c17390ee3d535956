package session_test

import (
	"context"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
)

// drawn is what an image model answers: an image called name.
func drawn(name string) llmtest.Turn {
	return llmtest.Script(
		llm.Preview{Block: "i", Part: llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("blurred")}},
		llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, Name: name, MIME: "image/png", Data: []byte(name), Made: "generated"}},
		llm.Usage{Input: 900_000, Output: 1000, Cost: 0.04, Priced: true},
		llm.Finish{Reason: llm.Stop})
}

// told writes down what a model was sent: "u:text+<image>".
func told(req llm.Request) string {
	var all []string
	for _, m := range req.Messages {
		var parts []string
		for _, p := range m.Parts {
			if p.Kind == llm.Media {
				parts = append(parts, "<"+p.Name+">")
			} else {
				parts = append(parts, p.Text)
			}
		}
		all = append(all, string(m.Role[:1])+":"+strings.Join(parts, "+"))
	}
	return strings.Join(all, " | ")
}

// An image is an answer like others: the next one changes it, a model that answers sees it,
// and it says nothing about how full the conversation is.
func TestDraw(t *testing.T) {
	painter := llmtest.New(drawn("fox.png"), drawn("fox-2.png"), drawn("owl.png"), drawn("owl-2.png"))
	images := endpoint("i/draw", painter)
	images.Origin = llm.OriginImages
	talker := llmtest.New(llmtest.Say("a fox at night"), llmtest.Say("ok"))
	s := New(Options{Model: endpoint("m/talk", talker)})
	text := func(words string) llm.Part { return llm.Part{Kind: llm.Text, Text: words} }
	run := func(anew bool, parts ...llm.Part) (events []Event) {
		for e := range s.GenerateImage(context.Background(), images, anew, parts...) {
			events = append(events, e)
			if d, ok := e.(Done); ok && d.Err != nil {
				t.Fatal(d.Err)
			}
		}
		return events
	}
	previewed := false
	for _, e := range run(false, text("a fox")) {
		_, ok := e.(llm.Preview)
		previewed = previewed || ok
	}
	if !previewed {
		t.Error("no unfinished image was shown")
	}
	run(false, text("make the sky darker"))
	for range s.Turn(context.Background(), text("what is it?")) {
	}
	run(false, text("an owl")) // the image is further up
	if err := s.Branch.Regenerate(s.Head()); err != nil {
		t.Fatal(err)
	}
	if model := s.ImageModelOf(s.Head()); model != "i/draw" {
		t.Errorf("again by %q", model)
	}
	run(false)
	for i, want := range []string{"u:a fox", "u:<fox.png>+make the sky darker", "u:an owl", "u:an owl"} {
		if got := told(painter.Requests()[i]); got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
	const want = "u:a fox+<fox.png>+make the sky darker+Made by the assistant: fox-2.png+<fox-2.png>+what is it?"
	if got := told(talker.Requests()[0]); got != want {
		t.Errorf("the talker heard\n%s, want\n%s", got, want)
	}
	if n := s.Next.ContextTokens(); n > 100_000 {
		t.Errorf("the conversation takes %d tokens", n)
	}
	if total, last := s.Spending.Usage(); total.Cost < 0.15 || last.Input > 100_000 {
		t.Errorf("used %+v, last %+v", total, last)
	}
}

func TestDrawAnew(t *testing.T) {
	painter := llmtest.New(drawn("fox.png"), drawn("owl.png"), drawn("me.png"))
	images := endpoint("i/draw", painter)
	images.Origin = llm.OriginImages
	s := New(Options{Model: endpoint("m/talk", llmtest.New())})
	for _, step := range []struct {
		anew  bool
		parts []llm.Part
	}{
		{false, []llm.Part{{Kind: llm.Text, Text: "a fox"}}},
		{true, []llm.Part{{Kind: llm.Text, Text: "an owl"}}},
		{false, []llm.Part{{Kind: llm.Media, Name: "photo.jpg", MIME: "image/jpeg", Data: []byte("j")}, {Kind: llm.Text, Text: "as a drawing"}}},
	} {
		for range s.GenerateImage(t.Context(), images, step.anew, step.parts...) {
		}
	}
	for i, want := range []string{"u:a fox", "u:an owl", "u:<photo.jpg>+as a drawing"} {
		if got := told(painter.Requests()[i]); got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
}

// After a fault the same prompt is drawn again; a refusal is an answer.
func TestDrawFails(t *testing.T) {
	refusal := llmtest.Script(llm.Notice{Text: "the provider refused: no", Urgent: true}, llm.Finish{Reason: llm.Refused, Raw: "moderation_blocked"})
	painter := llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "down"}), drawn("fox.png"), refusal)
	images := endpoint("i/draw", painter)
	images.Origin = llm.OriginImages
	s := New(Options{Model: endpoint("m/talk", llmtest.New())})
	var reasons []llm.Reason
	for _, parts := range [][]llm.Part{{{Kind: llm.Text, Text: "a fox"}}, nil, {{Kind: llm.Text, Text: "something bad"}}} {
		for e := range s.GenerateImage(t.Context(), images, false, parts...) {
			if d, ok := e.(Done); ok {
				reasons = append(reasons, d.Reason)
			}
		}
	}
	if n := len(s.History()); n != 3 { // two prompts and an image: a refusal says nothing
		t.Errorf("%d messages", n)
	}
	if reasons[1] != llm.Stop || reasons[2] != llm.Refused {
		t.Errorf("%q", reasons)
	}
	if got, want := told(painter.Requests()[1]), "u:a fox"; got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
}

// Drawn again is what was drawn: a new image stays a new one, a changed one is changed from
// the same.
func TestDrawAgain(t *testing.T) {
	refusal := llmtest.Script(llm.Finish{Reason: llm.Refused, Raw: "moderation_blocked"})
	painter := llmtest.New(drawn("fox.png"), drawn("owl.png"), drawn("owl-2.png"), drawn("dark.png"), drawn("dark-2.png"), refusal, drawn("light.png"))
	images := endpoint("i/draw", painter)
	images.Origin = llm.OriginImages
	s := New(Options{Model: endpoint("m/talk", llmtest.New())})
	run := func(anew bool, text string) {
		var parts []llm.Part
		if text == "" {
			if err := s.Branch.Regenerate(s.Head()); err != nil {
				t.Fatal(err)
			}
		} else {
			parts = []llm.Part{{Kind: llm.Text, Text: text}}
		}
		for range s.GenerateImage(t.Context(), images, anew, parts...) {
		}
	}
	run(false, "a fox")
	run(true, "an owl")
	run(false, "")
	run(false, "darker")
	run(false, "")
	run(false, "naughty")
	run(false, "lighter") // what was refused is no image
	for i, want := range []string{"u:a fox", "u:an owl", "u:an owl", "u:<owl-2.png>+darker", "u:<owl-2.png>+darker", "u:<dark-2.png>+naughty", "u:<dark-2.png>+lighter"} {
		if got := told(painter.Requests()[i]); got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
}

// A model that is known to take no images draws a new one each time.
func TestDrawByBlindModel(t *testing.T) {
	painter := llmtest.New(drawn("fox.png"), drawn("owl.png"))
	images := endpoint("i/draw", painter)
	images.Origin, images.Known, images.Vision = llm.OriginImages, true, false
	s := New(Options{Model: endpoint("m/talk", llmtest.New())})
	for _, text := range []string{"a fox", "an owl"} {
		for range s.GenerateImage(t.Context(), images, false, llm.Part{Kind: llm.Text, Text: text}) {
		}
	}
	if got := told(painter.Requests()[1]); got != "u:an owl" {
		t.Errorf("sent %s", got)
	}
}

// Prompts that were queued while an image was drawn are answered by the session's model.
func TestQueuedWhileDrawing(t *testing.T) {
	painter, talker := llmtest.New(drawn("fox.png")), llmtest.New(llmtest.Say("a fox"))
	images := endpoint("i/draw", painter)
	images.Origin = llm.OriginImages
	s := New(Options{Model: endpoint("m/talk", talker)})
	for e := range s.GenerateImage(t.Context(), images, false, llm.Part{Kind: llm.Text, Text: "a fox"}) {
		if _, ok := e.(Step); ok && s.Queue.Len() == 0 && len(talker.Requests()) == 0 {
			s.Queue.Add(llm.Part{Kind: llm.Text, Text: "what is it?"})
		}
	}
	if got, want := told(talker.Requests()[0]), "u:a fox+Made by the assistant: fox.png+<fox.png>+what is it?"; got != want {
		t.Errorf("the talker heard %s, want %s", got, want)
	}
}

// The model of a summary is none that draws.
func TestDrawnBySummary(t *testing.T) {
	s := New(Options{Model: endpoint("m/talk", llmtest.New(llmtest.Say("one"), llmtest.Say("in short")))})
	for range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hi"}) {
	}
	for range s.Compact(t.Context()) {
	}
	if name := s.ImageModelOf(s.Head()); name != "" {
		t.Errorf("drawn by %s", name)
	}
}
