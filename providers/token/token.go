// Package token gets short-lived tokens, and renews them before they expire.
//
//	command, or application default credentials ──► mint ──► Source ──► one token for all requests
//
// A Source keeps its token in memory, for the process. It mints one token for any number of
// requests, and a new one after a server refused it. Nothing is written to disk, and no error
// contains a minted token.
package token

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Token authorizes requests.
type Token struct {
	Value  string
	Expiry time.Time // zero if unknown
}

// mintTimeout bounds one minting: az and gcloud take seconds, and longer on a busy machine.
const mintTimeout = 30 * time.Second

// maxRenewBefore is the longest time before its expiry at which a token is renewed, and keptValues
// the number of latest tokens that Values returns.
const (
	maxRenewBefore = 5 * time.Minute
	maxValues      = 4
)

// A Source holds one token at a time and renews it. It is safe for concurrent use.
type Source struct {
	Login string // command with which a user logs in again; "" for none

	mint func(context.Context) (Token, error)
	now  func() time.Time

	mu      sync.Mutex
	current Token
	renew   time.Time // time to renew current; zero if only after a refusal
	values  []string  // latest tokens, newest last
	running *minting
}

// A minting is a request for a token that other callers wait for.
type minting struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	token   Token
	err     error
}

// NewSource returns a source whose tokens come from mint, which has 30 seconds for each. A nil now
// is time.Now.
func NewSource(mint func(context.Context) (Token, error), now func() time.Time) *Source {
	if now == nil {
		now = time.Now
	}
	return &Source{mint: mint, now: now}
}

// Get returns a token that has not expired. Refused is a token that a server rejected; "" for none.
// Get does not return it from memory, but a newly minted token may be the same.
func (s *Source) Get(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	if refused != "" && s.current.Value == refused {
		s.current = Token{}
	}
	if s.current.Value != "" && (s.renew.IsZero() || s.now().Before(s.renew)) {
		defer s.mu.Unlock()
		return s.current.Value, nil
	}
	r := s.running
	if r == nil {
		r = s.start(ctx)
	}
	r.waiting++
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.token.Value, r.err
	case <-ctx.Done():
		s.abandon(r)
		return "", context.Cause(ctx)
	}
}

// start starts a minting in the background, so that a waiting caller can give up. The caller holds
// mu.
func (s *Source) start(ctx context.Context) *minting {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mintTimeout)
	r := &minting{done: make(chan struct{}), cancel: cancel}
	s.running = r
	go func() {
		defer cancel()
		minted, err := s.mint(ctx)
		if err == nil {
			err = validateHeaderValue(minted.Value)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running == r { // otherwise it was abandoned
			s.running = nil
		}
		if r.err = err; err == nil {
			r.token = minted
			s.setCurrent(minted)
		}
		close(r.done)
	}()
	return r
}

// abandon removes a waiting caller from a minting, and cancels the minting after the last one.
func (s *Source) abandon(r *minting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return
	}
	r.cancel()
	if s.running == r {
		s.running = nil
	}
}

// setCurrent makes t the current token. It is renewed when a quarter of its lifetime is left,
// but at most five minutes before its expiry. The caller holds mu.
func (s *Source) setCurrent(t Token) {
	s.current, s.renew = t, time.Time{}
	if !t.Expiry.IsZero() {
		s.renew = t.Expiry.Add(-max(min(t.Expiry.Sub(s.now())/4, maxRenewBefore), 0))
	}
	if !slices.Contains(s.values, t.Value) {
		s.values = append(s.values, t.Value)
	}
	s.values = s.values[max(len(s.values)-maxValues, 0):]
}

// Values returns the latest tokens, for masking; none for a nil Source.
func (s *Source) Values() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// validateHeaderValue returns an error for a token that is not a valid header value.
func validateHeaderValue(value string) error {
	switch {
	case value == "":
		return errors.New("there is no token in what it returned")
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token contains characters that no token has")
	}
	return nil
}
