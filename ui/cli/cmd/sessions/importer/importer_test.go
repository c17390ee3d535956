package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session/archive"
	"parley/session/store"
)

// A machine has a home with files of other programs, and parley's store.
type machine struct {
	home string
	db   *store.DB
	at   time.Time
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	db, err := store.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &machine{home, db, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

func (m *machine) getenv(name string) string {
	return map[string]string{"HOME": m.home}[name]
}

// write writes a file below home, each time with a different time.
func (m *machine) write(t testing.TB, name, data string) {
	t.Helper()
	path := filepath.Join(m.home, name)
	m.at = m.at.Add(time.Second)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o600), os.Chtimes(path, m.at, m.at)); err != nil {
		t.Fatal(err)
	}
}

// imported imports all places and returns the results without zeros.
func (m *machine) imported(t testing.TB) string { return m.importedFrom(t, m.home) }

// importedFrom is imported for a parley started in folder.
func (m *machine) importedFrom(t testing.TB, folder string) string {
	t.Helper()
	var all []string
	for _, p := range Find(m.getenv, folder) {
		scan, err := Scan(t.Context(), m.db, archive.ReadFile, p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Import(t.Context(), m.db, archive.ReadFile, p)
		if err != nil {
			t.Fatal(err)
		}
		if r.New+r.Grown+r.Removed+r.Busy > 0 && scan.New == 0 {
			t.Errorf("%s: nothing new was found, and imported: %+v", p.Path, r)
		}
		text := fmt.Sprintf("%s %d", r.Program, r.Conversations)
		for _, c := range []struct {
			n    int
			what string
		}{{r.New, "new"}, {r.Separate, "separate"}, {r.Grown, "grown"}, {r.Branched, "apart"}, {r.Removed, "removed"}, {r.Busy, "busy"}, {r.Failed, "failed"}} {
			if c.n > 0 {
				text += fmt.Sprintf(", %d %s", c.n, c.what)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// pi returns a session of pi with these messages.
func pi(id string, said ...string) string {
	text := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-03-01T10:00:00Z","cwd":"/p"}`+"\n", id)
	parent := "null"
	for i, s := range said {
		role, content := "user", fmt.Sprintf("%q", s)
		if i%2 == 1 {
			role, content = "assistant", fmt.Sprintf(`[{"type":"text","text":%q}]`, s)
		}
		text += fmt.Sprintf(`{"type":"message","id":"n%d","parentId":%s,"timestamp":"2026-03-01T10:00:01Z","message":{"role":%q,"content":%s}}`+"\n", i, parent, role, content)
		parent = fmt.Sprintf(`"n%d"`, i)
	}
	return text
}

// TestImport: a second import adds only new messages.
func TestImport(t *testing.T) {
	m := newMachine(t)
	const a, b = ".pi/agent/sessions/--p--/a.jsonl", ".pi/agent/sessions/--p--/b.jsonl"
	steps := []struct {
		name string
		do   func(t *testing.T)
		want string
	}{
		{"an empty home", func(*testing.T) {}, ""},
		{"two sessions", func(t *testing.T) { m.write(t, a, pi("a", "q")); m.write(t, b, pi("b", "q", "r")) }, "pi 2, 2 new"},
		{"nothing new", func(*testing.T) {}, "pi 2"},
		{"touched", func(t *testing.T) { m.write(t, a, pi("a", "q")) }, "pi 2"},
		{"one has grown", func(t *testing.T) { m.write(t, a, pi("a", "q", "r")) }, "pi 2, 1 grown"},
		{"it went on here and there", func(t *testing.T) {
			l, err := m.db.Resume("a")
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(l.Put(store.Node{Seq: 3, Parent: 2, Message: llm.UserText("mine")}), l.Close()); err != nil {
				t.Fatal(err)
			}
			m.write(t, a, pi("a", "q", "r", "s"))
		}, "pi 2, 1 grown, 1 apart"},
		{"one is open here", func(t *testing.T) {
			l, err := m.db.Resume("b")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			m.write(t, b, pi("b", "q", "r", "s"))
		}, "pi 2, 1 busy"},
		{"and is closed", func(*testing.T) {}, "pi 2, 1 grown"},
		{"one was removed here", func(t *testing.T) {
			if err := m.db.Remove("a"); err != nil {
				t.Fatal(err)
			}
		}, "pi 2"},
		{"and has grown", func(t *testing.T) { m.write(t, a, pi("a", "q", "r", "s", "t")) }, "pi 2, 1 removed"},
		{"the other is in the trash, and has grown", func(t *testing.T) {
			if err := m.db.Trash("b"); err != nil {
				t.Fatal(err)
			}
			m.write(t, b, pi("b", "q", "r", "s", "t"))
		}, "pi 2, 1 removed"},
		{"other files", func(t *testing.T) {
			m.write(t, ".pi/agent/sessions/--p--/empty.jsonl", "")
			m.write(t, ".pi/agent/sessions/--p--/notes.txt", "x")
			m.write(t, ".claude/projects/p/agent-1.jsonl", "x")
		}, "claude-code 0; pi 2"},
	}
	for _, s := range steps {
		if !t.Run(s.name, func(t *testing.T) {
			s.do(t)
			if got := m.imported(t); got != s.want {
				t.Errorf("got %q, want %q", got, s.want)
			}
		}) {
			return
		}
	}
}

// crush writes a database of crush below home with one session of these messages.
func (m *machine) crush(t testing.TB, folder, id string, said ...string) {
	t.Helper()
	m.write(t, filepath.Join(folder, ".crush/crush.db"), "")
	path := filepath.Join(m.home, folder, ".crush/crush.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	all := `CREATE TABLE sessions (id TEXT, title TEXT, message_count INTEGER, created_at INTEGER, updated_at INTEGER);
		CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, created_at INTEGER);`
	all += fmt.Sprintf("INSERT INTO sessions VALUES ('%s', 't', %d, 1, 2);", id, len(said))
	for i, text := range said {
		role := []string{"user", "assistant"}[i%2]
		all += fmt.Sprintf(`INSERT INTO messages VALUES ('m%d', '%s', '%s', '[{"type":"text","data":{"text":"%s"}}]', %d);`, i, id, role, text, i)
	}
	if _, err := db.Exec(all); err != nil {
		t.Fatal(err)
	}
}

// TestImportClone: a database that came with a project never extends conversations from other sources, whatever IDs it
// has. The clash is reported, and its conversations are separate.
func TestImportClone(t *testing.T) {
	m := newMachine(t)
	started := ""
	for _, s := range []struct {
		name string
		do   func()
		want string // of the import
		said string // messages of the conversation x
	}{
		{"a project", func() { m.crush(t, "mine", "x", "q", "a"); started = "mine" }, "crush 1, 1 new", "q a"},
		{"a clone with the same ID", func() { m.crush(t, "clone", "x", "q", "a", "obey"); started = "clone" }, "crush 1, 1 new, 1 separate", "q a"},
		{"again", func() {}, "crush 1", "q a"},
		{"the clone grows", func() { m.crush(t, "clone", "x", "q", "a", "obey", "yes") }, "crush 1, 1 grown", "q a"},
		{"the project grows", func() { m.crush(t, "mine", "x", "q", "a", "r"); started = "mine" }, "crush 1, 1 grown", "q a r"},
		{"the project moves", func() {
			if err := os.Rename(filepath.Join(m.home, "mine"), filepath.Join(m.home, "moved")); err != nil {
				t.Fatal(err)
			}
			started = "moved"
		}, "crush 1", "q a r"},
		{"and grows", func() { m.crush(t, "moved", "x", "q", "a", "r", "b") }, "crush 1, 1 new, 1 separate", "q a r"},
		{"and grows again", func() { m.crush(t, "moved", "x", "q", "a", "r", "b", "s") }, "crush 1, 1 grown", "q a r"},
	} {
		s.do()
		if got := m.importedFrom(t, filepath.Join(m.home, started)); got != s.want {
			t.Errorf("%s: got %q, want %q", s.name, got, s.want)
		}
		_, nodes, err := m.db.Read("x")
		var said []string
		for _, n := range nodes {
			said = append(said, n.Parts[0].Text)
		}
		if got := strings.Join(said, " "); err != nil || got != s.said {
			t.Errorf("%s: x says %q, %v; want %q", s.name, got, err, s.said)
		}
	}
	if err := m.db.Remove("x"); err != nil {
		t.Fatal(err)
	}
	m.crush(t, "mine", "x", "q", "a", "r", "c")
	if got := m.importedFrom(t, filepath.Join(m.home, "mine")); got != "crush 1, 1 removed" {
		t.Errorf("a conversation that was removed: %q", got)
	}
}

// TestImportEarlierRecord: conversations imported before the store recorded their source are continued.
func TestImportEarlierRecord(t *testing.T) {
	m := newMachine(t)
	m.crush(t, "mine", "x", "q")
	p := Find(m.getenv, filepath.Join(m.home, "mine"))[0]
	if _, err := m.db.Import(store.Session{ID: "x", Origin: "crush"}, []store.Node{{Seq: 1, Message: llm.UserText("q")}}); err != nil {
		t.Fatal(err)
	}
	if err := m.db.Set(p.key(), `{"files":{},"stamps":{"x":"2/1"}}`); err != nil {
		t.Fatal(err)
	}
	m.crush(t, "mine", "x", "q", "a")
	if got := m.importedFrom(t, filepath.Join(m.home, "mine")); got != "crush 1, 1 grown" {
		t.Errorf("got %q", got)
	}
}

// TestSource: a file given by name belongs to its place, an export to its account, and other files to themselves.
func TestSource(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{".pi/agent/sessions/p/x.jsonl", "Downloads/x.jsonl", "mine/.crush/crush.db", "clone/.crush/crush.db"} {
		m.write(t, name, "x")
	}
	places := Find(m.getenv, filepath.Join(m.home, "mine"))
	for _, tt := range []struct {
		program, path string
		want          store.ImportSource
	}{
		{"pi", ".pi/agent/sessions/p/x.jsonl", store.ImportSource{Key: "pi", Adopts: true}},
		{"codex", ".pi/agent/sessions/p/x.jsonl", store.ImportSource{Key: "codex HOME/.pi/agent/sessions/p/x.jsonl"}},
		{"pi", "Downloads/x.jsonl", store.ImportSource{Key: "pi HOME/Downloads/x.jsonl"}},
		{"crush", "mine/.crush/crush.db", store.ImportSource{Key: "crush HOME/mine/.crush/crush.db"}},
		{"crush", "clone/.crush/crush.db", store.ImportSource{Key: "crush HOME/clone/.crush/crush.db"}},
		{"chatgpt", "Downloads/conversations.json", store.ImportSource{Key: "chatgpt", Adopts: true, Exports: true}},
	} {
		tt.want.Key = strings.ReplaceAll(tt.want.Key, "HOME", m.home)
		if got := Source(places, tt.program, filepath.Join(m.home, tt.path)); got != tt.want {
			t.Errorf("%s in %s: got %+v, want %+v", tt.program, tt.path, got, tt.want)
		}
	}
}

// TestFind: each program has its place. Links inside a place are not followed, but links to it are.
func TestFind(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{
		".claude/projects/p/11111111-2222-4333-8444-555555555555.jsonl", ".codex/sessions/2026/01/02/rollout-x.jsonl", ".gemini/tmp/p/chats/session-1.json",
		".pi/agent/sessions/p/x.jsonl", ".qwen/projects/p/chats/x.jsonl", ".qwen/projects/p/chats/archive/y.jsonl", ".qwen/projects/p/subagents/s/agent-z.jsonl",
		".qwen/projects/p/meta.json", "runtime/projects/p/chats/x.jsonl", ".config/io.datasette.llm/logs.db", ".local/share/opencode/opencode.db", ".local/share/opencode/storage/session/p/x.json",
		"work/.crush/crush.db", "other/data/crush.db", "elsewhere/secret.jsonl",
	} {
		m.write(t, name, "x")
	}
	// Prompts sent by parley through these programs are not imported.
	m.write(t, ".claude/projects/"+notInNames.ReplaceAllString(m.home, "-")+"--cache-parley-claude-cli/21111111-2222-4333-8444-555555555555.jsonl", "x")
	m.write(t, ".gemini/tmp/gemini-cli/.project_root", filepath.Join(m.home, ".cache/parley/gemini-cli")+"\n")
	m.write(t, ".gemini/tmp/gemini-cli/chats/session-2.jsonl", "x")
	m.write(t, ".gemini/tmp/p/.project_root", filepath.Join(m.home, "p"))
	m.write(t, ".local/share/crush/projects.json", fmt.Sprintf(`{"projects":[{"path":%q,"data_dir":"data"},{"path":"relative"}]}`, filepath.Join(m.home, "other")))
	if err := errors.Join(os.Symlink(filepath.Join(m.home, "elsewhere"), filepath.Join(m.home, ".pi/agent/sessions/p/link")),
		os.Symlink(filepath.Join(m.home, "elsewhere/secret.jsonl"), filepath.Join(m.home, ".pi/agent/sessions/p/y.jsonl"))); err != nil {
		t.Skip(err)
	}
	var got []string
	getenv := func(name string) string {
		if name == "QWEN_RUNTIME_DIR" {
			return filepath.Join(m.home, "runtime")
		}
		return m.getenv(name)
	}
	for _, p := range Find(getenv, filepath.Join(m.home, "work")) {
		rel, _ := filepath.Rel(m.home, p.Path)
		got = append(got, fmt.Sprintf("%s %s %d", p.Program, filepath.ToSlash(rel), len(p.files())))
	}
	want := []string{
		"claude-code .claude/projects 1", "codex .codex/sessions 1", "crush other/data/crush.db 1", "crush work/.crush/crush.db 1", "gemini-cli .gemini/tmp 1",
		"llm .config/io.datasette.llm/logs.db 1", "opencode .local/share/opencode/opencode.db 1", "opencode .local/share/opencode/storage 1", "pi .pi/agent/sessions 1",
		"qwen-code .qwen/projects 2", "qwen-code runtime/projects 1",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestImportCanceled: finished imports are kept, and the next import adds the rest.
func TestImportCanceled(t *testing.T) {
	m := newMachine(t)
	m.write(t, ".pi/agent/sessions/p/a.jsonl", pi("a", "q"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := Find(m.getenv, m.home)[0]
	if _, err := Import(ctx, m.db, archive.ReadFile, p); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := m.imported(t); got != "pi 1, 1 new" {
		t.Errorf("got %q", got)
	}
}

// TestImportUnreadable: an unreadable file is tried again by the next import, even if it has not changed.
func TestImportUnreadable(t *testing.T) {
	m := newMachine(t)
	const name = ".pi/agent/sessions/p/a.jsonl"
	m.write(t, name, pi("a", "q"))
	r := &run{db: m.db, read: archive.ReadFile, place: Find(m.getenv, m.home)[0], record: record{Files: map[string]readFile{}}}
	path := filepath.Join(m.home, name)
	hidden := path + ".hidden"
	for _, step := range []struct {
		from, to    string
		failed, new int
	}{{path, hidden, 1, 0}, {hidden, path, 1, 1}, {path, hidden, 1, 1}} {
		if err := errors.Join(os.Rename(step.from, step.to), r.file(t.Context(), path, "as it was")); err != nil {
			t.Fatal(err)
		}
		if r.Failed != step.failed || r.New != step.new {
			t.Errorf("%d failed, %d new; want %d and %d", r.Failed, r.New, step.failed, step.new)
		}
	}
}

// BenchmarkUnchanged imports 10,000 unchanged sessions.
func BenchmarkUnchanged(b *testing.B) {
	m := newMachine(b)
	for i := range 10_000 {
		m.write(b, fmt.Sprintf(".pi/agent/sessions/p%d/%d.jsonl", i%100, i), pi(fmt.Sprint("s", i), "q", "r"))
	}
	m.imported(b)
	for b.Loop() {
		if got := m.imported(b); got != "pi 10000" {
			b.Fatal(got)
		}
	}
}
