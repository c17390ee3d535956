//go:build unix

package agentcli

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// A watch listens at an address to which processes stay connected while they live.
type watch struct {
	t *testing.T
	l net.Listener
}

func newWatch(t *testing.T) watch {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return watch{t, l}
}

func (w watch) addr() string { return w.l.Addr().String() }

// living waits until n processes have connected.
func (w watch) living(n int) (all []net.Conn) {
	w.t.Helper()
	w.l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	for range n {
		c, err := w.l.Accept()
		if err != nil {
			w.t.Fatalf("%d of %d came: %v", len(all), n, err)
		}
		w.t.Cleanup(func() { c.Close() })
		all = append(all, c)
	}
	return all
}

// dead waits until the processes with these connections have ended.
func (w watch) dead(all []net.Conn) {
	w.t.Helper()
	for i, c := range all {
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err != io.EOF && !strings.Contains(err.Error(), "reset") {
			w.t.Errorf("process %d lives: %v", i, err)
		}
	}
}

// However a stream ends, nothing that the program started survives: neither a process that ends
// when asked, nor one that does not, nor its children.
func TestNobodySurvives(t *testing.T) {
	t.Parallel()
	hello := claudeInit + claudeStart + claudeHello
	for _, tt := range []struct {
		name  string
		kind  string
		steps func(addr string) []step
		n     int // processes
		leave bool
		idle  time.Duration
		grace time.Duration
		asked string
		fault llm.Fault
	}{
		{name: "cancel", kind: "claude-cli", n: 1, asked: "interrupt", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Out: hello}, {Hang: true}}
		}},
		{name: "cancel", kind: "gemini-cli", n: 1, asked: "terminated", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Out: geminiInit + geminiHello}, {Hang: true}}
		}},
		{name: "leave", kind: "claude-cli", n: 1, leave: true, asked: "interrupt", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Out: hello}, {Hang: true}}
		}},
		{name: "cancel one that does not listen, with a child", kind: "claude-cli", n: 2, grace: 200 * time.Millisecond, steps: func(addr string) []step {
			return []step{{Raise: true}, {Dial: addr}, {Child: true, Dial: addr}, {Out: hello}, {Hang: true}}
		}},
		{name: "cancel, with a child that does not listen", kind: "claude-cli", n: 2, asked: "interrupt", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Child: true, Dial: addr}, {Out: hello}, {Hang: true}}
		}},
		{name: "leave, with a child", kind: "gemini-cli", n: 2, leave: true, asked: "terminated", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Child: true, Dial: addr}, {Out: geminiInit + geminiHello}, {Hang: true}}
		}},
		{name: "an end, but not of the child", kind: "claude-cli", n: 2, steps: func(addr string) []step {
			return []step{{Child: true, Dial: addr}, {Out: hello + claudeEnd + claudeResult}}
		}},
		{name: "no end after the last line", kind: "claude-cli", n: 1, grace: time.Second, asked: "interrupt", steps: func(addr string) []step {
			return []step{{Dial: addr}, {Out: hello + claudeEnd + claudeResult}, {Hang: true}}
		}},
		{name: "silence", kind: "claude-cli", n: 2, idle: 2 * time.Second, asked: "interrupt", fault: llm.Network, steps: func(addr string) []step {
			return []step{{Dial: addr}, {Child: true, Dial: addr}, {Err: "waiting for the moon\n"}, {Hang: true}}
		}},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			s := script(t, tt.steps(w.addr()))
			m := s.model(tt.kind, func(o *Options) {
				o.Grace = tt.grace
				if tt.grace == 0 {
					o.Grace = patience
				}
				if tt.idle > 0 {
					o.IdleTimeout = tt.idle
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var alive []net.Conn
			if tt.idle > 0 {
				defer func() { w.dead(w.living(tt.n)) }()
			}
			var last error
			for e, err := range m.Stream(ctx, asking("Hi")) {
				last = err
				if _, ok := e.(llm.Delta); !ok || alive != nil {
					continue
				}
				alive = w.living(tt.n)
				if tt.leave {
					break
				}
				if !strings.Contains(tt.name, "end") {
					cancel()
				}
			}
			w.dead(alive)
			if got := s.asked(); got != tt.asked {
				t.Errorf("it was asked to end with %q, want %q", got, tt.asked)
			}
			switch {
			case tt.fault != "":
				if llm.FaultOf(last) != tt.fault || !strings.Contains(last.Error(), "claude said nothing for 2s and was ended; last output: waiting for the moon") {
					t.Errorf("error %v", last)
				}
			case tt.leave, strings.Contains(tt.name, "end"):
				if last != nil {
					t.Error(last)
				}
			case !llm.Canceled(last):
				t.Errorf("error %v, want the context's", last)
			}
		})
	}
}

// Any output counts as a sign of life.
func TestNotSilent(t *testing.T) {
	t.Parallel()
	s := script(t, []step{{Out: claudeInit, Err: "still here\n"}, {Out: claudeWhole + claudeResult}})
	got := take(t, s.model("claude-cli").Stream(t.Context(), asking("Hi")))
	check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
}
