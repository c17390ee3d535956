package providers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// named sends two requests to a model, and returns the id that was sent, the urgent notices of both
// answers, and the error of the last.
func named(t *testing.T, provider, model, status string, o OpenOptions) (id string, urgent []string, err error) {
	t.Helper()
	code, kind, answer := 200, "text/event-stream", said
	if status != "" {
		code, kind, answer = 404, "application/json", status
	}
	server := serve(t, code, kind, answer)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	o.Getenv, o.Transport = env(), transport
	c := Config{Providers: map[string]Provider{provider: {Kind: "openai", BaseURL: server.URL, APIKey: "k"}}}
	e, err := Open(c, provider+"/"+model, o)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for event, fault := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
			if n, ok := event.(llm.Notice); ok && n.Urgent {
				urgent = append(urgent, n.Text)
			}
			err = fault
		}
	}
	id, _ = server.body["model"].(string)
	return id, urgent, err
}

// TestNames checks which names stand for another model: family names, and names known to be
// retired. It is reported once, as an urgent notice, and --exact forbids it. A dated id that may
// still be served is requested as typed.
func TestNames(t *testing.T) {
	const gone = " was replaced by "
	for _, tt := range []struct {
		provider, model string
		exact           bool
		id, notice      string
	}{
		{"anthropic", "claude-3-5-sonnet-20241022", false, "claude-sonnet-5-5", gone},
		{"anthropic", "claude-3-5-sonnet-20241022", true, "claude-3-5-sonnet-20241022", ""},
		{"anthropic", "claude-sonnet-4-20250514", false, "claude-sonnet-4-20250514", ""},
		{"anthropic", "claude-opus-4-1-20250805", false, "claude-opus-4-1-20250805", ""},
		{"deepseek", "deepseek-chat", false, "deepseek-flash", gone},
		{"deepseek", "deepseek-chat", true, "deepseek-chat", ""},
		{"zai", "glm-4", false, "glm-4.7", " stands for "},
		{"openai", "gpt-4o", false, "gpt-4o", ""},
		{"mine", "deepseek-chat", false, "deepseek-chat", ""}, // another service's name
	} {
		id, urgent, err := named(t, tt.provider, tt.model, "", OpenOptions{ExactNames: tt.exact})
		var want []string
		if tt.notice != "" {
			want = []string{tt.provider + "/" + tt.model + tt.notice + tt.id + ", which is used and billed; --exact uses the name as typed"}
		}
		if err != nil || id != tt.id || !slices.Equal(urgent, want) {
			t.Errorf("%s/%s, exact %v: asked %q, told %q, %v; want %q and %q", tt.provider, tt.model, tt.exact, id, urgent, err, tt.id, want)
		}
	}
}

// TestSuccessor checks that a retired model is not replaced after the server's error, but its
// successor is suggested.
func TestSuccessor(t *testing.T) {
	for _, tt := range []struct{ model, said, hint string }{
		{"claude-sonnet-4-20250514", `{"type":"error","error":{"type":"not_found_error","message":"model: claude-sonnet-4-20250514"}}`, "Use its successor: -m anthropic/claude-sonnet-5-5"},
		{"claude-opus-4-1-20250805", `{"error":{"message":"The model claude-opus-4-1-20250805 has been retired."}}`, "Use its successor: -m anthropic/claude-opus-5-5"},
		{"claude-sonnet-5-6", `{"type":"error","error":{"type":"not_found_error","message":"model: claude-sonnet-5-6"}}`, "Run parley models"},
	} {
		id, urgent, err := named(t, "anthropic", tt.model, tt.said, OpenOptions{})
		if id != tt.model || len(urgent) > 0 || llm.FaultOf(err) != llm.ModelNotFound || !strings.Contains(llm.InShell.Hint(err), tt.hint) {
			t.Errorf("%s: asked %q, told %q, %v (%s), want the hint %q", tt.model, id, urgent, err, llm.InShell.Hint(err), tt.hint)
		}
	}
}
