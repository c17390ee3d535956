package sessions

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"parley/providers/llmtest"
	"parley/session"
	"parley/session/archive"
	"parley/ui/cli/cmdutil"
)

// OpenIn returns a function that opens the store below home.
func OpenIn(home string) func() (*session.Store, error) {
	return func() (*session.Store, error) {
		return session.OpenStore(func(name string) string { return map[string]string{"XDG_DATA_HOME": home}[name] })
	}
}

// Sessions returns the command sessions with its subcommands.
func (s Options) Sessions() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions"}
	s.Add(new(cobra.Command), cmd)
	return cmd
}

// Usage returns the usage report command.
func (s Options) Usage() *cobra.Command { return s.usage() }

// On a terminal, IDs of other programs are shortened to leave room for titles, and the short form still finds the
// conversation. Piped output has whole IDs.
func TestImportedIDsLeaveRoomForTitles(t *testing.T) {
	home, now := t.TempDir(), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	open := OpenIn(home)
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	ids := []string{"0199a3c2-7e4f-7b1a-8c55-1f2e3d4c5b6a", "0199a3c2-7e4f-7b2a-8c55-1f2e3d4c5b6a", "5b1f9c1e-07ad-4d3c-9f0e-1a2b3c4d5e6f", "import-00ff00ff00ff00ff", "short"}
	for i, id := range ids {
		at := now.Add(-time.Duration(i+1) * time.Hour)
		if _, err := lib.Import(session.Info{ID: id, Title: "A title of more than one word", Model: "anthropic/claude-sonnet-4-5", Updated: at, Created: at}, nil); err != nil {
			t.Fatal(err)
		}
	}
	list := func(terminal bool, flags ...string) string {
		var out bytes.Buffer
		commands := Options{Stored: cmdutil.Conversations{Open: open}, Archive: archive.New(), Out: &out, Note: func(text string) { t.Log(text) }, Render: terminal, Width: map[bool]int{true: 80}[terminal], Now: func() time.Time { return now }}.Sessions()
		commands.SetArgs(append([]string{"list"}, flags...))
		if err := commands.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := `
0199a3c2-7e4f-7b1  1 h  anthropic/claude-sonnet-4-5    A title of more than one…
0199a3c2-7e4f-7b2  2 h  anthropic/claude-sonnet-4-5    A title of more than one…
5b1f9c1e-07ad      3 h  anthropic/claude-sonnet-4-5    A title of more than one…
import-00ff00      4 h  anthropic/claude-sonnet-4-5    A title of more than one…
short              5 h  anthropic/claude-sonnet-4-5    A title of more than one…
`
	got := list(true)
	if "\n"+got != want {
		t.Errorf("on a terminal:\n%swant:%s", got, want)
	}
	for i, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if found, err := (cmdutil.Conversations{}).Find(lib, strings.Fields(line)[0]); err != nil || found.ID != ids[i] {
			t.Errorf("%s: found %s, %v", line, found.ID, err)
		}
	}
	for _, flags := range [][]string{{"--limit", "1"}, {"--since", "90m"}} { // one row, whose short ID must differ from those of rows not shown
		if got := list(true, flags...); !strings.HasPrefix(got, "0199a3c2-7e4f-7b1  1 h") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %s", flags, got)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(list(false)), "\n") {
		if !strings.HasPrefix(line, ids[i]+strings.Repeat(" ", 38-len(ids[i]))) || !strings.HasSuffix(line, "  A title of more than one word") {
			t.Errorf("piped: %q", line)
		}
	}
}

// A long list is written in few writes, with few allocations per row.
func TestLongListIsWrittenInFewPieces(t *testing.T) {
	found := make([]session.Info, 2000)
	for i := range found {
		found[i] = session.Info{ID: "1ngm7sve4k7sw", Title: "What the tests of this folder say", Model: "mock/m"}
		found[i].Usage.Cost = 0.12
	}
	for _, as := range []string{"text", "jsonl"} {
		var out pieces
		commands := Options{Out: &out, Now: time.Now}
		write := func() {
			if err := commands.rows(found, as, nil); err != nil {
				t.Fatal(err)
			}
		}
		write()
		if out.lines != len(found) || out.number > 2+out.bytes/16384 {
			t.Errorf("%s: %d lines, %d bytes in %d pieces", as, out.lines, out.bytes, out.number)
		}
		if n := testing.AllocsPerRun(3, write) / float64(len(found)); n > 4 && !llmtest.Race {
			t.Errorf("%s: a row takes %.1f allocations", as, n)
		}
	}
}

// pieces counts writes.
type pieces struct{ number, bytes, lines int }

func (p *pieces) Write(text []byte) (int, error) {
	p.number, p.bytes, p.lines = p.number+1, p.bytes+len(text), p.lines+bytes.Count(text, []byte("\n"))
	return len(text), nil
}

// A page with a damaged row reports that, and shows and counts the readable ones.
func TestPageOfDamagedList(t *testing.T) {
	home := t.TempDir()
	open := OpenIn(home)
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"one", "two", "three", "four"} {
		if _, err := lib.Import(session.Info{ID: id, Title: id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	page := func() (rows int, note string, err error) {
		var out bytes.Buffer
		commands := Options{Stored: cmdutil.Conversations{Open: open}, Archive: archive.New(), Out: &out, Note: func(text string) { note = text }, Now: time.Now}.Sessions()
		commands.SetArgs([]string{"list", "--limit", "2"})
		commands.SilenceErrors, commands.SilenceUsage = true, true
		err = commands.Execute()
		return strings.Count(out.String(), "\n"), note, err
	}
	if rows, note, err := page(); rows != 2 || !strings.HasPrefix(note, "conversations 1 to 2 of 4:") || err != nil {
		t.Fatalf("%d rows, %q, %v", rows, note, err)
	}
	if err := lib.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := sql.Open("sqlite", filepath.Join(home, "parley", "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Exec(`UPDATE sessions SET touched = 'x' WHERE id = 'two'`)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if rows, note, err := page(); rows != 2 || !strings.HasPrefix(note, "conversations 1 to 2 of 4:") || err == nil {
		t.Errorf("with damage: %d rows, %q, %v", rows, note, err)
	}
}

// Equal answers of compared models share one line with their number, so that all lines differ and all messages are
// counted.
func TestHitLines(t *testing.T) {
	one, two := session.Info{ID: "a1", Title: "Whales"}, session.Info{ID: "b2", Title: "Whales"}
	got := hitLines([]session.Hit{
		{Session: one, Snippet: "Whales"},
		{Session: one, Seq: 2, Role: "assistant", Snippet: "a blue whale", Model: "fake/one"},
		{Session: two, Seq: 2, Role: "assistant", Snippet: "a blue whale"},
		{Session: one, Seq: 1, Role: "user", Snippet: "a blue whale"},
		{Session: one, Seq: 3, Role: "assistant", Snippet: "a blue whale", Model: "fake/two"},
	})
	want := "a1  Whales  title: Whales\na1  Whales  assistant, 2 messages: a blue whale\nb2  Whales  assistant: a blue whale\na1  Whales  you: a blue whale\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFieldsOfSessions checks that the manual names all fields of a conversation in lists.
func TestFieldsOfSessions(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[session.Info]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`").Match(page) {
			t.Errorf("docs/scripts.md does not say what %q is", name)
		}
	}
}
