package agentcli

import (
	"context"
	"net"
	"testing"
	"time"

	"parley/providers/llm"
)

// A daemon started by the program, as for its update, survives only a complete answer.
func TestDaemonOutlivesSuccess(t *testing.T) {
	t.Parallel()
	hello := claudeInit + claudeStart + claudeHello
	for _, tt := range []struct {
		name   string
		steps  []step // after the daemon has started
		cancel bool
		lives  bool
	}{
		{name: "a complete answer", steps: []step{{Out: hello + claudeEnd + claudeResult}}, lives: true},
		{name: "a complete answer, and a failure", steps: []step{{Out: hello + claudeEnd + claudeResult}, {Exit: 1}}},
		{name: "a failure", steps: []step{{Out: hello}, {Exit: 1}}},
		{name: "no end after the last line", steps: []step{{Out: hello + claudeEnd + claudeResult}, {Hang: true}}},
		{name: "cancel", steps: []step{{Out: hello}, {Hang: true}}, cancel: true},
		{name: "cancel when it has ended", steps: []step{{Out: hello}}, cancel: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			s := script(t, append([]step{{Daemon: w.addr()}}, tt.steps...))
			m := s.model("claude-cli", func(o *Options) {
				o.Grace = patience
				if !tt.lives && !tt.cancel {
					o.Grace = time.Second
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var daemon []net.Conn
			for e := range m.Stream(ctx, asking("Hi")) {
				if _, ok := e.(llm.Delta); !ok || daemon != nil {
					continue
				}
				daemon = w.living(1)
				if tt.cancel {
					cancel()
				}
			}
			if !tt.lives {
				w.dead(daemon)
				return
			}
			echo := make([]byte, 1)
			daemon[0].SetDeadline(time.Now().Add(patience))
			if _, err := daemon[0].Write([]byte("?")); err != nil {
				t.Fatal(err)
			}
			if _, err := daemon[0].Read(echo); err != nil || echo[0] != '?' {
				t.Errorf("the daemon said %q, %v", echo, err)
			}
		})
	}
}
