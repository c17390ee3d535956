package app

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app/drafts"
)

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

// ask sends prompts to a model that gives these answers; an answer without text fails.
func ask(t *testing.T, s *session.Session, name string, exchanges ...[2]string) {
	t.Helper()
	for _, e := range exchanges {
		turn := llmtest.Say(e[1])
		if e[1] == "" {
			turn = llmtest.Fail(&llm.Error{Fault: llm.Authentication, Message: "no"})
		}
		s.SetModel(llm.Endpoint{Name: name, Origin: "fake", Model: llmtest.New(turn)})
		for range s.Turn(t.Context(), text(e[0])) {
		}
	}
}

// Before the first message, the draft belongs to the folder.
func TestDraftKey(t *testing.T) {
	a := newApp(t)
	a.Directory = "/project"
	other, _ := a.Opening.New()
	if key := a.DraftKey(); key != "folder:/project" || a.Drafts().Key(other) != key {
		t.Errorf("an empty conversation has the key %s", key)
	}
	ask(t, a.Session, "a/b", [2]string{"one", "1"})
	if key := a.DraftKey(); key != "session:"+a.Session.ID() || a.Drafts().Key(other) == key || a.Drafts().Key(a.Session) != key {
		t.Errorf("the conversation has the key %s", key)
	}
}

