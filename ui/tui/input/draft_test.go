package input

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/common"
)

// openStore returns a new store.
func openStore(t *testing.T) *session.Store {
	t.Helper()
	lib, err := session.OpenStore(func(name string) string {
		return map[string]string{"XDG_DATA_HOME": t.TempDir(), "HOME": filepath.Join(t.TempDir(), "home")}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	return lib
}

// start returns the input of a program that has just started in folder.
func start(t *testing.T, lib *session.Store, folder string) *Input {
	t.Helper()
	s := session.New(session.Options{Model: llm.Endpoint{Model: llmtest.New(llmtest.Say("I see")), Name: "fake/one"}})
	a := app.New(app.Options{Session: s, Library: lib, Directory: folder})
	in := New(common.New(common.DefaultConfig(), a.Getenv, a.Now), a)
	t.Cleanup(in.Close)
	in.Ended = func() func() { return func() {} }
	in.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	return in
}

// A draft and its attachments are restored after a restart, however soon after the last
// key the program ended.
func TestDraftOutlivesTheProgram(t *testing.T) {
	picture := llm.Part{Kind: llm.Media, MIME: "image/png", Data: []byte("picture"), Name: "a.png"}
	for name, write := range map[string]func(in *Input){
		"ended behind the first key": func(in *Input) {
			in.Composer.SetValue("a whole draft")
			in.Changed()
		},
		"ended behind another key": func(in *Input) {
			in.Composer.SetValue("a")
			in.Changed()
			for _, cmd := range in.SaveDraft()().(tea.BatchMsg) {
				cmd()
			}
			in.Composer.SetValue("a whole draft")
			in.Changed()
		},
		"ended later": func(in *Input) {
			in.Composer.SetValue("a whole draft")
			in.Changed()
			for _, cmd := range in.SaveDraft()().(tea.BatchMsg) {
				cmd()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			lib, folder := openStore(t), t.TempDir()
			in := start(t, lib, folder)
			in.App.Attached = []llm.Part{picture}
			write(in)
			in.SaveDraftNow()

			in = start(t, lib, folder)
			in.RestoreDraft()
			if got := in.Composer.Value(); got != "a whole draft" {
				t.Errorf("the draft is %q", got)
			}
			if got := app.Labels(in.App.Attached); !slices.Equal(got, app.Labels([]llm.Part{picture})) {
				t.Errorf("attached is %q", got)
			}
		})
	}
}

// The model that was chosen for a draft and not used yet is restored with it, unless a flag names another. After
// the draft was sent nothing is left of the choice.
func TestChosenModelOutlivesTheProgram(t *testing.T) {
	for name, c := range map[string]struct {
		sent bool
		flag string
		want string
	}{"ended": {want: "far/two"}, "sent": {sent: true, want: "fake/one"}, "a flag": {flag: "-m", want: "fake/one"}} {
		lib, folder := openStore(t), t.TempDir()
		begin := func() *Input {
			in := start(t, lib, folder)
			in.App.Models.Open = func(name string) (llm.Endpoint, error) { return llm.Endpoint{Model: llmtest.New(), Name: name}, nil }
			in.App.ConfigFile.Sources = func() (over, under map[string]string) { return map[string]string{"model": c.flag}, nil }
			return in
		}
		in := begin()
		in.Composer.SetValue("a whole draft")
		in.Watch()
		for _, cmd := range in.SaveDraft()().(tea.BatchMsg) {
			cmd()
		}
		in.App.Models.Chosen = "far/two"
		if in.Watch(); !in.draft.changed {
			t.Errorf("%s: a chosen model is not stored", name)
		}
		if c.sent {
			in.Sent("a whole draft")()
			in.Composer.SetValue("another")
			in.Watch()
		}
		in.SaveDraftNow()

		in = begin()
		in.RestoreDraft()
		if got := in.App.Session.Model().Name; got != c.want || in.Composer.Empty() {
			t.Errorf("%s: the model is %s, want %s", name, got, c.want)
		}
	}
}

// A draft is counted and stored outside of the event loop. The count of a draft
// that was sent meanwhile is ignored.
func TestDraftIsCounted(t *testing.T) {
	lib := openStore(t)
	in := start(t, lib, t.TempDir())

	in.Composer.SetValue(strings.Repeat("word ", 20))
	in.Changed()
	var weighed draftTokensMsg
	for _, cmd := range in.SaveDraft()().(tea.BatchMsg) {
		if msg, ok := cmd().(draftTokensMsg); ok {
			weighed = msg
		}
	}
	if d, ok, err := lib.Drafts().Take(in.App.DraftKey()); err != nil || !ok || len(d.Text) != 100 {
		t.Errorf("kept %q, %v, %v", d.Text, ok, err)
	}
	if in.Update(weighed); in.draft.tokens != 25 {
		t.Errorf("counted %d tokens, want 25", in.draft.tokens)
	}
	in.Sent("word")
	if in.Update(weighed); in.draft.tokens != 0 {
		t.Errorf("a draft that was sent counts %d tokens", in.draft.tokens)
	}
}

// Attachments count with the draft, and a restored draft counts as before. The count of an earlier
// conversation's draft is ignored, however late it arrives.
func TestRestoredDraftIsCounted(t *testing.T) {
	lib, folder := openStore(t), t.TempDir()
	in := start(t, lib, folder)
	in.Composer.SetValue(strings.Repeat("word ", 20))
	in.App.Attached = []llm.Part{{Kind: llm.Text, Text: strings.Repeat("line ", 40), Name: "a.txt"}}
	in.Changed()
	left := in.Leave()().(tea.BatchMsg)
	counted := left[0]().(draftTokensMsg)
	if in.Update(counted); in.draft.tokens != 75 {
		t.Errorf("a draft with an attachment counts %d tokens, want 75", in.draft.tokens)
	}
	left[1]()

	other := start(t, lib, folder)
	other.RestoreDraft()
	for _, cmd := range other.TakeDeferred() {
		other.Update(cmd())
	}
	if other.draft.tokens != 75 {
		t.Errorf("a draft that was restored counts %d tokens, want 75", other.draft.tokens)
	}

	_ = in.App.Library.Drafts().Save(in.App.DraftKey(), in.App.Drafts().New("", nil))
	in.draft.left, in.App.Attached = nil, nil
	in.RestoreDraft()
	if in.Update(counted); in.draft.tokens != 0 || len(in.TakeDeferred()) > 0 {
		t.Errorf("no draft counts %d tokens", in.draft.tokens)
	}
}

// A stored draft may belong to another window. A window without its own draft leaves it alone, whether it
// ends, sends a prompt or changes nothing. A window with a draft that another one has replaced stores it
// again when it ends.
func TestDraftOfAnotherWindow(t *testing.T) {
	lib, folder := openStore(t), t.TempDir()
	one := start(t, lib, folder)
	one.Composer.SetValue("of one")
	one.Changed()
	one.SaveDraftNow()
	stored := func() string {
		d, _, err := lib.Drafts().Take(one.App.DraftKey())
		if err != nil {
			t.Fatal(err)
		}
		return d.Text
	}
	for name, do := range map[string]func(in *Input){
		"ends":           func(in *Input) { in.Changed(); in.SaveDraftNow() },
		"stores nothing": func(in *Input) { in.Changed(); runAll(in.SaveDraft()) },
		"sends at once":  func(in *Input) { in.Composer.SetValue("hello"); in.Sent("hello")() },
		"leaves":         func(in *Input) { in.Changed(); runAll(in.Leave()) },
	} {
		if do(start(t, lib, folder)); stored() != "of one" {
			t.Fatalf("a window that %s leaves %q", name, stored())
		}
	}
	two := start(t, lib, folder)
	two.Composer.SetValue("of two")
	two.Changed()
	two.SaveDraftNow()
	if one.SaveDraftNow(); stored() != "of one" {
		t.Errorf("a window that ends leaves %q", stored())
	}
	two = start(t, lib, folder) // empty, beginning a new conversation
	runAll(two.Leave())
	two.RestoreDraft()
	if two.SaveDraftNow(); stored() != "of one" || two.Composer.Value() != "" {
		t.Errorf("a window that began a new conversation leaves %q, and shows %q", stored(), two.Composer.Value())
	}
	one.Composer.Reset()
	one.Changed()
	if one.SaveDraftNow(); stored() != "" {
		t.Errorf("a draft that was deleted left %q", stored())
	}
}

// A draft moves from the directory to the conversation once that begins, and back if the conversation is
// empty again. No copy stays where it was.
func TestDraftMoves(t *testing.T) {
	lib, folder := openStore(t), t.TempDir()
	in := start(t, lib, folder)
	stored := func(key string) string {
		d, _, err := lib.Drafts().Take(key)
		if err != nil {
			t.Fatal(err)
		}
		return d.Text
	}
	write := func(text string) (key string) {
		in.Composer.SetValue(text)
		in.Changed()
		runAll(in.SaveDraft())
		return in.App.DraftKey()
	}
	before := write("ahead")
	for range in.App.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
	}
	behind := write("further")
	if before == behind || stored(before) != "" || stored(behind) != "further" {
		t.Fatalf("%s has %q, %s has %q", before, stored(before), behind, stored(behind))
	}
	if err := in.App.Session.Branch.Edit(1); err != nil {
		t.Fatal(err)
	}
	if key := write("anew"); key != before || stored(before) != "anew" || stored(behind) != "" {
		t.Errorf("%s has %q, %s has %q", before, stored(before), behind, stored(behind))
	}
}

// runAll runs a command, or all commands of a batch.
func runAll(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if batch, ok := cmd().(tea.BatchMsg); ok {
		for _, c := range batch {
			runAll(c)
		}
	}
}

// TestLateSave: a draft written late on another goroutine neither returns after it was sent, nor
// replaces text typed since. Drafts of other conversations are written.
func TestLateSave(t *testing.T) {
	save := func(in *Input, text string) tea.BatchMsg {
		in.Composer.SetValue(text)
		in.Changed()
		return in.SaveDraft()().(tea.BatchMsg)
	}
	run := func(cmds ...tea.Cmd) {
		for _, cmd := range cmds {
			cmd()
		}
	}
	for name, tt := range map[string]struct {
		do   func(in *Input)
		want string
	}{
		"sent":           {func(in *Input) { late := save(in, "!rm x"); run(in.Sent("!rm x")); run(late...) }, ""},
		"run":            {func(in *Input) { late := save(in, "!rm x"); in.Forget()(); run(late...) }, ""},
		"run, typed on":  {func(in *Input) { run(save(in, "!rm x")...); forget := in.Forget(); run(save(in, "two")...); forget() }, "two"},
		"typed on":       {func(in *Input) { late := save(in, "one"); run(save(in, "one two")...); run(late...) }, "one two"},
		"in their order": {func(in *Input) { run(save(in, "one")...); run(save(in, "one two")...) }, "one two"},
		"another conversation": {func(in *Input) {
			late := save(in, "here")
			in.order.store("elsewhere", func() {})
			run(late...)
		}, "here"},
	} {
		t.Run(name, func(t *testing.T) {
			lib := openStore(t)
			in := start(t, lib, t.TempDir())
			tt.do(in)
			if d, _, err := lib.Drafts().Take(in.App.DraftKey()); err != nil || d.Text != tt.want {
				t.Errorf("stored %q, %v; want %q", d.Text, err, tt.want)
			}
		})
	}
}

// The text from the user's editor replaces the text passed to it. Prompts that returned from the queue
// meanwhile stay. The result is stored like typed text.
func TestEdited(t *testing.T) {
	for name, tt := range map[string]struct{ given, back, left, want string }{
		"alone":                              {"a draft", "", "a better draft", "a better draft"},
		"emptied":                            {"a draft", "", "", ""},
		"behind a message that came back":    {"a draft", "queued", "a better draft", "queued\n\na better draft"},
		"anew":                               {"", "queued", "a draft", "queued\n\na draft"},
		"behind a command that came back":    {"a draft", "/etc is full", "a better draft", " /etc is full\n\na better draft"},
		"emptied, and a message came back":   {"a draft", "queued", "", "queued\n\n"},
		"nothing done, and one message came": {"", "queued", "", "queued\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			lib := openStore(t)
			in := start(t, lib, t.TempDir())
			in.Composer.SetValue(tt.given)
			given := in.Composer.Value()
			if tt.back != "" {
				in.InsertPrompt(tt.back)
			}
			in.Update(editedMsg{given: given, text: tt.left})
			in.Watch()
			in.SaveDraftNow()
			if d, _, err := lib.Drafts().Take(in.App.DraftKey()); err != nil || in.Composer.Value() != tt.want || d.Text != tt.want {
				t.Errorf("the draft is %q, stored %q, %v; want %q", in.Composer.Value(), d.Text, err, tt.want)
			}
		})
	}
}

