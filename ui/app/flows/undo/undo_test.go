package undo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	store "parley/tools/undo"
	"parley/tools/undo/snapshot"
	"parley/ui/app"
	"parley/ui/app/flows/conversation"
)

func init() { permission.Register() }

// find returns the effect of type T that e is or contains, and whether there is one.
func find[T app.Effect](e app.Effect) (found T, ok bool) {
	if all, several := e.(app.Then); several {
		for _, one := range all {
			if found, ok = find[T](one); ok {
				return found, true
			}
		}
	}
	found, ok = e.(T)
	return found, ok
}

// Undo changes the conversation in which it was called. If another one is opened while files are compared or restored,
// no message of that one is edited, and the note for the model goes to the first one.
func TestConversationChangesDuringRestore(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		dir, lib := t.TempDir(), session.MemoryStore()
		t.Cleanup(func() { lib.Close() })
		set, err := tools.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		policy := tools.NewPolicy(act.ModeYolo)
		policy.SetWorkspace(dir)
		set.SetPolicy(policy)
		model := llmtest.New(llmtest.Call(llm.Part{ID: "1", Name: "write", Input: `{"path":"a.txt","content":"new"}`}), llmtest.Say("Done."))
		endpoint := llm.Endpoint{Name: "fake/m", Model: model}
		own := session.New(session.Options{
			Model: endpoint, Tools: set, Policy: policy, Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files, Log: lib.Create(session.Info{}),
		})
		t.Cleanup(func() { own.Close() })
		flows := func(a *app.App) { Register(a); conversation.Register(a) }
		a := app.New(app.Options{Flows: flows, Session: own, Library: lib, Opening: app.Opening{New: func() (*session.Session, error) { return session.New(session.Options{Model: endpoint}), nil }}})
		do := func(name string) app.Effect {
			at := slices.IndexFunc(a.Commands, func(c app.Command) bool { return c.Name == name })
			return a.Commands[at].Do("")
		}
		for range own.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "write it"}) {
		}
		points, _ := find[*app.List](do("undo"))
		what, ok := find[*app.List](points.Choose(points.Items[0].Value))
		if !ok {
			t.Fatal("it is not asked what goes back")
		}
		both := what.Items[slices.IndexFunc(what.Items, func(i app.Item) bool { return i.Value == "both" })]
		look, _ := find[app.Prepare](what.Choose(both.Value))
		then := look(t.Context())
		if confirmed {
			question, _ := find[*app.Confirm](then())
			restore, _ := find[app.Prepare](question.Answer(true))
			then = restore(t.Context())
		}
		do("new")
		e := then()
		_, edited := find[app.Edit](e)
		_, failed := find[app.Failure](e)
		if edited || len(a.Attached) > 0 || failed == confirmed {
			t.Errorf("confirmed %v: edited %v, attached %v, %+v", confirmed, edited, a.Attached, e)
		}
		if !confirmed {
			continue
		}
		attach, ok := find[app.Async](e)
		if !ok {
			t.Fatalf("nobody is told: %+v", e)
		}
		attach(t.Context())
		if d, _, err := lib.Drafts().Take("session:" + own.ID()); err != nil || len(d.Parts) != 1 {
			t.Errorf("the draft that was left: %+v, %v", d, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
			t.Error("a.txt is not restored")
		}
	}
}

// An empty conversation has nothing to edit and nothing to undo.
func TestUnavailable(t *testing.T) {
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New()}})
	t.Cleanup(func() { s.Close() })
	a := app.New(app.Options{Flows: Register, Session: s})
	for i, want := range []app.Toast{"No message to edit yet", "Nothing to undo yet"} {
		if got := a.Commands[i].Do(""); got != want {
			t.Errorf("/%s: %v, want %q", a.Commands[i].Name, got, want)
		}
	}
}

// The model is told which files were restored and which were removed, with a limited number of names.
func TestRestoredNote(t *testing.T) {
	r := store.Record{Changes: []store.Change{{Path: "new.txt", After: store.State{}}, {Path: "a \"b\".go", After: store.State{Kind: store.File}}}}
	const begin = "<note>\nThe user took changes of files back. Read them again before you change them:\n"
	if got, want := restoredNote(r).Text, begin+"removed: \"new.txt\"\nrestored: \"a \\\"b\\\".go\"\n</note>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range maxNamed {
		r.Changes = append(r.Changes, r.Changes[1])
	}
	if got := restoredNote(r).Text; !strings.HasSuffix(got, "\nand 2 more\n</note>") {
		t.Errorf("of many: got %q", got)
	}
}

