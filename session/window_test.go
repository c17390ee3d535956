package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// long is a text of about n tokens.
func long(n int) llm.Part { return say(strings.Repeat("word", n)) }

// No request is sent above 95 % of the window without a word. What would not help is not
// offered, and what is chosen is done before anything is sent.
func TestOverflowIsAsked(t *testing.T) {
	const summary = "the summary"
	for _, tt := range []struct {
		name    string
		turns   int // of 300 tokens each, before
		prompt  int // tokens
		choose  Action
		offered string
		model   string // that answered; "" for none
		sent    int    // messages of its last request
	}{
		{name: "fits", turns: 1, prompt: 300, model: "a/a", sent: 3},
		{name: "summarize", turns: 3, prompt: 300, choose: Summarize, offered: "[summarize fork omit switch send stop]", model: "a/a", sent: 1},
		{name: "fork", turns: 3, prompt: 300, choose: Fork, offered: "[summarize fork omit switch send stop]", model: "a/a", sent: 1},
		{name: "omit", turns: 3, prompt: 300, choose: OmitOldest, offered: "[summarize fork omit switch send stop]", model: "a/a", sent: 3},
		{name: "switch", turns: 3, prompt: 300, choose: SwitchModel, offered: "[summarize fork omit switch send stop]", model: "big/big", sent: 7},
		{name: "send", turns: 3, prompt: 300, choose: SendAnyway, offered: "[summarize fork omit switch send stop]", model: "a/a", sent: 7},
		{name: "stop", turns: 3, prompt: 300, choose: StopTurn, offered: "[summarize fork omit switch send stop]"},
		{name: "the prompt itself", turns: 1, prompt: 1500, choose: SwitchModel, offered: "[switch send stop]", model: "big/big", sent: 3},
		{name: "larger than any", turns: 1, prompt: 9000, choose: StopTurn, offered: "[send stop]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turns := make([]llmtest.Turn, 0, tt.turns+2)
			for range tt.turns {
				turns = append(turns, llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Finish{Reason: llm.Stop}))
			}
			if tt.choose == Summarize || tt.choose == Fork {
				turns = append(turns, llmtest.Say(summary), llmtest.Say(summary), llmtest.Say(summary)) // of three parts
			}
			a, big := llmtest.New(append(turns, llmtest.Say("a"))...), llmtest.New(llmtest.Say("big"))
			open := func(name string) (llm.Endpoint, error) {
				e := endpoint(name, map[string]llm.Model{"a/a": a, "big/big": big}[name])
				e.Context = map[string]int{"a/a": 1200, "big/big": 8000}[name]
				return e, nil
			}
			first, _ := open("a/a")
			lib, _ := newTestStore(t)
			o := Options{Model: first, Attended: true, OpenModel: open, Alternatives: fallbackModels("a/a", "big/big"), Log: lib.Create(Info{})}
			s := New(o)
			for range tt.turns {
				if _, asked := replies(t, s, nil, long(300)); len(asked) > 0 {
					t.Fatalf("asked %+v", asked)
				}
			}
			before := len(a.Requests())
			events, asked := replies(t, s, []Action{tt.choose}, long(tt.prompt))
			offered := ""
			for _, q := range asked {
				var list []Action
				for _, c := range q.Choices {
					list = append(list, c.Action)
				}
				offered += fmt.Sprint(list)
				if o := q.About.(Overflow); o.Model != "a/a" || o.Window != 1200 || o.Tokens <= 1140 || q.Choices[q.Default].Action != SendAnyway {
					t.Errorf("asked about %+v", q)
				}
			}
			if offered != tt.offered {
				t.Errorf("offered %q, want %q", offered, tt.offered)
			}
			done := doneOf(t, events)
			if tt.model == "" {
				if !llm.Canceled(done.Err) || len(a.Requests()) != before || len(big.Requests()) > 0 {
					t.Errorf("%v, %d requests", done.Err, len(a.Requests())-before)
				}
				return
			}
			if tt.choose == Fork { // nothing was sent, nor said in this one
				if done.Fork != s.Head() || len(a.Requests()) != before {
					t.Fatalf("%+v after %d requests", done, len(a.Requests())-before)
				}
				o.Log, _, _ = lib.ForkInto(lib, s.ID(), done.Fork)
				s = New(o)
				events = nil
				for e := range s.TurnFromSummary(t.Context()) {
					events = append(events, e)
				}
				done = doneOf(t, events)
			}
			model := map[string]*llmtest.Fake{"a/a": a, "big/big": big}[tt.model]
			path := s.History()
			if all := model.Requests(); done.Err != nil || len(all) == 0 || len(all[len(all)-1].Messages) != tt.sent || path[len(path)-1].Model != tt.model {
				t.Errorf("%v; %d requests to %s, the last %.200v, answered by %s", done.Err, len(all), tt.model, all[max(len(all)-1, 0)].Messages, path[len(path)-1].Model)
			}
			if s.Model().Name != "a/a" {
				t.Errorf("%s is chosen now", s.Model().Name)
			}
		})
	}
}

