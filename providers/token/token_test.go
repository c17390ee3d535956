package token

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A minter mints numbered tokens with a lifetime of an hour.
type minter struct {
	mu   sync.Mutex
	n    int
	life time.Duration
	hold chan struct{} // minting waits for it; nil does not wait
	err  error
}

func (m *minter) mint(ctx context.Context) (Token, error) {
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return Token{}, ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if m.err != nil {
		return Token{}, m.err
	}
	t := Token{Value: fmt.Sprint("token-", m.n)}
	if m.life > 0 {
		t.Expiry = time.Now().Add(m.life)
	}
	return t, nil
}

func mustGet(t *testing.T, s *Source, refused, want string) {
	t.Helper()
	if got, err := s.Get(t.Context(), refused); got != want || err != nil {
		t.Errorf("after %s: got %q, %v, want %q", time.Since(started(t)), got, err, want)
	}
}

// started returns when the clock of a synctest bubble began.
func started(*testing.T) time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// A token is used until five minutes before it expires; a short-lived one, until a quarter of its
// lifetime is left.
func TestRenewedBeforeExpiry(t *testing.T) {
	for life, renewed := range map[time.Duration]time.Duration{time.Hour: 55 * time.Minute, 4 * time.Minute: 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			m := &minter{life: life}
			s := NewSource(m.mint, nil)
			mustGet(t, s, "", "token-1")
			time.Sleep(renewed - time.Second)
			mustGet(t, s, "", "token-1")
			time.Sleep(time.Second)
			mustGet(t, s, "", "token-2")
			mustGet(t, s, "", "token-2")
		})
	}
}

// A token without an expiry is used until it is refused; a token already renewed by another request
// is not renewed again.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSource((&minter{}).mint, nil)
		mustGet(t, s, "", "token-1")
		time.Sleep(1000 * time.Hour)
		mustGet(t, s, "", "token-1")
		mustGet(t, s, "token-1", "token-2")
		mustGet(t, s, "token-1", "token-2")
		mustGet(t, s, "", "token-2")
		if got := strings.Join(s.Values(), " "); got != "token-1 token-2" {
			t.Errorf("it knows %s", got)
		}
	})
}

// For any number of waiting requests, a token is minted once, and a request that gives up does not
// affect the others. The minting ends once all have given up.
func TestOneRunForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &minter{life: time.Hour, hold: make(chan struct{})}
		s := NewSource(m.mint, nil)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { mustGet(t, s, "", "token-1") })
		}
		gone, leave := context.WithCancelCause(t.Context())
		why := errors.New("left")
		all.Go(func() {
			if _, err := s.Get(gone, ""); !errors.Is(err, why) {
				t.Errorf("one that left got %v", err)
			}
		})
		synctest.Wait()
		leave(why)
		synctest.Wait()
		close(m.hold)
		all.Wait()
		if m.n != 1 {
			t.Errorf("minted %d times", m.n)
		}

		held := &minter{hold: make(chan struct{})}
		s = NewSource(held.mint, nil)
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { _, _ = s.Get(ctx, "") })
		synctest.Wait()
		cancel()
		all.Wait()
		synctest.Wait() // synctest fails if a goroutine is left
		close(held.hold)
		mustGet(t, s, "", "token-1")
	})
}

