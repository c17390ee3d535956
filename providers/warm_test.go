package providers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"parley/providers/llm"
	"parley/tools/process"
)

// Warm connects at once. Nothing arrives at the server before the first request, which then uses
// that connection.
func TestWarm(t *testing.T) {
	var asked atomic.Bool
	opened := make(chan struct{}, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			opened <- struct{}{}
		case http.StateActive: // a byte of a request arrived
			if !asked.Load() {
				t.Error("something is sent before the model is asked")
			}
		}
	}
	server.Start()
	defer server.Close()
	c := Config{Providers: map[string]Provider{"box": {Kind: "openai", BaseURL: server.URL}}}
	e, err := Open(c, "box/m", OpenOptions{Getenv: env()}) // with a new transport
	if err != nil {
		t.Fatal(err)
	}
	warm := e.Model.(interface{ Warm(context.Context) }).Warm
	warm(t.Context())
	<-opened
	warm(t.Context()) // nothing more
	asked.Store(true)
	for range 2 {
		if got := hold(t, e, llm.Request{Messages: []llm.Message{llm.UserText("hi")}}); got.err != nil {
			t.Error(got.err)
		}
	}
	if len(opened) > 0 {
		t.Errorf("%d more connections", len(opened))
	}
}

// An error while warming is returned by the next request. The command that prints its key is not run
// again for that request, but for the one after it.
func TestWarmWithoutKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is a shell's")
	}
	runs := filepath.Join(t.TempDir(), "runs")
	c := Config{Providers: map[string]Provider{"box": {Kind: "openai", BaseURL: "http://127.0.0.1:9/v1", APIKeyCommand: process.ShellText(fmt.Sprintf("echo run >>'%s'; exit 3", runs))}}}
	e := opens(t, c, "box/m", OpenOptions{})
	e.Model.(interface{ Warm(context.Context) }).Warm(t.Context())
	for want := 1; want <= 2; want++ {
		got := hold(t, e, llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
		text, _ := os.ReadFile(runs)
		if n := strings.Count(string(text), "run"); llm.FaultOf(got.err) != llm.Authentication || n != want {
			t.Errorf("%v, and the command ran %d times, want %d", got.err, n, want)
		}
	}
}