// If nobody can be asked, a request that does not fit is reported, once, and sent.
func TestOverflowUnattended(t *testing.T) {
	set, _ := workspace(t)
	a := llmtest.New(llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say("yes"))
	model := endpoint("a/a", a)
	model.Context = 1000
	s := New(Options{Model: model, Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	events := play(t.Context(), s, allow, long(1200))
	notices := eventsOf[llm.Notice](events)
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "the context window of a/a is 1000") || len(a.Requests()) != 2 {
		t.Errorf("told %+v, %d requests", notices, len(a.Requests()))
	}
}

// A summary that fails is told, and asked about again.
func TestOverflowSummaryFails(t *testing.T) {
	no := errors.New("no")
	yes := llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Finish{Reason: llm.Stop})
	model := endpoint("a/a", llmtest.New(yes, yes, llmtest.Fail(no)))
	model.Context = 700
	s := New(Options{Model: model, Attended: true})
	for range 2 {
		replies(t, s, nil, long(200))
	}
	if events, asked := replies(t, s, []Action{Summarize, StopTurn}, long(300)); len(asked) != 2 || len(eventsOf[llm.Notice](events)) != 1 {
		t.Errorf("%d questions, told %+v", len(asked), eventsOf[llm.Notice](events))
	}
}

// windowedModels lists models of the catalog with windows of every size there is.
var windowedModels = []string{
	"zai/glm-4-airx", "openai/gpt-4", "moonshot/moonshot-v1-32k", "xai/grok-2-vision", "cerebras/qwen-3.8-27b", "mistral/mistral-small-2506",
	"openrouter/meta-llama/llama-3.3-70b-instruct", "groq/openai/gpt-oss-120b", "anthropic/claude-haiku-4-5", "minimax/MiniMax-M2.7",
	"qwen/qwen3.6-max-preview", "moonshot/kimi-k2.6", "openai/gpt-5.4-mini", "xai/grok-4.7", "openrouter/minimax/minimax-m3",
	"anthropic/claude-sonnet-5-5", "deepseek/deepseek-v4-pro", "openai/gpt-6.1-sol", "gemini/gemini-4-argon", "gemini/gemini-1.5-pro",
}

// TestWindowsOfTheCatalog holds that no model gets a request above its window without a word
// before it: not by a prompt that fills it by itself, nor by one that does so together with
// what was said, whether a user can be asked or not. What fits is sent in silence.
func TestWindowsOfTheCatalog(t *testing.T) {
	windows := map[int]bool{}
	for _, name := range windowedModels {
		provider, id, _ := strings.Cut(name, "/")
		facts, ok := catalog.FindExact(provider, id)
		if !ok || facts.Context == 0 {
			t.Fatalf("the catalog has no window of %s", name)
		}
		windows[facts.Context] = true
		for _, share := range []int{90, 96, 150} {
			for _, before := range []int{0, 40} { // percent of the window that an earlier turn takes
				for _, attended := range []bool{false, true} {
					t.Run(fmt.Sprint(name, " at ", share, " after ", before, ", attended ", attended), func(t *testing.T) {
						fillWindow(t, name, facts.Context, before, share, attended)
					})
				}
			}
		}
	}
	if len(windows) < 15 {
		t.Errorf("%d windows, want more", len(windows))
	}
}

// fillWindow plays a turn that takes before percent of a model's window, and one that takes
// it to share, and checks what is told of that before the second is sent.
func fillWindow(t *testing.T, name string, window, before, share int, attended bool) {
	words := func(percent int) llm.Part { return say(strings.Repeat("w", window*percent/100)) } // a token is a byte
	var turns []llmtest.Turn
	if before > 0 {
		turns = append(turns, llmtest.Script(llm.Delta{Block: "1", Part: say("yes")}, llm.Usage{Input: window * before / 100, Output: 1}, llm.Finish{Reason: llm.Stop}))
	}
	fake := llmtest.New(append(turns, llmtest.Say("and yes"))...)
	model := endpoint(name, fake)
	model.Context = window
	s := New(Options{Model: model, Attended: attended, EstimateTokens: func(text string) int { return len(text) }})
	if before > 0 {
		if events, asked := replies(t, s, nil, words(before)); len(asked)+len(eventsOf[llm.Notice](events)) > 0 {
			t.Fatalf("asked %+v about the first turn", asked)
		}
	}
	told := 0
	for e := range s.Turn(t.Context(), words(share-before)) {
		text := ""
		switch e := e.(type) {
		case llm.Notice:
			text = e.Text
		case Question:
			text = fmt.Sprint(e.About)
			e.Reply(slices.IndexFunc(e.Choices, func(c Choice) bool { return c.Action == SendAnyway }))
		}
		if strings.Contains(text, fmt.Sprintf("the context window of %s is %d", name, window)) {
			told++
			if sent := len(fake.Requests()); sent != len(turns) {
				t.Errorf("told once %d requests were sent, want %d", sent, len(turns))
			}
		}
	}
	want := 0
	if share > 95 {
		want = 1
	}
	if told != want || len(fake.Requests()) != len(turns)+1 {
		t.Errorf("told %d times, want %d; %d requests", told, want, len(fake.Requests()))
	}
}

