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
		flows := func(a *app.App) { Register(a); app.Register(a) }
		a := app.New(app.Options{Flows: flows, Session: own, Library: lib, Opening: app.Opening{New: func() (*session.Session, error) { return session.New(session.Options{Model: endpoint}), nil }}})
		do := func(name string) app.Effect {
			at := slices.IndexFunc(a.Commands, func(c app.Command) bool { return c.Name == name })
			return a.Commands[at].Do("")
		}
		for range own.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "write it"}) {
		}
		points, _ := find[*app.List](do("undo"))
		what, ok := find[*app.List](points.Choose(points.Items[0], ""))
		if !ok {
			t.Fatal("it is not asked what goes back")
		}
		both := what.Items[slices.IndexFunc(what.Items, func(i app.Item) bool { return i.Value == "both" })]
		look, _ := find[app.Prepare](what.Choose(both, ""))
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
		if d, _, err := lib.TakeDraft("session:" + own.ID()); err != nil || len(d.Parts) != 1 {
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