// An error is returned to all waiting requests, and the next request tries again.
func TestFailureIsNotKept(t *testing.T) {
	m := &minter{err: errors.New("no login")}
	s := NewSource(m.mint, nil)
	if _, err := s.Get(t.Context(), ""); !errors.Is(err, m.err) {
		t.Errorf("got %v", err)
	}
	m.err = nil
	if got, err := s.Get(t.Context(), ""); got != "token-2" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A value that no header can contain is not a token.
func TestHostileToken(t *testing.T) {
	for _, value := range []string{"", "a b", "a\r\nX-Evil: 1", "a\x00", "ä"} {
		s := NewSource(func(context.Context) (Token, error) { return Token{Value: value}, nil }, nil)
		if got, err := s.Get(t.Context(), ""); err == nil || got != "" || value != "" && strings.Contains(err.Error(), value) {
			t.Errorf("%q: got %q, %v", value, got, err)
		}
	}
}

func jwt(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + ".sig"
}

func TestParse(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	local := time.Date(2026, 11, 22, 13, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		name, text, want string
		expiry           time.Time
		err              string
	}{
		{"a line", "ya29.abc\n", "ya29.abc", time.Time{}, ""},
		{"a line of several", "ya29.abc\nWARNING: old\n", "ya29.abc", time.Time{}, ""},
		{"in quotes, as az --query prints", `"abc"`, "abc", time.Time{}, ""},
		{"a JWT", jwt(`{"exp":1795352400}`), jwt(`{"exp":1795352400}`), time.Unix(1795352400, 0), ""},
		{"a JWT without an end", jwt(`{}`), jwt(`{}`), time.Time{}, ""},
		{"a JWT with nonsense", jwt(`{"exp":"soon"}`), jwt(`{"exp":"soon"}`), time.Time{}, ""},
		{"az", `{"accessToken":"abc","expiresOn":"2026-11-22 03:00:00.000000","expires_on":1795352400,"tokenType":"Bearer"}`, "abc", time.Unix(1795352400, 0), ""},
		{"an older az", `{"accessToken":"abc","expiresOn":"2026-11-22 13:00:00.000000"}`, "abc", local, ""},
		{"azd", `{"token":"abc","expiresOn":"2026-11-22T13:00:00Z"}`, "abc", at("2026-11-22T13:00:00Z"), ""},
		{"gcloud", `{"credential":{"access_token":"abc","id_token":"id","token_expiry":"2026-11-22T13:00:00Z"}}`, "abc", at("2026-11-22T13:00:00Z"), ""},
		{"OAuth", `{"access_token":"abc","expires_in":3599}`, "abc", now.Add(3599 * time.Second), ""},
		{"OAuth, as text", `{"access_token":"abc","expires_in":"3599"}`, "abc", now.Add(3599 * time.Second), ""},
		{"Kubernetes", `{"status":{"token":"abc","expirationTimestamp":"2026-11-22T13:00:00Z"}}`, "abc", at("2026-11-22T13:00:00Z"), ""},
		{"milliseconds", `{"token":"abc","expires_at":1795352400000}`, "abc", time.Unix(1795352400, 0), ""},
		{"no end that can be read", `{"token":"abc","expires_at":"NaN"}`, "abc", time.Time{}, ""},
		{"an end beyond all time", `{"token":"abc","expires_in":1e300}`, "abc", time.Time{}, ""},
		{"no token", `{"error":"secret-123"}`, "", time.Time{}, "JSON without a token"},
		{"broken", `{"token":"secret-123"`, "", time.Time{}, "JSON that cannot be read"},
		{"spaces", "secret-123 x", "", time.Time{}, "characters that no token has"},
		{"nothing", "", "", time.Time{}, "no token"},
	} {
		got, err := Parse(tt.text, now)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret-123") {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || got.Value != tt.want || !got.Expiry.Equal(tt.expiry) {
			t.Errorf("%s: %+v, %v; want %q until %s", tt.name, got, err, tt.want, tt.expiry)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"accessToken":"abc","expires_on":1795352400}`)
	f.Add(jwt(`{"exp":1795352400}`))
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text, time.Now())
		if err == nil && validateHeaderValue(got.Value) != nil {
			t.Errorf("%q gave the token %q", text, got.Value)
		}
	})
}

// A configured lifetime ends a token with no expiry or a later one.
func TestLifetime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	now := time.Unix(1795352400, 0)
	for command, want := range map[string]time.Duration{"echo abc": time.Minute, `echo '{"token":"abc","expires_in":30}'`: 30 * time.Second, `echo '{"token":"abc","expires_in":3600}'`: time.Minute} {
		got, err := MintByCommand(command, time.Minute, func() time.Time { return now })(t.Context())
		if err != nil || got.Value != "abc" || !got.Expiry.Equal(now.Add(want)) {
			t.Errorf("%s: %+v, %v", command, got, err)
		}
	}
}

// All users of a command share its token.
func TestCommandIsShared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	runs := filepath.Join(t.TempDir(), "runs")
	command := "echo run >> " + runs + "; echo shared-token"
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := Command(command, 0).Get(t.Context(), ""); got != "shared-token" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if text, _ := os.ReadFile(runs); string(text) != "run\n" {
		t.Errorf("it ran as %q", text)
	}
	if !strings.Contains(strings.Join(KnownSecrets(), " "), "shared-token") {
		t.Error("the token is not known to whoever masks texts")
	}
}

// A command that prints a key runs no program of the workspace, where a model's command may have put
// one: neither as the shell nor by its name.
func TestCommandOutsideWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script")
	}
	dir := t.TempDir()
	for _, name := range []string{"sh", "cat"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho evil"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if got, err := Run(t.Context(), "echo key | cat", time.Minute); got != "key" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
