package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/retry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model with scripted attempts; the last one repeats. An attempt is a list of events;
// an error ends it.
type script struct {
	attempts [][]any
	asked    int
}

func (s *script) Stream(ctx context.Context, _ llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		attempt := s.attempts[min(s.asked, len(s.attempts)-1)]
		s.asked++
		for _, step := range attempt {
			if err, ok := step.(error); ok {
				yield(nil, err)
				return
			}
			if !yield(step.(llm.Event), nil) {
				return
			}
		}
	}
}

func fault(f llm.Fault, wait time.Duration) *llm.Error {
	return &llm.Error{Fault: f, Wait: wait}
}

// says is a response with the server's advice on retrying; "" for none.
type says string

func (s says) Error() string             { return string(s) }
func (s says) ShouldRetry() (bool, bool) { return s == "true", s != "" }

func told(f llm.Fault, again says) *llm.Error {
	return &llm.Error{Fault: f, Message: "told", Err: again}
}

var (
	word = llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Text, Text: "hi"}}
	done = llm.Finish{Reason: llm.Stop}
	fine = []any{word, done}
)

// tell returns an answer on one line.
func tell(s llm.Stream) string {
	var said []string
	for e, err := range s {
		switch e := e.(type) {
		case llm.Delta:
			if e.Kind == llm.Thinking {
				e.Text = e.Block + ":" + e.Text
			}
			said = append(said, e.Text)
		case llm.Retry:
			said = append(said, fmt.Sprintf("retry %d after %s (%s)", e.Attempt, e.Wait, e.Fault))
			if e.Discards != nil {
				said = append(said, fmt.Sprintf("without %v", e.Discards))
			}
		case llm.Notice:
			said = append(said, "notice")
		case llm.Usage:
			said = append(said, strings.TrimSuffix(fmt.Sprintf("usage %d", e.Output), " 0"))
		case llm.Finish:
			said = append(said, string(e.Reason))
		}
		if err != nil {
			said = append(said, "error: "+err.Error())
		}
	}
	return strings.Join(said, ", ")
}

