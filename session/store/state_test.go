package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session/store/holder"
)

func TestPath(t *testing.T) {
	for _, tt := range []struct{ xdg, local, home, want string }{
		{"/data", "", "/home/me", "/data/parley/parley.db"},
		{"/data", "/local", "/home/me", "/data/parley/parley.db"},
		{"", "/local", "/home/me", "/local/parley/data/parley.db"},
		{"", "", "/home/me", "/home/me/.local/share/parley/parley.db"},
		{"relative", "", "/home/me", "/home/me/.local/share/parley/parley.db"},
		{"", "", "", ""},
		{"", "", "relative", ""},
	} {
		got, err := Path(func(name string) string {
			return map[string]string{"XDG_DATA_HOME": tt.xdg, "LOCALAPPDATA": tt.local, "HOME": tt.home}[name]
		})
		if filepath.ToSlash(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: got %q, %v", tt, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "set HOME or XDG_DATA_HOME") {
			t.Errorf("got %v", err)
		}
	}
}

// No name of a directory means anything to SQLite.
func TestNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("most of these cannot be names here")
	}
	for _, name := range []string{"with space", "a\nb", "what?mode=memory", "#1", "100%", "%41", "\xff\xfe", "a'b\"c", "&_pragma=x", "ünï", ":memory:", "a;b\\c"} {
		path := filepath.Join(t.TempDir(), name, name+".db")
		db, err := Open(path)
		if err != nil {
			if runtime.GOOS != "linux" && strings.Contains(name, "\xff") {
				continue // names are UTF-8 there
			}
			t.Errorf("%q: %v", name, err)
			continue
		}
		talk(t, db.Create(Session{}), "hello")
		_ = db.Close()
		db = reopen(t, path)
		if list, err := db.List(Query{}); err != nil || len(list) != 1 {
			t.Errorf("%q: got %+v, %v", name, list, err)
		}
		if names, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "*")); err == nil && len(names) != 1 {
			t.Errorf("%q: made %q", name, names)
		}
	}
}

// Without a file everything works.
func TestMemory(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	l := db.Create(Session{})
	talk(t, l, "hello", "hi")
	if hits, _, err := db.Search(Query{Words: "hello"}); err != nil || len(hits) != 2 { // and the title
		t.Errorf("got %+v, %v", hits, err)
	}
	if err := errors.Join(db.ReadOnly(), db.Set("a", "b"), db.Check(), l.Close()); err != nil {
		t.Error(err)
	}
	again, err := db.Resume(l.Session().ID)
	if err != nil || len(again.Nodes()) != 2 {
		t.Errorf("got %v", err)
	}
}

