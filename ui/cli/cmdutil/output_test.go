package cmdutil_test

import (
	"errors"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"

	"parley/ui/cli/cmdutil"
	"parley/ui/theme"
)

// -o takes one of the formats; --json is jsonl.
func TestFormatFlags(t *testing.T) {
	for _, tt := range []struct {
		args, formats []string
		want          string // or the beginning of the error
	}{
		{nil, nil, "text"},
		{nil, []string{"csv", "jsonl"}, "csv"},
		{[]string{"-o", "json"}, nil, "json"},
		{[]string{"--output=csv"}, []string{"jsonl", "csv"}, "csv"},
		{[]string{"-o", "xml"}, nil, `invalid argument "xml" for "-o, --output" flag: use one of text, json, jsonl`},
		{[]string{"--json"}, nil, "jsonl"},
		{[]string{"-o", "json", "--json=false"}, nil, "json"},
		{[]string{"--json=maybe"}, nil, `invalid argument "maybe" for "--json" flag`},
	} {
		cmd, format := &cobra.Command{}, ""
		cmdutil.FormatFlags(cmd, &format, "one JSON object per line", tt.formats...)
		if err := cmd.ParseFlags(tt.args); err != nil {
			format = err.Error()
		}
		if !strings.HasPrefix(format, tt.want) {
			t.Errorf("%q: got %s, want %s", tt.args, format, tt.want)
		}
	}
	cmd, format := &cobra.Command{}, ""
	cmdutil.OutputFlag(cmd, &format)
	complete, ok := cmd.GetFlagCompletionFunc("output")
	if !ok {
		t.Fatal("-o is not completed")
	}
	if words, _ := complete(cmd, nil, ""); !slices.Equal(words, cmdutil.Formats) || cmd.Flags().Lookup("output").Value.String() != "text" {
		t.Errorf("-o is completed by %q", words)
	}
	if words, _ := cmdutil.Complete(func() []string { return cmdutil.Formats })(cmd, nil, ""); !slices.Equal(words, cmdutil.Formats) {
		t.Errorf("got %q", words)
	}
}

// A brokenPipe cannot be written to.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteRows(t *testing.T) {
	for _, tt := range []struct {
		as   string
		rows []any
		want string
	}{
		{"json", nil, "[]\n"},
		{"json", []any{1, "\u202e"}, `[1,"\u202e"]` + "\n"},
		{"jsonl", nil, ""},
		{"jsonl", []any{1, "\u202e"}, "1\n" + `"\u202e"` + "\n"},
		{"jsonl", []any{1, func() {}}, "1\nerror: json: unsupported type: func()"},
		{"json", []any{1, func() {}}, "error: json: unsupported type: func()"},
	} {
		var out strings.Builder
		if err := cmdutil.WriteRows(&out, tt.as, tt.rows); err != nil {
			out.WriteString("error: " + err.Error())
		}
		if out.String() != tt.want {
			t.Errorf("%v as %s: got %q, want %q", tt.rows, tt.as, out.String(), tt.want)
		}
	}
	for _, rows := range [][]string{{"a"}, {strings.Repeat("a", 1<<16)}} {
		if err := cmdutil.WriteRows(brokenPipe{}, "jsonl", rows); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
}

// Lines are truncated to the width of the terminal, in cells.
func TestWriteLines(t *testing.T) {
	for width, want := range map[int]string{
		0: "one two\n\n日本 is\n", 8: "one two\n\n日本 is\n", 7: "one two\n\n日本 is\n", 6: "one t…\n\n日本 …\n", 3: "on…\n\n日…\n",
	} {
		var out strings.Builder
		if err := cmdutil.WriteLines(&out, width, "one two  \n\n日本 is"); err != nil || out.String() != want {
			t.Errorf("width %d: got %q, %v, want %q", width, out.String(), err, want)
		}
		if err := cmdutil.WriteTable(brokenPipe{}, width, slices.Values([][]string{{"a", "b"}})); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
	var out strings.Builder
	rows := [][]string{{"a"}, {"a", "b", "c"}, {"aa", "bbbb"}} // rows of several lengths
	if err := cmdutil.WriteTable(&out, 6, slices.Values(rows)); err != nil || out.String() != "a\na   b…\naa  b…\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// Markdown has the styles that the output supports.
func TestMarkdownTheme(t *testing.T) {
	for profile, want := range map[colorprofile.Profile]*theme.Theme{
		colorprofile.Unknown: theme.Bare(), colorprofile.NoTTY: theme.Bare(), colorprofile.ASCII: theme.Plain(),
		colorprofile.ANSI: theme.Terminal(), colorprofile.TrueColor: theme.Terminal(),
	} {
		got := cmdutil.MarkdownTheme(&colorprofile.Writer{Profile: profile})
		const text = "a"
		if got.Strong.Render(text) != want.Strong.Render(text) || got.Warn.Render(text) != want.Warn.Render(text) {
			t.Errorf("%v: got %q, %q", profile, got.Strong.Render(text), got.Warn.Render(text))
		}
	}
}

func TestBuild(t *testing.T) {
	if got := cmdutil.BuildSetting("GOOS"); got != runtime.GOOS {
		t.Errorf("built for %q, want %s", got, runtime.GOOS)
	}
	if got := cmdutil.BuildSetting("none"); got != "" {
		t.Errorf("a setting that does not exist is %q", got)
	}
	if got := cmdutil.BuildDate(); !regexp.MustCompile(`^2\d{3}-\d\d-\d\d$`).MatchString(got) {
		t.Errorf("built on %q", got)
	}
	if got := cmdutil.Version(); got != "devel" {
		t.Errorf("the version of a test is %q", got)
	}
}