func TestStream(t *testing.T) {
	const s = time.Second
	mistake, spent := &llm.Error{Fault: llm.Server, Mistake: true}, llm.Usage{Input: 2, Output: 3}
	thought := llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}
	server, limit := fault(llm.Server, 0), fault(llm.RateLimit, 2*s)
	for _, tt := range []struct {
		name     string
		attempts [][]any
		options  retry.Options
		want     string
		asked    int
	}{
		{"no trouble", [][]any{fine}, retry.Options{MaxRetries: 3}, "hi, stop", 1},
		{"twice, then fine", [][]any{{server}, {server}, fine}, retry.Options{MaxRetries: 3},
			"retry 1 after 250ms (server), retry 2 after 500ms (server), hi, stop", 3},
		{"for ever", [][]any{{server}}, retry.Options{MaxRetries: 3},
			"retry 1 after 250ms (server), retry 2 after 500ms (server), retry 3 after 1s (server), error: server", 4},
		{"the window ends at 8 s", [][]any{{server}}, retry.Options{MaxRetries: 7},
			"retry 1 after 250ms (server), retry 2 after 500ms (server), retry 3 after 1s (server), retry 4 after 2s (server), " +
				"retry 5 after 4s (server), retry 6 after 4s (server), retry 7 after 4s (server), error: server", 8},
		{"the last error counts", [][]any{{server}, {fault(llm.Network, 0)}}, retry.Options{MaxRetries: 1},
			"retry 1 after 250ms (server), error: network", 2},
		{"none allowed", [][]any{{server}, fine}, retry.Options{}, "error: server", 1},
		{"what the server asked, and a little more", [][]any{{limit}, fine}, retry.Options{MaxRetries: 3},
			"retry 1 after 2.5s (rate_limit), hi, stop", 2},
		{"more than it may ask", [][]any{{fault(llm.RateLimit, 61*s)}, fine}, retry.Options{MaxRetries: 3}, "error: rate limit", 1},
		{"as much as it may ask", [][]any{{fault(llm.RateLimit, 60*s)}, fine}, retry.Options{MaxRetries: 3},
			"retry 1 after 1m15s (rate_limit), hi, stop", 2},
		{"an own limit", [][]any{{limit}, fine}, retry.Options{MaxRetries: 3, MaxWait: s}, "error: rate limit", 1},
		{"more than all waits may take", [][]any{{fault(llm.RateLimit, 48*s)}}, retry.Options{MaxRetries: 9},
			"retry 1 after 1m0s (rate_limit), retry 2 after 1m0s (rate_limit), error: rate limit", 3},
		{"an own total", [][]any{{limit}}, retry.Options{MaxRetries: 9, MaxTotalWait: 5 * s},
			"retry 1 after 2.5s (rate_limit), retry 2 after 2.5s (rate_limit), error: rate limit", 3},
		{"a mistake of the model, once and at once", [][]any{{mistake}}, retry.Options{MaxRetries: 3}, "retry 1 after 0s (server), error: server", 2},
		{"a mistake, none allowed", [][]any{{mistake}, fine}, retry.Options{}, "error: server", 1},
		{"a mistake behind thinking", [][]any{{thought, spent, mistake}, {thought, spent, done}}, retry.Options{MaxRetries: 3},
			"t:hm, usage 3, retry 1 after 0s (server), without [t], t:hm, usage 6, stop", 2},
		{"a mistake, and then other trouble", [][]any{{mistake}, {server}, {mistake}}, retry.Options{MaxRetries: 3},
			"retry 1 after 0s (server), retry 2 after 500ms (server), error: server", 3},
		{"after the first delta", [][]any{{word, server}, fine}, retry.Options{MaxRetries: 3}, "hi, error: server", 1},
		{"after other events", [][]any{{llm.Notice{}, llm.Usage{}, server}, fine}, retry.Options{MaxRetries: 3},
			"notice, usage, retry 1 after 250ms (server), hi, stop", 2},
		{"after the retry, a delta", [][]any{{server}, {word, server}}, retry.Options{MaxRetries: 3},
			"retry 1 after 250ms (server), hi, error: server", 2},
		{"an error without a fault", [][]any{{errors.New("odd")}, fine}, retry.Options{MaxRetries: 3}, "error: odd", 1},
		{"passing, but the server says no", [][]any{{told(llm.Server, "false")}, fine}, retry.Options{MaxRetries: 3}, "error: server: told", 1},
		{"lasting, but the server says yes", [][]any{{told(llm.InvalidRequest, "true")}, fine}, retry.Options{MaxRetries: 3},
			"retry 1 after 250ms (invalid_request), hi, stop", 2},
		{"yes for ever", [][]any{{told(llm.Quota, "true")}}, retry.Options{MaxRetries: 1}, "retry 1 after 250ms (quota), error: quota: told", 2},
		{"a server that says nothing", [][]any{{told(llm.Server, "")}, fine}, retry.Options{MaxRetries: 3}, "retry 1 after 250ms (server), hi, stop", 2},
		{"a wrapped fault", [][]any{{fmt.Errorf("asking: %w", server)}, fine}, retry.Options{MaxRetries: 3},
			"retry 1 after 250ms (server), hi, stop", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &script{attempts: tt.attempts}
				tt.options.Rand = func() float64 { return 0.5 }
				if got := tell(retry.Wrap(m, tt.options).Stream(t.Context(), llm.Request{})); got != tt.want {
					t.Errorf(" got %s\nwant %s", got, tt.want)
				}
				if m.asked != tt.asked {
					t.Errorf("asked %d times, want %d", m.asked, tt.asked)
				}
			})
		})
	}
}