// reachable is a model that counts connections.
type reachable struct {
	llm.Model
	connected *int
}

func (r reachable) Connect() { *r.connected++ }

// The first letter of a prompt connects to the model's server: once for each prompt and model. Neither a command nor a
// restored draft does.
func TestTypingConnects(t *testing.T) {
	in, connected := start(t, openStore(t), t.TempDir()), 0
	use := func(name string) {
		in.App.Session.SetModel(llm.Endpoint{Model: reachable{llmtest.New(), &connected}, Name: name})
	}
	use("fake/one")
	typed := func(text string) func() {
		return func() { in.Composer.SetValue(text); in.Watch() }
	}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"an empty line", typed(""), 0},
		{"a command", typed("/model"), 0},
		{"a shell line", typed("!ls"), 0},
		{"the first letter", typed("h"), 1},
		{"the second", typed("hi"), 0},
		{"another model", func() { use("fake/two"); typed("hi t")() }, 1},
		{"the line is cleared", typed(""), 0},
		{"the first letter again", typed("a"), 1},
		{"it is sent", func() { in.Composer.Reset(); in.Sent("a")(); in.Watch() }, 0},
		{"the next prompt", typed("b"), 1},
		{"a restored draft", func() { in.SaveDraftNow(); in.RestoreDraft(); in.Watch() }, 0},
		{"a letter of it", typed("bc"), 1},
	} {
		connected = 0
		if step.do(); connected != step.want {
			t.Errorf("%s: connected %d times, want %d", step.name, connected, step.want)
		}
	}
}
