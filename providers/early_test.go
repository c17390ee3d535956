package providers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/process"
)

// Connect connects at once, and only if there is no connection. Nothing arrives at the server before the first
// request, which then uses that connection.
func TestConnect(t *testing.T) {
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
	network := wire.NewNetwork(0)
	network.Dial = func(ctx context.Context, net, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, net, server.Listener.Addr().String())
	}
	c := Config{Providers: map[string]Provider{"box": {Kind: "openai", BaseURL: "http://box.example"}}}
	e, err := Open(c, "box/m", OpenOptions{Transport: network, Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	model := e.Model.(interface{ Connect() })
	model.Connect()
	<-opened
	model.Connect()
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

var dialer net.Dialer

// Connect contacts nobody if the request would not go to a server either, or if it has no address. It looks up no key.
func TestConnectNobody(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, tt := range []struct {
		name, model string
		provider    Provider
		options     OpenOptions
		want        string // address that is dialed; "" for none
	}{
		{"a server", "box/m", Provider{Kind: "openai", BaseURL: "https://box.example/v1", APIKeyCommand: process.ShellText("touch '" + ran + "'")}, OpenOptions{}, "box.example:443"},
		{"a replay", "box/m", Provider{Kind: "openai", BaseURL: "https://box.example/v1"}, OpenOptions{Replay: struct{ Replay }{}}, ""},
		{"a dry run", "box/m", Provider{Kind: "openai", BaseURL: "https://box.example/v1"}, OpenOptions{Unsent: true}, ""},
		{"this computer", "box/m", Provider{Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}, OpenOptions{}, ""},
		{"a program", "box/m", Provider{Kind: "claude-cli", Command: process.CommandLine{Words: []string{"true"}}}, OpenOptions{}, ""},
		{"the demo", "demo", Provider{}, OpenOptions{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dialed string
				network := wire.NewNetwork(0)
				network.Dial = func(_ context.Context, _, addr string) (net.Conn, error) {
					dialed = addr
					return nil, errors.New("nobody")
				}
				tt.options.Transport, tt.options.Getenv = network, env()
				e, err := Open(Config{Providers: map[string]Provider{"box": tt.provider}}, tt.model, tt.options)
				if err != nil {
					t.Fatal(err)
				}
				e.Model.(interface{ Connect() }).Connect()
				synctest.Wait()
				if dialed != tt.want {
					t.Errorf("dialed %q, want %q", dialed, tt.want)
				}
			})
		})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command that prints the key ran")
	}
}