func TestFaults(t *testing.T) {
	again := []llm.Fault{llm.RateLimit, llm.Server, llm.Network}
	for _, f := range []llm.Fault{llm.Quota, llm.RateLimit, llm.Authentication, llm.Permission, llm.ModelNotFound, llm.InvalidRequest,
		llm.ContextOverflow, llm.ContentFilter, llm.Network, llm.Server, llm.Unsupported, llm.Unknown} {
		m := &script{attempts: [][]any{{fault(f, 0)}, fine}}
		o := retry.Options{MaxRetries: 1, Sleep: func(context.Context, time.Duration) error { return nil }}
		tell(retry.Wrap(m, o).Stream(t.Context(), llm.Request{}))
		if got, want := m.asked == 2, slices.Contains(again, f); got != want {
			t.Errorf("%s: asked again: %v, want %v", f, got, want)
		}
	}
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		m := &script{attempts: [][]any{{fault(llm.RateLimit, 30*time.Second)}, fine}}
		start := time.Now()
		got := tell(retry.Wrap(m, retry.Options{MaxRetries: 3, Rand: func() float64 { return 0 }}).Stream(ctx, llm.Request{}))
		if want := "retry 1 after 30s (rate_limit), error: context canceled"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("ended after %s, want 1s", d)
		}
		if m.asked != 1 {
			t.Errorf("asked %d times, want 1", m.asked)
		}
	})
}

// TestCanceledBefore checks that a canceled request does not wait.
func TestCanceledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := &script{attempts: [][]any{{fault(llm.Server, 0)}, fine}}
	if got, want := tell(retry.Wrap(m, retry.Options{MaxRetries: 3}).Stream(ctx, llm.Request{})), "error: server"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLeave leaves the loop at each event; the request must not be retried.
func TestLeave(t *testing.T) {
	for n, asked := range []int{1: 1, 2: 1, 3: 2} {
		m := &script{attempts: [][]any{{llm.Notice{}, fault(llm.Server, 0)}, {word, word, done}}}
		seen := 0
		o := retry.Options{MaxRetries: 1, Sleep: func(context.Context, time.Duration) error { return nil }}
		for range retry.Wrap(m, o).Stream(t.Context(), llm.Request{}) {
			if seen++; seen == n {
				break
			}
		}
		if n > 0 && m.asked != asked {
			t.Errorf("left at event %d: asked %d times, want %d", n, m.asked, asked)
		}
	}
}

// TestWaits checks that every wait is within its bounds, and that waits are spread.
func TestWaits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	distinct := map[time.Duration]bool{}
	for range 500 {
		asked := time.Duration(random.IntN(60000)) * time.Millisecond
		var total time.Duration
		n := 0
		m := &script{attempts: [][]any{{fault(llm.RateLimit, asked)}}}
		o := retry.Options{MaxRetries: 4, Rand: random.Float64, Sleep: func(_ context.Context, d time.Duration) error {
			low, high := asked, asked+asked/2
			if asked == 0 {
				low, high = 0, min(500*time.Millisecond<<n, 8*time.Second)
			}
			if d < low || d > high {
				t.Errorf("wait %d is %s, want %s to %s", n, d, low, high)
			}
			distinct[d] = true
			total += d
			n++
			return nil
		}}
		tell(retry.Wrap(m, o).Stream(t.Context(), llm.Request{}))
		if total > 2*time.Minute || n > 4 {
			t.Errorf("%d waits, %s in all", n, total)
		}
	}
	if len(distinct) < 500 {
		t.Errorf("only %d distinct waits", len(distinct))
	}
}

