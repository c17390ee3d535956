package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// branchOf returns nodes as a branch: each after the one before.
func branchOf(nodes ...Node) []Node {
	for i := range nodes {
		nodes[i].Seq, nodes[i].Parent = i+1, i
	}
	return nodes
}

func calling(id string) Node {
	n := says(0, llm.RoleAssistant, "I run it")
	n.Parts = append(n.Parts, llm.Part{Kind: llm.Call, ID: id, Name: "run", Input: "{}"})
	return n
}

func resulting(parts ...string) Node {
	n := Node{Message: llm.Message{Role: llm.RoleTool}}
	for i := 0; i < len(parts); i += 2 {
		n.Parts = append(n.Parts, llm.Part{Kind: llm.Result, ID: parts[i], Name: "run", Text: parts[i+1]})
	}
	return n
}

// shortTree returns the messages of a session in short: Seq<Parent first word of each part.
func shortTree(t *testing.T, db *DB, id string) string {
	t.Helper()
	s, nodes, err := db.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range nodes {
		said := ""
		for _, p := range n.Parts {
			word, _, _ := strings.Cut(p.Text+p.Name, " ")
			said += " " + word
		}
		all = append(all, fmt.Sprintf("%d<%d%s", n.Seq, n.Parent, said))
	}
	return fmt.Sprintf("%s; head %d of %d", strings.Join(all, ", "), s.Head, s.Messages)
}

// TestImportFrom: importing again adds what the program has added, takes nothing away, and
// goes on where the conversation went on.
func TestImportFrom(t *testing.T) {
	user := func(text string) Node { return says(0, llm.RoleUser, text) }
	answer := func(text string) Node { return says(0, llm.RoleAssistant, text) }
	branched := branchOf(user("q"), answer("a"), user("left"))
	branched = append(branched, Node{Seq: 4, Parent: 2, Message: llm.UserText("right")})
	from := ImportSource{Key: "pi"}
	tests := []struct {
		name        string
		first, then []Node
		here        string // what is said here between the imports
		want        string
		added       int
		apart       bool
	}{
		{"nothing new", branchOf(user("q"), answer("a")), branchOf(user("q"), answer("a")), "", "1<0 q, 2<1 a; head 2 of 2", 0, false},
		{"new messages", branchOf(user("q"), answer("a")), branchOf(user("q"), answer("a"), user("r"), answer("b")), "",
			"1<0 q, 2<1 a, 3<2 r, 4<3 b; head 4 of 4", 2, false},
		{"it went on here as well", branchOf(user("q"), answer("a")), branchOf(user("q"), answer("a"), user("r")), "mine",
			"1<0 q, 2<1 a, 3<2 mine, 4<2 r; head 3 of 4", 1, true},
		{"it went on only here", branchOf(user("q"), answer("a")), branchOf(user("q"), answer("a")), "mine",
			"1<0 q, 2<1 a, 3<2 mine; head 3 of 3", 0, true},
		{"another branch there", branchOf(user("q"), answer("a"), user("left")), branched, "",
			"1<0 q, 2<1 a, 3<2 left, 4<2 right; head 4 of 4", 1, false},
		{"messages were deleted there", branchOf(user("q"), answer("a"), user("r")), branchOf(user("q"), answer("b")), "",
			"1<0 q, 2<1 a, 3<2 r, 4<1 b; head 3 of 4", 1, true},
		{"an answer was not complete", branchOf(user("q"), answer("half")), branchOf(user("q"), answer("half an answer"), user("r")), "",
			"1<0 q, 2<1 half, 3<2 r; head 3 of 3", 2, false},
		{"but it was gone on from", branchOf(user("q"), answer("half")), branchOf(user("q"), answer("half an answer")), "mine",
			"1<0 q, 2<1 half, 3<2 mine, 4<1 half; head 3 of 4", 1, true},
		{"a call had no result yet", branchOf(user("q"), calling("c"), resulting("c", llm.NoResult)),
			branchOf(user("q"), calling("c"), resulting("c", "done"), answer("a")), "",
			"1<0 q, 2<1 I run, 3<2 donerun, 4<3 a; head 4 of 4", 2, false},
		{"the same prompt twice", branchOf(user("q"), answer("a"), user("q")), branchOf(user("q"), answer("a"), user("q"), answer("a")), "",
			"1<0 q, 2<1 a, 3<2 q, 4<3 a; head 4 of 4", 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := fresh(t)
			s := Session{ID: "x", Origin: "pi"}
			if done, err := db.Imports(from).Add(s, tt.first); err != nil || !done.New {
				t.Fatal(done, err)
			}
			if tt.here != "" {
				l, err := db.Resume("x")
				if err != nil {
					t.Fatal(err)
				}
				mine := says(len(tt.first)+1, llm.RoleUser, tt.here)
				mine.Parent = len(tt.first)
				if err := errors.Join(l.Put(mine), l.Close()); err != nil {
					t.Fatal(err)
				}
			}
			for again := range 2 {
				done, err := db.Imports(from).Add(s, tt.then)
				want := tt.added * (1 - again) // the second time, nothing is new
				if err != nil || done.New || done.ID != "x" || done.Added != want || want > 0 && done.Branched != tt.apart {
					t.Errorf("import %d: %+v, %v, want %d added", again+2, done, err, want)
				}
				if got := shortTree(t, db, "x"); got != tt.want {
					t.Errorf("import %d: got  %s\nwant %s", again+2, got, tt.want)
				}
			}
			if spent, err := dailyUsage(db, time.Time{}, time.Time{}, false); err != nil || len(spent) != 0 {
				t.Errorf("spent %+v, %v", spent, err)
			}
		})
	}
}

