package credentials

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"
)

const canary = "sk-CANARY-0123456789abcdef"

// TestMain stores keys one after the other when TestTwoProcesses starts this binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PARLEY_TEST_STORE"); dir != "" {
		s := Open(dir, func(string) string { return "" }, false)
		for i := range 20 {
			name := fmt.Sprint(os.Getenv("PARLEY_TEST_NAME"), i)
			if _, err := s.Put(context.Background(), name, "h", "key-"+name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// open returns a store without a keyring.
func open(t *testing.T) *Store {
	return Open(filepath.Join(t.TempDir(), "parley"), func(string) string { return "" }, false)
}

// withMock returns a store with a keyring in memory.
func withMock(t *testing.T) *Store {
	keyring.MockInit()
	s := open(t)
	s.keyring = systemKeyring{}
	return s
}

func (s *Store) mustHold(t *testing.T, provider, want string) {
	t.Helper()
	if got, _, err := s.Key(t.Context(), provider); got != want || err != nil {
		t.Errorf("the key of %s is %q, %v; want %q", provider, got, err, want)
	}
}

// grep returns the files of a store that contain text.
func grep(t *testing.T, s *Store, text string) (found []string) {
	t.Helper()
	files, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(s.dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), text) {
			found = append(found, f.Name())
		}
	}
	return found
}

// A key is only in the keyring; the index, which contains no keys, says which providers have one.
func TestKeyring(t *testing.T) {
	s := withMock(t)
	where, err := s.Put(t.Context(), "anthropic", "api.anthropic.com", canary)
	if err != nil || where != "the system keyring" {
		t.Fatalf("stored in %q, %v", where, err)
	}
	if files := grep(t, s, canary); files != nil {
		t.Errorf("the key is in %q", files)
	}
	again := Open(s.dir, func(string) string { return "" }, false)
	again.keyring = silent{make(chan struct{})} // Find and List do not use it
	where, host, ok := again.Find("anthropic")
	if list, err := again.List(); where != "the system keyring" || host != "api.anthropic.com" || !ok || err != nil || len(list) != 1 || list[0] != "anthropic" {
		t.Errorf("found %q, %q, %v; listed %v, %v", where, host, ok, list, err)
	}
	if known, _, err := again.Known(); known != nil || err != nil {
		t.Errorf("without asking the keyring it knows %q, %v", known, err)
	}
	again.keyring = systemKeyring{}
	again.mustHold(t, "anthropic", canary)
	if known, _, _ := again.Known(); !slices.Equal(known, []string{canary}) {
		t.Errorf("once it was used it knows %q", known)
	}
	if was, err := again.Remove(t.Context(), "anthropic"); !was || err != nil {
		t.Errorf("removed: %v, %v", was, err)
	}
	if _, err := keyring.Get(service, "anthropic"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has it: %v", err)
	}
	if _, _, ok := s.Find("anthropic"); ok {
		t.Error("another store of the same files still finds it")
	}
	if was, err := s.Remove(t.Context(), "anthropic"); was || err != nil {
		t.Errorf("removed again: %v, %v", was, err)
	}
}

// A silent keyring never answers.
type silent struct{ till chan struct{} }

func (k silent) Set(string, string) error   { <-k.till; return nil }
func (k silent) Get(string) (string, error) { <-k.till; return "", nil }
func (k silent) Delete(string) error        { <-k.till; return nil }

// A keyring that never answers is abandoned after a second: the key goes to the file, and the
// result says why.
func TestSilentKeyring(t *testing.T) {
	s := withMock(t)
	if _, err := s.Put(t.Context(), "openai", "h", "key-openai"); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	s.after = func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	k := silent{make(chan struct{})}
	s.keyring = k
	where, err := s.Put(t.Context(), "anthropic", "h", canary)
	if err != nil || !strings.HasPrefix(where, s.Path()+" (the keyring cannot be used: it did not answer within 1s") {
		t.Errorf("stored in %q, %v", where, err)
	}
	s.mustHold(t, "anthropic", canary)
	if _, _, err := s.Key(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), "did not answer within 1s") {
		t.Errorf("read: %v", err)
	}
	if was, err := s.Remove(t.Context(), "openai"); !was || err == nil {
		t.Errorf("removed: %v, %v", was, err)
	}
	if _, _, ok := s.Find("openai"); ok {
		t.Error("a key that may still be in the keyring is still used")
	}
	if !slices.Equal(waits, []time.Duration{time.Second, time.Second, time.Second}) {
		t.Errorf("it waited for %v", waits)
	}
	close(k.till)
}