// Each model that is compared is checked against its own window before anything is sent, and
// asked about where it does not fit. Others are not held up by that.
func TestComparedWindows(t *testing.T) {
	const all = "[summarize omit switch leave send stop]"
	for _, tt := range []struct {
		name     string
		attended bool
		prompt   int // tokens, after a turn of 600
		choose   []Action
		offered  []string
		answered string // by whom, in the order of the models
		left     int    // candidates that were left out
		told     string // models about which it was told that their request goes out as it is, or without what
	}{
		{name: "all fit", attended: true, prompt: 100, answered: "small/s mid/m big/b"},
		{name: "summarize", attended: true, prompt: 700, choose: []Action{Summarize}, offered: []string{all}, answered: "small/s mid/m big/b"},
		{name: "omit", attended: true, prompt: 700, choose: []Action{OmitOldest}, offered: []string{all}, answered: "small/s mid/m big/b", told: "small/s mid/m"},
		{name: "switch", attended: true, prompt: 700, choose: []Action{SwitchModel}, offered: []string{all}, answered: "huge/h mid/m big/b"},
		{name: "leave out", attended: true, prompt: 700, choose: []Action{LeaveOut}, offered: []string{all}, answered: "mid/m big/b", left: 1},
		{name: "send", attended: true, prompt: 700, choose: []Action{SendAnyway}, offered: []string{all}, answered: "small/s mid/m big/b"},
		{name: "stop", attended: true, prompt: 700, choose: []Action{StopTurn}, offered: []string{all}},
		{name: "two do not fit", attended: true, prompt: 1500, choose: []Action{LeaveOut, SwitchModel}, answered: "huge/h big/b", left: 1,
			offered: []string{"[switch leave send stop]", "[summarize omit switch leave send stop]"}},
		{name: "all but one left out", attended: true, prompt: 1500, choose: []Action{LeaveOut, LeaveOut}, answered: "big/b", left: 2,
			offered: []string{"[switch leave send stop]", "[summarize omit switch leave send stop]"}},
		{name: "the last is not left out", attended: true, prompt: 5000, choose: []Action{LeaveOut, LeaveOut, SwitchModel}, answered: "huge/h", left: 2,
			offered: []string{"[switch leave send stop]", "[switch leave send stop]", "[switch send stop]"}},
		{name: "nobody to ask", prompt: 1500, answered: "small/s mid/m big/b", told: "small/s mid/m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fakes := map[string]*llmtest.Fake{}
			open := func(name string) (llm.Endpoint, error) {
				if fakes[name] == nil {
					fakes[name] = llmtest.New(slices.Repeat([]llmtest.Turn{llmtest.Script(llm.Delta{Block: "1", Part: say(name)}, llm.Finish{Reason: llm.Stop})}, 8)...)
				}
				e := endpoint(name, fakes[name])
				e.Context = map[string]int{"small/s": 1300, "mid/m": 2000, "big/b": 5000, "huge/h": 20000}[name]
				return e, nil
			}
			models := make([]llm.Endpoint, 3)
			for i, name := range []string{"small/s", "mid/m", "big/b"} {
				models[i], _ = open(name)
			}
			chosen, _ := open("writer/w") // which fits anything, and is none of them
			s := New(Options{Model: chosen, Attended: tt.attended, OpenModel: open, Alternatives: fallbackModels("small/s", "big/b", "huge/h")})
			replies(t, s, nil, long(600))
			var offered []string
			var told []string
			left, answered, steps := 0, make([]string, 3), 0
			for e := range s.Compare(t.Context(), models, nil, long(tt.prompt)) {
				switch e := e.(type) {
				case Question:
					var list []Action
					for _, c := range e.Choices {
						list = append(list, c.Action)
					}
					e.Reply(slices.Index(list, tt.choose[len(offered)]))
					offered = append(offered, fmt.Sprint(list))
					if steps > 0 {
						t.Error("asked once something was sent")
					}
				case CandidateEvent:
					switch event := e.Event.(type) {
					case Step:
						steps++
					case llm.Notice:
						told = append(told, models[e.N].Name)
					case Response:
						if e.Err == nil {
							answered[e.N] = event.Message.Model
						} else if event.Seq == 0 && strings.Contains(e.Err.Error(), "skipped") {
							left++
						}
					}
				case Done:
					if (e.Err == nil) != (tt.answered != "") {
						t.Error(e.Err)
					}
				}
			}
			slices.Sort(told)
			slices.Reverse(told)
			got := strings.Join(slices.DeleteFunc(answered, func(name string) bool { return name == "" }), " ")
			if !slices.Equal(offered, tt.offered) || got != tt.answered || left != tt.left || strings.Join(told, " ") != tt.told {
				t.Errorf("offered %q\n%s answered, %d left out, told of %q", offered, got, left, told)
			}
			if tt.answered == "" && steps > 0 {
				t.Errorf("%d requests", steps)
			}
		})
	}
}
