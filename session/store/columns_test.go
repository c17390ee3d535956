package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// planted is the file of an orchard, once there is one.
var planted struct {
	sync.Mutex
	file []byte
}

// orchard returns a store with two conversations: one with calls and two branches, and
// a plain one. Each is a copy of the first.
func orchard(t *testing.T) *DB {
	t.Helper()
	planted.Lock()
	defer planted.Unlock()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	if planted.file == nil {
		first := plant(t)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(first.path)
		if err != nil {
			t.Fatal(err)
		}
		planted.file = file
	}
	if err := os.WriteFile(path, planted.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return reopen(t, path)
}

func plant(t *testing.T) *DB {
	t.Helper()
	db := fresh(t)
	l := db.Create(Session{ID: "first", Title: "apples"})
	priced := &llm.Usage{Input: 7, Output: 3, Cost: 0.5, Priced: true}
	for _, n := range []Node{
		{Seq: 1, Message: llm.UserText("which apples?")},
		{Seq: 2, Parent: 1, Usage: priced, Reason: llm.Calls, Message: llm.Message{Role: llm.RoleAssistant, Model: "a/a", Parts: []llm.Part{
			{Kind: llm.Text, Text: "let me look at apples"}, {Kind: llm.Call, ID: "1", Name: "list", Input: `{}`}}}},
		{Seq: 3, Parent: 2, Message: llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "1", Name: "list", Text: "apples.txt"}}}},
		{Seq: 4, Parent: 3, Usage: priced, Message: llm.Message{Role: llm.RoleAssistant, Model: "a/a", Parts: []llm.Part{{Kind: llm.Text, Text: "red apples"}}}},
		{Seq: 5, Parent: 3, Message: llm.Message{Role: llm.RoleAssistant, Model: "a/a", Parts: []llm.Part{{Kind: llm.Text, Text: "green apples"}}}},
		{Seq: 6, Parent: 5, Message: llm.UserText("thanks for apples")},
	} {
		if err := l.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	other := db.Create(Session{ID: "second", Title: "more apples"})
	talk(t, other, "apples again", "and apples")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	return db
}

