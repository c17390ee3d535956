package embedding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// A fake embeds a text as its length and takes a second.
type fake struct {
	texts, tokens int
	fails         func(request int, inputs []string) error // requests are counted from 1

	mu        sync.Mutex
	sizes     []int
	now, most int
	starts    []start
}

// A start is the start of a request, with the number of concurrent ones.
type start struct {
	at   time.Time
	busy int
}

func (f *fake) Batch() (inputs, tokens int) { return f.texts, f.tokens }

func (f *fake) Embed(ctx context.Context, inputs []string, _ works.EmbedOptions) (*works.Embedded, error) {
	f.mu.Lock()
	f.sizes = append(f.sizes, len(inputs))
	n := len(f.sizes)
	f.now++
	f.most = max(f.most, f.now)
	f.starts = append(f.starts, start{time.Now(), f.now})
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.mu.Unlock()
	}()
	select {
	case <-time.After(time.Second + time.Duration(n%3)*time.Second):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if f.fails != nil {
		if err := f.fails(n, inputs); err != nil {
			return nil, err
		}
	}
	out := &works.Embedded{Bill: works.Bill{Tokens: len(inputs)}}
	for _, text := range inputs {
		out.Vectors = append(out.Vectors, []float32{float32(len(text))})
	}
	return out, nil
}

// lines returns n texts; the length of each is its number.
func lines(n int) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for i := 1; i <= n; i++ {
			if !yield(Input{Line: i, Text: strings.Repeat("x", i)}, nil) {
				return
			}
		}
	}
}

// collect runs f over inputs, checks the vector of each, and returns their number.
func collect(t *testing.T, ctx context.Context, f *fake, inputs iter.Seq2[Input, error], o Options) (n int, bill works.Bill, err error) {
	t.Helper()
	for b, e := range Run(ctx, f, inputs, o) {
		if e != nil {
			return n, bill, e
		}
		for i, in := range b.Inputs {
			if n++; in.Line != n || b.Vectors[i][0] != float32(len(in.Text)) {
				t.Fatalf("text %d is line %d with %v", n, in.Line, b.Vectors[i])
			}
		}
		bill = bill.Add(b.Bill)
	}
	return n, bill, nil
}

// Requests are as large as the model accepts, and results are in order.
func TestSplit(t *testing.T) {
	for _, test := range []struct{ n, batch, requests int }{
		{2049, 2048, 2}, {101, 100, 2}, {65, 64, 2}, {11, 10, 2}, {100, 100, 1}, {1, 100, 1}, {0, 100, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{texts: test.batch}
			n, bill, err := collect(t, t.Context(), f, lines(test.n), Options{})
			if n != test.n || err != nil || len(f.sizes) != test.requests || bill.Tokens != test.n {
				t.Errorf("%d texts: %d came in requests of %d, %+v, %v", test.n, n, f.sizes, bill, err)
			}
			slices.Sort(f.sizes)
			if test.n > 0 && f.sizes[len(f.sizes)-1] != min(test.n, test.batch) {
				t.Errorf("%d texts: sent %d", test.n, f.sizes)
			}
		})
	}
}

// Requests are smaller than that if the caller asks for it.
func TestMaxBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 2048}
		if n, _, err := collect(t, t.Context(), f, lines(100), Options{MaxBatch: 40}); n != 100 || err != nil || len(f.sizes) != 3 {
			t.Errorf("%d came in requests of %d, %v", n, f.sizes, err)
		}
	})
}

// Each request is reserved before it is sent. If one cannot be, the earlier ones are completed and no other is sent.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, reached, asked := &fake{texts: 10}, errors.New("reached"), 0
		reserve := func(tokens int) error {
			if asked++; asked > 3 {
				return reached
			}
			if tokens == 0 {
				t.Error("no tokens are reserved")
			}
			return nil
		}
		if n, _, err := collect(t, t.Context(), f, lines(100), Options{Reserve: reserve}); n != 30 || err != reached || len(f.sizes) != 3 || asked != 4 {
			t.Errorf("%d came in requests of %d, %v, with %d reservations", n, f.sizes, err, asked)
		}
	})
}