// The output of a command goes to the draft of the conversation in which it ran.
func TestAttachToStored(t *testing.T) {
	a := newApp(t)
	if err := a.Library.Drafts().Save(a.DraftKey(), a.Drafts().New("text", nil)); err != nil {
		t.Fatal(err)
	}
	ended := false
	e := AttachToStored(a.Options, a.Session, ShellOutput(session.ShellCommand{Command: "ls\npwd", Output: "x"}), func() { ended = true })
	if d, ok := a.Drafts().Take(a.DraftKey()); !ok || d.Text != "text" || len(d.Parts) != 1 || d.At.IsZero() || !ended {
		t.Errorf("stored %+v, ended %t", d, ended)
	}
	if got, want := see(e).Toast, "The output of ls … is attached to the conversation in which it ran"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

// The model of a stored draft is used again, if it can be opened and no flag names one.
func TestRestoreModel(t *testing.T) {
	for _, c := range []struct{ name, flag, model, chosen string }{
		{"", "", "fake/m", ""}, {"fake/m", "", "fake/m", "fake/m"}, {"a/b", "", "a/b", "a/b"}, {"a/b", "-m", "fake/m", ""}, {"far/away", "", "fake/m", ""},
	} {
		a := newApp(t)
		a.Models.Chosen = "old"
		a.ConfigFile.Sources = func() (over, under map[string]string) { return map[string]string{"model": c.flag}, nil }
		RestoreModel(a, c.name)
		if got := a.Session.Model().Name; got != c.model || a.Models.Chosen != c.chosen {
			t.Errorf("%q, flag %q: model %s, chosen %q; want %s, %q", c.name, c.flag, got, a.Models.Chosen, c.model, c.chosen)
		}
	}
}

// A command that ran when parley ended is attached to the next draft, once. Commands of running processes are not.
func TestInterruptedCommands(t *testing.T) {
	a := newApp(t)
	key := a.DraftKey()
	a.Machine.Alive = func(int) bool { return false }
	const gone = 1 << 30
	if err := a.Drafts().SetShells(key, []drafts.Shell{{PID: gone, N: 1, Command: "make all"}, {PID: os.Getpid(), N: 2, Command: "ls"}}); err != nil {
		t.Fatal(err)
	}
	end := a.Drafts().RecordShell(key, "pwd")
	if d, ok := a.Drafts().Take(key); !ok || len(d.Parts) != 1 || !strings.Contains(d.Parts[0].Text, "make all") || !strings.Contains(d.Parts[0].Text, "Interrupted") {
		t.Errorf("the draft is %+v", d)
	}
	if d, _ := a.Drafts().Take(key); len(d.Parts) != 1 {
		t.Errorf("a second time: %+v", d)
	}
	commands := func() (all []string) {
		for _, r := range a.Drafts().Shells(key) {
			all = append(all, r.Command)
		}
		return all
	}
	if got := commands(); !slices.Equal(got, []string{"ls", "pwd"}) {
		t.Errorf("recorded %q", got)
	}
	if end(); !slices.Equal(commands(), []string{"ls"}) {
		t.Errorf("recorded after the end %q", commands())
	}
	if err := a.Drafts().SetShells(key, nil); err != nil || a.Drafts().Shells(key) != nil {
		t.Errorf("%v: recorded %q", err, commands())
	}
	if d, ok := a.Drafts().Take("session:none"); ok {
		t.Errorf("no draft is %+v", d)
	}
}

func TestRememberPrompt(t *testing.T) {
	a := newApp(t)
	if err := a.Library.Drafts().Save("k", a.Drafts().New("one", nil)); err != nil {
		t.Fatal(err)
	}
	a.Drafts().RememberPrompt("one", "k")
	a.Library.Flush()
	past, err := a.Library.Prompts(9)
	if _, ok := a.Drafts().Take("k"); err != nil || len(past) != 1 || past[0].Text != "one" || ok {
		t.Errorf("remembered %+v, %v, the draft remains: %t", past, err, ok)
	}
}

// A message that is sent during a turn says when it goes. One that was edited returns to its place.
func TestQueueOrSteer(t *testing.T) {
	const soon, after = "Queued – sent with the next tool results, or after the answer", "Queued – sent when the answer is done"
	for name, c := range map[string]struct {
		take          int // place of the message that is edited; -1 for none
		later, edited bool
		said, want    string // * marks those that go with tool results
	}{
		"now":                     {-1, false, false, soon, "*steer *new queued"},
		"later":                   {-1, true, false, after, "*steer queued new"},
		"edited, with results":    {0, false, true, soon, "*new queued"},
		"edited, after":           {1, false, true, after, "*steer new"},
		"edited, later":           {0, true, true, after, "queued new"},
		"edited, the place gone":  {-1, false, true, soon, "*steer *new queued"},
		"another one was removed": {1, false, false, soon, "*steer *new"},
	} {
		a := newApp(t)
		q := &a.Session.Queue
		(*q).Steer(text("steer"))
		(*q).Add(text("queued"))
		if c.take >= 0 {
			(*q).Edit(c.take, []string{"steer", "queued"}[c.take])
		}
		said := QueueOrSteer(a, c.later, c.edited, []llm.Part{text("new")})
		waiting, steer := (*q).All()
		var got []string
		for i, m := range waiting {
			got = append(got, map[bool]string{true: "*"}[i < steer]+m.Text())
		}
		if got := strings.Join(got, " "); got != c.want || said != c.said {
			t.Errorf("%s: %q, %q; want %q, %q", name, got, said, c.want, c.said)
		}
	}
}

// Commands that were used more than once come first, in all runs.
func TestCommandUses(t *testing.T) {
	a := newApp(t)
	for _, name := range []string{"wire", "new", "model", "new", "model", "new"} {
		see(a.Uses.Count(name)).Async(t.Context())
	}
	next := CommandUses{store: a.Library}
	for _, uses := range []*CommandUses{&a.Uses, &next} {
		if got := uses.Frequent(); !slices.Equal(got, []string{"new", "model"}) {
			t.Errorf("frequent are %q", got)
		}
	}
	if err := a.Library.Set(usesKey, "new x\nold 0\nmodel 2\nwire -5"); err != nil {
		t.Fatal(err)
	}
	damaged := CommandUses{store: a.Library}
	if got := damaged.Frequent(); !slices.Equal(got, []string{"model"}) || len(damaged.counts) != 1 {
		t.Errorf("of damaged counts: %q", got)
	}
}

// The message of a user is split into text and attachments; what hooks added is not edited.
func TestDraftFrom(t *testing.T) {
	file, hook := attach.Output("output of ls", "ls", "x", ""), text("added")
	hook.Name = session.HookPartName
	m := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{file, hook, text("do it")}}
	if got, attached := DraftFrom(m); got != "do it" || len(attached) != 1 || attached[0].Name != file.Name {
		t.Errorf("%q, %q", got, Labels(attached))
	}
	m.Model = "images/x"
	if got, attached := SplitPrompt(m); got != "/image do it" || len(attached) != 2 {
		t.Errorf("%q, %q", got, Labels(attached))
	}
	for _, c := range []struct {
		parts []llm.Part
		role  llm.Role
		want  string
	}{
		{[]llm.Part{text("one\ntwo")}, llm.RoleUser, "one …"}, {[]llm.Part{{Kind: llm.Media, Name: "a.png"}, {Kind: llm.Media, Name: "b.png"}}, llm.RoleUser, "a.png, b.png"},
		{[]llm.Part{text(" ")}, llm.RoleAssistant, ""},
	} {
		if got := MessageLine(llm.Message{Role: c.role, Parts: c.parts}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	now := time.Unix(1e9, 0)
	o := Options{Now: func() time.Time { return now }}
	if got := o.Age(now.Add(-time.Hour)) + o.Age(time.Time{}); got != "1 h" {
		t.Errorf("got %q", got)
	}
}
