// Package credentials stores the keys of providers: in the system's keyring if there is a desktop
// with one, otherwise in a file that only the user can read.
//
//	connections.toml   which providers have a key, where, and for which host; no keys
//	keyring            service "parley", one entry for each provider
//	credentials.toml   keys where there is no keyring, and commands that print keys
//
// Only the index determines which providers have a key. The keyring is asked only for the key being
// used, when it is used, for a second at most; the file is also read only then.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Places of keys.
const (
	InKeyring = "keyring"
	InFile    = "file"
	ByCommand = "command" // the file has a command that prints the key
	ByLogin   = "login"   // nothing is stored: another program's login is used
)

// An Entry is one row of the index.
type Entry struct {
	Where string `toml:"where"` // InKeyring, InFile, ByCommand, ByLogin
	Host  string `toml:"host"`  // host that the key was stored for, the only one that receives it

	Variables map[string]string `toml:"variables,omitempty"` // of the provider's address, such as a region; not secret
}

// A Store holds the keys of one user.
type Store struct {
	dir     string
	logins  bool                                 // it holds logins, not keys of providers
	keyring Keyring                              // nil for none
	after   func(time.Duration) <-chan time.Time // time.After; for tests
	now     func() time.Time                     // time.Now; for tests

	mu        sync.Mutex // guards the fields below
	index     map[string]Entry
	version   fileVersion // version of the index that was read
	looked    time.Time   // time when it was last found to be current; zero if it may be older
	knownKeys []string    // keys read or stored in this run
}

// looksEvery is how long the index counts as current after it was checked on disk. A start uses it
// about ten times, and one check serves them all. Keys stored by another process are seen with that
// delay.
const looksEvery = 100 * time.Millisecond

// A fileVersion identifies a state of a file.
type fileVersion struct {
	changed time.Time
	size    int64
}

// Open returns the store in the directory dir, which need not exist yet; "" is a store that cannot
// store anything. With logins, it holds results of logins under names that are not providers. Open uses neither file nor
// keyring.
func Open(dir string, getenv func(string) string, logins bool) *Store {
	s := &Store{dir: dir, logins: logins, after: time.After, now: time.Now}
	if hasDesktop(getenv) {
		s.keyring = systemKeyring{}
	}
	return s
}

// advice returns a user's next step after a key is lost.
func (s *Store) advice(provider string) string {
	if s.logins {
		return "log in again"
	}
	return "run parley connect " + provider
}

// Files of a store.
const (
	indexName = "connections.toml"
	fileName  = "credentials.toml"
	lockName  = "credentials.lock"
)

func (s *Store) indexPath() string { return filepath.Join(s.dir, indexName) }

// Path returns the file that holds keys if there is no keyring.
func (s *Store) Path() string { return filepath.Join(s.dir, fileName) }

// load reads the index if it changed on disk, unless that was checked within looksEvery. The caller
// holds mu.
func (s *Store) load() error {
	if s.dir == "" {
		return nil
	}
	at := s.now()
	if since := at.Sub(s.looked); since >= 0 && since < looksEvery {
		return nil
	}
	info, err := os.Stat(s.indexPath())
	if errors.Is(err, os.ErrNotExist) {
		s.index, s.version, s.looked = nil, fileVersion{}, at
		return nil
	}
	if err != nil {
		return err
	}
	now := fileVersion{info.ModTime(), info.Size()}
	if s.index != nil && s.version == now {
		s.looked = at
		return nil
	}
	index, err := readTable[Entry](s.indexPath())
	if err != nil {
		return err
	}
	s.index, s.version, s.looked = index, now, at
	return nil
}

// Find describes where the key of a provider is stored and returns the host that may receive it. It
// uses only the index.
func (s *Store) Find(provider string) (where, host string, ok bool) {
	e, ok := s.entry(provider)
	return places[e.Where], e.Host, ok && e.Where != ByLogin
}

// Variables returns the values for a provider's address that were given when it was connected,
// using only the index; ok is false if it is not connected.
func (s *Store) Variables(provider string) (values map[string]string, ok bool) {
	e, ok := s.entry(provider)
	return e.Variables, ok
}

// PutVariables stores the user's values for a provider's address, beside its key. A provider
// without a key is then connected by another program's login.
func (s *Store) PutVariables(provider, host string, values map[string]string) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return s.changeIndex(func(all map[string]Entry) {
		e, ok := all[provider]
		if !ok {
			e = Entry{Where: ByLogin, Host: host}
		}
		e.Variables = values
		all[provider] = e
	})
}

// places describes the places of keys, for errors.
var places = map[string]string{ByLogin: "the login of another program", InKeyring: "the system keyring", InFile: fileName, ByCommand: "api_key_command in " + fileName}