// Lists have pinned sessions first, then those last touched.
func TestList(t *testing.T) {
	db := fresh(t)
	logs := map[string]*Log{}
	for _, id := range []string{"a1", "a2", "b1"} {
		logs[id] = db.Create(Session{ID: id, Title: "about " + id})
		talk(t, logs[id], "hello")
	}
	talk(t, logs["a1"], "again")
	order := func(q Query) string {
		t.Helper()
		list, err := db.List(q)
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return fmt.Sprint(ids)
	}
	if got := order(Query{}); got != "[a1 b1 a2]" {
		t.Errorf("got %s", got)
	}
	if err := errors.Join(db.Pin("a2", true), db.Trash("b1")); err != nil {
		t.Fatal(err)
	}
	if got := order(Query{}); got != "[a2 a1]" {
		t.Errorf("got %s", got)
	}
	if got := order(Query{Limit: 1}) + order(Query{Deleted: true}); got != "[a2][b1]" {
		t.Errorf("got %s", got)
	}
	if err := errors.Join(db.Pin("a2", false), db.Restore("b1"), db.Rename("b1", "Über Größe")); err != nil {
		t.Fatal(err)
	}
	if got := order(Query{}) + order(Query{Words: "größe"}); got != "[a1 b1 a2][b1]" {
		t.Errorf("got %s", got)
	}
	for word, want := range map[string]string{
		"a1": "[a1]", "b": "[b1]", "B1": "[b1]", "a": "[a1 a2]", "about": "[a1 a2]", "A2 about": "[a2]", "uber": "[b1]", "zzz": "[]", "": "[]",
	} {
		found, err := db.Find(word)
		ids := []string{}
		for _, s := range found {
			ids = append(ids, s.ID)
		}
		if got := fmt.Sprint(ids); err != nil || got != want {
			t.Errorf("Find(%q): got %s, %v, want %s", word, got, err, want)
		}
	}
	for name, err := range map[string]error{
		"rename": db.Rename("x", "y"), "pin": db.Pin("x", true), "trash": db.Trash("x"), "remove": db.Remove("x"), "restore": db.Restore("x"),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, errResume := db.Resume("x")
	_, _, errRead := db.Read("x")
	_, _, errFork := db.ForkInto(db, "x", 0)
	for _, err := range []error{errResume, errRead, errFork} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
}

// A deleted session is kept for 30 days.
func TestPurge(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	start := time.Unix(1_800_000_000, 0)
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {29 * 24 * time.Hour, 1}, {31 * 24 * time.Hour, 0}} {
		db, err := open(path, schema, func() time.Time { return start.Add(tt.after) })
		if err != nil {
			t.Fatal(err)
		}
		if tt.after == 0 {
			l := db.Create(Session{ID: "old"})
			talk(t, l, "hello", "hi")
			if err := errors.Join(l.Close(), db.Trash("old")); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := db.List(Query{Deleted: true}); err != nil || len(list) != tt.want {
			t.Errorf("after %v: got %+v, %v", tt.after, list, err)
		}
		if spent, err := dailyUsage(db, time.Time{}, time.Time{}, true); err != nil || len(spent) != 1 || spent[0].Session != "old" {
			t.Errorf("after %v: spent %+v, %v", tt.after, spent, err)
		}
		_ = db.Close()
	}
}

func TestSpend(t *testing.T) {
	db := fresh(t)
	day := time.Date(2026, 11, 20, 23, 30, 0, 0, time.Local)
	answer := func(l *Log, seq int, model string, at time.Time, u *llm.Usage) {
		n := says(seq, llm.RoleAssistant, "x")
		n.Model, n.At, n.Usage = model, at, u
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	one, two := db.Create(Session{ID: "one"}), db.Create(Session{ID: "two"})
	answer(one, 1, "a/x", day, &llm.Usage{Input: 10, Output: 1, Cost: 0.5, Priced: true})
	answer(one, 2, "a/x", day, &llm.Usage{Input: 20, Output: 2, Cost: 0.25, Priced: true})
	answer(one, 2, "a/x", day, &llm.Usage{Input: 30, Output: 2, Cost: 0.25, Priced: true}) // the last report holds
	answer(two, 1, "a/x", day, &llm.Usage{Input: 5, Cost: 9})
	answer(two, 2, "b/y", day.Add(time.Hour), nil)
	if err := db.Remove("one"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		since, until time.Time
		by           bool
		want         string
	}{
		{"all", time.Time{}, time.Time{}, false, "2026-11-20 a/x  3 1 45 0.75 false, 2026-11-21 b/y  1 1 0 0 false"},
		{"by session", time.Time{}, day.Add(time.Minute), true, "2026-11-20 a/x one 2 0 40 0.75 true, 2026-11-20 a/x two 1 1 5 0 false"},
		{"later", day.Add(time.Minute), time.Time{}, false, "2026-11-21 b/y  1 1 0 0 false"},
		{"before", time.Time{}, day, false, ""},
	} {
		spent, err := dailyUsage(db, tt.since, tt.until, tt.by)
		var got []string
		for _, s := range spent {
			got = append(got, fmt.Sprint(s.Day, " ", s.Model, " ", s.Session, " ", s.Answers, s.Unpriced, s.Usage.Input, s.Usage.Cost, s.Usage.Priced))
		}
		if err != nil || strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, strings.Join(got, ", "), err, tt.want)
		}
	}
}

func TestState(t *testing.T) {
	db := fresh(t)
	if v, err := db.Get("theme"); v != "" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	for _, v := range []string{"dark", "", "l\x00\xffight"} {
		if err := db.Set("theme", v); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Get("theme"); got != v || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, v)
		}
	}
}

// TestPromptsInOrder: prompts given one after the other stand in this order, and
// are there for the next read.
func TestPromptsInOrder(t *testing.T) {
	db := fresh(t)
	for n := range 200 {
		db.AddPromptAsync(SentPrompt{Text: fmt.Sprint(n)})
	}
	found, err := db.Prompts(0)
	if err != nil || len(found) != 200 {
		t.Fatalf("got %d prompts, %v", len(found), err)
	}
	for n, p := range found {
		if p.Text != fmt.Sprint(n) {
			t.Fatalf("prompt %d is %q", n, p.Text)
		}
	}
	stored := db.AddPromptAsync(SentPrompt{Text: "last"})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stored(); err != nil {
		t.Errorf("Close did not wait: %v", err)
	}
}

