package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A path has one name: others that Windows reads as the same file are refused, as are devices and servers,
// which are not even looked at.
func TestWindowsNames(t *testing.T) {
	f := open(t, map[string]string{"a.txt": "text\n", "sub/b.txt": "text\n", ".git/config": "[core]\n"})
	at := f.at("sub/b.txt")
	drive := filepath.VolumeName(at)
	for _, tt := range []struct{ name, want string }{ // "" if it is read
		{`sub\b.txt`, ""},
		{"sub/../a.txt", ""},
		{at, ""},
		{filepath.ToSlash(at), ""},
		{strings.ToLower(drive) + at[len(drive):], ""},
		{at[len(drive):], ""},
		{"/" + drive[:1] + filepath.ToSlash(at[len(drive):]), ""},
		{"a.txt.", "ignores dots and spaces"},
		{"a.txt ", "ignores dots and spaces"},
		{".git./config", "ignores dots and spaces"},
		{".git . /config", "ignores dots and spaces"},
		{"...", "ignores dots and spaces"},
		{"a.txt:stream", "a device or a stream"},
		{"a.txt::$DATA", "a device or a stream"},
		{".git::$INDEX_ALLOCATION/config", "a device or a stream"},
		{"NUL", "a device or a stream"},
		{"sub/con", "a device or a stream"},
		{"com1.txt", "a device or a stream"},
		{"C:a.txt", "outside the workspace"},
		{`C:\Windows\win.ini`, "outside the workspace"},
		{`\Windows\win.ini`, "outside the workspace"},
		{"/etc/passwd", "outside the workspace"},
		{`\\server\share\a.txt`, "outside the workspace"},
		{"//server/share/a.txt", "outside the workspace"},
		{`\\.\C:\a.txt`, "outside the workspace"},
		{`\\?\` + at, "outside the workspace"},
		{`\??\` + at, "outside the workspace"},
		{`\??\UNC\server\share\a.txt`, "outside the workspace"},
	} {
		if _, err := f.do("read", "path", tt.name); tt.want == "" && err != "" || !strings.Contains(err, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, err, tt.want)
		}
	}
}

// A link to a server is not followed.
func TestWindowsLinks(t *testing.T) {
	f := open(t, nil)
	_ = os.Symlink(`\\server\share`, f.at("link")) // needs a privilege, and Wine makes none
	if _, err := os.Readlink(f.at("link")); err != nil {
		t.Skip("no symbolic links")
	}
	for _, name := range []string{"link/a.txt", f.at("link/a.txt")} {
		if _, err := f.do("read", "path", name); !strings.Contains(err, "outside the workspace") {
			t.Errorf("%s: got %q", name, err)
		}
	}
}

// Paths in rules have slashes or backslashes.
func TestWindowsRules(t *testing.T) {
	for text, want := range map[string]string{
		`edit:src\**`:            "src/**",
		`edit:src/**`:            "src/**",
		`read:C:\Users\me\*.txt`: "C:/Users/me/*.txt",
		`edit:a\[1\].txt`:        `a\[1\].txt`,
		`edit:.\secrets\`:        "secrets",
		`shell:type a\*.txt`:     `type a\*.txt`,
	} {
		if r, err := ParseRule(text); err != nil || r.Match != want {
			t.Errorf("%s: got %q, %v, want %q", text, r.Match, err, want)
		}
	}
}
