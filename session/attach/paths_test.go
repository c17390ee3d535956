package attach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	if filepath.Separator == '\\' {
		t.Skip("the paths of the table are those of Unix")
	}
	files := []string{"/a.png", "/b.png", "/my photo.png", "/it's.png", `/say "hi".png`, `/back\slash.png`, "/ü €.png", "/100%.png", "/$HOME.png", "/a.png /b.png.txt"}
	tests := []struct {
		name, pasted string
		want         []string
	}{
		{"one", "/a.png", []string{"/a.png"}},
		{"a space behind, as most terminals type", "/a.png ", []string{"/a.png"}},
		{"two with a space", "/a.png /b.png", []string{"/a.png", "/b.png"}},
		{"two lines", "/a.png\n/b.png\n", []string{"/a.png", "/b.png"}},
		{"two lines of Windows", "/a.png\r\n/b.png\r\n", []string{"/a.png", "/b.png"}},
		{"twice the same", "/a.png /a.png", []string{"/a.png"}},
		{"bare, with a space", "/my photo.png", []string{"/my photo.png"}},
		{"backslash", `/my\ photo.png`, []string{"/my photo.png"}},
		{"single quotes", `'/my photo.png'`, []string{"/my photo.png"}},
		{"double quotes", `"/my photo.png" '/a.png'`, []string{"/my photo.png", "/a.png"}},
		{"a quote as shells quote it", `'/it'\''s.png'`, []string{"/it's.png"}},
		{"a quote in the other quotes", `"/it's.png"`, []string{"/it's.png"}},
		{"a bare quote", `/it's.png`, []string{"/it's.png"}},
		{"escapes in double quotes", `"/say \"hi\".png" "/\$HOME.png"`, []string{`/say "hi".png`, "/$HOME.png"}},
		{"a backslash in single quotes", `'/back\slash.png'`, []string{`/back\slash.png`}},
		{"a backslash escaped", `/back\\slash.png`, []string{`/back\slash.png`}},
		{"url", "file:///my%20photo.png", []string{"/my photo.png"}},
		{"url of this machine", "file://localhost/a.png", []string{"/a.png"}},
		{"urls of a file manager", "file:///a.png\r\nfile:///%C3%BC%20%E2%82%AC.png\r\n", []string{"/a.png", "/ü €.png"}},
		{"url in quotes", "'file:///100%25.png'", []string{"/100%.png"}},
		{"characters beyond ASCII", `/ü\ €.png`, []string{"/ü €.png"}},
		{"the whole line is a file", "/a.png /b.png.txt", []string{"/a.png /b.png.txt"}},

		{"nothing", "", nil},
		{"blank", " \n\t", nil},
		{"prose", "look at /a.png", nil},
		{"prose behind", "/a.png please", nil},
		{"not there", "/none.png", nil},
		{"one of two not there", "/a.png /none.png", nil},
		{"a command", "/help", nil},
		{"relative", "a.png", nil},
		{"relative in quotes", "'a.png'", nil},
		{"a quote that stays open", "'/a.png", nil},
		{"another machine", "file://server/a.png", nil},
		{"web", "https://example.com/a.png", nil},
		{"a bad url", "file:///%zz", nil},
		{"a hidden end", "/a.png\x00", nil},
		{"a hidden end in a url", "file:///a.png%00", nil},
		{"too many", strings.Repeat("/a.png ", maxPaths+1), nil},
		{"too long", "/a.png" + strings.Repeat(" ", maxPasted), nil},
	}
	for _, tt := range tests {
		asked := func(path string) bool { return slices.Contains(files, path) }
		if got := paths(tt.pasted, asked); !slices.Equal(got, tt.want) {
			t.Errorf("%s: paths(%q) = %q, want %q", tt.name, tt.pasted, got, tt.want)
		}
	}
}

// Paths asks the file system, and takes regular files alone.
func TestPathsOnDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a b.png")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := DroppedPaths("'" + path + "'"); !slices.Equal(got, []string{path}) {
		t.Errorf("got %q", got)
	}
	for _, pasted := range []string{dir, path + "x", "'" + path + "' " + dir} {
		if got := DroppedPaths(pasted); got != nil {
			t.Errorf("%q: got %q", pasted, got)
		}
	}
}

// However a path is quoted, it comes back; whatever else is pasted, only what is
// absolute and was asked for does.
func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"/a.png", "/my photo.png", "it's", `"\`, "file:///a%20b\n/c", "'/a' \"/b\" /c\\ d", "\x00", "\xff", "/\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		asked := map[string]bool{}
		for _, path := range paths(text, func(path string) bool { asked[path] = true; return true }) {
			if !filepath.IsAbs(path) || !asked[path] {
				t.Errorf("%q: %q was not asked for, or is not absolute", text, path)
			}
		}
		if filepath.Separator == '\\' || strings.ContainsAny(text, "\x00\n") || len(text) > 1000 || strings.ToValidUTF8(text, "") != text {
			return
		}
		path := "/" + text
		quoted := "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
		if got := paths(quoted, func(p string) bool { return p == path }); !slices.Equal(got, []string{path}) {
			t.Errorf("%q: got %q, want %q", quoted, got, path)
		}
	})
}
