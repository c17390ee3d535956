// testdata/usage.txt holds the output of parley usage. go test ./ui/report -update-usage rewrites it. Read the diff.

package sessions

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/archive"
	"parley/session/store"
	"parley/ui/cli/cmdutil"
)

// A usageStore opens a store with a few paid requests.
type usageStore func() (*session.Store, error)

func newUsageStore(t *testing.T) usageStore {
	t.Helper()
	dir := t.TempDir()
	open := func() (*session.Store, error) { return session.OpenStore(func(string) string { return dir }) }
	lib, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	log := lib.Create(session.Info{ID: "one", Title: "whales \x1b[2J"})
	if err := log.Put(session.Node{Seq: 1, Message: llm.UserText("hi")}); err != nil {
		t.Fatal(err)
	}
	add := func(day int, id, folder, model, purpose string, u llm.Usage) {
		t.Helper()
		at := time.Date(2026, 11, day, 12, 0, 0, 0, time.Local)
		var missed session.CacheMiss
		if u.CacheRead > 0 && day > 18 {
			missed = session.CacheMiss{Tokens: 1000 * day, Cause: "expired", Cost: 0.09}
		}
		if u.CacheRead > 0 && day > 19 {
			missed.Cause, missed.Cost = "tools", 0
		}
		if err := lib.Ledger().Add(session.LedgerEntry{At: at, Session: id, Folder: folder, Model: model, Purpose: purpose, Usage: u, Missed: missed}); err != nil {
			t.Fatal(err)
		}
	}
	opus := llm.Usage{Input: 84_000, CacheRead: 61_000, CacheWrite: 9000, Output: 2100, Thinking: 400, Cost: 0.25, Priced: true}
	for day := 18; day <= 20; day++ {
		for range day - 17 {
			add(day, "one", "/home/u/parley", "anthropic/opus", store.PurposeAnswer, opus)
		}
	}
	add(20, "one", "/home/u/parley", "groq/fast", store.PurposeTitle, llm.Usage{Input: 300, Output: 9, Cost: 0.0001, Priced: true})
	add(21, "two", "/home/u/日本語", "ollama/llama", store.PurposeAnswer, llm.Usage{Input: 5000, Output: 100, Priced: true})
	add(21, "two", "/home/u/日本語", "=HYPERLINK(1)/\x1b[31m", store.PurposeAnswer, llm.Usage{Input: 10, Output: 5})
	add(21, "", "/home/u", "openai/embed", session.PurposeEmbed, llm.Usage{Input: 40_000, Cost: 0.0008, Priced: true})
	return open
}

// run runs the command with flags and returns its output, on a terminal of width cells; 0 is a pipe.
func (open usageStore) run(t *testing.T, width int, flags ...string) (out string, err error) {
	t.Helper()
	var text, notes strings.Builder
	s := Options{
		Stored: cmdutil.Conversations{Open: open}, Archive: archive.New(), Out: &text, Note: func(line string) { notes.WriteString(line) },
		Render: width > 0, Width: width, Now: func() time.Time { return time.Date(2026, 11, 21, 18, 0, 0, 0, time.Local) },
		AbbrevPath: func(dir string) string { return strings.Replace(dir, "/home/u", "~", 1) },
	}
	cmd := s.usage()
	cmd.SetArgs(flags)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return text.String() + notes.String(), err
}

var updateUsage = flag.Bool("update-usage", false, "accept what usage prints")

// TestUsage checks the output of the command.
func TestUsage(t *testing.T) {
	open := newUsageStore(t)
	var got strings.Builder
	for _, c := range []struct {
		width int
		flags string
	}{
		{0, ""}, {80, ""}, {120, "--by model"}, {50, "--by model"}, {80, "--by session"}, {80, "--by folder"}, {80, "--by provider"}, {80, "--by purpose"},
		{80, "--by month"}, {80, "--since 2026-11-21"}, {80, "--until 2026-11-20"}, {80, "--until 2026-11-18"},
		{0, "--by provider -o json"}, {0, "--by model --json"}, {0, "--by model --csv"}, {0, "--until 2026-11-18 --csv"}, {0, "--until 2026-11-18 -o json"},
		{0, "--by week"}, {0, "-o xml"}, {0, "--since yesterday"}, {0, "--until 2026-10-01"}, {0, "--csv --json"},
		{80, "--cache"}, {0, "--cache"}, {0, "--cache --json"}, {0, "--cache --csv"}, {0, "--cache --since 2026-11-21"}, {0, "--cache --until 2026-10-25"}, {0, "--cache --by model"},
	} {
		out, err := open.run(t, c.width, strings.Fields(c.flags)...)
		fmt.Fprintf(&got, "-- usage %s, %d cells --\n", c.flags, c.width)
		if err != nil {
			out += "error: " + err.Error() + "\n"
		}
		if c.width > 0 {
			for line := range strings.Lines(out) {
				fmt.Fprintln(&got, strings.Trim(fmt.Sprintf("%q", strings.TrimSuffix(line, "\n")), `"`))
			}
		} else {
			got.WriteString(out)
		}
	}
	file := filepath.Join("testdata", "usage.txt")
	if *updateUsage {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got.String() {
		t.Errorf("%v: go test -update-usage accepts\n%s", err, &got)
	}
	if strings.Contains(got.String(), "\x1b") {
		t.Error("a control character of a name is printed")
	}
}

// The parts have the same total for every grouping and format.
func TestUsagePartsAddUp(t *testing.T) {
	open := newUsageStore(t)
	for _, by := range session.UsageKeys {
		var document struct {
			Rows  []session.UsageSum
			Total session.UsageSum
		}
		out, err := open.run(t, 0, "--by", by, "-o", "json")
		if err != nil || json.Unmarshal([]byte(out), &document) != nil {
			t.Fatal(out, err)
		}
		var sum session.UsageSum
		for _, row := range document.Rows {
			sum.Requests += row.Requests
			sum.Unpriced += row.Unpriced
			sum.Usage = sum.Usage.Add(row.Usage)
		}
		if got := document.Total; sum.Requests != got.Requests || sum.Unpriced != 1 || got.Unpriced != 1 || sum.Usage.Input != got.Usage.Input || sum.Usage.Output != got.Usage.Output {
			t.Errorf("by %s: %+v, in all %+v", by, sum, got)
		}
		out, _ = open.run(t, 0, "--by", by, "--csv")
		records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(records) != len(document.Rows)+1 || records[0][0] != by || slices.Index(records[0], "cost") != 8 {
			t.Errorf("by %s: %q, %v", by, records, err)
		}
	}
}
