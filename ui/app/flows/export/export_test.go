package export

import (
	"strings"
	"testing"

	"parley/session/archive"
)

// For a file name alone, the extension is the format.
func TestExportByName(t *testing.T) {
	for arg, want := range map[string][2]string{
		"": {}, "md": {"md"}, "md a.html": {"md", "a.html"}, "notes.html": {"html", "notes.html"}, "./a.b.jsonl": {"jsonl", "./a.b.jsonl"},
	} {
		if as, path := splitArg(arg); as != want[0] || path != want[1] {
			t.Errorf("/export %s: %q, %q, want %q", arg, as, path, want)
		}
	}
}

// TestExportFormat: a format is known by its name and by its title in the list.
func TestExportFormat(t *testing.T) {
	for _, i := range formats() {
		for _, name := range []string{i.Value, i.Title, strings.ToLower(i.Title)} {
			if f, err := archive.New().Formats.Find(name); err != nil || f.Name != i.Value {
				t.Errorf("%q: %q, %v", name, f.Name, err)
			}
		}
	}
	if _, err := archive.New().Formats.Find("docx"); err == nil || !strings.Contains(err.Error(), "use md, html, jsonl") {
		t.Errorf("docx: %v", err)
	}
}