// TestSpread checks that eight clients rejected together with the same wait return spread over at
// least a fifth of it.
func TestSpread(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const trials = 1000
	narrow := 0
	for range trials {
		var waits []time.Duration
		for range 8 {
			m := &script{attempts: [][]any{{fault(llm.RateLimit, 10*time.Second)}, fine}}
			tell(retry.Wrap(m, retry.Options{MaxRetries: 3, Rand: random.Float64, Sleep: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}}).Stream(t.Context(), llm.Request{}))
		}
		if slices.Max(waits)-slices.Min(waits) < 2*time.Second {
			narrow++
		}
	}
	if narrow > trials/50 {
		t.Errorf("%d of %d times eight clients came back within a fifth of the wait", narrow, trials)
	}
}

func Example() {
	m := &script{attempts: [][]any{{fault(llm.Server, 0)}, fine}}
	o := retry.Options{MaxRetries: 3, Rand: func() float64 { return 0.1 }}
	fmt.Println(tell(retry.Wrap(m, o).Stream(context.Background(), llm.Request{})))
	// Output: retry 1 after 50ms (server), hi, stop
}

// Other requests are retried in the same way: on temporary errors, after the server's wait, and a
// limited number of times.
func TestDo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails []error
		calls int
		waits []time.Duration
	}{
		{"succeeds", nil, 1, nil},
		{"passes", []error{&llm.Error{Fault: llm.Server}, &llm.Error{Fault: llm.RateLimit, Wait: 4 * time.Second}}, 3, []time.Duration{250 * time.Millisecond, 5 * time.Second}},
		{"does not pass", []error{&llm.Error{Fault: llm.Quota}}, 1, nil},
		{"too often", []error{&llm.Error{Fault: llm.Server}, &llm.Error{Fault: llm.Server}, &llm.Error{Fault: llm.Server}, nil}, 3, []time.Duration{250 * time.Millisecond, 500 * time.Millisecond}},
		{"too long", []error{&llm.Error{Fault: llm.RateLimit, Wait: time.Hour}}, 1, nil},
	} {
		var waits []time.Duration
		calls := 0
		o := retry.Options{MaxRetries: 2, Rand: func() float64 { return 0.5 }, Sleep: func(_ context.Context, d time.Duration) error {
			waits = append(waits, d)
			return nil
		}}
		_ = retry.Do(t.Context(), o, func(context.Context) error {
			if calls++; calls <= len(tt.fails) {
				return tt.fails[calls-1]
			}
			return nil
		})
		if calls != tt.calls || !slices.Equal(waits, tt.waits) {
			t.Errorf("%s: %d calls, waited %v", tt.name, calls, waits)
		}
	}
}

// The usage of an answer that was a mistake is in the sum, and marked as discarded.
func TestMistakeIsDiscarded(t *testing.T) {
	used := llm.Usage{Input: 100, Output: 20}
	answer := llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "yes"}}
	fake := &script{attempts: [][]any{{used, &llm.Error{Fault: llm.Server, Mistake: true}}, {answer, used, llm.Finish{Reason: llm.Stop}}}}
	var got llm.Usage
	for e, err := range retry.Wrap(fake, retry.Options{MaxRetries: 1}).Stream(t.Context(), llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := e.(llm.Usage); ok {
			got = u
		}
	}
	if want := (llm.Usage{Input: 200, Output: 40, Discarded: 120, Last: 100}); got != want {
		t.Errorf("used %+v, want %+v", got, want)
	}
}

// A delta of a first attempt is passed on without copying, which would cost more than anything else
// here.
func TestDeltaCost(t *testing.T) {
	const deltas = 1000
	attempt := make([]any, deltas, deltas+1)
	for i := range attempt {
		attempt[i] = llm.Event(word)
	}
	m := retry.Wrap(&script{attempts: [][]any{append(attempt, llm.Finish{Reason: llm.Stop})}}, retry.Options{})
	got := 0
	allocs := testing.AllocsPerRun(5, func() {
		for range m.Stream(t.Context(), llm.Request{}) {
			got++
		}
	})
	if allocs > deltas/10 || got != 6*(deltas+1) {
		t.Errorf("%.0f allocations for %d deltas, %d events", allocs, deltas, got)
	}
}
