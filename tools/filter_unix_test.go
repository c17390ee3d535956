//go:build unix

package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A filter reads its input in its folder, without keys, and only the beginning of what it
// prints is taken.
func TestFilter(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	dir := t.TempDir()
	for _, name := range []string{"bash", "sh", "cat"} { // a model's command may have put them there
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho evil"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, tt := range []struct{ name, command, want, wantErr string }{
		{"input", "cat", `{"a":1}`, ""},
		{"input that nobody reads", "echo x", "x\n", ""},
		{"folder", `test "$(pwd -P)" = "$(cd ` + dir + ` && pwd -P)" && echo here`, "here\n", ""},
		{"environment", `echo "[$OPENAI_API_KEY]"`, "[]\n", ""},
		{"a flood", "yes 123456789 | head -100000", strings.Repeat("123456789\n", 500)[:maxFiltered], ""},
		{"failure", "echo x; echo 'no such branch' >&2; exit 3", "", "exit status 3: no such branch"},
		{"failure without words", "exit 1", "", "exit status 1"},
		{"hostile words", `printf 'a\033]0;x\007' >&2; exit 1`, "", "exit status 1: a␛]0;x␇"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := filter(t.Context(), dir, tt.command, []byte(`{"a":1}`))
			if got != tt.want || (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("got %.60q, %v; want %.60q, %s", got, err, tt.want, tt.wantErr)
			}
		})
	}
}

// The processes of a filter end with it, whether it ended by itself or was ended.
func TestFilterLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, last string
		cancel     bool
	}{{"by itself", "", false}, {"ended", "wait", true}} {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error)
			go func() {
				_, err := filter(ctx, f.at(""), "sleep 1000 & echo $! > pid; "+tt.last, nil)
				ended <- err
			}()
			pids := f.wait("pid", 1)
			if tt.cancel {
				cancel()
			}
			if err := <-ended; errors.Is(err, context.Canceled) != tt.cancel {
				t.Errorf("error %v", err)
			}
			gone(t, pids...)
		})
	}
}

// One that takes too long says so.
func TestFilterTime(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := Filter(ctx, t.TempDir(), "sleep 1000", nil); err == nil || err.Error() != "it did not end within 2s" {
		t.Errorf("error %v", err)
	}
}
