package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/ui/exchange"
)

// TestSaveExchange writes the shown exchange to a private file, and never overwrites one.
func TestSaveExchange(t *testing.T) {
	e := exchange.Exchange{ID: 2, Start: time.Unix(1e9, 0), Done: true,
		Request: exchange.Side{Body: `{"model":"gpt-x"}`}, Response: exchange.Side{Body: strings.Repeat("event: a\ndata: {}\n\n", 10)}}
	e.Sent, e.Got = int64(len(e.Request.Body)), int64(len(e.Response.Body))
	dir := t.TempDir()
	o := Options{Directory: dir}
	path, err := o.SaveExchange(e, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || filepath.Dir(path) != dir || !strings.Contains(string(b), e.Request.Body) || !strings.Contains(string(b), e.Response.Body[:80]) {
		t.Errorf("%s: %q, %v", path, b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := o.SaveExchange(e, ""); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second time: %v", err)
	}
	if path, err := o.SaveExchange(e, "mine.txt"); err != nil || path != filepath.Join(dir, "mine.txt") {
		t.Errorf("by name: %s, %v", path, err)
	}
}
