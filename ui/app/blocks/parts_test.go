package blocks

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
)

// A stall shows one line for the wait and one for a silence, with their durations, as long as they last.
func TestStall(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1000, 0).Add(time.Duration(seconds) * time.Second) }
	retry, question := llm.Retry{Attempt: 1, Wait: 10 * time.Second}, session.Question{Wait: 10 * time.Second}
	const silence = 300
	for _, tt := range []struct {
		name    string
		do      func(*stall, *changeList)
		tick    int // time of the call, in seconds
		want    []string
		silent  bool
		retryIn time.Duration
		waited  time.Duration
	}{
		{"nothing is awaited", func(*stall, *changeList) {}, silence, nil, false, 0, 0},
		{"a request goes out", func(s *stall, out *changeList) { s.asked = at(0); s.noteContent(at(0), out) }, silence - 1, nil, false, 0, 299 * time.Second},
		{"nothing comes for long", func(s *stall, out *changeList) { s.noteContent(at(0), out) }, silence, []string{"opened silence 5m0s"}, true, 0, 0},
		{"nothing comes for longer", func(s *stall, out *changeList) { s.noteContent(at(0), out); s.tick(at(silence), out) }, silence + 60,
			[]string{"opened silence 5m0s", "replaced silence 6m0s"}, true, 0, 0},
		{"something comes after all", func(s *stall, out *changeList) {
			s.noteContent(at(0), out)
			s.tick(at(silence), out)
			s.received(at(silence), out)
		}, silence + 1, []string{"opened silence 5m0s", "dropped silence 0s"}, false, 0, 0},
		{"a request is sent again", func(s *stall, out *changeList) { s.countDown(retry, at(10), at(0), out) }, 4,
			[]string{"opened retry 10s", "replaced retry 6s"}, false, 6 * time.Second, 0},
		{"a request was sent again", func(s *stall, out *changeList) { s.countDown(retry, at(10), at(0), out) }, 12,
			[]string{"opened retry 10s", "replaced retry -2s"}, false, 0, 0},
		{"and is answered", func(s *stall, out *changeList) { s.countDown(retry, at(10), at(0), out); s.received(at(1), out) }, 4,
			[]string{"opened retry 10s"}, false, 0, 0},
		{"a question answers itself", func(s *stall, out *changeList) { s.countDown(question, at(10), at(0), out) }, 4,
			[]string{"opened retry 10s", "replaced retry 6s"}, false, 0, 0},
		{"a question is answered", func(s *stall, out *changeList) { s.countDown(question, at(10), at(0), out); s.endCountdown(out) }, 4,
			[]string{"opened retry 10s", "dropped retry 0s"}, false, 0, 0},
		{"the answer ends", func(s *stall, out *changeList) {
			s.countDown(retry, at(10), at(0), out)
			s.noteContent(at(0), out)
			s.tick(at(silence), out)
			s.end(out)
		}, 2 * silence, []string{"opened retry 10s", "replaced retry -4m50s", "opened silence 5m0s", "dropped silence 0s", "dropped retry 0s"}, false, 0, 0},
	} {
		var s stall
		var out changeList
		tt.do(&s, &out)
		now := at(tt.tick)
		s.tick(now, &out)
		var got []string
		ids := map[Kind]string{}
		for _, c := range out.changes {
			got = append(got, fmt.Sprint(map[Op]string{Opened: "opened", Replaced: "replaced", Dropped: "dropped"}[c.Op], map[Kind]string{RetryBlock: " retry ", SilenceBlock: " silence "}[c.Kind], c.Duration))
			if c.Op == Opened {
				ids[c.Kind] = c.ID
			}
			if c.ID != ids[c.Kind] {
				t.Errorf("%s: %+v is not about block %s", tt.name, c, ids[c.Kind])
			}
		}
		if !slices.Equal(got, tt.want) || s.Silent(now) != tt.silent || s.RetryIn(now) != tt.retryIn || s.WaitedFor(now) != tt.waited {
			t.Errorf("%s: %q, silent %t, again in %s, waited for %s; want %q, %t, %s, %s", tt.name, got, s.Silent(now), s.RetryIn(now), s.WaitedFor(now), tt.want, tt.silent, tt.retryIn, tt.waited)
		}
	}
}

