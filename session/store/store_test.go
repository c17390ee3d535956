package store

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// empty returns the bytes of a store without anything in it, and its identity.
var empty = sync.OnceValues(func() (file, identity []byte) {
	dir, err := os.MkdirTemp("", "parley-test")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "parley.db")
	db, err := Open(path)
	if err != nil {
		panic(err)
	}
	if err := db.writer.QueryRow("SELECT identity FROM meta").Scan(&identity); err != nil {
		panic(err)
	}
	if err := db.Close(); err != nil {
		panic(err)
	}
	if file, err = os.ReadFile(path); err != nil || bytes.Count(file, identity) != 1 {
		panic(fmt.Sprint("the identity stands ", bytes.Count(file, identity), " times in the file: ", err))
	}
	return file, identity
})

// fresh opens an empty store that is closed with the test. Making its tables takes longer than
// most tests: it is a copy of one, with an identity of its own.
func fresh(t testing.TB) *DB {
	t.Helper()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	file, identity := empty()
	if err := os.WriteFile(path, bytes.Replace(file, identity, []byte(rand.Text()), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return reopen(t, path)
}

func reopen(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func says(seq int, role llm.Role, text string) Node {
	return Node{Seq: seq, Parent: seq - 1, Message: llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}}
}

// talk puts texts of a user and a model in turns.
func talk(t testing.TB, l *Log, texts ...string) {
	t.Helper()
	from := len(l.Nodes())
	for i, text := range texts {
		role := llm.RoleUser
		if (from+i)%2 == 1 {
			role = llm.RoleAssistant
		}
		if err := l.Put(says(from+i+1, role, text)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeep(t *testing.T) {
	db := fresh(t)
	if err := db.ReadOnly(); err != nil {
		t.Fatal(err)
	}
	l := db.Create(Session{Model: "openai/x", Dir: "/w"})
	id := l.Session().ID
	if list, err := db.List(Query{}); err != nil || len(list) != 0 {
		t.Fatalf("before the first Put: %v, %v", list, err)
	}
	talk(t, l, "hello there", "general kenobi", "bye")
	want := l.Nodes()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = reopen(t, db.path)
	s, nodes, err := db.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "hello there" || s.Preview != "bye" || s.Messages != 3 || s.Head != 3 || s.Model != "openai/x" {
		t.Errorf("got %+v", s)
	}
	if fmt.Sprint(nodes) == "" || !reflect.DeepEqual(parts(nodes), parts(want)) {
		t.Errorf("got %+v\nwant %+v", nodes, want)
	}
	hits, _, err := db.Search(Query{Words: "kenobi"})
	if err != nil || len(hits) != 1 || hits[0].Seq != 2 || hits[0].Snippet != "general kenobi" {
		t.Errorf("got %+v, %v", hits, err)
	}
}

func parts(nodes []Node) (all [][]llm.Part) {
	for _, n := range nodes {
		all = append(all, n.Parts)
	}
	return all
}
