package cmdutil_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/storetest"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// replaced sets one of the standard files to a temporary one with text while do runs, and returns what is written to it.
func replaced(t *testing.T, file **os.File, text string, do func()) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(text)
	f.Seek(0, io.SeekStart)
	was := *file
	*file = f
	defer func() { *file = was }()
	do()
	written, _ := os.ReadFile(f.Name())
	return string(written)
}

// statusOf returns the status in err, as the program exits with it.
func statusOf(err error) int {
	var ended *cmdutil.ExitError
	switch {
	case errors.As(err, &ended):
		return ended.Status
	case errors.As(err, new(cmdutil.UsageError)):
		return exit.Usage
	}
	return exit.Of(err)
}

// Notes go to standard error, escaped, but not with -q. The first failure of several effects ends them.
func TestPerform(t *testing.T) {
	odd := errors.New("odd")
	prepared := app.Prepare(func(context.Context) func() app.Effect { return func() app.Effect { return app.Toast("c") } })
	effects := app.Then{app.Toast("a"), app.Then{app.Toast("\x1bb"), prepared}, app.Failure{Err: odd}, app.Toast("d")}
	for quiet, want := range map[bool]string{false: "parley: a\nparley: ␛b\nparley: c\n", true: ""} {
		var err error
		got := replaced(t, &os.Stderr, "", func() { err = (&cmdutil.Streams{Quiet: quiet}).Perform(effects) })
		if got != want || !errors.Is(err, odd) || statusOf(err) != exit.Config {
			t.Errorf("quiet %v: got %q, %v; want %q", quiet, got, err, want)
		}
	}
	if err := (&cmdutil.Streams{}).Perform(nil); err != nil {
		t.Error(err)
	}
}

func TestConfirm(t *testing.T) {
	for typed, want := range map[string]bool{"y\n": true, "Yes\n": true, " y": true, "n\ny\n": false, "yes please\n": false, "\n": false, "": false} {
		asked := replaced(t, &os.Stderr, "", func() {
			replaced(t, &os.Stdin, typed, func() {
				if got, err := cmdutil.Confirm("Continue?"); got != want || err != nil {
					t.Errorf("%q: got %v, %v, want %v", typed, got, err, want)
				}
			})
		})
		if asked != "Continue? [y/N] " {
			t.Errorf("asked %q", asked)
		}
	}
}

// An error has the exit status of its kind, or the one that the command gives it.
func TestFail(t *testing.T) {
	odd := errors.New("odd")
	for _, tt := range []struct {
		err    error
		status int
		text   string
	}{
		{cmdutil.Fail(exit.Limit, nil), exit.OK, "<nil>"},
		{cmdutil.Fail(exit.Limit, odd), exit.Limit, "odd"},
		{cmdutil.Fail(exit.Limit, cmdutil.Usage(odd)), exit.Usage, "odd"},
		{cmdutil.Fail(exit.Limit, &llm.Error{Fault: llm.Authentication}), exit.Config, "authentication"},
		{cmdutil.Fail(exit.Limit, &llm.Error{Fault: llm.ModelNotFound}), exit.Config, "model not found"},
		{cmdutil.Fail(exit.Limit, &llm.Error{Fault: llm.Server}), exit.Limit, "server"},
		{cmdutil.Config(odd), exit.Config, "odd"},
		{cmdutil.Usagef("not %d", 1), exit.Usage, "not 1"},
		{cmdutil.Exit(exit.OK), exit.OK, "<nil>"},
		{cmdutil.Exit(exit.Schema), exit.Schema, "exit status 7"},
	} {
		text := "<nil>"
		if tt.err != nil {
			text = tt.err.Error()
		}
		if got := statusOf(tt.err); got != tt.status || text != tt.text {
			t.Errorf("got %d, %q, want %d, %q", got, text, tt.status, tt.text)
		}
	}
}

