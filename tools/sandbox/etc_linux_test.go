package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Entries that not everyone may read are not granted to root either, however deep they are.
func TestReadableEtc(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("modes hold everybody but root")
	}
	dir := t.TempDir()
	for name, perm := range map[string]os.FileMode{
		"open/a": 0o644, "open/deep/b": 0o644,
		"mixed/c": 0o644, "mixed/secret": 0o600, "mixed/open/d": 0o644,
		"mixed/deep/e": 0o644, "mixed/deep/secret": 0o640, "closed/f": 0o644,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, perm); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../closed/f", filepath.Join(dir, "open/link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		left int
		want []string // those that end with a slash are only listed
	}{
		{100, []string{"", "mixed/", "mixed/c", "mixed/deep/", "mixed/deep/e", "mixed/open", "open"}},
		{0, []string{""}},
	}
	for _, test := range tests {
		var got []string
		listed, public := readableEtc(dir, test.left)
		for _, path := range listed {
			got = append(got, strings.TrimPrefix(path+"/", dir+"/"))
		}
		for _, path := range public {
			got = append(got, strings.TrimPrefix(path, dir+"/"))
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%d entries: got %q, want %q", test.left, got, test.want)
		}
	}
}
