// Package token gets tokens that do not last, and renews them before they expire.
//
//	command, or application default credentials ──► mint ──► Source ──► one token for all requests
//
// A Source keeps its token in memory, for the process. However many requests want one,
// it is minted once. A token that a server refused is minted anew. Nothing is written,
// and no error repeats what was minted.
package token

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Token is what a request is authorized with.
type Token struct {
	Value  string
	Expiry time.Time // zero: it is not known
}

// mintTimeout bounds one minting: az and gcloud take seconds, and longer on a busy machine.
const mintTimeout = 30 * time.Second

// maxRenewBefore is how long before its expiry a token is renewed at most, and keptValues how many
// of the last tokens Values has.
const (
	maxRenewBefore = 5 * time.Minute
	maxValues      = 4
)

// A Source holds one token at a time and renews it. It is safe for concurrent use.
type Source struct {
	Login string // command that a user runs to have tokens again; "" if there is none

	mint func(context.Context) (Token, error)
	now  func() time.Time

	mu      sync.Mutex
	current Token
	renew   time.Time // when current is to be renewed; zero: only once it is refused
	values  []string  // the last tokens, newest last
	running *minting
}

// A minting is a request for a token that others wait for.
type minting struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int
	token   Token
	err     error
}

// NewSource returns a source whose tokens come from mint, which has 30 seconds for one. Now
// is time.Now if nil.
func NewSource(mint func(context.Context) (Token, error), now func() time.Time) *Source {
	if now == nil {
		now = time.Now
	}
	return &Source{mint: mint, now: now}
}

// Get returns a token that is good for a while, other than refused, which a server did not
// accept; "" if there is none such. It may be the same again if that is what is minted.
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

// start begins a minting in the background, so that one waiting caller may leave. The caller holds
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
		if s.running == r { // nobody waits for another one
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

// abandon ends a minting that no caller waits for any more.
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

// setCurrent makes t the current token. It is renewed when a quarter of its life is left, five
// minutes before its end at the earliest. The caller holds mu.
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

// Values returns the last tokens, for masking. A nil Source has none.
func (s *Source) Values() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values)
}

// validateHeaderValue returns an error for a token that cannot stand in a header.
func validateHeaderValue(value string) error {
	switch {
	case value == "":
		return errors.New("there is no token in what it returned")
	case strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the token contains characters that no token has")
	}
	return nil
}
