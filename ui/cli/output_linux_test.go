package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// unwritten maps each command to arguments that print something offline, in a home with one conversation; "" for
// commands that print only their help here.
var unwritten = map[string]string{
	"parley":                       `--dry-run -m demo/parley hello`,
	"parley acp":                   "", // answers an editor
	"parley completion":            `completion`,
	"parley completion bash":       `completion bash`,
	"parley completion fish":       `completion fish`,
	"parley completion powershell": `completion powershell`,
	"parley completion zsh":        `completion zsh`,
	"parley config":                `config`,
	"parley config check":          "", // reports on standard error
	"parley config edit":           "", // its editor prints
	"parley config path":           `config path`,
	"parley connect":               `connect --list`,
	"parley doctor":                `doctor`,
	"parley embed":                 "", // asks a server
	"parley help":                  `help scripts`,
	"parley image":                 `image tree --dry-run -m openai/gpt-image-2`,
	"parley keys":                  `keys --list`,
	"parley man":                   `man sessions`,
	"parley mcp":                   `mcp`,
	"parley mcp add":               "", // says so on standard error
	"parley mcp list":              `mcp list`,
	"parley mcp remove":            "",
	"parley mcp login":             "", // asks a server
	"parley mcp logout":            "", // deletes logins to servers
	"parley mcp serve":             `mcp serve --port 0`,
	"parley models":                `models --all`,
	"parley prompts":               `prompts`,
	"parley prompts edit":          `prompts edit commit`,
	"parley prompts import":        "", // reports on standard error
	"parley prompts list":          `prompts list -o json`,
	"parley prompts new":           `prompts new fresh`,
	"parley prompts show":          `prompts show commit`,
	"parley sandbox":               "", // its command prints
	"parley sessions":              `sessions`,
	"parley sessions backup":       `sessions backup -`,
	"parley sessions changes":      "", // needs tools that changed something
	"parley sessions diff":         "", // needs tools that changed something
	"parley sessions export":       `sessions export hello`,
	"parley sessions import":       `sessions import --all --dry-run`,
	"parley sessions list":         `sessions list`,
	"parley sessions prune":        "", // reports on standard error
	"parley sessions restore":      "",
	"parley sessions rm":           "",
	"parley sessions search":       `sessions search hello`,
	"parley sessions show":         `sessions show hello`,
	"parley similar":               `similar -o json`,
	"parley config list":           `config list`,
	"parley config set":            "", // says so on standard error
	"parley skills":                `skills`,
	"parley skills list":           `skills list -o json`,
	"parley skills show":           `skills show tidy`,
	"parley usage":                 `usage -o json`,
	"parley version":               `version`,
	"parley video":                 "", // asks a server
	"parley video list":            `video list -o json`,
	"parley video get":             "",
	"parley video cancel":          "",
	"parley --version":             `--version`,
	"parley -p":                    `-p -m demo/parley --ephemeral hello`,
	"parley -p -o jsonl":           `-p -m demo/parley --ephemeral -o jsonl hello`,
	"parley -r":                    `-r`,
}

// TestUnwrittenOutput: commands report once that their output cannot be written, and do not exit with 0.
func TestUnwrittenOutput(t *testing.T) {
	dir, env := manualHome(t)
	run := func(stdout *os.File, args ...string) (status int, printed, said string) {
		cmd := exec.Command(filepath.Join(filepath.Dir(dir), "bin", "parley"), args...)
		cmd.Dir, cmd.Env = dir, env
		var out, err bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &err
		if stdout != nil {
			cmd.Stdout = stdout
		}
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String(), err.String()
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { full.Close() })
	for name, content := range map[string]string{
		".config/parley/config.toml":                                        "[providers.openai]\napi_key = \"x\"\n\n[mcp.files]\ncommand = \"files-server\"\n",
		".config/parley/skills/tidy/SKILL.md":                               "---\nname: tidy\ndescription: Tidy up\n---\nTidy up.\n",
		".codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-0199.jsonl": "{}\n",
	} {
		path := filepath.Join(filepath.Dir(dir), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if status, _, said := run(nil, "-p", "-m", "demo/parley", "hello"); status != 0 {
		t.Fatalf("no conversation: %d %s", status, said)
	}
	check := func(t *testing.T, args ...string) {
		t.Parallel()
		status, _, said := run(full, args...)
		if status != 1 || strings.Count(said, "no space left on device") != 1 {
			t.Errorf("parley %s: exit status %d, it says %q", strings.Join(args, " "), status, said)
		}
	}
	var each func(cmd *cobra.Command)
	seen := map[string]bool{}
	each = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		seen[path] = true
		if _, ok := unwritten[path]; !ok {
			t.Errorf("%s is not among the tested commands", path)
		}
		t.Run(path+" --help", func(t *testing.T) { check(t, append(strings.Fields(path)[1:], "--help")...) })
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(newProgram().rootCommand(nil))
	for name, args := range unwritten {
		if args != "" {
			t.Run(name, func(t *testing.T) { check(t, strings.Fields(args)...) })
		}
		if command, _, _ := strings.Cut(name, " -"); !seen[command] {
			t.Errorf("there is no %s", command)
		}
	}
}

// TestOutputIsKept: all output of commands goes through standardOutput.
func TestOutputIsKept(t *testing.T) {
	files, err := filepath.Glob("*.go")
	for _, below := range []string{"*/*.go", "*/*/*.go"} {
		more, _ := filepath.Glob(below)
		files = append(files, more...)
	}
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	past := regexp.MustCompile(`fmt\.Print|os\.Stdout(\.Write|\b[^.])`)
	held := []string{"tui.ShowKeys(", "cmd.Stdout", "held.Stdout", "cmdutil.Failure(", "readerLeft("} // for a terminal, for other programs, and after the end of output
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			ours := strings.HasSuffix(name, "_test.go") || name == "output.go" || name == "cmdutil/table.go"
			for _, h := range held {
				ours = ours || strings.Contains(line, h)
			}
			if !ours && past.MatchString(line) {
				t.Errorf("%s:%d: %s: use Streams.Out, which keeps errors", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
