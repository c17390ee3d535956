package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/zalando/go-keyring"
)

// service is the name of parley's entries in a keyring.
const service = "parley"

// keyringTimeout bounds every call of a keyring: a locked one, or one whose bus has no listener,
// never answers.
const keyringTimeout = time.Second

// A Keyring stores secrets by provider name.
type Keyring interface {
	Set(provider, key string) error
	Get(provider string) (string, error)
	Delete(provider string) error
}

// systemKeyring is the keyring of the desktop: Secret Service, Keychain, or Credential Manager.
type systemKeyring struct{}

func (systemKeyring) Set(provider, key string) error { return keyring.Set(service, provider, key) }

func (systemKeyring) Get(provider string) (string, error) { return keyring.Get(service, provider) }

func (systemKeyring) Delete(provider string) error { return keyring.Delete(service, provider) }

// hasDesktop reports whether there may be a keyring. On Linux this requires a session bus: the
// D-Bus library would start one otherwise.
func hasDesktop(getenv func(string) string) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	case "linux":
	default:
		return false
	}
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	if getenv("WAYLAND_DISPLAY") == "" && getenv("DISPLAY") == "" {
		return false
	}
	info, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid())) // where the library looks
	return err == nil && info.Mode()&os.ModeSocket != 0
}

// errKeyringTimeout means that a keyring did not answer in time.
var errKeyringTimeout = fmt.Errorf("it did not answer within %s: it may be locked", keyringTimeout)

// bounded runs call in a goroutine and gives up after keyringTimeout or when ctx ends. If the call
// succeeds later, late, which may be nil, undoes it.
func bounded[T any](ctx context.Context, after func(time.Duration) <-chan time.Time, call func() (T, error), late func()) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	var settled atomic.Bool // set by the first of the two: the answer or the timeout
	go func() {
		value, err := call()
		if settled.CompareAndSwap(false, true) {
			done <- result{value, err}
		} else if err == nil && late != nil {
			late()
		}
	}()
	var none T
	var why error
	select {
	case r := <-done:
		return r.value, r.err
	case <-after(keyringTimeout):
		why = errKeyringTimeout
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	if !settled.CompareAndSwap(false, true) {
		r := <-done
		return r.value, r.err
	}
	return none, why
}

func (s *Store) toKeyring(ctx context.Context, provider, key string) error {
	k := s.keyring
	_, err := bounded(ctx, s.after, func() (struct{}, error) { return struct{}{}, k.Set(provider, key) },
		func() { // unless another key was stored there in the meantime
			if stored, err := k.Get(provider); err == nil && stored == key {
				_ = k.Delete(provider)
			}
		})
	return err
}

func (s *Store) fromKeyring(ctx context.Context, provider string) (string, error) {
	if s.keyring == nil {
		return "", fmt.Errorf("it is in the keyring of the desktop, which is not there in this session: %s", s.advice(provider))
	}
	k := s.keyring
	key, err := bounded(ctx, s.after, func() (string, error) { return k.Get(provider) }, nil)
	if errors.Is(err, keyring.ErrNotFound) {
		return "", nil
	}
	return key, err
}

// dropFromKeyring deletes an entry; a missing one is not an error.
func (s *Store) dropFromKeyring(ctx context.Context, provider string) error {
	if s.keyring == nil {
		return errors.New("the keyring of the desktop is not there in this session")
	}
	k := s.keyring
	_, err := bounded(ctx, s.after, func() (struct{}, error) { return struct{}{}, k.Delete(provider) }, nil)
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}
