package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
)

// Bounds of the progress reports of a call.
const (
	maxProgress = 64 << 10 // bytes of live text of one call

	progressBurst = 20 // lines at once
	progressRate  = 5  // lines per second after that
)

// request sends a request to the server, which it restarts if that failed. A request that did not reach
// the server is sent once more over a new connection. Check, if not nil, is called before each attempt.
// The error has a plain text and no secrets.
func (s *server) request(ctx context.Context, check func() error, f func(context.Context, *sdk.ClientSession) error) error {
	var stale *link
	for {
		c, err := s.connected(ctx, stale)
		if err == nil && check != nil {
			err = check()
		}
		if err != nil {
			return err
		}
		sent := c.link.requests.Load()
		if err = s.requestOver(ctx, c, f); err == nil {
			return nil
		}
		if stale != nil || ctx.Err() != nil || errors.Is(err, errNoAnswer) || c.life.Err() == nil && !c.link.isLost(err) || c.link.requests.Load() != sent {
			return errors.New(s.lockedSecrets().error(s.explain(ctx, c, err)).Error()) // hides the wrapped error
		}
		stale = c.link
		stale.drop()
	}
}

// ask returns the server's result of a session method called with params; see
// request.
func ask[P, R any](ctx context.Context, s *server, check func() error, method func(*sdk.ClientSession, context.Context, P) (R, error), params P) (result R, err error) {
	err = s.request(ctx, check, func(ctx context.Context, session *sdk.ClientSession) (err error) {
		result, err = method(session, ctx, params)
		return err
	})
	return result, err
}

// requestOver calls f over a connection within the time limit of a call, and once more after the
// user has opened the pages that it requires.
func (s *server) requestOver(ctx context.Context, c connection, f func(context.Context, *sdk.ClientSession) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer s.calls.begin()()
	defer context.AfterFunc(c.life, func() { end(errClosed) })()
	attempt := func() error {
		return s.attempt(ctx, func(ctx context.Context) error { return f(ctx, c.session) })
	}
	err := attempt()
	pages, malformed := requiredPages(err, s.lockedSecrets())
	if err = cmp.Or(malformed, err); len(pages) > 0 {
		if err = openPages(ctx, s, pages); err == nil {
			err = attempt()
		}
		if again, malformed := requiredPages(err, s.lockedSecrets()); len(again) > 0 || malformed != nil {
			err = errors.New("it requires a page to be opened, again after that was done")
		}
	}
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errClosed) {
		return errors.Join(errClosed, err)
	}
	return err
}

// explain returns the error of a request in words for a user and a model.
func (s *server) explain(ctx context.Context, c connection, err error) error {
	var scope *oauth.ScopeError
	var lost *unreachableError
	switch {
	case errors.Is(err, errNoAnswer): // also if the connection ended with it
	case errors.As(err, &scope):
		err = fmt.Errorf("%w; the user can log in again with /mcp login %s", scope, s.name)
	case errors.Is(err, oauth.ErrLogin):
		err = fmt.Errorf("%w; the user can log in with /mcp login %s", oauth.ErrLogin, s.name)
	case errors.As(err, &lost):
	case errors.Is(err, errSessionLost), errors.Is(err, sdk.ErrSessionMissing):
		err = fmt.Errorf("%w; try again once it is connected again", errSessionLost)
	case errors.Is(err, errClosed):
		err = c.link.explainEnd(errClosed)
	case c.link.isLost(err):
		select {
		case <-c.link.ended: // it has the reason
		case <-time.After(reasonTime):
		}
		err = c.link.explainEnd(errHungUp)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if errors.As(err, &lost) {
		return s.notReachable(lost.reason)
	}
	return fmt.Errorf("%s: %s", s.name, plainText(err))
}

// attempt calls f with the time limit of a call.
func (s *server) attempt(ctx context.Context, f func(context.Context) error) error {
	limit, err := mcp.ParseTimeout("timeout", s.config.Timeout, defaultCallTimeout)
	if err != nil {
		return err
	}
	timed, end := context.WithCancelCause(ctx)
	defer end(nil)
	go s.calls.watchTime(timed, limit, end)
	if err = f(timed); err != nil && timed.Err() != nil && ctx.Err() == nil {
		return context.Cause(timed)
	}
	return err
}

// watchTime ends a call that takes longer than limit. The time in which the user answers a
// question of the server does not count.
func (f *inFlight) watchTime(ctx context.Context, limit time.Duration, end context.CancelCauseFunc) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if f.asking.Load() == 0 {
			end(fmt.Errorf("%w within %s", errNoAnswer, limit))
			return
		}
		timer.Reset(limit)
	}
}

// trackProgress passes the progress of a call to progress until done is called.
func (s *server) trackProgress(progress func(string)) (token string, done func()) {
	var mu sync.Mutex
	left, pace := maxProgress, rateLimiter{burst: progressBurst, rate: progressRate}
	token = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progressFuncs[token] = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if progress == nil || !pace.take(time.Now()) {
			return
		}
		if left -= len(text); left >= 0 {
			progress(text)
		}
	}
	return token, func() {
		s.mu.Lock()
		delete(s.progressFuncs, token)
		s.mu.Unlock()
		mu.Lock()
		progress = nil
		mu.Unlock()
	}
}

// onProgress passes a progress notification to its call.
func (s *server) onProgress(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	s.mu.Lock()
	tell, secrets := s.progressFuncs[token], s.secrets()
	s.mu.Unlock()
	if tell == nil {
		return
	}
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	if p.Message != "" {
		text += ": " + secrets.sanitizeText(p.Message, 500)
	}
	tell(text + "\n")
}
