package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// comparing sets up a screen with two models that give one answer each. The first model also
// gave the answers in before.
func comparing(t *testing.T, w, h int, one, two llmtest.Turn, before ...llmtest.Turn) *stage {
	t.Helper()
	models := map[string]*llmtest.Fake{"fake/one": llmtest.New(one), "fake/two": llmtest.New(two, llmtest.Say("and more of the second"))}
	return setUpWith(t, w, h, func(o *Options) {
		o.App.Models.Open = func(name string) (llm.Endpoint, error) {
			fake, ok := models[name]
			if !ok {
				return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "openai", Message: "no key"}
			}
			return llm.Endpoint{Model: fake, Name: name, Origin: name, Strategy: "native", Known: true, Context: 100_000}, nil
		}
	}, before...)
}

// TestCompareTellsSwitchOnce: after an answer of the first model, only one line reports that another
// model answers, with the parts that are not sent to it.
func TestCompareTellsSwitchOnce(t *testing.T) {
	s := comparing(t, 80, 24, llmtest.Say("the first"), llmtest.Say("the second"), llmtest.Think("hm", "the beginning"))
	s.ask("hello", "the beginning")
	s.idle()
	s.Type("/compare fake/two").Press("enter").WaitForText("comparing: fake/one + fake/two")
	s.Type("which?").Press("enter").WaitForText("esc keep the first")
	s.Press("right").Shows("the second").Press("enter").WaitForText("Continuing with fake/two")
	for _, text := range []string{"Model: fake/one → fake/two", "Earlier models' thinking not sent"} {
		if n := strings.Count(s.Screen(), text); n != 1 {
			t.Errorf("%q is said %d times:\n%s", text, n, s.Screen())
		}
	}
}

// TestCompare asks two models the same, and continues with one of them.
func TestCompare(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ w, h int }{{120, 24}, {80, 24}, {50, 15}} {
		t.Run(fmt.Sprint(size.w), func(t *testing.T) {
			s := comparing(t, size.w, size.h, llmtest.Think("hm", "the **first**"), llmtest.Say("the second"))
			s.Type("/compare fake/two").Press("enter").WaitForText("comparing: fake/one + fake/two")
			s.Type("which?").Press("enter").WaitForText("esc keep the first")
			if size.w >= 80 {
				s.WaitForText("the first").WaitForText("the second")
			}
			s.Golden(fmt.Sprintf("compare-%dx%d", size.w, size.h))
			s.Press("right").Shows("the second").Press("enter").WaitForText("Continuing with fake/two")
			if got := s.m.App.Session.Model().Name; got != "fake/two" {
				t.Errorf("the conversation goes on with %s", got)
			}
			if got := s.m.App.Session.History(); len(got) != 2 || got[1].Text() != "the second" {
				t.Errorf("the conversation is %+v", got)
			}
			if strings.Contains(s.Screen(), "comparing: ") {
				t.Error("the next prompt would be compared again")
			}
			s.ask("go on", "and more of the second")
		})
	}
}

// TestAnswers asks one model for several numbered answers, and continues with one
// of them.
func TestAnswers(t *testing.T) {
	model := llm.Endpoint{Model: llmtest.New(llmtest.Say("an answer"), llmtest.Say("an answer"), llmtest.Say("and more")), Name: "fake/one", Origin: "fake/one", Strategy: "native", Known: true, Context: 100_000}
	s := setUpWith(t, 120, 24, func(o *Options) {
		o.App.Session = session.New(session.Options{Model: model})
		o.App.Models.Open = func(string) (llm.Endpoint, error) { return model, nil }
		o.App.Compared.Models = []string{"fake/one", "fake/one"}
	})
	s.WaitForText("comparing: fake/one (1 of 2) + fake/one (2 of 2)")
	s.Type("which?").Press("enter").WaitForText("esc keep the first").WaitForText("› fake/one (1 of 2)").Shows("fake/one (2 of 2)")
	s.Press("right").Press("enter").WaitForText("Continuing with fake/one (2 of 2)")
	var branches []int
	for _, n := range s.m.App.Session.Nodes() {
		if n.Parent == 1 {
			branches = append(branches, n.Seq)
		}
	}
	if len(branches) != 2 || !slices.Contains(branches, s.m.App.Session.Head()) {
		t.Errorf("the branches are %v, and the conversation goes on at %d", branches, s.m.App.Session.Head())
	}
	s.ask("go on", "and more")
}

