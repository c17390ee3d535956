package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/token"
	"parley/providers/wire"
)

// TestTokens: a request has a token that lasts, and is sent again with another one only if the server says that the first
// has expired. No error has a token in it, and no other host gets one.
func TestTokens(t *testing.T) {
	const url = "https://acme.example/v1/chat"
	for _, tt := range []struct {
		name, url, header string
		same              bool // there is no other token
		unrepeatable      bool // the body can be read only once
		status            int  // for the first token
		answer            string
		sent              string // the tokens, and bodies
		fault             llm.Fault
	}{
		{name: "accepted", url: url, status: 200, sent: "Authorization: Bearer token-1 {}"},
		{name: "in a header of its own", url: url, header: "Api-Key", status: 200, sent: "Api-Key: token-1 {}"},
		{name: "in the usual one, named", url: url, header: "authorization", status: 200, sent: "Authorization: Bearer token-1 {}"},
		{name: "another host", url: "https://evil.example/v1/chat", status: 200, sent: "{}"},
		{name: "another scheme", url: "http://acme.example/v1/chat", status: 200, sent: "{}"},
		{name: "rejected", url: url, status: 401, sent: "Authorization: Bearer token-1 {}, Authorization: Bearer token-2 {}"},
		{name: "expired at Amazon", url: url, status: 403, answer: `{"message":"The security token token-1 has expired"}`, sent: "Authorization: Bearer token-1 {}, Authorization: Bearer token-2 {}"},
		{name: "forbidden", url: url, status: 403, answer: `{"message":"not for token-1"}`, sent: "Authorization: Bearer token-1 {}", fault: llm.Permission},
		{name: "rejected, and there is no other", url: url, same: true, status: 401, answer: `{"message":"wrong token-1"}`, sent: "Authorization: Bearer token-1 {}", fault: llm.Authentication},
		{name: "rejected, and the body is gone", url: url, unrepeatable: true, status: 401, sent: "Authorization: Bearer token-1 {}", fault: llm.Authentication},
	} {
		minted, sent := 0, []string{}
		client := wire.Client(wire.Options{
			Provider: "acme", URL: "https://acme.example/v1", Key: "a login", TokenHeader: tt.header,
			Token: token.NewSource(func(context.Context) (token.Token, error) {
				if minted++; tt.same {
					minted = 1
				}
				return token.Token{Value: fmt.Sprint("token-", minted)}, nil
			}, nil),
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				line := ""
				for _, name := range []string{"Authorization", "Api-Key"} {
					if value := r.Header.Get(name); value != "" {
						line += name + ": " + value + " "
					}
				}
				body, _ := io.ReadAll(r.Body)
				sent = append(sent, line+string(body))
				status := tt.status
				if len(sent) > 1 {
					status = 200
				}
				return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(tt.answer + " ")), Request: r}, nil
			}),
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tt.url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if tt.unrepeatable {
			req.GetBody = nil
		}
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		if got := strings.Join(sent, ", "); got != tt.sent || (err == nil) != (tt.fault == "") || err != nil && llm.FaultOf(err) != tt.fault {
			t.Errorf("%s: sent %s, %v; want %s, %s", tt.name, got, err, tt.sent, tt.fault)
		}
		if err != nil && strings.Contains(err.Error(), "token-1") {
			t.Errorf("%s: the token is in %v", tt.name, err)
		}
	}
}

// TestNoToken: without a token nothing is sent, and the user reads why, and how to log in.
func TestNoToken(t *testing.T) {
	source := token.NewSource(func(context.Context) (token.Token, error) { return token.Token{}, errors.New("not logged in") }, nil)
	source.Login = "acme login"
	client := wire.Client(wire.Options{Provider: "acme", URL: "https://acme.example", Key: "acme-token", Token: source, Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("a request was sent")
		return nil, io.EOF
	})})
	get := func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://acme.example/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		return err
	}
	var e *llm.Error
	if err := get(t.Context()); !errors.As(err, &e) || e.Fault != llm.Authentication || e.Login != "acme login" || e.Provider != "acme" || !strings.Contains(e.Message, "no token from acme-token: ") || !strings.Contains(e.Message, "not logged in") {
		t.Errorf("got %+v", err)
	}
	wrong := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(wrong)
	if err := get(ctx); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}
