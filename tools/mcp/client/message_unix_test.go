//go:build unix

package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"parley/tools/mcp"
)

// Messages that the SDK cannot read, or that parley cannot handle.
const (
	unreadableTools = oneTool + `,{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},` +
		`{"name":"either","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`
	unreadableParts = `{"content":[{"type":"text","text":"before"},{"type":"video","data":"AA=="},null,{"type":"image","data":7},{"type":"resource","resource":[]},` +
		`{"type":"text","text":"after"}],"isError":false}`
	unreadablePrompts = `{"prompts":[{"name":"p"}]}`
	unreadablePrompt  = `{"messages":[{"role":"user","content":{"type":"video"}},{"role":"user","content":{"type":"text","text":"then"}}]}`
)

// A scripted server answers each method with a result, as one of the kinds of HTTP does.
type scripted struct {
	results map[string]string
	events  string        // how an answer is written as an event; "" is JSON
	stream  chan string   // of HTTP with SSE; nil: streamable HTTP
	closed  chan struct{} // ends the stream
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && s.stream != nil {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages\n\n")
		for {
			w.(http.Flusher).Flush()
			select {
			case answer := <-s.stream:
				fmt.Fprintf(w, s.events, answer)
			case <-r.Context().Done():
				return
			case <-s.closed:
				return
			}
		}
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || s.stream != nil && r.URL.Path != "/messages" || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	result, known := s.results[m.Method]
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	if !known {
		answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
	}
	switch {
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case s.stream != nil:
		w.WriteHeader(http.StatusAccepted)
		s.stream <- answer
	case s.events != "":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, s.events, answer)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}
}

// config serves s, and returns the configuration of it.
func (s *scripted) config(t testing.TB) mcp.Config {
	s.closed = make(chan struct{})
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(s.closed) })
	return mcp.Config{URL: h.URL, Trusted: true}
}

// TestUnreadableParts checks for every transport that a part that cannot be read costs that part, not
// the result, and that tools that run as tasks only are not offered.
func TestUnreadableParts(t *testing.T) {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"f","version":"0"}}`,
		"tools/list": `{"tools":[` + unreadableTools + `]}`, "tools/call": unreadableParts, "prompts/list": unreadablePrompts, "prompts/get": unreadablePrompt,
	}
	want := head + "before\n[content of type \"video\" that cannot be read, ignored]\n[content of type \"\" that cannot be read, ignored]\n" +
		"[content of type \"image\" that cannot be read, ignored]\n[content of type \"resource\" that cannot be read, ignored]\nafter"
	for way, config := range map[string]func() mcp.Config{
		"stdio": func() mcp.Config { return self(t, "unreadable parts") },
		"JSON":  func() mcp.Config { return (&scripted{results: results}).config(t) },
		"events": func() mcp.Config {
			return (&scripted{results: results, events: ": hello\nid: 1\nevent: message\ndata: %s\n\n"}).config(t)
		},
		"CRLF": func() mcp.Config { return (&scripted{results: results, events: "data:%s\r\n\r\n"}).config(t) },
		"SSE": func() mcp.Config {
			return (&scripted{results: results, events: "data: %s\n\n", stream: make(chan string, 9)}).config(t)
		},
	} {
		t.Run(way, func(t *testing.T) {
			b := start(t, config(), mcp.Options{})
			var names []string
			for _, tool := range b.state().Tools {
				names = append(names, tool.Title)
			}
			if got := strings.Join(names, " "); got != "one either" {
				t.Fatalf("tools: got %q; %+v", got, b.state())
			}
			if out := b.call("one", ""); out.Text != want || out.Failed {
				t.Errorf("got %+v, want %q", out, want)
			}
			messages, err := b.GetPrompt(t.Context(), "s", "p", nil)
			if err != nil || len(messages) != 2 || messages[0].Text() != `[content of type "video" that cannot be read, ignored]` || messages[1].Text() != "then" {
				t.Errorf("got %+v, %v", messages, err)
			}
		})
	}
}

// TestMessageBody checks that a body keeps every event, however it arrives.
func TestMessageBody(t *testing.T) {
	note := `{"id":1,"result":{"content":[{"type":"text","text":"[content of type \"video\" that cannot be read, ignored]"}]}}`
	for _, test := range []struct{ name, in, want string }{
		{"event", "event: message\ndata: {\"id\":1,\"result\":{\"content\":[{\"type\":\"video\"}]}}\nid: 7\n\n", "event: message\nid: 7\ndata: " + note + "\n\n"},
		{"data on several lines", "data: {\"id\":1,\ndata: \"result\":{\"content\":[\ndata:{\"type\":\"video\"}]}}\n\n", "data: " + note + "\n\n"},
		{"other data on several lines", "data: a\r\ndata: b\r\n\r\n", "data: a\r\ndata: b\n\r\n"},
		{"no end", "data: x\ndata: y", "data: x\ndata: y"},
		{"an event after an endpoint", "event: endpoint\ndata: /m\n\nevent: x\n\n", "event: endpoint\ndata: /m\n\nevent: x\n\n"},
		{"a long message", "data: " + strings.Repeat("x", maxMessage+10) + "\n\ndata: y\n\n", "data: " + strings.Repeat("x", maxMessage+10) + "\n\ndata: y\n\n"},
	} {
		for _, way := range []string{"whole", "by byte"} {
			var r io.Reader = strings.NewReader(test.in)
			if way == "by byte" && len(test.in) < 1000 {
				r = iotest.OneByteReader(r)
			}
			got, err := io.ReadAll(eventBody(io.NopCloser(r)))
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %s: got %.200q, %v, want %.200q", test.name, way, got, err, test.want)
			}
		}
	}
}
