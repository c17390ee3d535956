package mention

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An address after an @ is fetched and sent with the prompt. In a sentence it ends before the punctuation. Without
// access to the web it is text.
func TestMentionedAddresses(t *testing.T) {
	var asked []string
	var f Finder
	f.Fetch = func(_ context.Context, address string) (string, []byte, error) {
		asked = append(asked, address)
		if strings.Contains(address, "missing") {
			return "", nil, errors.New(address + " was not fetched: 404 Not Found")
		}
		return "notes.txt", []byte("hello\n"), nil
	}
	parts, _, err := f.Expand(t.Context(), "see (@https://example.com/notes.txt), and tell me")
	if err != nil || len(parts) != 1 || !strings.Contains(parts[0].Text, "hello") || !slices.Equal(asked, []string{"https://example.com/notes.txt"}) {
		t.Errorf("%+v, %v, asked %q", parts, err, asked)
	}
	if unfound := f.Missing("see @https://example.com/notes.txt."); unfound != "" {
		t.Errorf("not found: %q", unfound)
	}
	if _, _, err := f.Expand(t.Context(), "@https://example.com/missing"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("an address that is not there: %v", err)
	}
	f.Fetch = nil
	if f.In("@https://example.com/") {
		t.Error("mentions without a way to the web")
	}
}

// A mention attaches no hidden file outside the workspace, not even through a link in the workspace.
func TestMentionedLinks(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"work/.env", "work/a", ".ssh/id", "plain"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"work/id": "../.ssh/id", "work/keys": at(".ssh"), "work/b": "a", "work/env": ".env", "work/plain": at("plain")} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(at("work"))
	for name, want := range map[string]bool{
		"a": true, ".env": true, "b": true, "env": true, "plain": true, at("work/a"): true,
		"id": false, "keys/id": false, "./id": false, at("work/id"): false, at(".ssh/id"): false,
	} {
		if got := IsFile(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