// A late keyring accepts a key after the timeout; it holds its content by then.
type late struct {
	silent
	holds string
	calls *[]string
}

func (k late) Get(string) (string, error) {
	*k.calls = append(*k.calls, "get")
	return k.holds, nil
}

func (k late) Delete(provider string) error {
	*k.calls = append(*k.calls, "delete "+provider)
	return nil
}

// A key that reached the keyring too late is removed, since nothing refers to it. A key that
// another process stored meanwhile stays.
func TestLateKeyring(t *testing.T) {
	for holds, want := range map[string][]string{"key-groq": {"get", "delete groq"}, "key-newer": {"get"}} {
		s := open(t)
		synctest.Test(t, func(t *testing.T) {
			k := late{silent{make(chan struct{})}, holds, new([]string)}
			s.keyring = k
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.toKeyring(gone, "groq", "key-groq"); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
			close(k.till)
			synctest.Wait()
			if !slices.Equal(*k.calls, want) {
				t.Errorf("it holds %s: %q, want %q", holds, *k.calls, want)
			}
		})
	}
}

// Without a keyring, keys are only in a file that only the user can read, in a private directory.
func TestFile(t *testing.T) {
	s := open(t)
	for provider, key := range map[string]string{"anthropic": canary, "a.b \"c\"": "key-odd"} {
		if where, err := s.Put(t.Context(), provider, "h", key); err != nil || where != s.Path() {
			t.Fatalf("stored in %q, %v", where, err)
		}
	}
	if where, err := s.PutCommand(t.Context(), "groq", "h", "pass show groq"); err != nil || where != s.Path() {
		t.Fatalf("stored in %q, %v", where, err)
	}
	s.mustHold(t, "anthropic", canary)
	s.mustHold(t, `a.b "c"`, "key-odd")
	if key, command, err := s.Key(t.Context(), "groq"); key != "" || command != "pass show groq" || err != nil {
		t.Errorf("the command is %q, %q, %v", key, command, err)
	}
	if files := grep(t, s, canary); !slices.Equal(files, []string{fileName}) {
		t.Errorf("the key is in %q", files)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{s.dir: 0o700, s.Path(): 0o600, s.indexPath(): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	}
	known, _, err := s.Known()
	if slices.Sort(known); err != nil || !slices.Contains(known, canary) || !slices.Contains(known, "key-odd") {
		t.Errorf("it knows %q, %v", known, err)
	}
	if _, err := s.Put(t.Context(), "anthropic", "h", "key-new"); err != nil {
		t.Fatal(err)
	}
	if files := grep(t, s, canary); files != nil {
		t.Errorf("the old key is still in %q", files)
	}
	for _, provider := range []string{"anthropic", `a.b "c"`, "groq"} {
		if was, err := s.Remove(t.Context(), provider); !was || err != nil {
			t.Errorf("removed %s: %v, %v", provider, was, err)
		}
	}
	if _, err := os.Stat(s.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file without keys stays: %v", err)
	}
}

// A key moves with its provider: it is stored in one place.
func TestMoves(t *testing.T) {
	s := open(t)
	if _, err := s.Put(t.Context(), "xai", "h", canary); err != nil {
		t.Fatal(err)
	}
	keyring.MockInit()
	s.keyring = systemKeyring{}
	if where, err := s.Put(t.Context(), "xai", "h", canary); err != nil || where != "the system keyring" {
		t.Fatalf("stored in %q, %v", where, err)
	}
	if files := grep(t, s, canary); files != nil {
		t.Errorf("the key is still in %q", files)
	}
	if _, err := s.PutCommand(t.Context(), "xai", "h", "pass show xai"); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Get(service, "xai"); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has it: %v", err)
	}
}

