package attach

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestFileNamesOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"A fox in the snow!":    "a-fox-in-the-snow.png",
		"../../etc/passwd":      "etc-passwd.png",
		"\x1b[31mred\x1b[0m":    "31mred-0m.png",
		"лиса":                  "image.png",
		"":                      "image.png",
		"con":                   "image-con.png",
		strings.Repeat("a", 90): strings.Repeat("a", 40) + ".png",
		"one two three four five six seven eight nine ten": "one-two-three-four-five-six-seven-eight.png",
		"-rf": "rf.png",
	} {
		if got := FileNameOf(text, "image", "image/png"); got != want {
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
