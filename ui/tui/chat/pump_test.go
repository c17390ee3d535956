package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
)

// While tokens arrive faster than frames, the tokens before the next frame are read at once. If
// tokens come only now and then, too fast for buffers, or nothing is known yet, each is read as
// it arrives.
func TestPumpReadDelay(t *testing.T) {
	const frame = 33 * time.Millisecond
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := []struct {
		name string
		p    *pump
		want time.Duration
	}{
		{"amid a frame", &pump{deltas: [2]int{4, 16}, last: ago(20 * time.Millisecond)}, 13 * time.Millisecond},
		{"for the frame that is due", &pump{deltas: [2]int{16, 16}, last: ago(31 * time.Millisecond)}, frame},
		{"for one that is late", &pump{deltas: [2]int{16, 16}, last: ago(35 * time.Millisecond)}, frame},
		{"the first frame", &pump{deltas: [2]int{4, 0}, last: ago(20 * time.Millisecond)}, 0},
		{"a flood, so far", &pump{deltas: [2]int{500, 16}, last: ago(20 * time.Millisecond)}, 0},
		{"a flood, lately", &pump{deltas: [2]int{4, 500}, last: ago(20 * time.Millisecond)}, 0},
		{"the screen is awake", &pump{deltas: [2]int{4, 16}, last: ago(20 * time.Millisecond), urgent: true}, 0},
		{"the screen has gone", &pump{deltas: [2]int{4, 16}, last: ago(20 * time.Millisecond), closed: true}, 0},
		{"a tool ran", &pump{deltas: [2]int{0, 16}, last: ago(10 * time.Second)}, 0},
		{"much, and not yet a flood", &pump{deltas: [2]int{many, many}, last: ago(20 * time.Millisecond)}, 13 * time.Millisecond},
		{"almost a flood", &pump{deltas: [2]int{many + 1, 16}, last: ago(20 * time.Millisecond)}, 0},
		{"two frames were skipped", &pump{deltas: [2]int{4, 16}, last: ago(3*frame - 1)}, frame},
		{"three frames were skipped", &pump{deltas: [2]int{4, 16}, last: ago(3 * frame)}, 0},
		{"drawing takes long", &pump{deltas: [2]int{4, 16}, last: ago(10 * time.Millisecond), every: time.Hour}, 50 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.p.every = max(tt.p.every, frame)
			if got := tt.p.delay(now); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A stream is read once and shown once per frame, both at the same moment. The first token and
// the end are shown immediately. Time is simulated.
func TestPumpRhythm(t *testing.T) {
	const n, every, frame = 1000, 2 * time.Millisecond, 33 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		wakes := make(chan struct{}, 10)
		p := newPump(func(tea.Msg) { wakes <- struct{}{} }, frame)
		sent := make(chan int, n)
		go func() { // the server
			defer close(sent)
			for i := range n {
				time.Sleep(every)
				sent <- i
			}
		}()
		reads := 0
		go func() {
			defer p.put(session.Done{})
			for token := range sent { // one read takes everything available
				reads++
				for more := true; more; {
					p.put(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: fmt.Sprintf("%d ", token)}})
					if token == n-1 {
						return
					}
					select {
					case token = <-sent:
					default:
						more = false
					}
				}
				time.Sleep(p.readDelay())
			}
		}()
		began, shown, frames, stale := time.Now(), "", 0, 0
		for done := false; !done; {
			<-wakes
			synctest.Wait() // for events at the same time
			frames++
			for _, e := range p.take() {
				_, d, is := deltaOf(e)
				shown, done = shown+d.Text, done || !is
			}
			if took := time.Since(began); frames == 1 && took != every {
				t.Errorf("the first token is shown after %s", took)
			}
			have := len(strings.Fields(shown))
			if behind := int(time.Since(began)/every) - have; frames > 4 && behind > 1 && have < n {
				stale++
			}
		}
		if got := strings.Fields(shown); len(got) != n || got[n-1] != fmt.Sprint(n-1) {
			t.Errorf("%d tokens shown", len(got))
		}
		if most := int(n*every/frame) + 20; reads > most || frames > most || stale > 5 {
			t.Errorf("%d reads, %d frames, of which %d do not show what there was", reads, frames, stale)
		}
		if late := time.Since(began) - n*every; late > frame {
			t.Errorf("the end is shown %s late", late)
		}
	})
}

