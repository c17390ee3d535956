package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailedPackagesRunAgain checks that .ci/run runs a package with a failed test once more, alone, and that only a
// second failure ends the run.
func TestFailedPackagesRunAgain(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	definitions, _, ok := strings.Cut(string(script), "\nsay \"go: ")
	if !ok {
		t.Fatal(".ci/run does not begin with its functions")
	}
	const once = `func Test(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("late", func(t *testing.T) {
		if _, err := os.Stat("tried"); err != nil {
			os.WriteFile("tried", nil, 0o600)
			t.Error("first try")
		}
	})
}
`
	packages := map[string]string{
		"good":    "func Test(t *testing.T) { _ = os.Args }\n",
		"once":    once,
		"exits":   "func Test(t *testing.T) {\n\tif _, err := os.Stat(\"tried\"); err != nil {\n\t\tos.WriteFile(\"tried\", nil, 0o600)\n\t\tos.Exit(3)\n\t}\n}\n",
		"broken":  "func Test(t *testing.T) { t.Error(\"every try\", os.Args[0]) }\n",
		"unbuilt": "func Test(t *testing.T) { os.Nothing() }\n",
	}
	for _, tt := range []struct {
		name, packages string
		fails          bool
		again          int      // packages that run again
		want           []string // the last lines
	}{
		{"good", "./good", false, 0, []string{"in all"}},
		{"once", "./good ./once", false, 1, []string{"FLAKY Test/late (fake/once)"}},
		{"two", "./exits ./once", false, 2, []string{"FLAKY a test (fake/exits)", "FLAKY Test/late (fake/once)"}},
		{"broken", "./broken ./once", true, 2, []string{"FLAKY Test/late (fake/once)"}},
		{"not built", "./unbuilt ./once", true, 0, []string{"in all"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write("go.mod", "module fake\n\ngo 1.26\n")
			for name, text := range packages {
				if strings.Contains(tt.packages, "./"+name) {
					write(name+"/x_test.go", "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"+text)
				}
			}
			write(".ci/run", definitions+"\nsay first\nV=1 tests '"+tt.packages+"' -run Test -vet=off\nsay second\n")
			out, err := exec.Command(bash, filepath.Join(dir, ".ci/run")).CombinedOutput()
			text := strings.TrimSpace(string(out))
			if (err != nil) != tt.fails {
				t.Errorf("the run ends with %v", err)
			}
			if got := strings.Count(text, "again, alone: fake/"); got != tt.again {
				t.Errorf("%d packages ran again, want %d", got, tt.again)
			}
			if tt.name == "broken" && strings.Count(text, "every try") != 2 {
				t.Error("it does not show both failures")
			}
			_, times, _ := strings.Cut(text, "== times\n")
			if got := strings.Contains(times, " s  first\n") && strings.Contains(times, " s  second\n"); got == tt.fails {
				t.Errorf("times of all parts: %v", got)
			}
			lines := strings.Split(times, "\n")
			for i, want := range tt.want {
				if got := lines[max(0, len(lines)-len(tt.want)+i)]; !strings.HasSuffix(got, want) {
					t.Errorf("it ends with %q, want %q", got, want)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}
