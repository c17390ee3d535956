//go:build unix

package plain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/tools/undo/snapshot"
	"parley/ui/app"
)

// TestUndoFiles: /undo shows its changes and applies them, asks about files changed by hand,
// tells the model, and is undone by another /undo.
func TestUndoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := t.TempDir()
		withUndo := func(_ *app.Options, so *session.Options) {
			so.Files = snapshot.Open(filepath.Join(data, "parley", "undo")).Files
			so.Policy.SetMode(act.ModeYolo)
		}
		call := func(name, input string) llmtest.Turn {
			return llmtest.Call(llm.Part{ID: name + input[:12], Name: name, Input: input})
		}
		d := talk(t, withUndo,
			call("edit", `{"path":"a.txt","old":"alpha","new":"ALPHA"}`), call("shell", `{"command":"echo new > made.txt; mkdir -p sub; mv a.txt sub/b.txt; chmod 755 sub/b.txt"}`), llmtest.Say("Done."),
			call("write", `{"path":"made.txt","content":"model\n"}`), llmtest.Say("Read it first."), llmtest.Say("I see."))
		file := func(name string) string {
			b, err := os.ReadFile(filepath.Join(d.dir, name))
			if err != nil {
				return "none"
			}
			return string(b)
		}
		d.enter("change it").heard("Done.").idle()
		if file("sub/b.txt") != "ALPHA\nbeta\n" || file("made.txt") != "new\n" {
			t.Fatalf("the tools did not run: %s", d.said())
		}
		d.enter("/undo", "1", "1").heard("Type y (restore 3 files)")
		for _, want := range []string{`before "change it"`, "D made.txt", "A a.txt", "+alpha"} {
			if !strings.Contains(d.said(), want) {
				t.Errorf("not said: %q\n%s", want, d.said())
			}
		}
		d.enter("y").heard("takes it back").idle()
		if file("a.txt") != "alpha\nbeta\n" || file("made.txt") != "none" || file("sub/b.txt") != "none" {
			t.Errorf("not restored:\n%s", d.said())
		}
		d.enter("/undo").heard("no files changed since").enter("")
		d.enter("/undo", "1").heard("Type y (restore").enter("y").idle()
		if file("sub/b.txt") != "ALPHA\nbeta\n" || file("made.txt") != "new\n" || file("a.txt") != "none" {
			t.Errorf("the undo was not undone:\n%s", d.said())
		}
		if err := os.WriteFile(filepath.Join(d.dir, "made.txt"), []byte("by hand\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		d.enter("/undo", "2", "1", "y").heard("Overwrite?").enter("n").idle()
		if file("made.txt") != "by hand\n" || file("a.txt") != "alpha\nbeta\n" {
			t.Errorf("what was changed by hand is %q:\n%s", file("made.txt"), d.said())
		}
		d.enter("go on").heard("Read it first.").idle()
		requests := d.fake.Requests()
		if last := requests[len(requests)-1].Messages; !strings.Contains(textOf(last), `restored: "a.txt"`) {
			t.Errorf("the model was not told: %s", textOf(last))
		}
		d.valid()
	})
}

func textOf(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text())
	}
	return b.String()
}

// TestBranchesRememberFiles: switching to another branch offers to restore the files as they
// were when that branch was left, and vice versa.
func TestBranchesRememberFiles(t *testing.T) {
	data := t.TempDir()
	call := func(id, input string) llmtest.Turn {
		return llmtest.Call(llm.Part{ID: id, Name: "shell", Input: input})
	}
	d := talk(t, func(_ *app.Options, so *session.Options) {
		so.Files = snapshot.Open(filepath.Join(data, "parley", "undo")).Files
		so.Policy.SetMode(act.ModeYolo)
	}, call("c1", `{"command":"echo one > a.txt"}`), llmtest.Say("One."), call("c2", `{"command":"echo two > a.txt"}`), llmtest.Say("Two."))
	holds := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(filepath.Join(d.dir, "a.txt")); string(b) != want {
			t.Errorf("a.txt holds %q, want %q: %v\n%s", b, want, err, d.said())
		}
	}
	d.enter("first").heard("One.").idle()
	d.enter("/undo", "1", "2").heard("Type y (restore 1 file)").enter("y").heard("takes it back").idle()
	holds("alpha\nbeta\n")
	d.enter("/draft", "another first").heard("Two.").idle()
	holds("two\n")
	d.enter("/tree", "1").heard("when this branch was left").enter("y").idle()
	holds("one\n")
	d.enter("/tree", "2").heard("Type y (restore 1 file)").enter("y").idle()
	holds("two\n")
	d.enter("/tree", "1").heard("Type y (restore 1 file)").enter("n").idle()
	holds("two\n")
	d.valid()
}