// inWords returns events as text: "0:a=text" is text of block a in lane 0.
func inWords(events []session.Event) (out []string) {
	for _, e := range events {
		_, d, ok := deltaOf(e)
		lane := candidateOf(e)
		at := ""
		if lane != alone {
			at = fmt.Sprintf("%d:", lane)
		}
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s%T", at, e))
		case d.Input != "":
			out = append(out, at+d.Block+"("+d.Input)
		default:
			out = append(out, at+d.Block+"="+d.Text)
		}
	}
	return out
}

// Text that continues is joined for each model separately. Every other event keeps
// its position among the events of the same model.
func TestPumpJoins(t *testing.T) {
	text := func(block, s string) llm.Delta {
		return llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: s}}
	}
	in := func(n int, e session.Event) session.Event { return session.CandidateEvent{N: n, Event: e} }
	call := llm.Delta{Block: "c", Part: llm.Part{Kind: llm.Call, Name: "read"}}
	tests := []struct {
		name string
		puts []session.Event
		want []string
	}{
		{"one text", []session.Event{text("a", "x"), text("a", "y")}, []string{"a=xy"}},
		{"two blocks", []session.Event{text("a", "x"), text("b", "y"), text("a", "z")}, []string{"a=x", "b=y", "a=z"}},
		{"a call between", []session.Event{text("a", "x"), call, text("a", "y")}, []string{"a=x", "c=", "a=y"}},
		{"an event between", []session.Event{text("a", "x"), llm.Notice{}, text("a", "y")}, []string{"a=x", "llm.Notice", "a=y"}},
		{"two models", []session.Event{in(0, text("a", "x")), in(1, text("a", "u")), in(0, text("a", "y")), in(1, text("a", "v"))}, []string{"0:a=xy", "1:a=uv"}},
		{"one of two ends", []session.Event{in(0, text("a", "x")), in(1, text("a", "u")), in(0, session.Response{}), in(1, text("a", "v"))},
			[]string{"0:a=x", "0:session.CandidateEvent", "1:a=uv"}},
		{"the turn ends", []session.Event{in(0, text("a", "x")), in(1, text("a", "u")), session.Done{}}, []string{"0:a=x", "1:a=u", "session.Done"}},
	}
	for _, test := range tests {
		p := newPump(func(tea.Msg) {}, time.Hour)
		for _, e := range test.puts {
			p.put(e)
		}
		got := inWords(p.take())
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if p.size != 0 {
			t.Errorf("%s: %d bytes are said to wait, and none do", test.name, p.size)
		}
	}
}

// A flood, of one or several models, wakes the screen once per take, is held in
// few events, and is delivered in bounded pieces.
func TestPumpFlood(t *testing.T) {
	for _, models := range []int{1, 3} {
		wakes := 0
		p := newPump(func(tea.Msg) { wakes++ }, time.Hour)
		sent := 0
		for i := range 20_000 {
			d := llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "0123456789"}}
			sent += len(d.Text)
			if models == 1 {
				p.put(d)
			} else {
				p.put(session.CandidateEvent{N: i % models, Event: d})
			}
		}
		if wakes > 1 || p.size != sent || len(p.events) > sent/maxQueued+models {
			t.Errorf("%d models: %d wakes, %d of %d bytes counted, %d events", models, wakes, p.size, sent, len(p.events))
		}
		got := 0
		for p.size > 0 {
			piece := 0
			for _, e := range p.take() {
				_, d, _ := deltaOf(e)
				piece += len(d.Text)
			}
			if got += piece; piece == 0 || piece > 2*maxQueued+10 {
				t.Fatalf("%d models: %d bytes at once", models, piece)
			}
		}
		if got != sent {
			t.Errorf("%d models: %d of %d bytes arrived", models, got, sent)
		}
	}
}

