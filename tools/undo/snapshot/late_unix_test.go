//go:build unix

package snapshot

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A shortContext ends once it was asked so many times whether it has.
type shortContext struct {
	context.Context
	left atomic.Int64
}

func (c *shortContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func shortly(n int64) context.Context {
	c := &shortContext{Context: context.Background()}
	c.left.Store(n)
	return c
}

// A snapshot ends soon after its deadline, also in a directory of many files and while files are
// read, and says so; what it did not see is not taken for something that is not there.
func TestLateSnapshot(t *testing.T) {
	dir := fastDir(t)
	const n = 2000
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprint("f", i)), fmt.Sprint("content ", i))
	}
	w, err := openStore(filepath.Join(fastDir(t), "undo")).workspaceAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.snapshot(shortly(3), nil)
	if err != nil || len(l.entries) > 3*clockInterval || l.partial != fmt.Sprintf("only %d files were looked at in time", len(l.entries)) || l.listedDirs["."] {
		t.Errorf("%d files, whole %v, told %q: %v", len(l.entries), l.listedDirs["."], l.partial, err)
	}
	if l, err = w.snapshot(context.Background(), nil); err != nil || len(l.entries) != n || l.partial != "" {
		t.Fatalf("%d files, told %q: %v", len(l.entries), l.partial, err)
	}
	w.storeContents(shortly(100), l)
	kept := 0
	for _, e := range l.entries {
		if e.hasContent {
			kept++
		}
	}
	if kept == 0 || kept > 100 || l.partial != fmt.Sprintf("%d of its %d files were not reached in time", n-kept, n) {
		t.Errorf("%d are kept, told %q", kept, l.partial)
	}
	if l, err = w.snapshot(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	w.storeContents(shortly(0), l)
	if !strings.HasPrefix(l.partial, fmt.Sprint(n, " of its ", n)) {
		t.Errorf("told %q", l.partial)
	}
}