// The texts of a request have at most as many tokens as the model accepts.
func TestSplitByTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 100, tokens: 100}
		words := func(yield func(Input, error) bool) {
			for i := 1; i <= 10; i++ {
				if !yield(Input{Line: i, Text: strings.Repeat("word ", 35)}, nil) {
					return
				}
			}
		}
		if n, _, err := collect(t, t.Context(), f, words, Options{}); n != 10 || err != nil || len(f.sizes) != 5 {
			t.Errorf("%d came in requests of %d, %v", n, f.sizes, err)
		}
	})
}

// Four requests are sent concurrently. After a rate-limited one there are fewer, and later more again.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 10}
		if n, _, err := collect(t, t.Context(), f, lines(1000), Options{}); n != 1000 || err != nil || f.most != 4 {
			t.Errorf("%d came, at most %d at once, %v", n, f.most, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var refused time.Time
		f := &fake{texts: 1}
		f.fails = func(n int, _ []string) error {
			if 5 <= n && n <= 8 {
				f.mu.Lock()
				defer f.mu.Unlock()
				refused = time.Now()
				return &llm.Error{Fault: llm.RateLimit, Wait: 20 * time.Second}
			}
			return nil
		}
		together := func(ctx context.Context, _ time.Duration) error {
			time.Sleep(20 * time.Second)
			return ctx.Err()
		}
		n, _, err := collect(t, t.Context(), f, lines(60), Options{Sleep: together})
		if n != 60 || err != nil {
			t.Errorf("%d came, %v", n, err)
		}
		// Requests that began at the very moment of the last refusal may have begun before it.
		later := slices.DeleteFunc(f.starts, func(s start) bool { return !s.at.After(refused) })
		most := func(s []start) int {
			return slices.MaxFunc(s, func(a, b start) int { return a.busy - b.busy }).busy
		}
		if first := most(later[:3]); first > 2 || most(later) != 4 {
			t.Errorf("after a 429 %d at once, later %d", first, most(later))
		}
	})
	synctest.Test(t, func(t *testing.T) { // in order, so that a failed run has all batches before the failure
		next := 0
		f := &fake{texts: 1}
		f.fails = func(_ int, inputs []string) error {
			if next++; len(inputs[0]) != next {
				t.Errorf("request %d is of text %d", next, len(inputs[0]))
			}
			return nil
		}
		if _, _, err := collect(t, t.Context(), f, lines(50), Options{Parallel: 1}); err != nil {
			t.Error(err)
		}
	})
	g := newGate(t.Context(), 4)
	g.leave(true)
	if g.limit != 2 {
		t.Errorf("after one that came too fast: %d", g.limit)
	}
	for range 30 {
		g.leave(false)
	}
	if g.limit != 4 {
		t.Errorf("after many that did not: %d", g.limit)
	}
}

// A temporary error is retried after the time given by the server. Any other error ends the run, and earlier batches
// are kept.
func TestRetries(t *testing.T) {
	for fault, again := range map[llm.Fault]bool{
		llm.RateLimit: true, llm.Server: true, llm.Network: true, llm.Quota: false, llm.Authentication: false, llm.ModelNotFound: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			failed := false
			f := &fake{texts: 10, fails: func(n int, inputs []string) error {
				if len(inputs[0]) == 21 && !failed { // batch 3 of 5
					failed = true
					return &llm.Error{Fault: fault, Wait: 7 * time.Second}
				}
				return nil
			}}
			began := time.Now()
			n, _, err := collect(t, t.Context(), f, lines(50), Options{})
			if again && (n != 50 || err != nil || time.Since(began) < 7*time.Second) || !again && (n != 20 || llm.FaultOf(err) != fault) {
				t.Errorf("%s: %d came after %s, %v", fault, n, time.Since(began), err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 10, fails: func(int, []string) error { return &llm.Error{Fault: llm.Server} }}
		if n, _, err := collect(t, t.Context(), f, lines(10), Options{}); n != 0 || llm.FaultOf(err) != llm.Server || len(f.sizes) != 6 {
			t.Errorf("a server that always fails: %d requests, %v", len(f.sizes), err)
		}
	})
}