// A file not owned by the user is rejected with advice; a file that others can read loses their
// permissions.
func TestForeignFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are Unix's")
	}
	filled := func(t *testing.T) *Store {
		s := open(t)
		if _, err := s.Put(t.Context(), "openai", "h", canary); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, tt := range map[string]struct {
		spoil func(s *Store) error
		want  string
	}{
		"a link to elsewhere": {func(s *Store) error {
			other := filepath.Join(filepath.Dir(s.dir), "shared.toml")
			return errors.Join(os.Rename(s.Path(), other), os.Symlink(other, s.Path()))
		}, "is a link to another file, which may be shared: replace it with a regular file, or use api_key_command in config.toml"},
		"a link to nowhere": {func(s *Store) error { return errors.Join(os.Remove(s.Path()), os.Symlink("/nowhere", s.Path())) }, "is a link to another file"},
		"a directory":       {func(s *Store) error { return errors.Join(os.Remove(s.Path()), os.Mkdir(s.Path(), 0o700)) }, "is not a regular file: remove it"},
		"a pipe":            {func(s *Store) error { return errors.Join(os.Remove(s.Path()), exec.Command("mkfifo", s.Path()).Run()) }, "is not a regular file: remove it"},
		"not as parley wrote it": {func(s *Store) error { return os.WriteFile(s.Path(), []byte("\n[openai]\napi_key = "+canary), 0o600) },
			":3: this is not as parley wrote it: correct or delete it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t)
			if err := tt.spoil(s); err != nil {
				t.Fatal(err)
			}
			_, _, read := s.Key(t.Context(), "openai")
			_, stored := s.Put(t.Context(), "groq", "h", "key-groq")
			for what, err := range map[string]error{"read": read, "stored": stored} {
				if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "CANARY") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	t.Run("a link for the lock", func(t *testing.T) {
		s := filled(t)
		lock := filepath.Join(s.dir, lockName)
		if err := errors.Join(os.Remove(lock), os.Symlink(filepath.Join(t.TempDir(), "x"), lock)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "groq", "h", "k"); err == nil {
			t.Error("the lock of a stranger was taken")
		}
	})
	t.Run("open to others", func(t *testing.T) {
		s := filled(t)
		if err := errors.Join(os.Chmod(s.Path(), 0o644), os.Chmod(s.dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		if said := s.Exposed(); !strings.Contains(said, "(mode 0644) and is now closed to them (0600)") || s.Exposed() != "" {
			t.Errorf("said %q, then %q", said, s.Exposed())
		}
		s.mustHold(t, "openai", canary)
		if _, err := s.Put(t.Context(), "groq", "h", "k"); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]os.FileMode{s.dir: 0o700, s.Path(): 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", path, info.Mode(), err)
			}
		}
	})
}

// An invalid index is not overwritten, and a key without an index is not used.
func TestBrokenIndex(t *testing.T) {
	s := open(t)
	if _, err := s.Put(t.Context(), "openai", "h", canary); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.indexPath(), []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	s = Open(s.dir, func(string) string { return "" }, false)
	if _, err := s.List(); err == nil || !strings.Contains(err.Error(), "connections.toml:1: ") {
		t.Errorf("listed: %v", err)
	}
	if _, err := s.Put(t.Context(), "groq", "h", "k"); err == nil {
		t.Error("it was written over")
	}
	if _, _, ok := s.Find("openai"); ok {
		t.Error("a key was found")
	}
}

// Processes that store keys at the same time lose none of them.
func TestTwoProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t)
	var wait sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wait.Go(func() {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "PARLEY_TEST_STORE="+s.dir, "PARLEY_TEST_NAME="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	if list, err := s.List(); len(list) != 60 || err != nil {
		t.Errorf("%d entries, %v", len(list), err)
	}
	for _, name := range []string{"a", "b", "c"} {
		for i := range 20 {
			s.mustHold(t, fmt.Sprint(name, i), fmt.Sprint("key-", name, i))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".*")); left != nil {
		t.Errorf("left over: %q", left)
	}
}

// Without a home directory, storing fails with an explanation.
func TestNoHome(t *testing.T) {
	s := Open("", func(string) string { return "" }, false)
	if _, _, ok := s.Find("openai"); ok {
		t.Error("found a key")
	}
	if _, err := s.Put(t.Context(), "openai", "h", "k"); err == nil || !strings.Contains(err.Error(), "set HOME") {
		t.Errorf("stored: %v", err)
	}
}

// A keyring is used only on a desktop: the library would start a bus.
func TestHasDesktop(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is one, or none")
	}
	env := func(name string) string { return "" }
	if hasDesktop(env) {
		t.Error("without a desktop")
	}
	if !hasDesktop(func(name string) string { return map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}[name] }) {
		t.Error("with a session bus")
	}
}