func TestPrompts(t *testing.T) {
	db := fresh(t)
	for _, text := range []string{"a", "b", "b", "a\n\xff", "c", "c"} {
		if err := addPrompt(db, SentPrompt{Text: text, Dir: "/w"}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{0: `["a" "b" "a\n\xff" "c"]`, 2: `["a\n\xff" "c"]`, 99: `["a" "b" "a\n\xff" "c"]`} {
		found, err := db.Prompts(limit)
		var texts []string
		for _, p := range found {
			texts = append(texts, p.Text)
		}
		if got := fmt.Sprintf("%q", texts); err != nil || got != want {
			t.Errorf("%d: got %s, %v, want %s", limit, got, err, want)
		}
	}
	if err := db.write(func(w *writer) error {
		return w.Exec(`INSERT INTO prompts (num, text, folder) VALUES (9000, 'old', '')`)
	}); err != nil {
		t.Fatal(err)
	}
	if err := addPrompt(db, SentPrompt{Text: "new"}); err != nil {
		t.Fatal(err)
	}
	if found, err := db.Prompts(0); err != nil || len(found) != 2 {
		t.Errorf("the cap leaves %+v, %v", found, err)
	}
}

func TestDraft(t *testing.T) {
	db := fresh(t)
	want := Draft{Text: "half a thou\xffght\n", Cursor: 5, Model: "far/m", Parts: []llm.Part{{Kind: llm.Media, Name: "p", Data: []byte{1, 0xff}}}}
	if err := db.Drafts().Save("k", want); err != nil {
		t.Fatal(err)
	}
	_, _, _ = reopen(t, db.path).Drafts().Take("k")
	got, ok, err := db.Drafts().Take("k")
	if err != nil || !ok || got.Text != want.Text || got.Model != want.Model || got.Cursor != 5 || len(got.Parts) != 1 || !bytes.Equal(got.Parts[0].Data, want.Parts[0].Data) || got.At.IsZero() {
		t.Errorf("got %+v, %v, %v", got, ok, err)
	}
	if err := db.Drafts().Save("k", Draft{Cursor: 3}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := db.Drafts().Take("k"); ok || err != nil {
		t.Errorf("an empty draft is kept: %+v, %v", got, err)
	}
}

// A draft is another process's while that runs: nobody else takes, replaces or deletes it then. One that has
// ended, waited for or not, has none, nor has a process that got the id of one.
func TestDraftElsewhere(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Start(); err != nil {
		t.Skip(err)
	}
	me := holder.Current()
	if me.Start == "" {
		t.Skip("it is not known here when processes started")
	}
	for stat := []byte(nil); !bytes.Contains(stat, []byte(") Z ")); runtime.Gosched() { // it is not waited for until the end
		var err error
		if stat, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", ended.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	defer ended.Wait()
	running := exec.Command("sleep", "60")
	if err := running.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = running.Process.Kill(), running.Wait() }()
	db := fresh(t)
	clock := time.Now()
	db.now = func() time.Time { return clock }
	process := func(change func(p *holder.Process)) string {
		p := me
		change(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, tt := range map[string]struct {
		writer    string
		elsewhere bool
	}{
		"this one":              {process(func(*holder.Process) {}), false},
		"ended":                 {process(func(p *holder.Process) { p.PID = ended.Process.Pid }), false},
		"its id is another's":   {process(func(p *holder.Process) { p.PID, p.Start = running.Process.Pid, "1" }), false},
		"runs":                  {process(func(p *holder.Process) { p.PID, p.Start = running.Process.Pid, "" }), true},
		"the machine restarted": {process(func(p *holder.Process) { p.PID, p.Boot = running.Process.Pid, "before" }), false},
		"on another machine":    {process(func(p *holder.Process) { p.PID, p.Host = running.Process.Pid, "elsewhere" }), false},
		"an older parley's":     {fmt.Sprint(running.Process.Pid), false},
		"not known":             {"", false},
	} {
		if err := db.Drafts().Save("k", Draft{Text: "half a thought"}); err != nil {
			t.Fatal(err)
		}
		if err := db.Set(draftWriterKey("k"), tt.writer); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Hour)
		if d, ok, err := db.Drafts().Take("k"); ok == tt.elsewhere || err != nil || ok && d.Text != "half a thought" {
			t.Errorf("%s: got %+v, %t, %v", name, d, ok, err)
		}
		wants := process(func(*holder.Process) {})
		if tt.elsewhere {
			wants = tt.writer
		}
		if now, err := db.Get(draftWriterKey("k")); now != wants || err != nil {
			t.Errorf("%s: it is %s's now, %v", name, now, err)
		}
		if err := errors.Join(db.Drafts().Save("k", Draft{Text: "mine"}), db.Drafts().Save("k", Draft{})); err != nil {
			t.Fatal(err)
		}
		var left int
		err := db.View(func(q Tx) error {
			return q.QueryRow(`SELECT count(*) FROM drafts WHERE text = 'half a thought'`).Scan(&left)
		})
		holder, failed := db.Get(draftWriterKey("k"))
		if (left == 1) != tt.elsewhere || (holder != "") != tt.elsewhere || err != nil || failed != nil {
			t.Errorf("%s: deleted, it is there: %d, %s's, %v, %v", name, left, holder, err, failed)
		}
		if err := db.write(func(w *writer) error { return w.script(`DELETE FROM drafts; DELETE FROM state`) }); err != nil {
			t.Fatal(err)
		}
	}
}

// Each of several windows has a draft of its own under the same key. Those of windows that have ended are
// taken one after the other, the last first.
func TestDraftsOfWindows(t *testing.T) {
	db := fresh(t)
	clock := time.Now()
	window := func(pid int, runs bool) *DB {
		w := reopen(t, db.path)
		w.process.PID, w.now = pid, func() time.Time { clock = clock.Add(time.Second); return clock }
		if !runs {
			w.process.Boot += " before"
		}
		return w
	}
	parent := window(os.Getppid(), false)
	windows := []*DB{parent, window(os.Getpid(), false), window(os.Getpid()+1, false)}
	for i, w := range windows {
		for _, text := range []string{"h", "half a thought"} {
			if err := w.Drafts().Save("k", Draft{Text: fmt.Sprint(text, i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d, ok, err := parent.Drafts().Take("k"); !ok || err != nil || d.Text != "half a thought0" {
		t.Errorf("its own: got %+v, %t, %v", d, ok, err)
	}
	for _, want := range []string{"half a thought2", "half a thought1", "half a thought0", ""} {
		d, ok, err := db.Drafts().Take("k")
		if d.Text != want || ok != (want != "") || err != nil {
			t.Errorf("got %+v, %t, %v, want %q", d, ok, err, want)
		}
		if err := db.Drafts().Save("k", Draft{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A draft of a conversation that was left is anybody's, and whose it was until somebody takes it.
func TestLeftDraft(t *testing.T) {
	db := fresh(t)
	other := reopen(t, db.path)
	other.process.Boot += " before"
	left := Draft{Text: "half a page", Left: true}
	for _, d := range []Draft{{Text: "half a thought"}, left, {Text: "half a word"}, left} {
		if err := db.Drafts().Save("k", d); err != nil {
			t.Fatal(err)
		}
	}
	if d, ok, err := other.Drafts().Take("k"); !ok || d.Text != "half a page" || err != nil {
		t.Errorf("got %+v, %t, %v", d, ok, err)
	}
	if d, ok, err := other.Drafts().Take("k"); !ok || d.Text != "half a page" || err != nil {
		t.Errorf("again: got %+v, %t, %v", d, ok, err)
	}
}

// With a conversation goes whose its draft was.
func TestDraftGoesWithItsSession(t *testing.T) {
	db := fresh(t)
	l := db.Create(Session{})
	if err := l.Put(says(1, llm.RoleUser, "hello")); err != nil {
		t.Fatal(err)
	}
	key := "session:" + l.Session().ID
	other := reopen(t, db.path)
	other.process.PID++
	err := errors.Join(db.Drafts().Save(key, Draft{Text: "half"}), other.Drafts().Save(key, Draft{Text: "the other half"}), db.Drafts().Save(key+"2", Draft{Text: "whole"}),
		db.Set("changes of "+l.Session().ID, "+1 −1"), db.Set("changes of another", "+2 −1"), db.Set("aside of "+l.Session().ID, "[]"))
	if err := errors.Join(err, l.Close(), db.Remove(l.Session().ID)); err != nil {
		t.Fatal(err)
	}
	var left string
	err = db.View(func(q Tx) error {
		return q.QueryRow(`SELECT group_concat(key) FROM (SELECT key FROM drafts UNION ALL SELECT key FROM state WHERE key LIKE 'draft of %' OR key LIKE 'changes of %' OR key LIKE 'aside of %')`).Scan(&left)
	})
	if want := key + "2,changes of another,draft of " + key + "2"; left != want || err != nil {
		t.Errorf("left: %q, want %q, %v", left, want, err)
	}
}

// An imported session is listed by the time of its last message, until it is continued.
func TestImportedStandsByItsAge(t *testing.T) {
	db := fresh(t)
	take := func(id string, at time.Time) {
		n := says(1, llm.RoleUser, id)
		n.At = at
		if _, err := db.Import(Session{ID: id}, []Node{n}); err != nil {
			t.Fatal(err)
		}
	}
	order := func() (ids string) {
		found, err := db.List(Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range found {
			ids += " " + s.ID
		}
		return ids
	}
	now := db.now()
	take("last-year", now.AddDate(-1, 0, 0))
	take("today", now)
	take("last-month", now.AddDate(0, -1, 0))
	take("last-week", now.AddDate(0, 0, -7))
	if got := order(); got != " today last-week last-month last-year" {
		t.Errorf("imported:%s", got)
	}
	log, err := db.Resume("last-year")
	if err != nil {
		t.Fatal(err)
	}
	n := says(2, llm.RoleUser, "go on")
	n.Parent = 1
	if err := errors.Join(log.Put(n), log.Close()); err != nil {
		t.Fatal(err)
	}
	take("yesterday", now.AddDate(0, 0, -1))
	if got := order(); got != " last-year today yesterday last-week last-month" {
		t.Errorf("gone on with:%s", got)
	}
}

func TestImport(t *testing.T) {
	db := fresh(t)
	nodes := []Node{says(2, llm.RoleAssistant, "hi"), says(1, llm.RoleUser, "hello")}
	id, err := db.Import(Session{ID: "x", Origin: "chatgpt"}, nodes)
	if err != nil || id != "x" {
		t.Fatal(id, err)
	}
	s, got, err := db.Read(id)
	if err != nil || s.Title != "hello" || s.Head != 2 || s.Messages != 2 || s.Origin != "chatgpt" || len(got) != 2 || got[0].Text() != "hello" {
		t.Errorf("got %+v, %+v, %v", s, got, err)
	}
	if id, err := db.Import(Session{ID: "x"}, nodes); err != nil || id != "x" {
		t.Errorf("the same again: %q, %v", id, err)
	}
	other, err := db.Import(Session{ID: "x"}, []Node{says(1, llm.RoleUser, "other")})
	if err != nil || other == "x" || other == "" {
		t.Errorf("another one: %q, %v", other, err)
	}
	for name, bad := range map[string][]Node{
		"twice":     {says(1, llm.RoleUser, "a"), says(1, llm.RoleUser, "b")},
		"no parent": {says(2, llm.RoleUser, "a")},
		"zero":      {{}},
	} {
		if id, err := db.Import(Session{}, bad); err == nil {
			t.Errorf("%s: imported as %q", name, id)
		}
	}
	if list, err := db.List(Query{}); err != nil || len(list) != 2 {
		t.Errorf("got %+v, %v", list, err)
	}
	if spent, err := dailyUsage(db, time.Time{}, time.Time{}, false); err != nil || len(spent) != 0 {
		t.Errorf("spent %+v, %v", spent, err)
	}
	if hits, _, err := db.Search(Query{Words: "hi"}); err != nil || len(hits) != 1 {
		t.Errorf("got %+v, %v", hits, err)
	}
}

// TestRemoveErases: once the store is closed, nothing of a removed session, or of one whose time in
// the trash is over, is in its files, not even in free pages or as a word of the index.
func TestRemoveErases(t *testing.T) {
	const secret = "xyzzysecret"
	long := strings.Repeat(secret+" and more of that ", 2000)
	tests := []struct {
		name   string
		remove func(db *DB, id string) error
	}{
		{"removed", (*DB).Remove},
		{"purged", func(db *DB, id string) error {
			if err := db.Trash(id); err != nil {
				return err
			}
			db.now = func() time.Time { return time.Now().Add(2 * trashRetention) }
			return db.purgeTrash()
		}},
	}
	for _, tt := range tests {
		db := fresh(t)
		l, other := db.Create(Session{}), db.Create(Session{})
		talk(t, other, "something else", "that stays")
		talk(t, l, secret, long, long)
		talk(t, other, "and more", "of it")
		n := says(4, llm.RoleUser, secret+" of an image")
		n.Parts = append(n.Parts, llm.Part{Kind: llm.Media, Name: secret, Data: []byte(long)})
		id := l.Session().ID
		l.Annotate(Annotation{N: 1, Kind: "x", Data: []byte(`"` + secret + `"`)})
		draft := Draft{Text: long}
		if err := errors.Join(l.Put(n), l.Close(), db.Rename(id, secret), db.Drafts().Save("session:"+id, draft), tt.remove(db, id), db.Close()); err != nil {
			t.Fatal(tt.name, err)
		}
		files, _ := filepath.Glob(db.path + "*")
		for _, name := range files {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(file, []byte(secret)); n > 0 {
				t.Errorf("%s: %s has it %d times", tt.name, filepath.Base(name), n)
			}
		}
		db = reopen(t, db.path)
		if hits, _, err := db.Search(Query{Words: "stays"}); err != nil || len(hits) != 1 || db.Check() != nil {
			t.Errorf("%s: found %d of what stays, %v", tt.name, len(hits), err)
		}
	}
}

// The history entry of a prompt and the end of its draft join the transaction that stores the prompt. A failure of either
// leaves the other.
func TestQueuedWrites(t *testing.T) {
	t.Parallel()
	clock := func(t *testing.T, db *DB) (n int) {
		t.Helper()
		if err := db.value(&n, `SELECT clock FROM meta`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	type stored struct{ history, draft, messages int }
	for name, tt := range map[string]struct {
		do   func(db *DB, l *Log) error
		want stored
	}{
		"joined": {func(db *DB, l *Log) error {
			wait := db.AddPromptAsync(SentPrompt{Text: "hi"}, "k")
			return errors.Join(l.Put(says(1, llm.RoleUser, "hi")), wait())
		}, stored{1, 0, 1}},
		"alone": {func(db *DB, _ *Log) error { return db.AddPromptAsync(SentPrompt{Text: "hi"}, "k")() }, stored{1, 0, 0}},
		"fails alone": {func(db *DB, l *Log) error {
			wait := db.later(func(w *writer) error {
				return errors.Join(db.Drafts().save(w, "k", Draft{}), errors.New("no"))
			})
			err := l.Put(says(1, llm.RoleUser, "hi"))
			if wait() == nil {
				return errors.New("the change did not fail")
			}
			return err
		}, stored{0, 1, 1}},
		"outlives another's failure": {func(db *DB, _ *Log) error {
			wait := db.AddPromptAsync(SentPrompt{Text: "hi"}, "k")
			if db.write(func(*writer) error { return errors.New("no") }) == nil {
				return errors.New("the transaction did not fail")
			}
			return wait()
		}, stored{1, 0, 0}},
		"is written by Close": {func(db *DB, _ *Log) error {
			db.AddPromptAsync(SentPrompt{Text: "hi"}, "k")
			return nil
		}, stored{1, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			db := fresh(t)
			if err := db.Drafts().Save("k", Draft{Text: "hi"}); err != nil {
				t.Fatal(err)
			}
			before, l := clock(t, db), db.Create(Session{})
			if err := tt.do(db, l); err != nil {
				t.Error(err)
			}
			if n := clock(t, db) - before; n != tt.want.messages {
				t.Errorf("%d transactions for %d messages", n, tt.want.messages)
			}
			_ = db.Close()
			again := reopen(t, db.path)
			var got stored
			for table, n := range map[string]*int{"prompts": &got.history, "drafts": &got.draft, "nodes": &got.messages} {
				if err := again.value(n, "SELECT count(*) FROM "+table); err != nil {
					t.Fatal(err)
				}
			}
			if got != tt.want {
				t.Errorf("stored %+v, want %+v", got, tt.want)
			}
		})
	}
}

// addPrompt adds a prompt to the history, and waits for the disk.
func addPrompt(db *DB, p SentPrompt) error {
	wait := db.AddPromptAsync(p)
	return errors.Join(db.Flush(), wait())
}