// A request that is too large is halved, down to a single text that is too long.
func TestHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 64, fails: func(_ int, inputs []string) error {
			if len(inputs) > 10 {
				return &llm.Error{Fault: llm.ContextOverflow}
			}
			return nil
		}}
		if n, bill, err := collect(t, t.Context(), f, lines(64), Options{}); n != 64 || err != nil || bill.Tokens != 64 {
			t.Errorf("%d came, %v", n, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 64, fails: func(_ int, inputs []string) error {
			if len(inputs[len(inputs)-1]) >= 50 {
				return &llm.Error{Fault: llm.ContextOverflow}
			}
			return nil
		}}
		n, _, err := collect(t, t.Context(), f, lines(64), Options{})
		if n != 49 || llm.FaultOf(err) != llm.ContextOverflow || !strings.HasPrefix(err.Error(), "line 50: ") {
			t.Errorf("%d came, %v", n, err)
		}
	})
}

// A text that no request can hold is not sent, nor any text after it.
func TestTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 10}
		inputs := func(yield func(Input, error) bool) {
			for in := range lines(14) {
				if in.Line == 13 {
					in.Text = strings.Repeat("many words ", 100_000)
				}
				if !yield(in, nil) {
					return
				}
			}
		}
		n, _, err := collect(t, t.Context(), f, inputs, Options{MaxInput: 8192, Model: "mock/m"})
		long := (*TooLongError)(nil)
		if n != 12 || !errors.As(err, &long) || long.Line != 13 || len(f.sizes) != 2 || !strings.Contains(err.Error(), "line 13: about 2") {
			t.Errorf("%d came in requests of %d, %v", n, f.sizes, err)
		}
	})
}

// An error of the input, a consumer that stops, and a cancellation end the run at once; a read that hangs does not
// delay that.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{texts: 10}
		broken := func(yield func(Input, error) bool) {
			for in := range lines(25) {
				if !yield(in, nil) {
					return
				}
			}
			yield(Input{}, io.ErrUnexpectedEOF)
		}
		if n, _, err := collect(t, t.Context(), f, broken, Options{}); n != 25 || err != io.ErrUnexpectedEOF {
			t.Errorf("%d came, %v", n, err)
		}
		for range Run(t.Context(), f, lines(1000), Options{}) {
			break
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		hangs := make(chan bool)
		hanging := func(yield func(Input, error) bool) {
			if yield(Input{Line: 1, Text: "x"}, nil) {
				cancel(io.ErrClosedPipe)
				<-hangs
			}
		}
		if _, _, err := collect(t, ctx, &fake{texts: 1}, hanging, Options{}); err != io.ErrClosedPipe {
			t.Errorf("canceled: %v", err)
		}
		close(hangs)
	})
}

// Inputs are read only a few requests ahead.
func TestConstantMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, read, came := &fake{texts: 10}, 0, new(atomic.Int64)
		counted := func(yield func(Input, error) bool) {
			for in := range lines(5000) {
				if read++; read-int(came.Load()) > 130 {
					t.Errorf("%d were read when %d had come", read, came.Load())
				}
				if !yield(Input{Line: in.Line, Text: fmt.Sprint(in.Line)}, nil) {
					return
				}
			}
		}
		for b := range Run(t.Context(), f, counted, Options{}) {
			came.Add(int64(len(b.Inputs)))
		}
		if came.Load() != 5000 {
			t.Errorf("%d came", came.Load())
		}
	})
}