// TestCompareStops: answers received before a stop can be chosen, and choosing
// one while others still arrive stops those.
func TestCompareStops(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys []string
		want string
	}{
		{"stopped, then the other", []string{"esc", "wait", "right", "enter"}, "less"},
		{"stopped, then left", []string{"esc", "wait", "esc"}, "half"},
		{"chosen at once", []string{"2", "enter"}, "less"},
		{"by ctrl+c", []string{"ctrl+c", "wait", "enter"}, "half"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := comparing(t, 80, 24, llmtest.Hang("half"), llmtest.Hang("less"))
			s.Type("/compare fake/two").Press("enter").WaitForText("comparing: ").Type("which?").Press("enter").WaitForText("half").WaitForText("less")
			for _, key := range test.keys {
				if key == "wait" {
					s.WaitForText("esc keep the first")
					continue
				}
				s.Press(key)
			}
			s.WaitForScreen(func(screen string) bool {
				return !strings.Contains(screen, "Compare · choose an answer to continue with")
			})
			path := s.m.App.Session.Path()
			if len(path) != 2 || path[1].Text() != test.want || !path[1].Interrupted {
				t.Errorf("the conversation is %+v, want %q", path, test.want)
			}
		})
	}
}

func TestCompareNobody(t *testing.T) {
	s := comparing(t, 80, 24, llmtest.Say("x"), llmtest.Say("y"))
	s.Type("/compare nobody/else").Press("enter").WaitForText("no key")
	s.Press("ctrl+u").Type("/compare fake/two").Press("enter").WaitForText("comparing: ")
	s.Type("/compare").Press("enter").WaitForText("Compare off")
}

// TestCompareFails: a failed answer cannot be chosen, shows its error in its own
// column, and leaves the others to choose from.
func TestCompareFails(t *testing.T) {
	failed := func(t *testing.T) *stage {
		s := comparing(t, 120, 24, llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "fake", Message: "no money left"}), llmtest.Say("the second"))
		s.Type("/compare fake/two").Press("enter").WaitForText("comparing: ").Type("which?").Press("enter").WaitForText("esc keep the second").WaitForText("no money left")
		return s
	}
	answered := func(t *testing.T, s *stage) {
		if got := s.m.App.Session.History(); len(got) != 2 || got[1].Text() != "the second" {
			t.Errorf("the conversation is %+v", got)
		}
	}
	t.Run("the other is chosen", func(t *testing.T) {
		s := failed(t)
		s.Press("left", "enter").WaitForText("No answer to continue with").Shows("no answer")
		s.Press("right", "enter").WaitForText("Continuing with fake/two")
		answered(t, s)
	})
	t.Run("left: the model that was in use goes on", func(t *testing.T) {
		s := failed(t)
		s.Press("esc").WaitForText("Kept the answer of fake/two").Shows("Model: fake/two → fake/one", "the second")
		answered(t, s)
	})
}

// A prompt is not lost if a model is unreachable when it is sent.
func TestCompareOutOfReach(t *testing.T) {
	gone := false
	s := setUpWith(t, 80, 24, func(o *Options) {
		open := o.App.Models.Open
		o.App.Models.Open = func(name string) (llm.Endpoint, error) {
			if gone {
				name = "nobody/else"
			}
			return open(name)
		}
	})
	s.Type("/compare fake/two").Press("enter").WaitForText("comparing: ")
	gone = true
	s.Type("which one?").Press("enter").WaitForText("no key")
	if got := s.m.input.Composer.Value(); got != "which one?" {
		t.Errorf("the draft is %q", got)
	}
}

