//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestOpenURL: the opener is never a program of the workspace, and gets no keys.
func TestOpenURL(t *testing.T) {
	name := "xdg-open"
	if opener := openersByOS[runtime.GOOS]; opener != nil {
		name = opener[0]
	}
	base := t.TempDir()
	work, bin := filepath.Join(base, "work"), filepath.Join(base, "bin")
	theirs := filepath.Join(work, "node_modules/.bin")
	for _, folder := range []string{theirs, bin} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n{ echo \"$0\"; echo \"$1\"; pwd; /usr/bin/env; } > '"+base+"/ran'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	t.Setenv("PATH", strings.Join([]string{"node_modules/.bin", theirs, bin}, ":"))
	for name, value := range map[string]string{"DISPLAY": ":9", "XDG_CURRENT_DESKTOP": "GNOME", "LC_ALL": "C", "ANTHROPIC_API_KEY": "sk-1", "GITHUB_TOKEN": "t-1", "LD_PRELOAD_X": "x"} {
		t.Setenv(name, value)
	}
	if err := openURL(t.Context(), work, "https://a.test/"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(base, "ran"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if want := []string{filepath.Join(bin, name), "https://a.test/", "/"}; len(lines) < 3 || !slices.Equal(lines[:3], want) {
		t.Errorf("ran %q, want %q", lines, want)
	}
	for variable, want := range map[string]bool{
		"PATH=" + bin: true, "DISPLAY=:9": true, "XDG_CURRENT_DESKTOP=GNOME": true, "LC_ALL=C": true, "HOME=" + os.Getenv("HOME"): true,
		"ANTHROPIC_API_KEY=sk-1": false, "GITHUB_TOKEN=t-1": false, "LD_PRELOAD_X=x": false,
	} {
		if slices.Contains(lines, variable) != want {
			t.Errorf("it gets %s: %v, want %v", variable, !want, want)
		}
	}
	t.Setenv("PATH", theirs)
	if err := openURL(t.Context(), work, "https://a.test/"); err == nil || err.Error() != "no browser: "+name+" is not installed" {
		t.Errorf("without another opener: %v", err)
	}
}