// entry returns the row of a provider.
func (s *Store) entry(provider string) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.load() != nil {
		return Entry{}, false
	}
	e, ok := s.index[provider]
	return e, ok
}

// List returns the names of all providers in the index, sorted.
func (s *Store) List() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.load()
	return slices.Sorted(maps.Keys(s.index)), err
}

// Key returns the key of a provider, or the command that prints it. It asks the keyring, for a
// second at most, or reads the file.
func (s *Store) Key(ctx context.Context, provider string) (key, command string, err error) {
	e, ok := s.entry(provider)
	switch {
	case !ok:
		return "", "", fmt.Errorf("no key is stored for %s", provider)
	case e.Where == InKeyring:
		key, err = s.fromKeyring(ctx, provider)
	default:
		var all map[string]secret
		if all, err = s.readSecrets(); err == nil {
			key, command = all[provider].Key, all[provider].Command
		}
	}
	if err == nil && key == "" && command == "" {
		err = fmt.Errorf("it is gone: %s", s.advice(provider))
	}
	s.remember(key)
	return key, command, err
}

// remember adds a key to those that Known returns.
func (s *Store) remember(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != "" && !slices.Contains(s.knownKeys, key) {
		s.knownKeys = append(s.knownKeys, key)
	}
}

// Known returns the keys in the file, the keys in the keyring that were read or stored in this run,
// and the file's commands that print keys, by provider. It neither asks the keyring nor runs a
// command.
func (s *Store) Known() (keys []string, commands map[string]string, err error) {
	s.mu.Lock()
	inFile := false
	if err = s.load(); err == nil {
		keys = slices.Clone(s.knownKeys)
		for _, e := range s.index {
			inFile = inFile || e.Where == InFile || e.Where == ByCommand
		}
	}
	s.mu.Unlock()
	if !inFile {
		return keys, nil, err
	}
	all, err := s.readSecrets()
	commands = map[string]string{}
	for provider, one := range all {
		switch {
		case one.Key != "":
			keys = append(keys, one.Key)
		case one.Command != "":
			commands[provider] = one.Command
		}
	}
	return keys, commands, err
}

// Put stores the key of a provider, which is sent only to host, replacing an older key. It
// describes where the key is stored now and, if there is a keyring, why the key is not in it.
func (s *Store) Put(ctx context.Context, provider, host, key string) (where string, err error) {
	return s.put(ctx, provider, host, secret{Key: key})
}

// PutCommand stores a command that prints the key.
func (s *Store) PutCommand(ctx context.Context, provider, host, command string) (where string, err error) {
	return s.put(ctx, provider, host, secret{Command: command})
}

func (s *Store) put(ctx context.Context, provider, host string, one secret) (where string, err error) {
	unlock, err := s.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	before, was := s.entry(provider)
	if _, err := s.List(); err != nil {
		return "", err
	}
	e, aside := Entry{Where: InFile, Host: host, Variables: before.Variables}, ""
	if one.Command != "" {
		e.Where = ByCommand
	} else if s.keyring != nil {
		if err := s.toKeyring(ctx, provider, one.Key); err == nil {
			e.Where = InKeyring
		} else {
			aside = fmt.Sprintf(" (the keyring cannot be used: %v)", err)
		}
	}
	s.remember(one.Key)
	where = "the system keyring"
	if e.Where != InKeyring {
		where = s.Path() + aside
		err = s.changeSecrets(func(all map[string]secret) { all[provider] = one })
	}
	if err == nil {
		err = s.changeIndex(func(all map[string]Entry) { all[provider] = e })
	}
	if err != nil {
		return "", err
	}
	if was && before.Where != e.Where && before.Where != ByLogin {
		_ = s.removeOld(ctx, provider, before.Where, e.Where) // leftovers are not used
	}
	return where, nil
}

// removeOld removes a secret from its previous place, unless it is still stored there.
func (s *Store) removeOld(ctx context.Context, provider, was, now string) error {
	switch {
	case was == ByLogin:
		return nil
	case was == InKeyring:
		return s.dropFromKeyring(ctx, provider)
	case now == InFile || now == ByCommand:
		return nil // it was overwritten
	}
	return s.changeSecrets(func(all map[string]secret) { delete(all, provider) })
}

// Remove removes the key of a provider, and reports whether there was one. After an error of the
// keyring, an entry remains there that parley no longer uses.
func (s *Store) Remove(ctx context.Context, provider string) (bool, error) {
	e, ok := s.entry(provider)
	if !ok {
		_, err := s.List()
		return false, err
	}
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := s.changeIndex(func(all map[string]Entry) { delete(all, provider) }); err != nil {
		return false, err
	}
	if err := s.removeOld(ctx, provider, e.Where, ""); err != nil {
		return true, fmt.Errorf("it is no longer used, but is still stored: %w", err)
	}
	return true, nil
}
