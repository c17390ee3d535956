package flows_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/uitest/apptest"
)

// A meter counts the requests to models, and what they used.
type meter struct {
	mu       sync.Mutex
	requests int
	used     llm.Usage
}

// A metered model costs a dollar for 1,024 tokens, so that sums are exact.
type metered struct {
	llm.Model
	meter *meter
}

func (m metered) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range m.Model.Stream(ctx, req) {
			if u, ok := e.(llm.Usage); ok {
				u.Cost, u.Priced = float64(u.Input+u.Output)/1024, true
				m.meter.mu.Lock()
				m.meter.requests, m.meter.used = m.meter.requests+1, m.meter.used.Add(u)
				m.meter.mu.Unlock()
				e = u
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestDay runs a turn with 20 calls, among them a question to the user, another model's opinion and a look around, and
// a limit that resets. The user asks three side questions meanwhile. The ledger has each request once, with its purpose,
// and the conversation is the same without the side questions.
func TestDay(t *testing.T) {
	day := func(asides bool) (main []llm.Request, history []llm.Message) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		set, err := tools.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		var calls []llm.Part
		call := func(name, input string) {
			calls = append(calls, llm.Part{ID: fmt.Sprint(len(calls)), Name: name, Input: input})
		}
		for range 17 {
			call("read", `{"path":"a.txt"}`)
		}
		call(act.AskTool, `{"questions":[{"question":"Which?","choices":["A","B"]}]}`)
		call(act.ConsultTool, `{"question":"Is it right?"}`)
		call(act.ExploreTool, `{"task":"find alpha"}`)
		asked := llmtest.New(llmtest.Call(calls...), llmtest.Fail(&llm.Error{Fault: llm.Quota, Wait: time.Nanosecond}), llmtest.Say("done"))
		beside := llmtest.New(llmtest.Say("because"), llmtest.Say("so"), llmtest.Say("then"))
		models := map[string]llm.Model{
			"m/main": asked, "m/beside": beside, "m/other": llmtest.New(llmtest.Say("it is")),
			"m/small": llmtest.New(llmtest.Call(llm.Part{ID: "x", Name: "read", Input: `{"path":"a.txt"}`}), llmtest.Say("a.txt:1 has it")),
		}
		var all meter
		open := func(name string) (llm.Endpoint, error) {
			return llm.Endpoint{Model: metered{models[name], &all}, Name: name, Origin: name, Strategy: "native"}, nil
		}
		lib := session.MemoryStore()
		defer lib.Close()
		first, _ := open("m/main")
		s := session.New(session.Options{
			Model: first, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(session.Info{Dir: dir}), OpenModel: open, Attended: true,
			MaxWait: time.Hour, Config: session.Config{SmallModel: "m/small"},
		})
		defer s.Close()
		a := apptest.New(t, flows.Register, func(o *app.Options) {
			o.Session, o.Library, o.Machine.ToolSet = s, lib, func(string) act.Set { return set }
			o.Models = app.Models{Open: open, Consult: &session.Consult{Model: "m/other"}}
		})
		side := func(line string) {
			if !asides {
				return
			}
			b, ok := apptest.Do(t, a, line).(app.Beside)
			if !ok {
				t.Fatalf("%s opened nothing", line)
			}
			if b.Grow(t.Context()); len(b.Read().Lines) != 1 {
				t.Errorf("%s: %+v", line, b.Read())
			}
		}
		a.FrontEnd.AskUser = func(next func() app.Effect) {
			side("/btw and now?")
			next().(*app.ModelQuestion).Answer([]int{1}, "")
		}
		results := map[string]string{}
		for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
			switch e := e.(type) {
			case session.Response:
				if len(results) == 0 {
					side("/btw -m m/beside why?")
				} else if !e.Message.Empty() {
					side("/btw how?")
				}
			case session.Result:
				results[e.Part.Name] += e.Part.Text
			case session.Done:
				if e.Err != nil {
					t.Error(e.Err)
				}
			}
		}
		for tool, want := range map[string]string{"read": "alpha", act.AskTool: "→ B", act.ConsultTool: "it is", act.ExploreTool: "a.txt:1"} {
			if !strings.Contains(results[tool], want) {
				t.Errorf("%s: %q", tool, results[tool])
			}
		}
		sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
		var sum session.UsageSum
		purposes := map[string]int{}
		for _, of := range sums {
			sum, purposes[of.Purpose] = sum.Add(of), of.Requests
		}
		want := map[string]int{"answer": 2, "consult": 1, "explore": 2}
		if asides {
			want["aside"] = 3
		}
		if total, _ := s.Spending.Usage(); err != nil || !reflect.DeepEqual(purposes, want) || sum.Requests != all.requests || sum.Usage != all.used || total != all.used {
			t.Errorf("the ledger has %v (%v): %+v, the conversation %+v; requests were %d: %+v", purposes, err, sum.Usage, total, all.requests, all.used)
		}
		return asked.Requests(), s.History()
	}
	plain, without := day(false)
	beside, with := day(true)
	if !reflect.DeepEqual(without, with) || !reflect.DeepEqual(plain[len(plain)-1].Messages, beside[len(beside)-1].Messages) {
		t.Errorf("with side questions %+v\nwithout %+v", with, without)
	}
}
