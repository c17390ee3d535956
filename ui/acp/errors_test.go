package acp

import (
	"errors"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
)

// Failures have the code that clients know for them, and a hint if there is one.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{errors.New("broken\x1b"), codeInternal, "broken␛"},
		{&llm.Error{Fault: llm.Network, Message: "reset"}, codeInternal, "Network error: reset · Try again, or choose another model with -m"},
		{&llm.Error{Fault: llm.Authentication, Message: "bad key"}, codeAuthRequired, ""},
		{&llm.Error{Fault: llm.ModelNotFound, Message: "no such model"}, codeInvalidParams, ""},
	} {
		var got *sdk.RequestError
		if !errors.As(failed(c.err), &got) || got.Code != c.code || c.want != "" && got.Message != c.want {
			t.Errorf("%v: got %d, %q; want %d, %q", c.err, got.Code, got.Message, c.code, c.want)
		}
	}
}