// Each of several errors is prefixed; an error in JSON is written besides.
func TestFailure(t *testing.T) {
	odd := errors.Join(errors.New("one\x1b[2J"), errors.New("two\n  indented\nusage: parley"))
	const text = "parley: one␛[2J\nparley: two\n  indented\nusage: parley\n"
	const object = `"category":"unknown","message":"one\u001b[2J\ntwo\n  indented\nusage: parley","hint":""`
	late := &llm.Error{Fault: llm.RateLimit, Wait: time.Second + 1}
	for _, tt := range []struct {
		format    string
		err       error
		out, told string
	}{
		{"text", odd, "", text},
		{"json", odd, `{"error":{` + object + `},"finish_reason":"error","exit":1}` + "\n", text},
		{"jsonl", odd, `{"type":"error",` + object + "}\n" + `{"type":"done","finish_reason":"error","exit":1}` + "\n", text},
		{"json", late, `"retry_after_ms":1001},`, "parley: Rate limited\n  Try again in 2 s"},
		{"json", context.Canceled, `"category":"canceled"`, "parley: "},
		{"json", session.ErrSteps, `"category":"turn_limit"`, "parley: "},
		{"json", session.ErrBudget, `"category":"budget"`, "parley: "},
		{"json", session.ErrSchema, `"category":"schema"`, "parley: "},
		{"json", wording.ErrTimeout, `"category":"timeout"`, "parley: "},
	} {
		var out, told strings.Builder
		cmdutil.Failure(&out, &told, tt.format, tt.err, exit.Failed)
		exact := tt.err == odd
		if exact && (out.String() != tt.out || told.String() != tt.told) || !strings.Contains(out.String(), tt.out) || !strings.HasPrefix(told.String(), tt.told) {
			t.Errorf("%s: got  %q, %q\nwant %q, %q", tt.format, out.String(), told.String(), tt.out, tt.told)
		}
		if strings.Contains(out.String(), "retry_after_ms") != (tt.err == late) {
			t.Errorf("%v: got %s", tt.err, out.String())
		}
	}
	var out strings.Builder
	if err := (cmdutil.Object{"a", func() {}, "b", "<&>\u202e"}).Write(&out); err != nil || out.String() != `{"a":"json: unsupported type: func()","b":"<&>\u202e"}`+"\n" {
		t.Errorf("got %s, %v", out.String(), err)
	}
}

// A conversation is found by its ID, a prefix of it, or words of its title. Configured keys are masked.
func TestConversations(t *testing.T) {
	lib, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] })
	if err != nil {
		t.Fatal(err)
	}
	ids, err := storetest.Fill(lib, 7, 2, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		title := "secret fox"
		if i == 0 {
			title = "whale"
		}
		if err := lib.Rename(id, title); err != nil {
			t.Fatal(err)
		}
	}
	c := cmdutil.Conversations{
		Open: func() (*session.Store, error) { return lib, nil },
		Mask: func() func(string) string {
			return func(s string) string { return strings.ReplaceAll(s, "secret", "…") }
		},
	}
	for word, want := range map[string]string{
		ids[2]: ids[2], "whale": ids[0],
		"none": "no conversation matches \"none\": parley sessions list shows them",
		"fox":  "6 conversations match \"fox\", give an ID:\n  " + ids[6] + " … fox\n",
	} {
		found, err := c.Find(lib, word)
		if got := found.ID; got != want && (err == nil || !strings.HasPrefix(err.Error(), want) || statusOf(err) != exit.Usage) {
			t.Errorf("%s: got %s, %v, want %s", word, got, err, want)
		}
	}
	if _, err := c.Find(lib, "fox"); strings.Count(err.Error(), "… fox") != 5 || !strings.HasSuffix(err.Error(), "\n  and 1 more") {
		t.Errorf("got %v", err)
	}
	if err := lib.Rename(ids[1], "hare"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(lib, "fox"); strings.Count(err.Error(), "… fox") != 5 || strings.Contains(err.Error(), "more") {
		t.Errorf("got %v", err)
	}
	if got := (cmdutil.Conversations{}).Masked()(&session.Info{Title: "a", Preview: "b"}); got.Title != "a" || got.Preview != "b" {
		t.Errorf("nothing to mask: got %+v", got)
	}
	if got, _ := c.Complete(nil, nil, ""); len(got) != 7 || got[0] != ids[6]+"\t… fox" {
		t.Errorf("completions are %q", got)
	}
	odd := errors.New("odd")
	if err := c.With(func(*session.Store) error { return odd }); !errors.Is(err, odd) {
		t.Errorf("got %v", err)
	}
	c.Open = func() (*session.Store, error) { return nil, odd }
	if err := c.With(func(*session.Store) error { return nil }); err != odd {
		t.Errorf("got %v", err)
	}
	if cmdutil.Fatal(odd, 0) != odd || cmdutil.Fatal(odd, 1) != nil {
		t.Error("an error is fatal if nothing was found")
	}
}

// Without an editor, or without a terminal, the path is printed.
func TestEditPrintsThePath(t *testing.T) {
	for _, editor := range []string{"", "false"} {
		t.Setenv("VISUAL", "")
		t.Setenv("EDITOR", editor)
		var out strings.Builder
		replaced(t, &os.Stdin, "", func() {
			if edited, err := cmdutil.Edit(&out, "a.toml"); edited || err != nil || out.String() != "a.toml\n" {
				t.Errorf("EDITOR=%s: got %v, %v, %q", editor, edited, err, out.String())
			}
		})
	}
}