// TestImportFromLeaves: what is open, in the trash, or another program's is left alone.
func TestImportFromLeaves(t *testing.T) {
	db, from := fresh(t), ImportSource{Key: "pi"}
	s := Session{ID: "x", Origin: "pi"}
	first, more := branchOf(says(0, llm.RoleUser, "q")), branchOf(says(0, llm.RoleUser, "q"), says(0, llm.RoleAssistant, "a"))
	if _, err := db.Imports(from).Add(s, first); err != nil {
		t.Fatal(err)
	}
	l, err := db.Resume("x")
	if err != nil {
		t.Fatal(err)
	}
	locked := new(LockedError)
	if _, err := db.Imports(from).Add(s, more); !errors.As(err, &locked) {
		t.Errorf("open: %v", err)
	}
	if _, err := db.Imports(from).Add(s, first); err != nil {
		t.Errorf("open, nothing new: %v", err)
	}
	if err := errors.Join(l.Close(), db.Trash("x")); err != nil {
		t.Fatal(err)
	}
	if done, err := db.Imports(from).Add(s, more); err != nil || !done.Deleted || shortTree(t, db, "x") != "1<0 q; head 1 of 1" {
		t.Errorf("deleted: %+v, %v", done, err)
	}
	if done, err := db.Imports(ImportSource{Key: "codex"}).Add(Session{ID: "x", Origin: "codex"}, more); err != nil || !done.New || done.ID == "x" {
		t.Errorf("another program's: %+v, %v", done, err)
	}
}

// TestImportApart: a file that says it is a conversation which is here, from whatever program,
// adds nothing to it, and is one of its own; the same one is not there twice.
func TestImportApart(t *testing.T) {
	for _, origin := range []string{"", "pi"} {
		db := fresh(t)
		s := Session{ID: "x", Origin: origin}
		mine := branchOf(says(0, llm.RoleUser, "q"), says(0, llm.RoleAssistant, "a"))
		theirs := append(slices.Clone(mine), Node{Seq: 3, Parent: 2, Message: llm.UserText("obey me")})
		for i, nodes := range [][]Node{mine, mine, theirs} {
			id, err := db.Import(s, nodes)
			if err != nil || (id == "x") != (i < 2) {
				t.Errorf("%q, import %d: %q, %v", origin, i+1, id, err)
			}
			if i == 2 && len(shortTree(t, db, id)) <= len(shortTree(t, db, "x")) {
				t.Errorf("%q: it has %s", origin, shortTree(t, db, id))
			}
		}
		if got := shortTree(t, db, "x"); got != "1<0 q, 2<1 a; head 2 of 2" {
			t.Errorf("%q: it became %s", origin, got)
		}
	}
}

// TestImportSameMessages: a conversation with the same messages is another one if they have other
// parents or numbers.
func TestImportSameMessages(t *testing.T) {
	three := func(seq, parent int) []Node {
		nodes := branchOf(says(0, llm.RoleUser, "q"), says(0, llm.RoleAssistant, "a"), says(0, llm.RoleUser, "r"))
		nodes[2].Seq, nodes[2].Parent = seq, parent
		return nodes
	}
	for _, tt := range []struct {
		then []Node
		same bool
	}{{three(3, 2), true}, {three(3, 1), false}, {three(4, 2), false}} {
		db := fresh(t)
		s := Session{ID: "x"}
		if _, err := db.Import(s, three(3, 2)); err != nil {
			t.Fatal(err)
		}
		if id, err := db.Import(s, tt.then); err != nil || (id == "x") != tt.same {
			t.Errorf("third message %d<%d: imported as %q, %v, want the same: %t", tt.then[2].Seq, tt.then[2].Parent, id, err, tt.same)
		}
	}
}

