package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/archive"
)

// Pasted keys are masked in exported conversations, and the note names keys that could not be masked.
func TestExportMasksKeys(t *testing.T) {
	lib, dir := session.MemoryStore(), t.TempDir()
	defer lib.Close()
	log := lib.Create(session.Info{Dir: dir})
	if err := log.Put(session.Node{Seq: 1, Message: llm.UserText("my key is sk-CANARY-0123456789")}); err != nil {
		t.Fatal(err)
	}
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/one", Model: llmtest.New()}, Log: log})
	defer s.Close()
	export := exporter(archive.New().Formats, lib, dir, func() (func(string) string, error) {
		return strings.NewReplacer("sk-CANARY-0123456789", "[redacted]").Replace, errors.New("the key of providers.x is not masked:\nit failed")
	})
	written, note, err := export(s, "md", "out.md")
	if want := filepath.Join(dir, "out.md"); written != want || err != nil {
		t.Fatalf("wrote %s, %v, want %s", written, err, want)
	}
	if want := " · keys masked in 3 texts · the key of providers.x is not masked: · it failed"; note != want {
		t.Errorf("note is %q, want %q", note, want)
	}
	got, err := os.ReadFile(written)
	if text := string(got); err != nil || strings.Contains(text, "CANARY") || !strings.Contains(text, "my key is [redacted]") {
		t.Errorf("%v: %s", err, text)
	}
	if _, _, err := export(s, "pdf", ""); err == nil || !strings.HasPrefix(err.Error(), `unknown format "pdf"`) {
		t.Errorf("pdf: %v", err)
	}
}
