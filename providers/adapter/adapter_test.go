package adapter_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// refusal returns a server's error about a field of a request.
func refusal(param string) error {
	return &llm.Error{Fault: llm.InvalidRequest, Status: http.StatusBadRequest, Param: param}
}

// run runs s in a stream and returns its notices and its error.
func run(t *testing.T, s adapter.Sender) (notices []string, failed error) {
	t.Helper()
	s.Options, s.Notices = adapter.Options{Provider: "mock"}.WithDefaults(), &llm.Notices{}
	for e, err := range s.Options.Produce(t.Context(), func(ctx context.Context, out *llm.Out) error {
		err := s.Do(ctx, out)
		if err == nil {
			out.Send(llm.Finish{Reason: llm.Stop})
		}
		return err
	}) {
		if n, ok := e.(llm.Notice); ok {
			notices = append(notices, n.Text)
		}
		failed = err
	}
	return notices, failed
}

func TestSenderLeavesOutWhatIsRefused(t *testing.T) {
	refused := map[string]bool{}
	var sent []int
	notices, err := run(t, adapter.Sender{
		Attempts: 5,
		Compile: func(bool) (map[string]any, []string) {
			body := map[string]any{"a": 1, "b": 2, "c": 3}
			for name := range refused {
				delete(body, name)
			}
			return body, []string{"compiled"}
		},
		Send: func(body map[string]any) error {
			sent = append(sent, len(body))
			for _, name := range []string{"a", "b"} {
				if body[name] != nil {
					return refusal(name)
				}
			}
			return nil
		},
		Downgrade: func(fault *llm.Error, _ map[string]any) (string, bool) {
			refused[fault.Param] = true
			return "without " + fault.Param, true
		},
	})
	if want := []string{"compiled", "without a", "without b"}; err != nil || !slices.Equal(notices, want) {
		t.Errorf("notices %q, %v; want %q", notices, err, want)
	}
	if want := []int{3, 2, 1}; !slices.Equal(sent, want) {
		t.Errorf("sent bodies of %v fields, want %v", sent, want)
	}
}

func TestSenderGivesUp(t *testing.T) {
	for _, test := range []struct {
		name    string
		err     error
		helps   bool // a downgrade is found
		sent    int
		explain bool
	}{
		{"nothing to leave out", refusal("a"), false, 1, true},
		{"after so many attempts", refusal("a"), true, 3, true},
		{"a final error", adapter.Final{Err: refusal("a")}, true, 1, false},
	} {
		sent, explained := 0, false
		_, err := run(t, adapter.Sender{
			Attempts:  3,
			Compile:   func(bool) (map[string]any, []string) { return map[string]any{}, nil },
			Send:      func(map[string]any) error { sent++; return test.err },
			Downgrade: func(*llm.Error, map[string]any) (string, bool) { return "", test.helps },
			Explain:   func(*llm.Error, map[string]any) { explained = true },
		})
		var fault *llm.Error
		if !errors.As(err, &fault) || fault.Param != "a" || fault.Provider != "mock" {
			t.Errorf("%s: %v", test.name, err)
		}
		if sent != test.sent || explained != test.explain {
			t.Errorf("%s: sent %d times, explained %v; want %d, %v", test.name, sent, explained, test.sent, test.explain)
		}
	}
}

// TestSenderAsksAgainAtOnce checks that ErrAgain does not count as a refusal: no downgrade is
// tried.
func TestSenderAsksAgainAtOnce(t *testing.T) {
	sent := 0
	_, err := run(t, adapter.Sender{
		Attempts: 2,
		Compile:  func(bool) (map[string]any, []string) { return map[string]any{}, nil },
		Send: func(map[string]any) error {
			if sent++; sent < 3 {
				return adapter.ErrAgain
			}
			return nil
		},
	})
	if err != nil || sent != 3 {
		t.Errorf("sent %d times, %v; want 3", sent, err)
	}
}

func TestFields(t *testing.T) {
	body := map[string]any{"a": 1}
	adapter.SetField(body, "b.c", 2)
	adapter.SetField(body, "b.d", 3)
	if v, ok := adapter.Field(body, "b.c"); v != 2 || !ok {
		t.Errorf("b.c is %v, %v", v, ok)
	}
	if _, ok := adapter.Field(body, "a.c"); ok {
		t.Error("a number has a field")
	}
	for _, field := range []string{"b.c", "b.d"} {
		if !adapter.DropField(body, field) || adapter.DropField(body, field) {
			t.Errorf("%s was not dropped once", field)
		}
	}
	if want := map[string]any{"a": 1}; !reflect.DeepEqual(body, want) {
		t.Errorf("%v is left, want %v", body, want)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, name := range []string{"read_file", "mcp.server/tool", "", long, long + "y"} {
		wire := adapter.WireName(name)
		if wire == "" || len(wire) > adapter.MaxName || adapter.CleanName(wire) != wire {
			t.Errorf("%q becomes %q", name, wire)
		}
		names := adapter.NamesOf([]llm.Tool{{Name: name}}, adapter.WireName)
		if got := names.Ours(wire); got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
	}
	if adapter.WireName(long) == adapter.WireName(long+"y") {
		t.Error("two names become one")
	}
}

func TestCallIDs(t *testing.T) {
	var ids adapter.CallIDs
	for _, test := range []struct {
		id             string
		keep, repeated bool
	}{{"a", true, false}, {"a", false, true}, {"", false, false}, {"b", true, false}} {
		own, repeated := ids.Claim(test.id, "call_")
		if (own == test.id) != test.keep || repeated != test.repeated || !test.keep && !strings.HasPrefix(own, "call_") {
			t.Errorf("%q becomes %q, repeated %v", test.id, own, repeated)
		}
	}
}

// TestRequestHeaders tests which headers contain the key, and that the user's headers take
// precedence. Only OpenAI reads of its organization.
func TestRequestHeaders(t *testing.T) {
	t.Setenv("OPENAI_ORG_ID", "org")
	t.Setenv("OPENAI_PROJECT_ID", "")
	for _, tt := range []struct {
		o    adapter.Options
		own  []string
		want map[string]string
	}{
		{adapter.Options{Key: "k"}, []string{""}, map[string]string{"Authorization": "Bearer k"}},
		{adapter.Options{Key: "k"}, []string{"x-api-key", "Authorization"}, map[string]string{"X-Api-Key": "k", "Authorization": "Bearer k"}},
		{adapter.Options{Key: "k", KeyHeader: "api-key"}, []string{"X-Goog-Api-Key"}, map[string]string{"Api-Key": "k"}},
		{adapter.Options{Key: "k", KeyHeader: "authorization"}, []string{"X-Api-Key"}, map[string]string{"Authorization": "Bearer k"}},
		{adapter.Options{Key: "k", Headers: map[string]string{"authorization": "Basic u", "x-team": "a"}}, []string{""}, map[string]string{"Authorization": "Basic u", "X-Team": "a"}},
		{adapter.Options{KeyHeader: "api-key"}, []string{""}, map[string]string{}},
		{adapter.Options{BaseURL: "https://api.openai.com:443/v1"}, nil, map[string]string{"Openai-Organization": "org"}},
		{adapter.Options{BaseURL: "https://api.openai.com.evil.example/v1"}, nil, map[string]string{}},
	} {
		if got := tt.o.RequestHeaders(tt.own...); !maps.Equal(got, tt.want) {
			t.Errorf("%+v, %q: got %q, want %q", tt.o, tt.own, got, tt.want)
		}
	}
}