// TestCompareBlind hides the models until an answer is chosen: in the columns, in the verdict
// of a judge and in the status line. The choice reveals them.
func TestCompareBlind(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ w, h int }{{120, 24}, {50, 15}} {
		t.Run(fmt.Sprint(size.w), func(t *testing.T) { compareBlindly(t, size.w, size.h) })
	}
}

func compareBlindly(t *testing.T, w, h int) {
	models := map[string]*llmtest.Fake{
		"fake/one": llmtest.New(llmtest.Say("an answer")), "fake/two": llmtest.New(llmtest.Say("an answer")),
		"fake/judge": llmtest.New(llmtest.Say(`{"winner":"B","reason":"It is short."}`)),
	}
	s := setUpWith(t, w, h, func(o *Options) {
		o.App.Models.Open = func(name string) (llm.Endpoint, error) {
			return llm.Endpoint{Model: models[name], Name: name, Origin: name, Strategy: "native", Known: true, Context: 100_000}, nil
		}
	})
	s.Type("/compare --blind --judge fake/judge fake/two").Press("enter").WaitForText("names hidden")
	s.Type("which?").Press("enter").WaitForText("Judge fake/judge: B · It is short.")
	_, screen, _ := strings.Cut(s.Screen(), "turns it off")
	if strings.Contains(screen, "fake/two") || strings.Contains(screen, "$") {
		t.Errorf("%d columns tell who answers:\n%s", w, screen)
	}
	s.Press("2", "enter").WaitForText("A was fake/")
	if got := s.m.App.Session.History(); len(got) != 2 || got[1].Model != s.m.App.Session.Model().Name {
		t.Errorf("the conversation is %+v", got)
	}
}

// TestCompareWindows: a model whose window is too small for a prompt is reported before anything
// is sent. It can be omitted, or replaced by another model, which its column then names.
func TestCompareWindows(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]struct {
		key, model string
		see        []string
	}{
		"switch":    {"1", "fake/three", []string{"the third", "the second"}},
		"leave out": {"2", "fake/two", []string{"Context window exceeded", "the second"}},
	} {
		t.Run(choice, func(t *testing.T) {
			models := map[string]*llmtest.Fake{"fake/one": llmtest.New(), "fake/two": llmtest.New(llmtest.Say("the second")), "fake/three": llmtest.New(llmtest.Say("the third"))}
			s := setUpWith(t, 120, 30, func(o *Options) {
				o.App.Models.Open = func(name string) (llm.Endpoint, error) {
					window := map[string]int{"fake/one": 250, "fake/two": 100_000, "fake/three": 50_000}[name]
					return llm.Endpoint{Model: models[name], Name: name, Origin: name, Strategy: "native", Known: true, Context: window}, nil
				}
				one, _ := o.App.Models.Open("fake/one")
				o.App.Session = session.New(session.Options{Model: one, Attended: true, Now: o.App.Now, OpenModel: o.App.Models.Open, Alternatives: func(session.FallbackNeed) []string { return []string{"fake/two", "fake/three"} }})
			})
			s.Type("/compare fake/two").Press("enter").WaitForText("comparing: fake/one + fake/two")
			s.Paste(strings.Repeat("long ", 250))
			s.clock.Add(time.Second) // enter right after a paste is part of it
			s.Press("enter")
			s.WaitForScreen(contains("Too long for fake/one: about 3", "1  Continue with fake/three", "2  Leave fake/one out", "3  Send anyway", "4  Stop"))
			s.seen().Press(want.key).WaitForScreen(contains(append(want.see, "esc keep the")...))
			if n := len(models["fake/one"].Requests()); n > 0 {
				t.Errorf("fake/one got %d requests", n)
			}
			key := map[string]string{"fake/three": "1", "fake/two": "2"}[want.model]
			s.Press(key, "enter").WaitForText("Continuing with " + want.model)
			if got := s.m.App.Session.Model().Name; got != want.model {
				t.Errorf("the conversation goes on with %s", got)
			}
		})
	}
}
