package ability_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/session"
	"parley/session/settings"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// replaced sets one of the standard files to a temporary one while do runs, and returns what is written to it.
func replaced(t *testing.T, file **os.File, do func()) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was := *file
	*file = f
	defer func() { *file = was }()
	do()
	written, _ := os.ReadFile(f.Name())
	return string(written)
}

// isLimit reports whether err ends the program because of a limit.
func isLimit(err error) bool {
	var ended *cmdutil.ExitError
	return errors.As(err, &ended) && ended.Status == exit.Limit
}

// Spending is saved once, and limits a later reservation. If the limits cannot be shared, there is a note.
func TestSpending(t *testing.T) {
	library, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] })
	if err != nil {
		t.Fatal(err)
	}
	a := &ability.Env{Streams: new(cmdutil.Streams), Limits: []session.Limit{{Period: settings.PerDay, Cost: 1}}}
	reserve := func() (err error) {
		r, err := a.Reserve(library, "mock/m", llm.Usage{Cost: 0.1, Priced: true})
		if err == nil {
			err = r.Settle()
		}
		return err
	}
	if said := replaced(t, &os.Stderr, func() { err = reserve() }); err != nil || said != "" {
		t.Errorf("below the limit: got %v, said %q", err, said)
	}
	spent := ability.Spending{Purpose: "embed", Model: "mock/m"}
	for range 2 {
		spent.Add(works.Bill{Tokens: 3, USD: 0.75, Priced: true})
	}
	for range 2 {
		if err := spent.Save(library); err != nil || len(spent.Unsaved) != 0 || spent.Bill.USD != 1.5 {
			t.Errorf("got %v, %+v", err, spent)
		}
	}
	dir, _ := os.Getwd()
	sums, err := library.Ledger().Sums(time.Time{}, time.Now().Add(time.Hour), "folder", "model", "purpose")
	if err != nil || len(sums) != 1 || sums[0].Requests != 2 || sums[0].Usage.Cost != 1.5 || sums[0].Folder != dir || sums[0].Model != "mock/m" || sums[0].Purpose != "embed" {
		t.Errorf("saved are %+v, %v", sums, err)
	}
	if err := reserve(); !isLimit(err) || !errors.Is(err, session.ErrBudget) {
		t.Errorf("above the limit: got %v", err)
	}
	library.Close()
	spent.Add(works.Bill{Tokens: 3})
	if err := spent.Save(library); err == nil || len(spent.Unsaved) != 1 {
		t.Errorf("without a store: got %v, %+v", err, spent)
	}
	said := replaced(t, &os.Stderr, func() { _, err = a.Reserve(library, "mock/m", llm.Usage{}) })
	if err != nil || !strings.HasPrefix(said, "parley: limits of a day and a month do not count what other parley programs spend now: ") {
		t.Errorf("without a store: got %v, said %q", err, said)
	}
}

// A high price needs a confirmation, which nobody gives without a terminal.
func TestConfirmCost(t *testing.T) {
	for _, tt := range []struct {
		usd, limit float64
		known      bool
		want       string // "" if it is not asked
	}{
		{2, 1, true, "it cost about $2.00, more than $1.00: add --yes, or raise confirm under [budget]"},
		{2, 0.001, true, "it cost about $2.00, more than $0.0010: add --yes, or raise confirm under [budget]"},
		{1, 1, true, ""},
		{2, 1, false, ""},
		{2, 0, true, ""},
	} {
		replaced(t, &os.Stdin, func() {
			err := (&ability.Env{ConfirmAbove: tt.limit}).ConfirmCost("it", tt.usd, tt.known)
			if err == nil && tt.want != "" || err != nil && (err.Error() != tt.want || !isLimit(err)) {
				t.Errorf("%v of %v, known %v: got %v, want %q", tt.usd, tt.limit, tt.known, err, tt.want)
			}
		})
	}
}

// A file that cannot be saved in its place is saved as a temporary file, because it is paid for.
func TestSaveFile(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ path, saved, note string }{
		{"b.png", "b.png", ""},
		{"", "a.png", ""},
		{"", "a-2.png", ""},
		{"none/b.png", filepath.Join(temporary, "a.png"), "none"},
	} {
		saved, note, err := ability.SaveFile(tt.path, "a.png", []byte("data"))
		if err != nil || saved != tt.saved || (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) || note != "" && !strings.HasSuffix(note, ": saved as "+saved) {
			t.Errorf("%q: got %s, %q, %v, want %s", tt.path, saved, note, err, tt.saved)
		}
		if data, _ := os.ReadFile(saved); string(data) != "data" {
			t.Errorf("%s contains %q", saved, data)
		}
	}
	t.Setenv("TMPDIR", "none")
	if saved, note, err := ability.SaveFile("none/b.png", "a.png", nil); err == nil || saved != "" || note != "" {
		t.Errorf("nowhere: got %s, %q, %v", saved, note, err)
	}
}

// Names are completed from the configuration, if it can be read.
func TestComplete(t *testing.T) {
	var bad error
	a := &ability.Env{Load: func() error { return bad }, Services: providers.Default}
	names := func(c providers.Config, getenv func(string) string) []string {
		return []string{"mock/m", getenv("PARLEY_TEST")}
	}
	t.Setenv("PARLEY_TEST", "mock/n")
	if got, _ := a.Complete(names)(nil, nil, ""); !slices.Equal(got, []string{"mock/m", "mock/n"}) {
		t.Errorf("got %q", got)
	}
	bad = errors.New("odd")
	if got, _ := a.Complete(names)(nil, nil, ""); got != nil {
		t.Errorf("without a configuration: got %q", got)
	}
}

// The line is drawn each second, and for a new text unless it was drawn a moment ago.
func TestProgress(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	drawn := func() string {
		text, _ := os.ReadFile(f.Name())
		f.Truncate(0)
		f.Seek(0, 0)
		return strings.ReplaceAll(string(text), "\r\x1b[K", "|")
	}
	synctest.Test(t, func(t *testing.T) {
		p := ability.NewProgress(f, time.Now().Add(-time.Minute), func(elapsed, text string) string { return elapsed + " " + text })
		for _, step := range []struct {
			after time.Duration
			text  string // "-" shows none
			want  string
		}{
			{0, "a\x1b", "|1 min 00 s a␛"},
			{99 * time.Millisecond, "b", ""},
			{time.Millisecond, "c", "|1 min 00 s c"},
			{time.Millisecond, "d", ""},
			{899 * time.Millisecond, "-", "|1 min 01 s d"},
			{time.Millisecond, "", "|"},
			{time.Millisecond, "e", "|1 min 01 s e"},
			{time.Second, "-", "|1 min 02 s e"},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			if step.text != "-" {
				p.Show(step.text)
			}
			if got := drawn(); got != step.want {
				t.Errorf("%q after %v: drawn is %q, want %q", step.text, step.after, got, step.want)
			}
		}
		p.Stop()
		p.Show("f")
		p.Stop()
		time.Sleep(time.Minute)
		if got := drawn(); got != "|" {
			t.Errorf("after the end: drawn is %q", got)
		}
	})
	var none *ability.Progress
	none.Show("a")
	none.Stop()
}