// Known lists the command of a key, but not the key that it prints.
func TestKnownNamesCommands(t *testing.T) {
	s := Open(t.TempDir(), func(string) string { return "" }, false)
	if _, err := s.PutCommand(t.Context(), "mistral", "api.mistral.ai", "pass show mistral"); err != nil {
		t.Fatal(err)
	}
	keys, commands, err := s.Known()
	if len(keys) != 0 || len(commands) != 1 || commands["mistral"] != "pass show mistral" || err != nil {
		t.Errorf("got %q, %q, %v", keys, commands, err)
	}
	if where, host, ok := s.Find("mistral"); where != "api_key_command in credentials.toml" || host != "api.mistral.ai" || !ok {
		t.Errorf("found in %q for %q, %t", where, host, ok)
	}
}

// Only one of several processes refreshes an entry at a time; other operations are not blocked.
func TestLockRefresh(t *testing.T) {
	dir := t.TempDir()
	one, other := Open(dir, func(string) string { return "" }, true), Open(dir, func(string) string { return "" }, true)
	unlock, err := one.LockRefresh(t.Context(), "mcp:a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it takes too long"))
	if _, err := other.LockRefresh(ctx, "mcp:a"); err == nil || !strings.Contains(err.Error(), "it takes too long") {
		t.Errorf("got %v", err)
	}
	another, err := other.LockRefresh(t.Context(), "mcp:b/../c")
	if err != nil {
		t.Fatal(err)
	}
	another()
	if _, err := other.Put(t.Context(), "mcp:a", "", "{}"); err != nil { // storing is another lock
		t.Error(err)
	}
	unlock()
	again, err := other.LockRefresh(t.Context(), "mcp:a")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if err := os.Remove(other.Path()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Key(t.Context(), "mcp:a"); err == nil || err.Error() != "it is gone: log in again" {
		t.Errorf("got %v", err)
	}
}

// Many lookups in a row check the index once; keys stored by another process are seen after a
// moment, and at once by the holder of a lock.
func TestIndexIsLookedForOnce(t *testing.T) {
	dir := t.TempDir()
	none := func(string) string { return "" }
	s, other := Open(dir, none, false), Open(dir, none, false)
	at := time.Unix(1_800_000_000, 0)
	s.now = func() time.Time { return at }
	found := func() bool {
		_, _, ok := s.Find("groq")
		return ok
	}
	store := func() {
		if _, err := other.Put(t.Context(), "groq", "api.groq.com", "gsk-canary"); err != nil {
			t.Fatal(err)
		}
	}
	if found() {
		t.Error("a key is stored")
	}
	store()
	if at = at.Add(looksEvery - 1); found() {
		t.Error("the index was looked for again")
	}
	if at = at.Add(1); !found() {
		t.Error("what another process stored is not found")
	}
	if _, err := other.Remove(t.Context(), "groq"); err != nil {
		t.Fatal(err)
	}
	unlock, err := s.LockRefresh(t.Context(), "groq")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if found() {
		t.Error("what another process removed is found with the lock")
	}
	store()
	if at = at.Add(-time.Hour); !found() {
		t.Error("after the clock was set back it is not looked for")
	}
}