// A damaged value costs itself: the conversation, and all others, are listed,
// found, read and gone on with, and it is told what is damaged.
func TestDamagedColumns(t *testing.T) {
	tests := []struct {
		damage string // SQL
		told   string
		path   string // texts of the branch that is shown
	}{
		{`UPDATE nodes SET parent = -1 WHERE session = 1 AND seq IN (4, 5)`, "message 5 follows message -1: taken to follow message 4", "which|let|apples.txt|red|green|thanks"},
		{`UPDATE nodes SET parent = 6 WHERE session = 1 AND seq IN (3, 5)`, "message 3 follows message 6: taken to follow message 2", "which|let|apples.txt|red|green|thanks"},
		{`UPDATE nodes SET parent = 3 WHERE session = 1 AND seq = 3`, "message 3 follows message 3: taken to follow message 2", ""},
		{`UPDATE nodes SET parent = 'x' WHERE session = 1 AND seq = 5`, `parent = "x"`, "green|thanks"},
		{`UPDATE nodes SET seq = -5 WHERE session = 1 AND seq = 3`, "message -5 is out of sequence: read as message 3", ""},
		{`UPDATE nodes SET seq = 'x' WHERE session = 1 AND seq = 6`, `seq = "x"`, ""},
		{`UPDATE nodes SET seq = 9000000000000000000 WHERE session = 1 AND seq = 2`, "read as message 2", ""},
		{`UPDATE nodes SET seq = 60 WHERE session = 1 AND seq = 3`, "message 4 follows message 3: taken to follow message 2", "which|let|green|thanks"},
		{`DELETE FROM nodes WHERE session = 1 AND seq = 3`, "missing messages: 1", "which|let|green|thanks"},
		{`UPDATE nodes SET at = 'noon' WHERE session = 1 AND seq = 3`, `at = "noon"`, ""},
		{`UPDATE nodes SET at = 1e300 WHERE session = 1 AND seq = 3`, `at = "1e+300"`, ""},
		{`UPDATE nodes SET role = '' WHERE session = 1`, `role = "": taken for tool`, ""},
		{`UPDATE nodes SET role = 'user' WHERE session = 1 AND seq = 3`, `role = "user": taken for tool`, ""},
		{`UPDATE nodes SET rest = x'00' WHERE session = 1 AND seq = 2`, "message 2", ""},
		{`UPDATE nodes SET parts = 7 WHERE session = 1 AND seq = 2`, "message 2", "which||apples.txt|green|thanks"},
		{`UPDATE sessions SET head = 99 WHERE num = 1`, "no message 99 to continue from", ""},
		{`UPDATE sessions SET head = -1 WHERE num = 1`, "no message -1 to continue from", ""},
		{`UPDATE sessions SET head = 'x' WHERE num = 1`, `head = "x"`, "-"},
		{`UPDATE sessions SET usage = '{' WHERE num = 1`, `usage = "{"`, ""},
		{`UPDATE sessions SET usage = x'ff' WHERE num = 1`, `usage =`, ""},
		{`UPDATE sessions SET pinned = 'yes' WHERE num = 1`, `pinned = "yes"`, ""},
		{`UPDATE sessions SET named = 2.5 WHERE num = 1`, `named = "2.5"`, ""},
		{`UPDATE sessions SET updated = 'noon', created = x'00' WHERE num = 1`, `updated = "noon"`, ""},
		{`UPDATE sessions SET touched = 'x' WHERE num = 1`, `touched = "x"`, ""},
		{`UPDATE sessions SET messages = 'x' WHERE num = 1`, `messages = "x"`, ""},
		{`UPDATE sessions SET effort = 'huge' WHERE num = 1`, `effort = "huge"`, ""},
		{`UPDATE sessions SET history = 'none' WHERE num = 1`, `history = "none"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.damage, func(t *testing.T) {
			t.Parallel()
			db := orchard(t)
			if err := db.write(func(w *writer) error { return w.script(tt.damage) }); err != nil {
				t.Fatal(err)
			}
			if list, err := db.List(Query{}); len(list) != 2 || err != nil && !errors.As(err, new(*DamagedError)) {
				t.Errorf("listed %d, %v", len(list), err)
			}
			if hits, _, err := db.Search(Query{Words: "apples"}); len(hits) < 8 || err != nil && !errors.As(err, new(*DamagedError)) {
				t.Errorf("found %d, %v", len(hits), err)
			}
			if found, _ := db.Find("first"); len(found) != 1 {
				t.Errorf("found %+v", found)
			}
			s, nodes, err := db.Read("first")
			if err == nil || !strings.Contains(err.Error(), tt.told) {
				t.Errorf("told %v, want %q", err, tt.told)
			}
			want := tt.path
			if want == "" {
				want = "which|let|apples.txt|green|thanks"
			}
			if got := beginnings(s.Head, nodes); want != "-" && got != want && !strings.HasSuffix(got, want) {
				t.Errorf("shown %q, want %q", got, want)
			}
			goesOn(t, db)
		})
	}
}

// goesOn says more in the first conversation, which is then as whole as it can be.
func goesOn(t *testing.T, db *DB) {
	t.Helper()
	l, err := db.Resume("first")
	if l == nil {
		t.Fatalf("resumed with %v", err)
	}
	nodes := l.Nodes()
	last := nodes[len(nodes)-1].Seq
	more := says(last+1, llm.RoleUser, "more")
	more.Parent = last
	if err := l.Put(more); err != nil {
		t.Errorf("going on: %v", err)
	}
	id := l.Session().ID
	if err := l.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	_, again, _ := db.Read(id)
	if n := len(again); n != len(nodes)+1 || again[n-1].Text() != "more" || again[n-1].Parent != last {
		t.Errorf("there are %d messages, want %d and the new one last: %+v", n, len(nodes)+1, again[n-1])
	}
	if l, _, err := db.ForkInto(db, "first", 0); l == nil {
		t.Errorf("forked with %v", err)
	}
}

// beginnings returns the first words of the branch that ends with head.
func beginnings(head int, nodes []Node) string {
	at := map[int]Node{}
	for _, n := range nodes {
		at[n.Seq] = n
	}
	var words []string
	for n, ok := at[head]; ok && len(words) <= len(nodes); n, ok = at[n.Parent] {
		text := n.Text()
		for _, p := range n.Parts {
			if p.Kind == llm.Result {
				text = p.Text
			}
		}
		word, _, _ := strings.Cut(text, " ")
		words = append([]string{word}, words...)
	}
	return strings.Join(words, "|")
}

// TestRandomDamage writes anything into any column: whatever it is, nothing
// hangs or panics, all conversations are listed, and each can be gone on with.
func TestRandomDamage(t *testing.T) {
	t.Parallel()
	columns := map[string][]string{
		"sessions": {"title", "named", "folder", "model", "effort", "history", "pinned", "origin", "created", "updated", "head", "messages",
			"usage", "preview", "touched"},
		"nodes":  {"seq", "parent", "at", "role", "origin", "model", "indexed", "rest", "parts"},
		"ledger": {"seq", "day", "at", "session", "provider", "model", "input", "cache_read", "output", "cost", "priced", "missed"},
		"leases": {"owner", "pid", "start", "boot", "host", "beat"},
	}
	values := []string{`'x'`, `''`, `x'ff00fe'`, `x''`, `-1`, `0`, `1`, `2`, `3`, `7`, `1000`, `-9223372036854775808`, `9223372036854775807`,
		`1e300`, `-0.5`, `9e999`, `'['`, `'{"'`, `'null'`, `'[{"kind":"call"},{"kind":"result","remote":true}]'`, `'{"open":true,"cut":true,"results":null}'`,
		`'user'`, `'tool'`, `'assistant'`, `'1'`, `hex(zeroblob(5000))`}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range either(25, 1000) {
		if !t.Run(fmt.Sprint(seed, " ", round), func(t *testing.T) {
			db := orchard(t)
			var done []string
			for range 1 + r.IntN(4) {
				tables := []string{"sessions", "nodes", "nodes", "nodes", "ledger", "leases"}
				table := tables[r.IntN(len(tables))]
				column := columns[table][r.IntN(len(columns[table]))]
				where := fmt.Sprintf(`abs(random()) %% %d = 0`, 1+r.IntN(4))
				sql := fmt.Sprintf(`UPDATE OR IGNORE %s SET %s = %s WHERE %s`, table, column, values[r.IntN(len(values))], where)
				if err := db.write(func(w *writer) error { return w.script(sql) }); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				done = append(done, sql)
			}
			ended := make(chan bool)
			go func() {
				defer close(ended)
				inspect(t, db, strings.Join(done, "; "))
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatalf("it hangs after %q", done)
			}
		}) {
			return
		}
	}
}

// inspect reads all of an orchard, and goes on with it.
func inspect(t *testing.T, db *DB, damage string) {
	if list, err := db.List(Query{}); len(list) != 2 {
		t.Errorf("%s: %d are listed, %v", damage, len(list), err)
	}
	if _, _, err := db.Search(Query{Words: "apples"}); err != nil && !errors.As(err, new(*DamagedError)) {
		t.Errorf("%s: searching: %v", damage, err)
	}
	if _, err := dailyUsage(db, time.Time{}, time.Time{}, true); err != nil {
		t.Errorf("%s: spending: %v", damage, err)
	}
	_, nodes, err := db.Read("first")
	if len(nodes) != 6 {
		t.Errorf("%s: %d messages, %v", damage, len(nodes), err)
	}
	seen := map[int]bool{0: true}
	for _, n := range nodes {
		if !seen[n.Parent] || n.Parent >= n.Seq || seen[n.Seq] {
			t.Errorf("%s: message %d follows message %d", damage, n.Seq, n.Parent)
		}
		seen[n.Seq] = true
	}
	goesOn(t, db)
}
