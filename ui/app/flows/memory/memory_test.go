package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// lines is an app.Memory without files.
type lines map[bool][]string

func (l lines) Lines(here bool) []string { return l[here] }
func (l lines) Path(here bool) string {
	return map[bool]string{false: "/memory.md", true: "/here/memory.md"}[here]
}
func (l lines) Edited(here bool) error {
	if here {
		return errors.New("too long")
	}
	return nil
}

func (l lines) Add(text string, here bool) error {
	if text == "bad" {
		return errors.New("refused")
	}
	l[here] = append(l[here], text)
	return nil
}

func (l lines) Replace(here bool, line, text string) error {
	if text == "bad" {
		return errors.New("refused")
	}
	i := slices.Index(l[here], line)
	if l[here] = slices.Delete(l[here], i, i+1); text != "" {
		l[here] = slices.Insert(l[here], i, text)
	}
	return nil
}

// TestCommands: lines are added, listed with their tokens, changed and forgotten.
func TestCommands(t *testing.T) {
	a := apptest.New(t, Register)
	kept := lines{}
	a.Memory = kept
	for _, test := range []struct{ line, want, kept string }{
		{"/memory", "No remembered lines. /remember TEXT adds one", "[] []"},
		{"/remember", "/remember needs a text, such as /remember I use tabs", "[] []"},
		{"/remember I use tabs", "Remembered, for new conversations · /memory lists all", "[I use tabs] []"},
		{"/remember Run make --here", "Remembered in this folder, for new conversations · /memory lists all", "[I use tabs] [Run make]"},
		{"/remember --here", "/remember needs a text, such as /remember I use tabs", "[I use tabs] [Run make]"},
		{"/remember bad", "refused", "[I use tabs] [Run make]"},
		{"/memory", "Memory · 4 tokens in each request: In every folder I use tabs line 1, 2 tokens, In this folder Run make line 2, 2 tokens", "[I use tabs] [Run make]"},
		{"/memory list", "Memory · 4 tokens in each request: In every folder I use tabs line 1, 2 tokens, In this folder Run make line 2, 2 tokens", "[I use tabs] [Run make]"},
		{"/remember --her foo", "/remember knows only --here, not --her: to remember it, put it in quotes", "[I use tabs] [Run make]"},
		{"/remember foo --hree", "/remember knows only --here, not --hree: to remember it, put it in quotes", "[I use tabs] [Run make]"},
		{"/memory edit 2 Run just", "Line changed, for new conversations", "[I use tabs] [Run just]"},
		{"/memory edit 1 bad", "refused", "[I use tabs] [Run just]"},
		{"/memory edit 0 x", `no line "0": /memory lists the lines with their numbers`, "[I use tabs] [Run just]"},
		{"/memory edit 1", "/memory edit 1 I use tabs", "[I use tabs] [Run just]"},
		{"/memory forget 3", `no line "3": /memory lists the lines with their numbers`, "[I use tabs] [Run just]"},
		{"/memory forget 1 now", `/memory forget takes one number: remove "now"`, "[I use tabs] [Run just]"},
		{"/memory forget", "/memory forget needs a number: /memory lists the lines with their numbers", "[I use tabs] [Run just]"},
		{"/memory clear", `no action "clear": use /memory, /memory edit NUMBER TEXT or /memory forget NUMBER`, "[I use tabs] [Run just]"},
		{"/memory forget 1", "New conversations no longer get: I use tabs", "[] [Run just]"},
		{"/remember --here test with `go test`", "Remembered in this folder, for new conversations · /memory lists all", "[] [Run just test with `go test`]"},
	} {
		name, arg, _ := strings.Cut(test.line[1:], " ")
		seen := apptest.See(a.Command(name).Do(arg))
		got := seen.Toast
		switch {
		case seen.Err != nil:
			got = seen.Err.Error()
		case seen.List != nil:
			if seen.List.RemoveAs != "forget" {
				t.Errorf("%s: delete %q", test.line, seen.List.RemoveAs)
			}
			got = seen.List.Title + ":"
			for _, i := range seen.List.Items {
				got += fmt.Sprintf(" %s %s %s,", i.Group, i.Title, i.Detail)
			}
			got = strings.TrimSuffix(got, ",")
		case seen.Text != "":
			got = seen.Text
		}
		if all := fmt.Sprint(kept[false], kept[true]); got != test.want || all != test.kept {
			t.Errorf("%s: got %q and %s, want %q and %s", test.line, got, all, test.want, test.kept)
		}
	}
}

// TestCache: a conversation that has begun keeps its system prompt, and the provider its cache; an empty one gets the line.
func TestCache(t *testing.T) {
	for _, begun := range []bool{false, true} {
		a := apptest.New(t, Register)
		a.Memory = lines{}
		a.System = func(own string) string { return own + "with the line" }
		a.Session.SetModel(llm.Endpoint{Model: llmtest.New(llmtest.Say("hello")), Name: "m/x", Origin: "m/x"})
		if begun {
			for range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
			}
		}
		before := a.Session.Next.System()
		said := apptest.See(a.Command("remember").Do("I use tabs")).Toast
		if changed := a.Session.Next.System() != before; changed == begun || strings.Contains(said, "new conversations") != begun {
			t.Errorf("begun %v: system prompt %q, %q", begun, a.Session.Next.System(), said)
		}
	}
}

// A line of the list can be edited, forgotten, or opened in its file.
func TestList(t *testing.T) {
	a := apptest.New(t, Register)
	if why := a.Command("memory").Unavailable(); why != "Nothing can be remembered here" {
		t.Errorf("without memory: %q", why)
	}
	kept := lines{false: {"I use tabs", "Be brief"}, true: {"Run make"}}
	a.Memory = kept
	if why := a.Command("memory").Unavailable(); why != "" {
		t.Errorf("with memory: %q", why)
	}
	list := apptest.See(a.Command("memory").Do("")).List

	choice := apptest.See(list.Choose("2")).List
	if choice.Title != "Be brief" || choice.Items[1].Detail != "2 tokens less in each request" {
		t.Errorf("line 2: %+v", choice)
	}
	if got := apptest.See(choice.Choose(choice.Items[0].Value)); got.Text != "/memory edit 2 Be brief" || !got.IsCommand {
		t.Errorf("edit: %+v", got)
	}
	if got := apptest.See(choice.Choose(choice.Items[1].Value)).Toast; got != "New conversations no longer get: Be brief" || len(kept[false]) != 1 {
		t.Errorf("forget: %q leaves %v", got, kept)
	}

	open := list.Actions[0]
	for _, tt := range []struct{ line, path, then string }{
		{"1", "/memory.md", "list"}, {"2", "/here/memory.md", "Too long"}, {"0", "", ""}, {"3", "", ""},
	} {
		e, ok := open.Do(tt.line).(app.EditFile)
		if e.Path != tt.path || ok != (tt.path != "") {
			t.Errorf("line %s opens %q, want %q", tt.line, e.Path, tt.path)
		}
		if !ok {
			continue
		}
		then := e.Done()
		if got := apptest.Toast(then); got != tt.then && (tt.then != "list" || apptest.See(then).List == nil) {
			t.Errorf("line %s, after that: %q, want %q", tt.line, got, tt.then)
		}
	}
	if list.Remove("1"); len(kept[false]) != 0 || len(list.Refresh()) != 1 {
		t.Errorf("removed: %v", kept)
	}
}