// /diff lists the files that differ from before the conversation, shows and copies their diffs, and restores one of them.
func TestChanges(t *testing.T) {
	dir, lib := t.TempDir(), session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "gone.txt": "x\n", "logo.png": "\x89PNG\x00old", "same.txt": "s\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	policy := tools.NewPolicy(act.ModeYolo)
	policy.SetWorkspace(dir)
	set.SetPolicy(policy)
	call := func(id, name, input string) llm.Part { return llm.Part{ID: id, Name: name, Input: input} }
	model := llmtest.New(llmtest.Call(call("1", "edit", `{"path":"a.txt","old":"two","new":"2"}`), call("2", "write", `{"path":"new.txt","content":"n\n"}`)), llmtest.Say("Done."),
		llmtest.Call(call("3", "edit", `{"path":"a.txt","old":"one","new":"1\n1b"}`), call("4", "shell", `{"command":"rm gone.txt; printf 'PNG\\0new' > logo.png; printf 't\\n' > same.txt; printf 's\\n' > same.txt"}`)), llmtest.Say("Done."))
	own := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: model}, Tools: set, Policy: policy, Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files, Log: lib.Create(session.Info{})})
	t.Cleanup(func() { own.Close() })
	a := app.New(app.Options{Flows: func(a *app.App) { Register(a); conversation.Register(a) }, Session: own, Library: lib})
	diff := func(arg string) app.Effect {
		e := a.Command("diff").Do(arg)
		if p, ok := e.(app.Prepare); ok {
			e = p(t.Context())()
		}
		return e
	}
	if why := a.Command("diff").Unavailable(); why == "" {
		t.Error("/diff can run in an empty conversation")
	}
	for _, prompt := range []string{"first", "second"} {
		for range own.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: prompt}) {
		}
	}
	rows := func(l *app.List) (rows []string) {
		for _, i := range l.Items {
			rows = append(rows, i.Title+" "+strings.Join(strings.Split(i.Detail, " · ")[:2], ", "))
		}
		return append(rows, l.Title)
	}
	list := diff("").(*app.List)
	if cells := list.Items[0].Cells; len(cells) != len(list.Columns) || strings.Join(cells[:4], "|") != "|+3|−2|2 calls" {
		t.Errorf("the columns of a.txt are %q", cells)
	}
	want := []string{"a.txt +3 −2, 2 calls", "gone.txt deleted, +0 −1", "logo.png binary, 8 → 7 bytes, 1 call", "new.txt new, +1 −0", "Changes · 4 files · +4 −3"}
	if got := rows(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n-one\n-two\n+1\n+1b\n+2\n"
	page := list.Choose(list.Items[0].Value).(app.Prepare)(t.Context())().(app.Page)
	if got := page.Parts[0].Source; got != patch || list.Preview("0") != patch {
		t.Errorf("the page has %q, the preview %q", got, list.Preview("0"))
	}
	for value, copied := range map[string]func(string) (string, string){"": page.Actions[1].Copy, "0": list.Actions[1].Copy} {
		if text, as := copied(value); text != patch || as != "patch of a.txt" {
			t.Errorf("copied %q, %s", text, as)
		}
	}
	if all := diff("patch").(app.Page).Parts[0].Source; !strings.HasPrefix(all, patch) || !strings.Contains(all, "--- a/gone.txt\n+++ /dev/null\n") || !strings.Contains(all, "--- /dev/null\n+++ b/new.txt\n") {
		t.Errorf("the patch is %q", all)
	}
	turns := diff("turns").(*app.List)
	if len(turns.Items) != 2 || !strings.HasPrefix(turns.Items[1].Detail, "2 files · ") || turns.Items[1].Title != "first" {
		t.Fatalf("turns %+v", turns.Items)
	}
	first := turns.Choose(turns.Items[1].Value).(app.Prepare)(t.Context())().(*app.List)
	if got, want := rows(first), []string{"a.txt +1 −1, 1 call", "new.txt new, +1 −0", `Changes of "first" · 2 files · +2 −1`}; !slices.Equal(got, want) {
		t.Errorf("the first turn: %q, want %q", got, want)
	}
	if same := diff("undo a.txt").(app.Prepare)(t.Context())().(*app.Confirm); !strings.Contains(same.Text, "M a.txt") {
		t.Errorf("by its name, it asks %q", same.Text)
	}
	ask := list.Actions[0].Do("0").(app.Prepare)(t.Context())().(*app.Confirm)
	if !strings.Contains(ask.Text, "M a.txt") || strings.Contains(ask.Text, "new.txt") {
		t.Errorf("asks %q", ask.Text)
	}
	known := a.Files.Count(own, 2, app.FileChanges{})
	if known.All != 4 || len(known.First) != 2 || known.First[0].Title != "a.txt" || strings.Join(known.First[0].Cells, " ") != "+3 −2" || known.First[1].Detail != "deleted" {
		t.Errorf("the sum is %+v", known)
	}
	if same := a.Files.Count(own, 1, known); len(same.First) != 2 {
		t.Errorf("it is computed again without a change: %+v", same)
	}
	ask.Accept().(app.Prepare)(t.Context())()
	if len(a.Attached) != 1 || !strings.Contains(a.Attached[0].Text, "a.txt") {
		t.Errorf("the model is told %+v", a.Attached)
	}
	if points, ok := a.Command("undo").Do("").(*app.List); !ok || len(points.Items) != 3 || points.Items[0].Title != "Undo the last undo" || points.Items[0].Detail != "1 file" || !strings.HasSuffix(points.Items[1].Detail, " changed since") {
		t.Errorf("/undo lists %+v", points)
	} else if again, ok := points.Choose(points.Items[0].Value).(app.Prepare)(t.Context())().(*app.Confirm); !ok || again.Yes != "Restore 1 file" || !strings.Contains(again.Text, "before the last undo?\n  M a.txt\n") {
		t.Errorf("the last undo: %+v", again)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(text) != "one\ntwo\n" {
		t.Errorf("restored %q, %v", text, err)
	}
	if got := rows(diff("").(*app.List)); len(got) != 4 || !strings.HasPrefix(got[0], "gone.txt") {
		t.Errorf("after the undo: %q", got)
	}
	if f, ok := diff("gone.tx").(app.Failure); !ok || !strings.Contains(f.Err.Error(), "did you mean /diff gone.txt?") {
		t.Errorf("a misspelled name: %#v", f)
	}
}
