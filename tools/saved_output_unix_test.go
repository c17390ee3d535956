//go:build unix

package tools

import (
	"fmt"
	"io"
	"os"
	"parley/tools/act"
	"regexp"
	"strings"
	"testing"
)

// The rest of an output can be read and searched by its name, as
// long as the tools are there.
func TestWholeOutput(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := open(t, map[string]string{"a": "x"})
	run := func(tool string, pairs ...any) act.Outcome {
		t.Helper()
		a, err := f.Plan(t.Context(), tool, args(pairs...))
		if err != nil {
			return failedOutcome("%v", err)
		}
		if verdict := NewPolicy(act.ModeReadOnly).Decide(a); tool != "shell" && verdict != act.Allow {
			t.Errorf("%s: %s", tool, verdict)
		}
		return a.Run(t.Context(), nil)
	}
	out := run("shell", "command", "seq 1 20000; printf '\\033[31mend\\n'; false")
	told := regexp.MustCompile(`\[the whole output, 20001 lines, can be paged through: read with path "(output:[A-Z2-7]{26})" and an offset, or grep with that path\]`).FindStringSubmatch(out.Text)
	if told == nil || !out.Failed || !strings.Contains(out.Text, "characters left out …]") || len(out.Text) > maxText {
		t.Fatalf("got %.200s … %s", out.Text, out.Text[max(0, len(out.Text)-300):])
	}
	name := told[1]
	if got, want := run("read", "path", name, "offset", 9999, "limit", 2).Text, "  9999\t9999\n 10000\t10000\n[lines 9999 to 10000 of 20001; read on with offset 10001]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run("read", "path", name, "offset", 20001).Text; !strings.HasPrefix(got, " 20001\tend\n") {
		t.Errorf("got %q", got)
	}
	if got, want := run("grep", "path", name, "pattern", "^1234$|end").Text, name+"\n  1234: 1234\n 20001: end"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run("list", "path", name); !got.Failed {
		t.Errorf("listed: got %q", got.Text)
	}
	other := open(t, nil)
	if _, err := other.Plan(t.Context(), "read", args("path", name)); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("elsewhere: %v", err)
	}
	info, err := f.outputs.list[0].file.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(os.Getenv("XDG_CACHE_HOME") + "/parley"); len(entries) > 0 {
		t.Errorf("on disk: %v", entries)
	}
	if out := run("shell", "command", "seq 1 100"); strings.Contains(out.Text, "whole output") || len(f.outputs.list) != 1 {
		t.Errorf("a short output was kept: %s", out.Text)
	}
	f.Set.Close()
	if _, err := f.Plan(t.Context(), "read", args("path", name)); err == nil {
		t.Error("it is there after the end")
	}
}

func TestSpillsAreBounded(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s := newSavedOutput()
	s.write("a\n")
	s.size = maxSavedOutput - 2
	s.write("xé and more\n")
	s.write("more\n")
	if got, _ := io.ReadAll(io.NewSectionReader(s.file, 0, 100)); string(got) != "a\nx" || !s.truncated || !strings.Contains(s.notice(), "the beginning of the output, 1 line,") {
		t.Errorf("got %q, %s", got, s.notice())
	}
	var kept savedOutputs
	kept.add(s)
	for range 6 {
		s := newSavedOutput()
		s.size = maxSavedOutput
		kept.add(s)
	}
	if len(kept.list) != maxSavedOutputs/maxSavedOutput {
		t.Errorf("%d are kept", len(kept.list))
	}
	if _, err := s.file.Stat(); err == nil {
		t.Error("the oldest is still open")
	}
	kept.close()
	t.Setenv("XDG_CACHE_HOME", "/dev/null/x")
	t.Setenv("TMPDIR", "/dev/null/x")
	f := open(t, nil)
	a, err := f.Plan(t.Context(), "shell", args("command", "seq 1 20000"))
	if err != nil {
		t.Fatal(err)
	}
	if out := a.Run(t.Context(), nil); out.Failed || strings.Contains(out.Text, "whole output") {
		t.Errorf("where nothing can be kept: %s", fmt.Sprint(out.Failed, len(out.Text)))
	}
}
