package instructions_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/instructions"
)

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		files []string
		want  string
	}{{nil, ""}, {[]string{"GEMINI.md"}, "GEMINI.md"}, {[]string{"GEMINI.md", "CLAUDE.md"}, "CLAUDE.md"}, {[]string{"CLAUDE.md", "AGENTS.md", "GEMINI.md"}, "AGENTS.md"}} {
		dir := t.TempDir()
		for _, name := range tt.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := instructions.Find(dir); got != "" && got != filepath.Join(dir, tt.want) || got == "" && tt.want != "" {
			t.Errorf("%q: %q, want %q", tt.files, got, tt.want)
		}
	}
}

// TestExpand: files are imported relative to the one that names them, once, and not from code.
func TestExpand(t *testing.T) {
	files := map[string]string{
		"/p/a.md": "A @b/c.md", "/p/b/c.md": "C @../a.md @d.md", "/p/b/d.md": "D", "/p/AGENTS.md": "self",
		"/p/1.md": "@2.md", "/p/2.md": "@3.md", "/p/3.md": "@4.md", "/p/4.md": "@5.md", "/p/5.md": "@6.md", "/p/6.md": "six",
	}
	read := func(path string) (string, error) {
		if !strings.HasPrefix(path, "/p/") {
			return "", instructions.ErrOutside
		}
		text, ok := files[path]
		if !ok {
			return "", os.ErrNotExist
		}
		return text, nil
	}
	in := func(name, text string) string {
		return fmt.Sprintf("\n\n<imported file=%q>\n%s\n</imported>", name, text)
	}
	tests := []struct{ name, text, want, notes string }{
		{"none", "Be kind\n", "Be kind", ""},
		{"nested, and in a circle", "See @a.md, please. @./a.md @AGENTS.md", "See @a.md, please. @./a.md @AGENTS.md" + in("a.md", "A @b/c.md") + in("b/c.md", "C @../a.md @d.md") + in("d.md", "D"), ""},
		{"in code", "`@a.md` and\n```\n@a.md\n```\n~~~~ sh\n@a.md\n~~~\n~~~~\nend", "`@a.md` and\n```\n@a.md\n```\n~~~~ sh\n@a.md\n~~~\n~~~~\nend", ""},
		{"no file", "me@example.com @someone @org/pkg @none.md", "me@example.com @someone @org/pkg @none.md", ""},
		{"outside", "@/etc/passwd @../x.md", "@/etc/passwd @../x.md", "[@/etc/passwd is not imported: it is outside the project] [@../x.md is not imported: it is outside the project]"},
		{"too deep", "@1.md", "@1.md" + in("1.md", "@2.md") + in("2.md", "@3.md") + in("3.md", "@4.md") + in("4.md", "@5.md") + in("5.md", "@6.md"), "[@6.md is not imported: files may import one another 5 deep]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, notes := instructions.Expand("/p/AGENTS.md", tt.text, read)
			if got != tt.want || strings.Join(notes, " ") != tt.notes {
				t.Errorf("got  %q, %q\nwant %q, %q", got, notes, tt.want, tt.notes)
			}
		})
	}
}

// TestExpandIsBounded: a directory that nobody trusts yet cannot have much read, however many files
// its instructions import.
func TestExpandIsBounded(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "@%d.md ", i)
	}
	reads := 0
	whole, notes := instructions.Expand("/p/AGENTS.md", text.String(), func(string) (string, error) {
		reads++
		return strings.Repeat("x", 1<<10), nil
	})
	if most := text.Len() + 2*instructions.MaxTotal; reads > 40 || len(whole) > most || len(notes) != 1 {
		t.Errorf("%d files are read, the text has %d bytes of at most %d, %d notes", reads, len(whole), most, len(notes))
	}
}