// A response returns the activity of a delta, numbers its sources, and gives a block a new id when its kind changes.
func TestResponse(t *testing.T) {
	delta := func(block string, kind llm.Kind, text string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: text, URL: map[llm.Kind]string{llm.Source: "http://" + block}[kind]}}
	}
	var r response
	var out changeList
	r.begin(nil)
	var got []string
	for _, d := range []llm.Delta{
		delta("a", llm.Text, "hm"), delta("a", "", ", yes"), delta("a", llm.Thinking, ""), delta("b", llm.Text, "Yes"), delta("s1", llm.Source, ""),
		delta("s2", llm.Source, ""), delta("s1", "", ""), {Block: "c", Part: llm.Part{Kind: llm.Call, ID: "1", Name: "read"}},
	} {
		out.reset()
		kind, tool := r.add(d, time.Time{}, &out)
		line := fmt.Sprint(kind, tool, ":")
		for _, c := range out.changes {
			line += fmt.Sprintf(" %d/%d/%s/%s/%d", c.Op, c.Kind, c.ID, c.Text, c.Count)
		}
		got = append(got, line)
	}
	want := []string{
		fmt.Sprintf("text: %d/%d/1/hm/0", Opened, TextBlock),
		fmt.Sprintf("text: %d/%d/1/, yes/0", Grown, TextBlock),
		fmt.Sprintf(": %d/%d/1//0 %d/%d/2/hm, yes/0", Closed, TextBlock, Renamed, ThinkingBlock),
		fmt.Sprintf("text: %d/%d/2//0 %d/%d/3/Yes/0", Closed, ThinkingBlock, Opened, TextBlock),
		fmt.Sprintf("source: %d/%d/4//1", Opened, SourceBlock), // the text may continue
		fmt.Sprintf("source: %d/%d/5//2", Opened, SourceBlock),
		fmt.Sprintf("source: %d/%d/4//1", Replaced, SourceBlock),
		fmt.Sprintf("callread: %d/%d/3//0 %d/%d/6//0", Closed, TextBlock, Opened, ToolBlock),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Calls keep their blocks when the session assigns ids to them, and report whether one is still running or waiting.
func TestCalls(t *testing.T) {
	var r response
	var out changeList
	r.begin(nil)
	for _, block := range []string{"a", "b"} {
		r.add(llm.Delta{Block: block, Part: llm.Part{Kind: llm.Call, ID: "same", Name: "read"}}, time.Time{}, &out)
	}
	whole := []llm.Part{{Kind: llm.Call, ID: "same", Name: "read"}, {Kind: llm.Call, ID: "same-2", Name: "read"}}
	r.finish(session.Response{Message: llm.Message{Parts: whole}}, &out)
	for i, part := range whole {
		if b := r.calls.block(part.ID, &out); b != r.order[i] {
			t.Errorf("call %s has block %s, want %s", part.ID, b.id, r.order[i].id)
		}
	}
	at := time.Unix(100, 0)
	for i, step := range []struct {
		do      func()
		running bool
	}{
		{func() {}, false},
		{func() { r.calls.start(session.Call{Part: whole[0]}, at, &out) }, true},
		{func() {
			r.calls.ask(session.ApprovalRequest{Call: whole[0], Action: &act.Action{}}, &out)
		}, true},
		{func() { r.calls.decide(session.Decision{ID: "same", Verdict: act.Deny}, at, &out) }, false},
		{func() { r.calls.decide(session.Decision{ID: "same-2", Verdict: act.Allow}, at, &out) }, true},
		{func() {
			r.calls.end(storedResult{Result: session.Result{Part: llm.Part{ID: "same-2"}, Stopped: true}, lost: true}, &out)
		}, false},
		{func() { r.calls.end(storedResult{Result: session.Result{Part: llm.Part{ID: "same"}}}, &out) }, false},
	} {
		if step.do(); r.calls.running() != step.running {
			t.Errorf("step %d: running is %t", i, !step.running)
		}
	}
	if denied, canceled := r.order[0].tool.Status, r.order[1].tool.Status; denied != CallDenied || canceled != CallCanceled {
		t.Errorf("statuses %d and %d, want %d and %d", denied, canceled, CallDenied, CallCanceled)
	}
}

// An unfinished image is at the place of the final image, and is dropped when that arrives.
func TestPreview(t *testing.T) {
	var turn Turn
	now := time.Now()
	turn.Apply(session.Step{Model: "i/draw"}, now)
	image := llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("1")}
	first := turn.Apply(llm.Preview{Block: "i", Part: image}, now)
	id := first[len(first)-1].ID
	second := turn.Apply(llm.Preview{Block: "i", Part: image}, now)
	if c := second[len(second)-1]; c.Op != Replaced || c.ID != id || c.Kind != MediaBlock {
		t.Errorf("%+v", c)
	}
	done := turn.Apply(llm.Delta{Block: "i", Part: image}, now)
	if len(done) != 2 || done[0].Op != Dropped || done[0].ID != id || done[1].Op != Opened || done[1].Kind != MediaBlock {
		t.Errorf("%+v", done)
	}
}