// The pump delivers the same deltas in the same order, however they are taken,
// and keeps at most one wake outstanding.
func TestPump(t *testing.T) {
	var mu sync.Mutex
	wakes := 0
	p := newPump(func(tea.Msg) { mu.Lock(); wakes++; mu.Unlock() }, time.Hour)
	put := func(block, text string) {
		p.put(llm.Delta{Block: block, Part: llm.Part{Kind: llm.Text, Text: text}})
	}
	put("a", "1")
	for range 1000 {
		put("a", "2")
	}
	put("b", "3")
	if wakes != 1 {
		t.Errorf("%d wakes for 1002 deltas, want 1", wakes)
	}
	p.put(session.Done{Err: errors.New("x")})
	if wakes != 1 {
		t.Errorf("%d wakes: one is outstanding already", wakes)
	}
	events := p.take()
	if len(events) != 3 {
		t.Fatalf("%d events, want 3: %+v", len(events), events)
	}
	if d := events[0].(llm.Delta); d.Text != "1"+strings.Repeat("2", 1000) {
		t.Errorf("joined to %q", d.Text)
	}
	p.put(session.Step{N: 1})
	if wakes != 2 {
		t.Errorf("%d wakes: what is no delta wakes at once", wakes)
	}
}

func TestPumpHoldsBack(t *testing.T) {
	p := newPump(func(tea.Msg) {}, time.Hour)
	big := strings.Repeat("x", maxQueued)
	for i := range 5 {
		p.put(llm.Delta{Block: fmt.Sprint(i), Part: llm.Part{Kind: llm.Text, Text: big}})
	}
	p.put(llm.Delta{Block: "4", Part: llm.Part{Kind: llm.Text, Text: "more"}})
	if n := len(p.take()); n != 1 {
		t.Errorf("took %d blocks of %d bytes at once, want 1", n, maxQueued)
	}
	for i := range 5 {
		if n := len(p.take()); n != 1 {
			t.Errorf("take %d: %d blocks, want 1", i, n)
		}
	}
}

// Over a slow connection there are fewer frames.
func TestFrameTime(t *testing.T) {
	for name, want := range map[string]time.Duration{"SSH_TTY": 50 * time.Millisecond, "SSH_CONNECTION": 50 * time.Millisecond, "TERM": 33 * time.Millisecond} {
		if got := frameTime(func(n string) string { return map[string]string{name: "x"}[n] }); got != want {
			t.Errorf("with %s: %s, want %s", name, got, want)
		}
	}
}

// The screen wakes at once for what is no delta, and for the first delta after a while; for others when a frame is due. It
// is woken once.
func TestPumpWakes(t *testing.T) {
	const frame = 30 * time.Millisecond
	for _, tt := range []struct {
		name    string
		p       *pump
		since   time.Duration // since the last frame
		urgent  bool
		isDue   bool
		isAwake bool          // after it
		wakes   time.Duration // when the scheduled wake comes; 0 for none
	}{
		{"a delta after a while", &pump{}, frame, false, true, true, 0},
		{"a delta soon", &pump{}, frame - 1, false, false, true, 1},
		{"another delta", &pump{awake: true}, frame, false, false, true, 0},
		{"an event soon", &pump{}, 0, true, true, true, 0},
		{"an event while a wake is scheduled", &pump{awake: true}, 0, true, true, true, 0},
		{"another event", &pump{awake: true, urgent: true}, frame, true, false, true, 0},
		{"a delta while more are being read", &pump{gathers: true}, frame, false, false, true, stragglerDelay},
		{"a delta early in a frame, while more are being read", &pump{gathers: true}, 10 * time.Millisecond, false, false, true, 20 * time.Millisecond},
		{"an event while deltas are being read", &pump{gathers: true}, frame, true, true, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, woken := time.Now(), time.Duration(0)
			p := tt.p
			p.every, p.last, p.send = frame, began.Add(-tt.since), func(tea.Msg) { woken = time.Since(began) }
			isDue := p.schedule(tt.urgent, began)
			time.Sleep(time.Second)
			if synctest.Wait(); isDue != tt.isDue || p.awake != tt.isAwake || woken != tt.wakes {
				t.Errorf("%s: due %t, awake %t, woken after %s", tt.name, isDue, p.awake, woken)
			}
		})
	}
}

