package attach

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestFileNamesOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"A fox in the snow!":    "a-fox-in-the-snow.png",
		"../../etc/passwd":      "etc-passwd.png",
		"\x1b[31mred\x1b[0m":    "31mred-0m.png",
		"лиса":                  "image.png",
		"":                      "image.png",
		"con":                   "image-con.png",
		"LPT9":                  "image-lpt9.png",
		strings.Repeat("a", 90): strings.Repeat("a", 40) + ".png",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight.png",
		"-rf": "rf.png",
	} {
		if got := SlugFileName(text, "image", "image/png"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for path, want := range map[string]string{"a.png": "a.webp", "a": "a", "a.WEBP": "a.WEBP", "dir.png/a.jpg": "dir.png/a.webp"} {
		if got := WithExtension(path, "image/webp"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := WithExtension("a.jpeg", "image/jpeg"); got != "a.jpeg" {
		t.Error(got)
	}
}

func TestSaveOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fox.png")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(func() {
			if _, err := Save(path, []byte("new")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	files, _ := os.ReadDir(filepath.Dir(path))
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if got := strings.Join(names, " "); got != "fox-2.png fox-3.png fox-4.png fox-5.png fox-6.png fox.png" {
		t.Errorf("there are %s", got)
	}
	if data, _ := os.ReadFile(path); string(data) != "mine" {
		t.Errorf("overwritten with %s", data)
	}
}

func TestSaveWhereNothingCanBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none", "a.png"), filepath.Join(file, "a.png")} {
		if err := CanSave(path); err == nil {
			t.Errorf("%s can be saved", path)
		}
		if _, err := Save(path, []byte("x")); err == nil {
			t.Errorf("%s was saved", path)
		}
	}
	if err := CanSave(filepath.Join(dir, "a.png")); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files were left", len(files))
	}
}

// A file is named when it is known what it is. Of one that could not be written nothing is
// left, and an error of the disk names the file that was to be.
func TestSaveWith(t *testing.T) {
	cut := errors.New("cut off")
	for _, test := range []struct {
		name  string
		write func(f *os.File) (string, error)
		saved string // "" if it fails
		err   error
		words string
	}{
		{"named late", func(f *os.File) (string, error) {
			_, err := f.WriteString("new")
			return filepath.Join(filepath.Dir(f.Name()), "fox.mp4"), err
		}, "fox-2.mp4", nil, ""},
		{"cut off", func(*os.File) (string, error) { return "", cut }, "", cut, "cut off"},
		{"a full disk", func(f *os.File) (string, error) {
			return "", &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
		}, "", syscall.ENOSPC, "fox: no space"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "fox.mp4"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		path, err := SaveWith(filepath.Join(dir, "fox"), test.write)
		if !errors.Is(err, test.err) || test.err == nil && filepath.Base(path) != test.saved || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: saved %s, %v", test.name, path, err)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, "fox.mp4")); string(data) != "mine" {
			t.Errorf("%s: overwritten", test.name)
		}
		files, _ := os.ReadDir(dir)
		if want := len(strings.Fields("fox.mp4 " + test.saved)); len(files) != want {
			t.Errorf("%s: %d files, want %d", test.name, len(files), want)
		}
	}
}

// The parts that killed writers left are removed when the next file is written there: not
// those that are still written, young ones, or other files.
func TestStaleParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [dir] of *")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleAge)
	var want []string
	for _, file := range []struct {
		name  string
		at    time.Time
		stays bool
	}{
		{".parley-ABCDEFGH2345.part", old, false},
		{".parley-ABCDEFGH6767.part", time.Now(), true}, // young
		{".parley-abcdefgh2345.part", old, true},        // not our pattern
		{".parley-ABCDEFGH2345.parts", old, true},
		{".parley-ABCDEFGH23456.part", old, true},
		{"ABCDEFGH2345.part", old, true},
	} {
		path := filepath.Join(dir, file.name)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, file.at, file.at)); err != nil {
			t.Fatal(err)
		}
		if file.stays {
			want = append(want, file.name)
		}
	}
	_, err := SaveWith(filepath.Join(dir, "fox.mp4"), func(writing *os.File) (string, error) { // and nothing has come for two days
		if err := os.Chtimes(writing.Name(), old, old); err != nil {
			return "", err
		}
		if _, err := Save(filepath.Join(dir, "owl.png"), []byte("new")); err != nil {
			return "", err
		}
		return filepath.Join(dir, "fox.mp4"), nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range append(want, "fox.mp4", "owl.png") {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != len(want)+2 {
		t.Errorf("%d files, want %d", len(files), len(want)+2)
	}
}
