package share_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/share"
)

// opened is a response that counts how often it was requested and released.
type opened struct {
	text   string
	err    error // of open
	hangs  bool  // the text never comes
	mu     sync.Mutex
	asked  []int // for how many answers
	closed int
}

func (o *opened) open(ctx context.Context, n int) (io.ReadCloser, error) {
	o.mu.Lock()
	o.asked = append(o.asked, n)
	o.mu.Unlock()
	if o.err != nil {
		return nil, o.err
	}
	var body io.Reader = strings.NewReader(o.text)
	if o.hangs {
		body = untilDone{ctx}
	}
	return struct {
		io.Reader
		io.Closer
	}{body, closer(func() { o.mu.Lock(); o.closed++; o.mu.Unlock() })}, nil
}

type closer func()

func (c closer) Close() error { c(); return nil }

// untilDone is a body that sends nothing.
type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) {
	<-u.ctx.Done()
	return 0, context.Cause(u.ctx)
}

// TestCandidates shares one response among the candidates with the same request, once all of them
// have asked or left. Each reads all of it. The bubble would not end if a goroutine were left
// running.
func TestCandidates(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		name string
		err  error
		asks []string // action of each candidate: asks with this key, "leaves", or is "canceled" before all have asked
		want string   // result of each candidate: INDEX:TEXT, alone, or an error
		sent string   // number of answers requested
	}{
		{"all share", nil, []string{"a", "a", "a"}, "0:text 1:text 2:text", "[3]"},
		{"one has left", nil, []string{"a", "leaves", "a"}, "0:text - 1:text", "[2]"},
		{"only one is left", nil, []string{"leaves", "a"}, "- alone", "[]"},
		{"others ask for something else", nil, []string{"a", "b", "a"}, "0:text alone 1:text", "[2]"},
		{"one is canceled", nil, []string{"a", "canceled", "a"}, "0:text context canceled 1:text", "[2]"},
		{"all but one are canceled", nil, []string{"canceled", "a"}, "context canceled alone", "[]"},
		{"there is no response", down, []string{"a", "a"}, "down down", "[2]"},
		{"nobody asks", nil, []string{"leaves", "leaves"}, "- -", "[]"},
		{"there is one", nil, []string{"a"}, "alone", "[]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &opened{text: "text", err: test.err}
			got := make([]string, len(test.asks))
			candidates := share.NewCandidates(len(test.asks))
			var all sync.WaitGroup
			for i, does := range test.asks {
				all.Go(func() {
					ctx, cancel := context.WithCancel(share.WithCandidate(t.Context(), candidates[i]))
					defer cancel()
					switch does {
					case "canceled":
						time.AfterFunc(time.Minute, cancel)
						does = "a"
					default:
						time.Sleep(time.Duration(i) * time.Second)
						if strings.Contains(fmt.Sprint(test.asks), "canceled") {
							time.Sleep(time.Hour)
						}
					}
					got[i] = ask(ctx, does, o)
				})
			}
			all.Wait()
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%s: got %q, want %q", test.name, got, test.want)
			}
			synctest.Wait()
			if sent := fmt.Sprint(o.asked); sent != test.sent {
				t.Errorf("%s: asked for %s answers, want %s", test.name, sent, test.sent)
			}
			if test.err == nil && o.closed != len(o.asked) {
				t.Errorf("%s: %d of %d responses were let go of", test.name, o.closed, len(o.asked))
			}
		})
	}
}

// ask performs the action of a candidate, and returns its result.
func ask(ctx context.Context, does string, o *opened) string {
	c := share.CandidateOf(ctx)
	defer c.Leave()
	if does == "leaves" {
		return "-"
	}
	b, err := c.Share(ctx, does, o.open)
	switch {
	case err != nil:
		return err.Error()
	case b == nil:
		return "alone"
	}
	defer b.Close()
	text, err := io.ReadAll(b)
	if err != nil {
		return err.Error()
	}
	if again, err := c.Share(ctx, does, o.open); again != nil || err != nil {
		return "shares twice"
	}
	return fmt.Sprintf("%d:%s", b.Index, text)
}

// TestSharedBody closes one of two bodies: the other continues, and the request ends with the last
// one. The usage counts for the first body that asks.
func TestSharedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &opened{hangs: true}
		candidates := share.NewCandidates(2)
		var all sync.WaitGroup
		var ends [2]error
		var cancels [2]context.CancelFunc
		for i, c := range candidates {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[i] = cancel
			all.Go(func() {
				b, err := c.Share(ctx, "a", o.open)
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Close()
				_, ends[i] = io.ReadAll(b)
				if first, again := b.CountsUsage(), b.CountsUsage(); first != (i == 0) || again != first {
					t.Errorf("reader %d pays: %v", i, b.CountsUsage())
				}
			})
		}
		synctest.Wait()
		cancels[0]()
		synctest.Wait()
		if !errors.Is(ends[0], context.Canceled) || ends[1] != nil || o.closed != 0 {
			t.Errorf("the first ended with %v, the second with %v; closed %d", ends[0], ends[1], o.closed)
		}
		cancels[1]()
		all.Wait()
		synctest.Wait()
		if !errors.Is(ends[1], context.Canceled) || o.closed != 1 {
			t.Errorf("the second ended with %v; closed %d", ends[1], o.closed)
		}
	})
}

// TestSharedPulse keeps a response alive while content comes for any of its
// answers.
func TestSharedPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var of *llm.Pulse
		open := func(ctx context.Context, n int) (io.ReadCloser, error) {
			of = llm.PulseOf(ctx)
			return r, nil
		}
		var all sync.WaitGroup
		for i, c := range share.NewCandidates(2) {
			all.Go(func() {
				ctx, p := llm.WithPulse(t.Context(), time.Minute)
				b, err := c.Share(ctx, "a", open)
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Close()
				one := make([]byte, 1)
				for {
					if _, err := b.Read(one); err != nil {
						return
					}
					if int(one[0]-'0') == i { // its own content
						p.Beat()
					}
				}
			})
		}
		before := uint64(0)
		for _, content := range "01 " {
			fmt.Fprintf(w, "%c", content)
			synctest.Wait()
			if beats := of.Beats(); (beats > before) == (content == ' ') {
				t.Errorf("after %q there were %d beats, before %d", content, beats, before)
			}
			before = of.Beats()
		}
		if of.Limit != time.Minute {
			t.Errorf("the limit is %s", of.Limit)
		}
		w.Close()
		all.Wait()
	})
}
