package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// noted returns an annotation that follows a message.
func noted(n, after int, text string) Annotation {
	return Annotation{N: n, After: after, Next: after + 1, At: time.Unix(1e9, 0), Kind: "notice", Data: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))}
}

// shown returns the numbers and texts of annotations.
func shown(all []Annotation) (texts []string) {
	for _, a := range all {
		texts = append(texts, fmt.Sprintf("%d behind %d: %s", a.N, a.After, a.Data))
	}
	return texts
}

// annotationsOf reads those of a session from the file.
func annotationsOf(t *testing.T, db *DB, id string) []string {
	t.Helper()
	all, err := db.Annotations(id)
	if err != nil {
		t.Error(err)
	}
	return shown(all)
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	l.Annotate(noted(1, 0, "before anything was said"))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if list, err := db.List(Query{}); err != nil || len(list) != 0 {
		t.Fatalf("an annotation alone makes a conversation: %+v, %v", list, err)
	}
	talk(t, l, "hello", "hi")
	l.Annotate(noted(2, 2, "first"))
	l.Annotate(noted(3, 2, "deleted"))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	l.Annotate(noted(2, 2, "changed"))
	l.Annotate(Annotation{N: 3})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{`1 behind 0: {"text":"before anything was said"}`, `2 behind 2: {"text":"changed"}`}
	if got := annotationsOf(t, reopen(t, db.path), id); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	l, err := db.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	l.Annotate(noted(4, 2, "again"))
	_ = l.Close()
	l.Annotate(noted(5, 2, "of a closed conversation"))
	if err := l.Flush(); err != nil || len(annotationsOf(t, db, id)) != 3 {
		t.Errorf("after it was closed there are %q, %v", annotationsOf(t, db, id), err)
	}

	t.Run("a fork has those of its branch", func(t *testing.T) {
		copied, _, err := db.ForkInto(db, id, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(copied.Annotations()); !reflect.DeepEqual(got, want[:1]) {
			t.Errorf("got %q", got)
		}
		talk(t, copied, "other", "branch")
		if got := annotationsOf(t, db, copied.Session().ID); !reflect.DeepEqual(got, want[:1]) {
			t.Errorf("on disk: %q", got)
		}
		_ = copied.Close()
	})
	t.Run("they go with the conversation", func(t *testing.T) {
		if err := db.Remove(id); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.writer.QueryRow(`SELECT count(*) FROM annotations WHERE session NOT IN (SELECT num FROM sessions)`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d are left, %v", n, err)
		}
	})
	t.Run("an import brings them", func(t *testing.T) {
		id, err := db.Import(Session{}, []Node{says(1, llm.RoleUser, "x")}, noted(7, 1, "imported"))
		if got := annotationsOf(t, db, id); err != nil || !reflect.DeepEqual(got, []string{`1 behind 1: {"text":"imported"}`}) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// A conversation that another process took over is written anew with all of it.
func TestAnnotationsOfALostSession(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	talk(t, l, "hello", "hi")
	l.Annotate(noted(1, 2, "kept"))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.writer.script(`UPDATE leases SET owner = 'another'; UPDATE sessions SET touched = touched + 100`); err != nil {
		t.Fatal(err)
	}
	var lost *LeaseLostError
	if err := l.Put(says(3, llm.RoleUser, "more")); !errors.As(err, &lost) {
		t.Fatalf("got %v", err)
	}
	if got := annotationsOf(t, db, lost.Fork); len(got) != 1 {
		t.Errorf("the copy has %q", got)
	}
}

// A file of before there were annotations gets them, and is read where it cannot
// be written.
func TestOlderFileWithoutAnnotations(t *testing.T) {
	t.Parallel()
	path := fresh(t).path + "old"
	old, err := open(path, schema[:1], time.Now)
	if err != nil {
		t.Fatal(err)
	}
	l := old.Create(Session{})
	id := l.Session().ID
	for i, text := range []string{"hello", "are you there?"} { // what this program writes of answers is younger
		if err := l.Put(says(i+1, llm.RoleUser, text)); err != nil {
			t.Fatal(err)
		}
	}
	_ = old.Close()

	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	only := path + "only"
	if err := os.WriteFile(only, file, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := &DB{database: database{path: only, schema: schema, now: time.Now}}
	if _, err := reader.openReaders("mode=ro&immutable=1"); err != nil {
		t.Fatal(err)
	}
	if _, nodes, err := reader.Read(id); err != nil || len(nodes) != 2 {
		t.Errorf("read only: %d messages, %v", len(nodes), err)
	}
	_ = reader.disconnect()

	db := reopen(t, path)
	if l, err = db.Resume(id); err != nil || len(l.Nodes()) != 2 {
		t.Fatalf("got %+v, %v", l, err)
	}
	l.Annotate(noted(1, 2, "new"))
	_ = l.Close()
	if got := annotationsOf(t, db, id); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

// A damaged annotation hides neither the others nor the messages.
func TestDamagedAnnotations(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	l := db.Create(Session{})
	id := l.Session().ID
	talk(t, l, "hello", "hi")
	for n := 1; n <= 3; n++ {
		l.Annotate(noted(n, 2, fmt.Sprint("note ", n)))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for damage, left := range map[string]int{
		`UPDATE annotations SET data = '{"after' WHERE n = 2`:                                       2,
		`UPDATE annotations SET data = x'ff00fe' WHERE n = 2`:                                       2,
		`UPDATE annotations SET data = 7 WHERE n = 2`:                                               2,
		`UPDATE annotations SET data = '{"n":2,"after":-5,"next":-6,"kind":"notice"}' WHERE n = 2`:  3,
		`UPDATE annotations SET n = -2 WHERE n = 2`:                                                 2,
		`UPDATE annotations SET n = 'two' WHERE n = 2`:                                              2,
		`DROP TABLE annotations`:                                                                    0,
		`DROP TABLE annotations; CREATE TABLE annotations (other)`:                                  0,
		`UPDATE annotations SET data = '{"after":9e18,"next":2,"part":-9e18,"kind":"x"}' WHERE n=2`: 2,
	} {
		if err := db.writer.script("SAVEPOINT damage; " + damage); err != nil {
			t.Fatal(damage, err)
		}
		// Through the connection that writes: nothing of it is to stay.
		file := &DB{database: database{path: "memory", schema: schema, now: time.Now, pool: db.pool, writer: db.writer}}
		_, c, _, err := file.load(id, false)
		if len(c.nodes) != 2 || len(c.annotations) != left {
			t.Errorf("%s: %d messages, %d annotations, %v", damage, len(c.nodes), len(c.annotations), err)
		}
		var damaged *DamagedError
		if !strings.Contains(damage, "-5") && damage != `DROP TABLE annotations` && !errors.As(err, &damaged) {
			t.Errorf("%s: nothing is told: %v", damage, err)
		}
		for _, list := range AnnotationsAlong(c.nodes, c.annotations, func(int) (int, bool) { return 0, false }) {
			_ = list
		}
		if err := db.writer.script("ROLLBACK TO damage; RELEASE damage"); err != nil {
			t.Fatal(err)
		}
	}
}

// The end of an answer is shown after it whichever message follows; other annotations belong to the
// branch that they were made on.
func TestAnnotationsOfBranches(t *testing.T) {
	user, answer := llm.Message{Role: llm.RoleUser}, llm.Message{Role: llm.RoleAssistant}
	nodes := []Node{{Seq: 1, Message: user}, {Seq: 2, Parent: 1, Message: answer}, {Seq: 3, Parent: 2, Message: user}, {Seq: 4, Parent: 2, Message: user}}
	parent := func(seq int) (int, bool) { return nodes[seq-1].Parent, true }
	all := []Annotation{{N: 1, After: 2, Next: 3, Kind: KindDone}, {N: 2, After: 2, Next: 3, Kind: "notice"}, {N: 3, After: 1, Next: 2, Kind: KindDone}}
	for _, tt := range []struct {
		name string
		path []Node
		want string
	}{
		{"the branch that it was made on", []Node{nodes[0], nodes[1], nodes[2]}, "[[] [3] [1 2] []]"},
		{"an edited prompt", []Node{nodes[0], nodes[1], nodes[3]}, "[[] [3] [1] []]"},
		{"the answer alone", []Node{nodes[0], nodes[1]}, "[[] [3] [1]]"},
		{"the prompt alone", []Node{nodes[0]}, "[[] []]"},
	} {
		var got [][]int
		for _, list := range AnnotationsAlong(tt.path, all, parent) {
			var numbers []int
			for _, a := range list {
				numbers = append(numbers, a.N)
			}
			got = append(got, numbers)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
}