// Frames take at most a tenth of the time.
func TestPumpSlowFrames(t *testing.T) {
	p := newPump(nil, 0)
	for cost, want := range map[time.Duration]time.Duration{0: 33, 3: 33, 4: 40} {
		if p.took(cost, 33); p.every != want {
			t.Errorf("frames of %d come every %d, want %d", cost, p.every, want)
		}
	}
}

// Events wait while the screen is too slow, until it takes some or closes.
func TestPumpIsFull(t *testing.T) {
	for name, free := range map[string]func(*pump){"taken": func(p *pump) { p.take() }, "closed": (*pump).close} {
		synctest.Test(t, func(t *testing.T) {
			p, put := newPump(func(tea.Msg) {}, time.Millisecond), false
			for i := range full/maxQueued + 1 {
				p.put(llm.Delta{Block: fmt.Sprint(i), Part: llm.Part{Kind: llm.Call, Input: strings.Repeat("x", maxQueued)}})
			}
			go func() {
				p.put(session.Done{})
				put = true
			}()
			if synctest.Wait(); put {
				t.Errorf("%s: no event waits", name)
			}
			free(p)
			if synctest.Wait(); !put {
				t.Errorf("%s: an event still waits", name)
			}
		})
	}
}

// Events that do not fit into a frame come with the next one.
func TestPumpTakesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wakes := 0
		p := newPump(func(tea.Msg) { wakes++ }, time.Millisecond)
		for i := range 3 {
			p.put(llm.Delta{Block: fmt.Sprint(i), Part: llm.Part{Kind: llm.Text, Text: strings.Repeat("x", maxQueued-i)}})
		}
		var sizes []int
		for range 3 {
			before := wakes
			sizes = append(sizes, len(p.take()))
			time.Sleep(time.Second)
			synctest.Wait()
			sizes = append(sizes, wakes-before)
		}
		if want := []int{1, 1, 2, 0, 0, 0}; !slices.Equal(sizes, want) {
			t.Errorf("events and wakes %v, want %v", sizes, want)
		}
	})
}

// Deltas with more than text are not joined, nor text of another kind.
func TestPumpDoesNotJoin(t *testing.T) {
	for name, d := range map[string]llm.Delta{
		"empty": {}, "an id": {Part: llm.Part{Text: "y", ID: "1"}}, "a name": {Part: llm.Part{Text: "y", Name: "n"}}, "both": {Part: llm.Part{Text: "y", Input: "{}"}},
		"media": {Part: llm.Part{Text: "y", MIME: "image/png"}}, "a URL": {Part: llm.Part{Text: "y", URL: "u"}}, "another kind": {Part: llm.Part{Kind: llm.Thinking, Text: "y"}},
		"arguments": {Part: llm.Part{Kind: llm.Text, Input: "y"}}, "failed": {Part: llm.Part{Text: "y", Failed: true}}, "remote": {Part: llm.Part{Text: "y", Remote: true}},
	} {
		p := newPump(func(tea.Msg) {}, time.Hour)
		p.put(llm.Delta{Part: llm.Part{Kind: llm.Text, Text: "x"}})
		if p.put(d); len(p.take()) != 2 {
			t.Errorf("%s is joined", name)
		}
	}
}
