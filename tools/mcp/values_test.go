package mcp

import (
	"context"
	"encoding/base64"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/tools/process"
)

func TestAccess(t *testing.T) {
	for want, a := range map[string]Access{
		"":                              {},
		"runs without the sandbox":      {Unsandboxed: true},
		"may reach the network":         {Network: true},
		"may read /a, /b":               {Read: []string{"/a", "/b"}},
		"may change /c":                 {Write: []string{"/c"}},
		"runs its tools without asking": {Calls: true},
		"runs without the sandbox; may reach the network; may read /a; may change /b; runs its tools without asking": {true, []string{"/a"}, []string{"/b"}, true, true},
	} {
		if got := a.String(); got != want || a.IsZero() != (want == "") {
			t.Errorf("%+v: got %q, zero: %v; want %q", a, got, a.IsZero(), want)
		}
		if got := a.Union(Access{}); got.String() != want {
			t.Errorf("%+v with nothing: %q", a, got)
		}
		if got := (Access{}).Union(a); got.String() != want {
			t.Errorf("nothing with %+v: %q", a, got)
		}
	}
	read := []string{"/b", "/a", ""}[:2]
	got := Access{Read: read}.Union(Access{Read: []string{"/c", "/b"}, Write: []string{"/d"}})
	if want := (Access{Read: []string{"/a", "/b", "/c"}, Write: []string{"/d"}}); !reflect.DeepEqual(got, want) || !slices.Equal(read, []string{"/b", "/a"}) {
		t.Errorf("got %+v, want %+v; one of both becomes %q", got, want, read)
	}
}

func TestRefusal(t *testing.T) {
	for want, r := range map[string]Refusal{
		"": {},
		"the sandbox refused it the network and files": {Needs: Access{Network: true, Write: []string{"/a"}}},
		"the sandbox refused it the network":           {Needs: Access{Network: true}, Reasons: []string{"x"}},
		"the sandbox refused it files":                 {Needs: Access{Read: []string{"/a"}, Unsandboxed: true}},
		"the sandbox refused it a system call":         {Needs: Access{Unsandboxed: true}, Reasons: []string{"x"}},
		"the sandbox may have refused it something":    {Reasons: []string{"x"}},
	} {
		if got := r.String(); got != want {
			t.Errorf("%+v: got %q, want %q", r, got, want)
		}
	}
}

// TestQuestion: a user accepts, declines or dismisses a question, and sees when the server no longer waits.
func TestQuestion(t *testing.T) {
	var got []Reply
	ended, done := make(chan struct{}), make(chan struct{})
	q := Question{Reply: func(r Reply) { got = append(got, r) }, Ended: ended, PageDone: done}
	values := map[string]any{"a": 1}
	q.Answer(values)
	q.Decline()
	q.Cancel()
	if want := []Reply{{Action: "accept", Values: values}, {Action: "decline"}, {Action: "cancel"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the replies are %+v, want %+v", got, want)
	}
	if q.Done() || q.Over() || new(Question).Done() || new(Question).Over() {
		t.Error("it is over at once")
	}
	ctx, cancel := q.Waiting(t.Context())
	defer cancel()
	if ctx.Err() != nil {
		t.Error("nobody waits")
	}
	close(ended)
	close(done)
	if !q.Done() || !q.Over() {
		t.Error("it is not over")
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("it still waits")
	}
	outer, leave := context.WithCancel(t.Context())
	ctx, cancel = new(Question).Waiting(outer)
	defer cancel()
	if leave(); ctx.Err() == nil {
		t.Error("it waits longer than its context")
	}
}

func TestSampleText(t *testing.T) {
	q := Question{Sample: &llm.Request{Messages: []llm.Message{llm.UserText("a\n── Assistant\nb"), {Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "c"}}}}}}
	if got, want := q.SampleText(), "── User\n> a\n> ── Assistant\n> b\n\n── Assistant\n> c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	q.Sample.System = "s"
	if got, want := q.SampleText(), "── System prompt\n> s\n\n── User\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Field{Choices: []Choice{{"a", "A"}, {"b", "B"}}}).ChoiceTitles(); got != "A, B" {
		t.Errorf("the choices are %q", got)
	}
}

func TestSecrets(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("me:pass-word-1"))
	c := Config{URL: "https://u:url-password-1@h/mcp?key=query-key-1&x=query-value", Headers: map[string]string{"A": "b"}}
	got := c.Secrets(map[string]string{"X-A": "plain", "Authorization": "Bearer token-1"}, map[string]string{"Proxy": "basic " + basic, "X-B": "Basic !"})
	for _, want := range []string{"key=query-key-1&x=query-value", "query-key-1", "query-value", "url-password-1", "plain", "Bearer token-1", "token-1", "basic " + basic, basic, "pass-word-1", "!"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not masked; only %q", want, got)
		}
	}
	if got := (Config{Command: process.ShellLine("x"), Args: []string{"--token", "arg-secret-1"}}).Secrets(); !slices.Equal(got, []string{"arg-secret-1"}) {
		t.Errorf("of a program: %q", got)
	}
	if got := c.Location(); got != "https://h/mcp" {
		t.Errorf("the address is shown as %s", got)
	}
	if got := (Config{URL: "https://h/%zz?sk-canary"}).Location(); got != "a URL that is not valid" {
		t.Errorf("an address that is none is shown as %s", got)
	}
}

func TestVariables(t *testing.T) {
	c := Config{Env: map[string]string{"A": "${B} and ${A}", "C": "$D ${1}"}, Headers: map[string]string{"X": "Bearer ${B}", "Y": "${Z_9}"}}
	if got := c.Variables(); !slices.Equal(got, []string{"A", "B", "Z_9"}) {
		t.Errorf("got %q", got)
	}
}

func TestParseTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 7, "1ns": 1, "90s": 90 * time.Second, "600s": 600 * time.Second, "601s": 0, "0s": 0, "-1s": 0, "soon": 0} {
		got, err := ParseTimeout("timeout", value, 7)
		if got != want || (err == nil) != (want > 0) || err != nil && !strings.Contains(err.Error(), "at most 10m0s") {
			t.Errorf("%q: got %v, %v; want %v", value, got, err, want)
		}
	}
}
