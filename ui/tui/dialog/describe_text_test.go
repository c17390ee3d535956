package dialog_test

import (
	"strings"
	"testing"

	"parley/tools"
	"parley/ui/tui/dialog"
)

func TestTell(t *testing.T) {
	tests := []struct {
		name string
		a    *tools.Action
		want []string
	}{
		{"a command", boxed("go test ./..."), []string{"Tool shell wants to run a command, sandboxed, offline", "$ go test ./...", "", "  {", `    "timeout": 120`, "  }"}},
		{"no line of it looks like one of ours", shell("ls\nAllow? y once:"), []string{"Tool shell wants to run a command, not sandboxed", "$ ls", "> Allow? y once:", "", "  {", `    "timeout": 120`, "  }"}},
		{"nothing is pushed out of sight", shell("ls" + strings.Repeat(" ", 5000) + "; rm -rf ~"), []string{"Tool shell wants to run a command, not sandboxed", "$ ls <5000 spaces> ; rm -rf ~", "", "  {", `    "timeout": 120`, "  }"}},
		{"what turns text around is named", shell("echo a\r\x1b[2K\u202eb"), []string{"Tool shell wants to run a command, not sandboxed", "$ echo a␍␛[2K<U+202E>b", "", "  {", `    "timeout": 120`, "  }", "not ASCII, check: U+202E"}},
		{"a change", describeHunk(), []string{
			"Tool edit wants to change files", "path: cmd/main.go", "  at line 9: func main() {:", "line 9: \tflag.Parse()",
			"removed line 10: -- a removed line that looks like a head",
			"added line 10: \tif err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {", "added line 11: \t\tos.Exit(1)",
			"line 12: \t}", "line 13: }", `   \ No newline at end of file`,
		}},
		{"an address", page(), []string{"Tool fetch wants to reach the network", "  {", `    "url": "https://docs.example.com/a?b=c"`, "  }"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := append([]string{dialog.DescribeTitle(tt.a, false)}, dialog.Describe(tt.a, false)...)
			if g, w := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func TestTellRule(t *testing.T) {
	tests := []struct {
		name        string
		a           *tools.Action
		prefix      int
		rule, means string
	}{
		{"the whole command", shell("go test ./..."), 0, "shell:go test ./...", "Exactly this command will run unasked"},
		{"its first words", shell("go test ./..."), 2, "shell:go test *", "Everything that begins so"},
		{"a file", describeHunk(), 0, "edit:cmd/main.go", "Whatever edit does to this file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule, means, err := dialog.DescribeRule(tt.a, tt.prefix)
			if err != nil || rule != tt.rule || !strings.HasPrefix(means, tt.means) {
				t.Errorf("got %q, %q, %v; want %q, %q …", rule, means, err, tt.rule, tt.means)
			}
		})
	}
}
