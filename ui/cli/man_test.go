package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"parley/ui/cli/cmd/man"
	"parley/ui/cli/cmdutil"
)

// eachCommand calls f for all commands that help lists.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			eachCommand(c, f)
		}
	}
}

// TestManuals checks that each command has a page with the content of --help, and that mandoc accepts it without
// warnings.
func TestManuals(t *testing.T) {
	root := newProgram().rootCommand(nil)
	root.InitDefaultCompletionCmd()
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Log("mandoc is not on PATH: the pages are not linted")
	}
	eachCommand(root, func(cmd *cobra.Command) {
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "-"), func(t *testing.T) {
			text := (man.Options{Version: cmdutil.Version(), Date: cmdutil.BuildDate()}).Page(cmd)
			for line := range strings.SplitSeq(text, "\n") {
				if len(line) > 80 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, ".TH") {
					t.Errorf("%d bytes: %s", len(line), line)
				}
			}
			if strings.Contains(text, "\n\n") {
				t.Error("an empty line")
			}
			plain := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\fB`, "", `\fI`, "", `\fR`, "", "\n", " ").Replace(text)
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if _, usage := pflag.UnquoteUsage(f); !f.Hidden && (!strings.Contains(plain, "--"+f.Name) || !strings.Contains(strings.Join(strings.Fields(plain), " "), strings.Join(strings.Fields(ascii(usage)), " "))) {
					t.Errorf("no --%s in %s", f.Name, text)
				}
			})
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() && !strings.Contains(plain, strings.ReplaceAll(c.CommandPath(), " ", "-")+"(1)") {
					t.Errorf("no %s in %s", strings.ReplaceAll(c.CommandPath(), " ", "-"), text)
				}
			}
			if mandoc == "" {
				return
			}
			lint := exec.Command(mandoc, "-Tlint")
			lint.Stdin = strings.NewReader(text)
			if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	})
}

// ascii returns text as it appears on a page.
func ascii(text string) string {
	return strings.NewReplacer(`\`, `\e`, "…", "...", "“", `\(lq`, "”", `\(rq`, "’", `\(cq`, "→", `\(->`).Replace(text)
}

// TestManualsReplace: pages are replaced atomically, targets of links are not changed, and all users of the machine can
// read the pages.
func TestManualsReplace(t *testing.T) {
	folder := t.TempDir()
	other := filepath.Join(t.TempDir(), "mine")
	page := filepath.Join(folder, "parley.1")
	if err := errors.Join(os.WriteFile(other, []byte("mine"), 0o600), os.Symlink(other, page)); err != nil {
		t.Skip(err)
	}
	root := newProgram().rootCommand(nil)
	root.SetArgs([]string{"man", "--to", folder})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
		t.Errorf("where the link points is %.20q, %v", text, err)
	}
	info, err := os.Lstat(page)
	if err != nil || info.Mode() != 0o644 {
		t.Errorf("the page is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
