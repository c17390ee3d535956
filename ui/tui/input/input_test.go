package input

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/composer/vim"
)

func init() { vim.Register() }

var picture = llm.Part{Kind: llm.Media, MIME: "image/png", Name: "a.png"}

func message(text string, attached ...llm.Part) llm.Message {
	return llm.Message{Role: llm.RoleUser, Parts: append(attached, llm.Part{Kind: llm.Text, Text: text})}
}

// begin returns the input of a program with an empty store, in an empty folder.
func begin(t *testing.T) *Input {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	in := start(t, lib, t.TempDir())
	in.KeyOf = func(action string) string { return "<" + action + ">" }
	in.Config.Vim = false
	return in
}

// Users change the text, the attachments and the history of a draft, and are told about it.
func TestDrafts(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		do   func(in *Input)
		want string // the text, the attachments, the toast, and prompts that went to the history
	}{
		"an inserted prompt alone":        {"", func(in *Input) { in.InsertPrompt("one") }, "one"},
		"before the text":                 {"two", func(in *Input) { in.InsertPrompt("one") }, "one\n\ntwo"},
		"before spaces":                   {"  ", func(in *Input) { in.InsertPrompt("one") }, "one"},
		"it never runs":                   {"", func(in *Input) { in.InsertPrompt("/quit") }, " /quit"},
		"a message":                       {"two", func(in *Input) { in.RestoreMessage(message("one", picture)) }, "one\n\ntwo | a.png"},
		"a message without a picture":     {"", func(in *Input) { in.RestoreMessage(message("/one")) }, " /one"},
		"a request for an image":          {"", func(in *Input) { m := message("a cat", picture); m.Model = "a/b"; in.RestoreMessage(m) }, "/image a cat | a.png"},
		"a command":                       {"", func(in *Input) { in.RestoreCommand("/quit", []llm.Part{picture}) }, "/quit | a.png"},
		"a command, and text typed since": {"two", func(in *Input) { in.RestoreCommand("/quit", nil) }, "two | recalled /quit"},
		"detached":                        {"one", func(in *Input) { in.App.Attached = []llm.Part{{Kind: llm.Media, Name: "b"}, picture}; in.Detach() }, "one | b | Removed: a.png"},
		"stashed":                         {"one", func(in *Input) { in.Stash() }, " | Draft stashed · <stash> restores it | stored one"},
		"stashed and restored":            {"one", func(in *Input) { in.Stash(); in.HideToast(); in.Stash() }, "one | stored one"},
		"nothing to restore":              {"", func(in *Input) { in.Stash() }, " | No stashed draft"},
		"set aside":                       {"one", func(in *Input) { in.SetAside() }, " | stored one"},
		"cleared":                         {"one", func(in *Input) { in.Clear() }, " | Input cleared · ctrl+_ undo | stored one"},
		"cleared, and typed on":           {"one", func(in *Input) { in.Clear(); in.Composer.SetValue("two") }, "two | stored one"},
		"a command to complete":           {"", func(in *Input) { in.SetCommand("/model ") }, "/model "},
		"in place of a draft":             {"one", func(in *Input) { in.SetCommand("/model ") }, "/model  | Draft stashed · <stash> restores it | stored one"},
		"too much":                        {"", func(in *Input) { in.Update(composer.TooLongMsg{Bytes: 2e6}) }, " | 2.0 MB is too large for the input · <editor> open in your editor"},
		"earlier prompts":                 {"", func(in *Input) { in.Update(promptHistoryMsg{"one"}) }, " | recalled one"},
		"prompts of the queue": {"three", func(in *Input) {
			in.App.Session.Queue.Add(message("one", picture).Parts...)
			in.App.Session.Queue.Add(message("two").Parts...)
			in.Unqueue()
		}, "one\n\ntwo\n\nthree | a.png"},
		"prompts of the queue to store": {"", func(in *Input) {
			in.App.Session.Queue.Add(message("one").Parts...)
			if in.QueueToDraft(); !in.draft.changed {
				in.ShowToast("not stored")
			}
		}, "one"},
		"no prompts of the queue to store": {"", func(in *Input) {
			if in.QueueToDraft(); in.draft.changed {
				in.ShowToast("stored")
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := begin(t)
			in.Composer.SetValue(tt.text)
			tt.do(in)
			got := append([]string{in.Composer.Value()}, app.Labels(in.App.Attached)...)
			if toast := in.ToastText(); toast != "" {
				got = append(got, toast)
			}
			in.App.Library.Flush()
			stored, err := in.App.Library.Prompts(9)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range stored {
				got = append(got, "stored "+p.Text)
			}
			in.Composer.Reset()
			in.Composer.Update(tea.KeyPressMsg{Code: tea.KeyUp})
			if text := in.Composer.Value(); text != "" && len(stored) == 0 {
				got = append(got, "recalled "+text)
			}
			if got := strings.Join(got, " | "); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A prompt of the queue is edited or dropped only while it is still at its place.
func TestUnqueueOne(t *testing.T) {
	for name, tt := range map[string]struct {
		msg  composer.UnqueueMsg
		want string // the text, and what waits
	}{
		"edit":                   {composer.UnqueueMsg{Index: 1, Text: "two", Edit: true}, "two | one three"},
		"drop":                   {composer.UnqueueMsg{Index: 0, Text: "one"}, " | two three"},
		"another one meanwhile":  {composer.UnqueueMsg{Index: 0, Text: "two", Edit: true}, " | one two three"},
		"there is none any more": {composer.UnqueueMsg{Index: 3, Text: "one"}, " | one two three"},
	} {
		in := begin(t)
		for _, text := range []string{"one", "two", "three"} {
			in.App.Session.Queue.Add(message(text).Parts...)
		}
		in.Update(tt.msg)
		in.Composer.SetSize(40, 10)
		in.ShowQueue()
		rows := strings.Split(ansi.Strip(in.Composer.View()), "\n")
		text := in.Composer.Value()
		waiting := strings.ReplaceAll(strings.Join(rows[:len(rows)-1], " "), "queued: ", "")
		if in.Composer.Send(); tt.msg.Edit && !in.Composer.Empty() {
			t.Errorf("%s: the prompt is not sent", name)
		}
		for _, sent := range in.Composer.TakeSubmitted() {
			if !sent.Requeued {
				t.Errorf("%s: %q does not return to its place", name, sent.Text)
			}
		}
		if got := text + " | " + waiting; got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// The band has empty rows around its text where there is room, and a row of attachments. The lists above it have no bar.
func TestView(t *testing.T) {
	for name, tt := range map[string]struct {
		room int
		text string
		do   func(in *Input)
		want string // with the cursor as ‸
	}{
		"nothing":       {18, "", nil, "▌ ‸Ask anything"},
		"much room":     {19, "", nil, "▌|▌ ‸Ask anything|▌"},
		"text":          {18, "one\ntwo", nil, "▌ one|▌ two‸"},
		"an attachment": {18, "one", func(in *Input) { in.App.Attached = []llm.Part{picture, {Kind: llm.Media, Name: "b"}} }, "▌ [a.png] [b]|▌ one‸"},
		"and much room": {19, "one", func(in *Input) { in.App.Attached = []llm.Part{picture} }, "▌|▌ [a.png]|▌|▌ one‸|▌"},
		"a comparison":  {18, "one", func(in *Input) { in.App.Compared.Models = []string{"a/b", "c/d"} }, "▌ comparing: a/b + c/d|▌ one‸"},
		"long names":    {18, "", func(in *Input) { in.App.Attached = []llm.Part{{Kind: llm.Media, Name: strings.Repeat("x", 40)}} }, "▌ [xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…|▌ ‸Ask anything"},
		"a queue": {20, "one", func(in *Input) {
			in.App.Session.Queue.Add(message("two").Parts...)
			in.ShowQueue()
		}, "  queued: two|▌|▌ one‸|▌"},
		"a search":      {20, "", func(in *Input) { in.Composer.Update(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl}) }, "▌|▌ history: ‸|▌|▌"},
		"a third of it": {12, "1\n2\n3\n4\n5\n6\n7", nil, "▌ 4                                   ↑|▌ 5|▌ 6|▌ 7‸"},
		"hardly any":    {2, "1\n2", nil, "▌ 2‸                                   ↑"},
	} {
		t.Run(name, func(t *testing.T) {
			in := begin(t)
			in.Composer.SetValue(tt.text)
			if tt.do != nil {
				tt.do(in)
			}
			const width = 40
			height := in.Layout(width, tt.room)
			rows := strings.Split(ansi.Strip(in.View(width)), "\n")
			if len(rows) != height || in.Height(width) != height {
				t.Errorf("%d rows, want %d", len(rows), height)
			}
			if x, y, ok := in.Cursor(width); ok {
				row := []rune(rows[y] + strings.Repeat(" ", width))
				rows[y] = string(row[:x]) + "‸" + string(row[x:])
			}
			for i := range rows {
				rows[i] = strings.TrimRight(rows[i], " ")
			}
			if got := strings.Join(rows, "|"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := in.View(width); again != in.View(width) {
				t.Error("the view changes")
			}
		})
	}
}

// A click moves the cursor in the text, and does nothing on the rows around it.
func TestClick(t *testing.T) {
	in := begin(t)
	in.App.Attached = []llm.Part{picture}
	in.App.Session.Queue.Add(message("two").Parts...)
	in.ShowQueue()
	in.Composer.SetValue("one\ntwo")
	const width = 40
	in.Layout(width, 40) // the queue, an empty row, the attachment, an empty row, and the text
	for _, c := range []struct{ x, y, atX, atY int }{
		{4, 4, 4, 4}, {2, 5, 2, 5}, {0, 4, 2, 4}, {30, 4, 5, 4},
		{3, 1, 5, 5}, {3, 2, 5, 5}, {3, 3, 5, 5}, {3, 6, 5, 5}, {3, 0, 5, 5},
	} {
		in.Composer.SetValue("one\ntwo")
		in.Click(c.x, c.y, width)
		if x, y, ok := in.Cursor(width); x != c.atX || y != c.atY || !ok {
			t.Errorf("a click on %d, %d: the cursor is at %d, %d, want %d, %d", c.x, c.y, x, y, c.atX, c.atY)
		}
	}
}

// write creates files, and the directories that they are in.
func write(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Commands complete the kind of path that they take.
func TestCompletePath(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "work")
	write(t, folder, "alpha.txt", "area/x.txt", "area/b/y.txt", "../ahead/z.txt", "../apple.txt")
	for _, c := range []struct {
		kind        app.Path
		typed, want string
	}{
		{app.PathDirectory, "a", "area"},
		{app.PathDirectory, "area/", "area/b"},
		{app.PathSiblingDirectory, "a", "../ahead"},
		{app.PathSiblingDirectory, "area/", "area/b"},
		{app.PathSiblingDirectory, "./a", "./area"},
		{PathOutside, "a", ""},
		{PathOutside, "./a", "./area ./alpha.txt"},
		{PathOutside, "../a", "../ahead ../apple.txt"},
		{"file", "a", "area alpha.txt"},
	} {
		var got []string
		for _, f := range CompletePath(c.kind, folder, c.typed) {
			got = append(got, f.Path)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.kind, c.typed, got, c.want)
		}
	}
}

// After an @, files of the workspace and of other places are completed.
func TestCompleteMention(t *testing.T) {
	lib := session.MemoryStore()
	defer lib.Close()
	folder := filepath.Join(t.TempDir(), "work")
	write(t, folder, "alpha.txt", "area/beta.txt", "../apple.txt")
	in := start(t, lib, folder)
	for typed, want := range map[string]string{"alp": "alpha.txt", "bet": "area/beta.txt", "../app": "../apple.txt", "./alp": "./alpha.txt", "zzz": ""} {
		var got []string
		found, more := in.complete('@', typed)
		for more { // the folder is still being read
			runtime.Gosched()
			found, more = in.complete('@', typed)
		}
		for _, c := range found {
			got = append(got, c.Text)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("@%s: got %s, want %s", typed, got, want)
		}
	}
	if found, _ := in.complete('/', "alp"); found != nil {
		t.Errorf("after a slash: %v", found)
	}
	if got, want := in.Paths(), []string{"alpha.txt", "area/beta.txt"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// vi's keys are those of the configuration, also after a change.
func TestVim(t *testing.T) {
	in := begin(t)
	in.Update(app.Reconfigured{UI: common.Config{Vim: true}})
	if in.Composer.Mode() == "" {
		t.Error("vim is off")
	}
	in.Update(app.Reconfigured{UI: "of another front end"})
	if in.Composer.Mode() == "" {
		t.Error("another front end's configuration turns vim off")
	}
	s := common.New(common.Config{Vim: true}, in.App.Getenv, in.Now)
	other := New(s, in.App)
	defer other.Close()
	if other.Composer.Mode() == "" {
		t.Error("vim is off at the start")
	}
}

// The size of the first request counts once it is known; that of a short draft alone does not.
func TestContextTokens(t *testing.T) {
	for _, c := range []struct{ draft, rest, want int }{
		{0, 0, 0}, {200, 0, 0}, {201, 0, 201}, {50, 1000, 1050}, {0, 1000, 1000},
	} {
		in := begin(t)
		in.first = firstRequest{known: true, tokens: c.rest}
		in.draft.tokens = c.draft
		if got := in.ContextTokens(); got != c.want || in.DraftTokens() != c.draft {
			t.Errorf("%d and %d: got %d, want %d", c.draft, c.rest, got, c.want)
		}
	}
}

// Prompts of earlier runs can be recalled.
func TestLoadHistory(t *testing.T) {
	in := begin(t)
	in.App.Drafts().RememberPrompt("one")
	in.App.Drafts().RememberPrompt("two")
	in.App.Library.Flush()
	in.Update(in.LoadHistory()())
	in.Composer.SetSize(40, 5)
	for _, want := range []string{"two", "one"} {
		if in.Composer.Update(tea.KeyPressMsg{Code: tea.KeyUp}); in.Composer.Value() != want {
			t.Errorf("recalled %q, want %q", in.Composer.Value(), want)
		}
	}
	in.App.Library.Close()
	if msg := in.LoadHistory()(); msg != nil {
		t.Errorf("of a closed store: %v", msg)
	}
}

// The rest of the first request is counted once, until something of it may have changed.
func TestFirstRequest(t *testing.T) {
	in := begin(t)
	system := 500
	in.App.Context = func() []app.ContextItem { return []app.ContextItem{{Tokens: system}, {Tokens: 20}} }
	for _, step := range []struct {
		do   func()
		want int
	}{
		{func() {}, 520}, {func() { system = 600 }, 520}, {in.CountAgain, 620}, {func() { in.draft.tokens = 5 }, 625},
	} {
		if step.do(); in.ContextTokens() != step.want {
			t.Errorf("%d tokens, want %d", in.ContextTokens(), step.want)
		}
	}
}

// The records of commands whose output is attached are removed once the draft with it is stored or sent.
func TestEndedCommands(t *testing.T) {
	in, ended := begin(t), 0
	in.Ended = func() func() { return func() { ended++ } }
	in.Composer.SetValue("one")
	in.Changed()
	if runAll(in.SaveDraft()); ended != 1 {
		t.Errorf("a stored draft: %d", ended)
	}
	if in.Sent("one")(); ended != 2 {
		t.Errorf("a sent prompt: %d", ended)
	}
	in.Composer.SetValue("two")
	in.Changed()
	in.App.Library.Close()
	if runAll(in.SaveDraft()); ended != 2 {
		t.Errorf("a draft that is not stored: %d", ended)
	}
}

// The draft of a conversation that was left is there again before it is stored, and is stored once more then as an open one.
func TestBackToTheDraft(t *testing.T) {
	in := begin(t)
	in.App.Models.Chosen = ""
	in.Composer.SetValue("one")
	in.App.Attached = []llm.Part{picture}
	left := in.Leave()
	in.App.Attached = nil
	in.Composer.SetValue("of another conversation")
	in.RestoreDraft()
	if got := in.Composer.Value(); got != "one" || len(in.App.Attached) != 1 || !in.draft.changed || len(in.TakeDeferred()) == 0 {
		t.Errorf("the draft is %q with %q, changed %t", got, app.Labels(in.App.Attached), in.draft.changed)
	}
	runAll(left)
	in.App.Attached = nil
	in.RestoreDraft()
	if got := in.Composer.Value(); got != "one" || len(in.App.Attached) != 1 || in.draft.changed {
		t.Errorf("stored, the draft is %q with %q, changed %t", got, app.Labels(in.App.Attached), in.draft.changed)
	}
	in.Composer.Reset()
	in.App.Attached = nil
	in.SaveDraftNow()
	if d, ok := in.App.Drafts().Take(in.App.DraftKey()); ok {
		t.Errorf("an empty draft leaves %+v", d)
	}
}
