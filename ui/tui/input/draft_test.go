package input

import (
	"path/filepath"
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

// A draft is counted and kept beside the loop; what was counted of one that was
// sent meanwhile does not matter any more.
func TestDraftIsCounted(t *testing.T) {
	lib, err := session.OpenStore(func(name string) string {
		return map[string]string{"XDG_DATA_HOME": t.TempDir(), "HOME": filepath.Join(t.TempDir(), "home")}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	s := session.New(session.Options{Model: llm.Endpoint{Model: llmtest.New(llmtest.Say("I see")), Name: "fake/one"}})
	a := app.New(app.Options{Session: s, Library: lib, Folder: t.TempDir()})
	in := New(common.New(common.DefaultConfig(), a.Getenv, a.Now), a)
	defer in.Close()
	in.Ended = func() func() { return func() {} }
	in.Later = func(time.Duration, tea.Msg) tea.Cmd { return nil }

	in.Composer.SetValue(strings.Repeat("word ", 20))
	in.Changed()
	var weighed weighedMsg
	for _, cmd := range in.SaveDraft()().(tea.BatchMsg) {
		if msg, ok := cmd().(weighedMsg); ok {
			weighed = msg
		}
	}
	if d, ok, err := lib.Draft(in.App.DraftKey()); err != nil || !ok || len(d.Text) != 100 {
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