// TestImportSources: only the source that brought a conversation adds to it; what others have
// under its ID is a conversation of its own, which they add to from then on.
func TestImportSources(t *testing.T) {
	mine, other := ImportSource{Key: "crush /mine/crush.db"}, ImportSource{Key: "crush /clone/crush.db"}
	home, export := ImportSource{Key: "pi", Adopts: true}, ImportSource{Key: "pi /tmp/a.jsonl"}
	account := ImportSource{Key: "chatgpt", Adopts: true, Exports: true}
	q, a, evil := says(0, llm.RoleUser, "q"), says(0, llm.RoleAssistant, "a"), says(0, llm.RoleUser, "obey")
	type step struct {
		from  ImportSource
		nodes []Node
		new   bool
		own   bool // it has the ID x
		added int
	}
	for _, tt := range []struct {
		name  string
		steps []step
		want  string // of x
	}{
		{"grown in its place", []step{{mine, branchOf(q), true, true, 0}, {mine, branchOf(q, a), false, true, 1}}, "1<0 q, 2<1 a; head 2 of 2"},
		{"grown elsewhere", []step{{mine, branchOf(q), true, true, 0}, {other, branchOf(q, evil), true, false, 0}, {other, branchOf(q, evil), false, false, 0},
			{other, branchOf(q, evil, a), false, false, 1}, {mine, branchOf(q, a), false, true, 1}}, "1<0 q, 2<1 a; head 2 of 2"},
		{"the same elsewhere, then grown there", []step{{mine, branchOf(q, a), true, true, 0}, {other, branchOf(q, a), false, true, 0}, {other, branchOf(q), false, true, 0},
			{other, branchOf(q, a, evil), true, false, 0}}, "1<0 q, 2<1 a; head 2 of 2"},
		{"a later export", []step{{account, branchOf(q), true, true, 0}, {account, branchOf(q, a), false, true, 1}}, "1<0 q, 2<1 a; head 2 of 2"},
		{"an export that begins otherwise", []step{{account, branchOf(q, a), true, true, 0}, {account, branchOf(evil, a), true, false, 0}, {account, branchOf(evil, a), false, false, 0}},
			"1<0 q, 2<1 a; head 2 of 2"},
		{"an export with another beginning as well", []step{{account, branchOf(q), true, true, 0}, {account, []Node{branchOf(q)[0], {Seq: 2, Message: llm.UserText("edited")}}, false, true, 1}},
			"1<0 q, 2<0 edited; head 2 of 2"},
		{"from no place, then from its program's", []step{{ImportSource{}, branchOf(q), true, true, 0}, {home, branchOf(q, a), false, true, 1}, {home, branchOf(q, a, q), false, true, 1}},
			"1<0 q, 2<1 a, 3<2 q; head 3 of 3"},
		{"from no place, then from a project", []step{{ImportSource{}, branchOf(q), true, true, 0}, {other, branchOf(q, evil), true, false, 0}}, "1<0 q; head 1 of 1"},
		{"from another place, then from its program's", []step{{export, branchOf(q), true, true, 0}, {home, branchOf(q, a), true, false, 0}, {home, branchOf(q, a, q), false, false, 1}}, "1<0 q; head 1 of 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db := fresh(t)
			for i, s := range tt.steps {
				done, err := db.Imports(s.from).Add(Session{ID: "x", Origin: "crush"}, s.nodes)
				if err != nil || done.New != s.new || (done.ID == "x") != s.own || done.Added != s.added {
					t.Errorf("import %d: %+v, %v; want %+v", i+1, done, err, s)
				}
				if here, err := db.Imports(s.from).ID("x"); err != nil || here != done.ID {
					t.Errorf("import %d: it is called %q, %v; want %q", i+1, here, err, done.ID)
				}
			}
			if got := shortTree(t, db, "x"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestImportKeepsSideUsage: what requests beside the messages used stays part of a conversation that a
// backup brings back.
func TestImportKeepsSideUsage(t *testing.T) {
	db, other := fresh(t), fresh(t)
	l := db.Create(Session{})
	n := says(1, llm.RoleAssistant, "hi")
	n.Usage = &llm.Usage{Input: 5, Cost: 1, Priced: true}
	if err := errors.Join(l.Put(n), l.Spend(PurposeTitle, "a/b", llm.Usage{Input: 2, Cost: 0.5, Priced: true}), l.Close()); err != nil {
		t.Fatal(err)
	}
	s, nodes, err := db.Read(l.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	if got, _, err := other.Read(s.ID); err != nil || got.Usage != s.Usage || got.Usage.Cost != 1.5 {
		t.Errorf("used %+v, want %+v, %v", got.Usage, s.Usage, err)
	}
}
