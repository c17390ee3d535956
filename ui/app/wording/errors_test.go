package wording

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
)

func TestErrorText(t *testing.T) {
	rejected := &llm.Error{Fault: llm.Authentication, Provider: "openai", Status: 401, Message: "Incorrect API key", ID: "req_1"}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{rejected, "Authentication failed (401, openai): Incorrect API key [request req_1]"},
		{fmt.Errorf("summary: %w", rejected), "summary: Authentication failed (401, openai): Incorrect API key [request req_1]"},
		{&llm.Error{Fault: llm.Network, Provider: "far", Err: errors.New("connection refused")}, "Network error (far): connection refused"},
		{&llm.Error{Fault: llm.Authentication, Provider: "anthropic", Message: "no API key for Anthropic", KeyMissing: true, Err: llm.ErrNoKey}, "No API key for Anthropic"},
		{&llm.Error{Fault: "new", Status: 200}, "Request failed"},
		{errors.New("the disk is full"), "The disk is full"},
		{errors.New("config.toml: line 3"), "config.toml: line 3"},
		{errors.New("-m: no such model"), "-m: no such model"},
	} {
		if got := Error(tt.err); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestRetryText(t *testing.T) {
	reset := time.Date(2026, 11, 30, 15, 1, 0, 0, time.Local)
	for _, tt := range []struct {
		retry llm.Retry
		wait  time.Duration
		want  string
	}{
		{llm.Retry{Attempt: 1, Max: 3, Fault: llm.RateLimit}, 5 * time.Second, "Rate limited · retrying in 5.0 s (1/3)"},
		{llm.Retry{Attempt: 2, Max: 3, Fault: llm.Server}, 0, "Server error · retrying (2/3)"},
		{llm.Retry{Attempt: 1, Fault: llm.Quota, Until: reset}, 2 * time.Hour, "Quota exceeded · continues at 15:01, in 2 h 0 min"},
		{llm.Retry{Attempt: 1, Fault: llm.Quota, Until: reset}, 75 * time.Hour, "Quota exceeded · continues at 2026-11-30 15:01, in 4 days"},
		{llm.Retry{Attempt: 1, Fault: llm.Quota, Until: reset}, -time.Second, "Quota exceeded · continuing"},
		{llm.Retry{Attempt: 2, Fault: llm.Network}, 0, "Network error · retrying (attempt 2)"},
	} {
		if got := Retry(tt.retry, tt.wait); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A command that a model's service refuses shows the same text as a turn, with advice for a chat.
func TestRefusalText(t *testing.T) {
	lacks := &llm.Error{
		Fault: llm.Authentication, Provider: "vertex", KeyMissing: true, Login: "gcloud auth application-default login",
		Param: "project=p", Message: "no token from Google's application default credentials: none were found",
	}
	for want, err := range map[string]error{
		"No token from Google's application default credentials: none were found · Run gcloud auth application-default login, then /connect vertex": lacks,
		"there is no provider x": errors.New("there is no provider x"),
	} {
		if got := Refusal(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got, want := ShellHint(lacks), "Run gcloud auth application-default login, then parley connect vertex --set project=p"; got != want {
		t.Errorf("in the shell %q, want %q", got, want)
	}
}

// TestHintsOfTheShell: no hint for the shell names a slash command.
func TestHintsOfTheShell(t *testing.T) {
	for _, h := range hints {
		if hint := ShellHint(h.err); strings.Contains(" "+hint, " /") || (hint == "") != (Hint(h.err) == "") {
			t.Errorf("%v: %q", h.err, hint)
		}
	}
}

// The state of saving is reported once per change.
func TestSaveText(t *testing.T) {
	full, lost := errors.New("disk full"), &session.LeaseLostError{Fork: "b2"}
	for _, tt := range []struct {
		before, err error
		want        string
		lasting     error
	}{
		{nil, nil, "", nil},
		{nil, full, "Not saved (disk full). Messages are kept in memory and saved when possible", full},
		{full, full, "", full},
		{full, nil, SavedAgain, nil},
		{full, lost, "Another parley opened this conversation; continuing in a copy, b2", nil},
		{nil, lost, "Another parley opened this conversation; continuing in a copy, b2", nil},
	} {
		if text, lasting := Saving(tt.before, tt.err); text != tt.want || lasting != tt.lasting {
			t.Errorf("%v after %v: %q and %v, want %q and %v", tt.err, tt.before, text, lasting, tt.want, tt.lasting)
		}
	}
}
