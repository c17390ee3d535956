package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPages holds that every file is a page, and every page a file with a heading.
func TestPages(t *testing.T) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		p, ok := Open(strings.TrimSuffix(e.Name(), ".md"))
		if name := p.Name; !ok || !strings.HasPrefix(p.Text, "# ") || p.Title == "" {
			t.Errorf("%s: %q, %v, page %q", e.Name(), p.Title, ok, name)
		}
	}
	if _, ok := Open("../README"); ok {
		t.Error("a page that is none was opened")
	}
}

// link finds what Markdown links to; heading the lines that links go to.
var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	mark    = regexp.MustCompile(`[^\p{L}\p{N} -]`)
)

// anchors returns the names that GitHub gives the headings of a text.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(mark.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// TestLinks holds that each link between files goes somewhere: to a file, and to a heading in
// it. Addresses on the web are only looked at.
func TestLinks(t *testing.T) {
	n := 0
	for _, file := range append([]string{"../README.md", "../CHANGELOG.md"}, glob(t, "*.md")...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			n++
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			to := text
			if path != "" {
				data, err := os.ReadFile(filepath.Join(filepath.Dir(file), path))
				if err != nil {
					t.Errorf("%s links to %s: %v", file, m[1], err)
					continue
				}
				to = string(data)
			}
			if anchor != "" && !anchors(to)[anchor] {
				t.Errorf("%s links to %s, which has no such heading", file, m[1])
			}
		}
	}
	t.Logf("%d links", n)
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRooms holds that the table of rooms names each package, itself or as one of "room/…".
func TestRooms(t *testing.T) {
	table, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for _, name := range strings.Split(cells[1], ",") {
				rooms[strings.Trim(name, " `")] = true
			}
		}
	}
	for _, top := range []string{"docs", "providers", "session", "tools", "ui"} {
		if err := filepath.WalkDir("../"+top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			room := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			for in := room; !rooms[room] && !rooms[in+"/…"]; in = in[:strings.LastIndex(in, "/")] {
				if !strings.Contains(in, "/") {
					t.Errorf("the table does not name %s", room)
					break
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
