package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/tools/permission"
	"parley/tools/sandbox"
	"parley/ui/clip/routes"
)

// TestMain lets the examples of the manual run this program as parley.
func TestMain(m *testing.M) {
	sandbox.Register()
	permission.Register()
	routes.Register()
	if os.Getenv("PARLEY_TEST_AS_PROGRAM") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// offline lists lines of the manual that need no network, no key, and no model but the demo.
var offline = []string{
	`parley help`,
	`parley help scripts`,
	`parley sessions --help`,
	`parley models`,
	`parley models --image`,
	`parley models --video`,
	`parley models --embed`,
	`parley models sonnet --all`,
	`parley connect --list`,
	`parley doctor`,
	`parley usage`,
	`parley usage --by model --since 7d`,
	`parley usage --cache`,
	`parley video list`,
	`parley sessions list --limit 20 --page 2`,
	`parley sessions list --since 7d --folder . --model claude`,
	`parley sessions search "blue whale"`,
	`parley -p "why is the sky blue?"`,
	"parley sessions backup parley.tar.gz\nparley sessions restore parley.tar.gz",
	`parley sessions export --all --to folder`,
	`echo "why is the sky blue" | parley`,
	`parley --effort high "prove that there are infinitely many primes"`,
	`parley -n 3 "a title for a talk about whales"`,
	`parley --max-cost 0.50 "refactor this package"`,
	`parley -p --tools none "hello"`,
	`parley -p --tools read,grep "where is main?"`,
	`parley -p --allow edit "fix the typo in README.md"`,
	`parley -p --timeout 90s --max-cost 0.20 --max-turns 10 "summarize"`,
	`parley --dry-run "hello"`,
	`parley image "a tree" --dry-run`,
	"parley -p --record hello.jsonl \"hello\"\nparley -p --replay hello.jsonl \"hello\"",
	"for f in *.go; do\n  printf '%s: ' \"$f\"\n  parley -q -p --ephemeral -f \"$f\" \"what is in this file? One line.\"\ndone",
	"if parley -q -p \"hello\" > answer.txt; then",
	"id=$(parley -p -o json \"hello\" | jq -r .session)\nparley -p -r \"$id\" \"what can you do?\"\nparley -p -c \"and what else?\"",
	`parley -p -o jsonl "hello" | jq -j 'select(.type=="text").text'`,
	`git diff | parley -P commit`,
}

// TestManualRuns runs lines of the manual, and its programs in other languages, in an empty home.
func TestManualRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a shell")
	}
	all := snippets(t)
	run := func(name string, command ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, other := range []string{"jq", "git"} {
				if _, err := exec.LookPath(other); err != nil && strings.Contains(name, other+" ") {
					t.Skipf("%s is not on PATH", other)
				}
			}
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir, cmd.Env = manualHome(t)
			if command[0] != "sh" { // a program needs data, which the demo returns if asked by name
				at := slices.IndexFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "XDG_CONFIG_HOME=") })
				config := filepath.Join(strings.TrimPrefix(cmd.Env[at], "XDG_CONFIG_HOME="), "parley", "config.toml")
				if err := os.WriteFile(config, []byte(`model = "demo/parley"`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, lines := range offline {
		at := slices.IndexFunc(all, func(s snippet) bool { return !s.inline && strings.Contains(s.text, lines) || s.text == lines })
		if at < 0 {
			t.Errorf("the manual has no %q", lines)
			continue
		}
		if strings.HasSuffix(lines, "; then") {
			lines = all[at].text // the whole snippet
		}
		run(lines, "sh", "-ec", lines)
	}
	t.Logf("%d examples run", len(offline))
	for _, s := range all {
		program := map[string]string{"python": "python3", "js": "node"}[s.language]
		if path, err := exec.LookPath(program); program != "" && err == nil {
			run(s.file+" "+s.language, path, map[string]string{"python": "-c", "js": "-e"}[s.language], s.text)
		} else if program != "" {
			t.Logf("%s is not on PATH: its example in %s is not run", program, s.file)
		}
	}
}

// manualHome returns a working directory, and an environment with an empty home in which parley is this program.
func manualHome(t *testing.T) (dir string, env []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	dir, bin := filepath.Join(home, "project"), filepath.Join(home, "bin")
	for path, content := range map[string]string{
		filepath.Join(bin, "parley"):                                     "#!/bin/sh\nPARLEY_TEST_AS_PROGRAM=1 exec '" + self + "' \"$@\"\n",
		filepath.Join(dir, "main.go"):                                    "package main\n\nfunc main() {}\n",
		filepath.Join(dir, "README.md"):                                  "# Project\n",
		filepath.Join(dir, "notes.txt"):                                  "whales\nfoxes\n",
		filepath.Join(home, ".config", "parley", "prompts", "commit.md"): "Write a commit message.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		llmtest.Executable(t, path, content)
	}
	return dir, []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm", "GOCOVERDIR=" + home, "GORACE=atexit_sleep_ms=0",
		"XDG_CONFIG_HOME=" + home + "/.config", "XDG_DATA_HOME=" + home + "/.local/share", "XDG_STATE_HOME=" + home + "/.local/state", "XDG_CACHE_HOME=" + home + "/.cache",
	}
}
