package sessions

import (
	"errors"
	"strings"
	"testing"

	"parley/ui/cli/cmd/sessions/importer"
)

// The results of an import have one sanitized line per place. A write error ends the output.
func TestWriteResults(t *testing.T) {
	s := Options{AbbrevPath: func(path string) string { return strings.Replace(path, "/home/x", "~", 1) }}
	all := []importer.Result{{Program: "codex", Path: "/home/x/.codex"}, {Program: "l\x1bm", Path: "/tmp/\u202edb"}}
	say := func(importer.Result) string { return "3 new" }
	var b strings.Builder
	if err := s.writeResults(&b, all, say, "text"); err != nil {
		t.Fatal(err)
	}
	const want = "codex         3 new  ~/.codex\nl␛m           3 new  /tmp/"
	if got := b.String(); !strings.HasPrefix(got, want) || strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("got %q, want %q…", got, want)
	}
	if err := s.writeResults(failing{}, all, say, "text"); err == nil {
		t.Error("a line that was not written is no error")
	}
	b.Reset()
	if err := s.writeResults(&b, all, say, "jsonl"); err != nil || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("as JSON lines: %v, %q", err, b.String())
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
