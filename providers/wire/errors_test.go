package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/wire"
)

// TestNamed: all errors get the provider's name, and the original error is unchanged.
func TestNamed(t *testing.T) {
	o := wire.Options{Provider: "acme", URL: "https://user:secret@acme.example/v1?key=secret", Key: "ACME_API_KEY"}
	quota := &llm.Error{Fault: llm.Quota, Message: "no money"}
	for _, test := range []struct {
		in   error
		want llm.Error
	}{
		{quota, llm.Error{Fault: llm.Quota, Message: "no money"}},
		{errors.Join(io.ErrUnexpectedEOF, quota), llm.Error{Fault: llm.Quota, Message: "no money"}},
		{io.ErrUnexpectedEOF, llm.Error{Fault: llm.Network, Err: io.ErrUnexpectedEOF}},
	} {
		test.want.Provider, test.want.URL, test.want.Key = "acme", "https://acme.example/v1", "ACME_API_KEY"
		if got := wire.WithProvider(test.in, o); *got != test.want {
			t.Errorf("%v: %+v, want %+v", test.in, *got, test.want)
		}
	}
	if quota.Provider != "" {
		t.Errorf("the error that came was changed: %+v", *quota)
	}
}

// TestFailed reads errors in responses with status 200.
func TestFailed(t *testing.T) {
	for in, want := range map[string]llm.Error{
		`{"error":{"type":"rate_limit_error","message":"Slow down"}}`: {Fault: llm.RateLimit, Message: "Slow down"},
		`{"what":"ever"}`: {Fault: llm.Server, Message: `{"what":"ever"}`},
	} {
		if got := wire.BodyError([]byte(in)); got.Fault != want.Fault || got.Message != want.Message {
			t.Errorf("%s: %+v, want %+v", in, *got, want)
		}
	}
}

// TestUnreadable distinguishes truncated JSON from data that is not JSON.
func TestUnreadable(t *testing.T) {
	for in, want := range map[string]llm.Fault{
		`{"a":`: llm.Network, `"a`: llm.Network, `{"a":1`: llm.Network,
		`{oops`: llm.Unknown, `{}}`: llm.Unknown, "\x80": llm.Unknown,
	} {
		var v any
		err := wire.DecodeError([]byte(in), json.Unmarshal([]byte(in), &v))
		if llm.FaultOf(err) != want || (err == wire.ErrInterrupted) != (want == llm.Network) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// TestExcerpt truncates between characters. Binary data once made it search for a rune start before
// the beginning of the text.
func TestExcerpt(t *testing.T) {
	for in, want := range map[string]string{
		"short":                            "short",
		strings.Repeat("a", 300):           strings.Repeat("a", 300),
		strings.Repeat("a", 301):           strings.Repeat("a", 300) + "…",
		strings.Repeat("a", 299) + "€ and": strings.Repeat("a", 299) + "…",
		strings.Repeat("\x80", 400):        strings.Repeat("\x80", 296) + "…",
	} {
		if got := wire.Excerpt(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
