package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/uitest/apptest"
)

// lines is an app.Memory without files.
type lines map[bool][]string

func (l lines) Lines(here bool) []string { return l[here] }
func (l lines) Path(bool) string         { return "/memory.md" }
func (l lines) Edited(bool) error        { return nil }
func (l lines) Add(text string, here bool) error {
	if text == "bad" {
		return errors.New("refused")
	}
	l[here] = append(l[here], text)
	return nil
}

func (l lines) Replace(here bool, line, text string) error {
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
		before := a.Session.System()
		said := apptest.See(a.Command("remember").Do("I use tabs")).Toast
		if changed := a.Session.System() != before; changed == begun || strings.Contains(said, "new conversations") != begun {
			t.Errorf("begun %v: system prompt %q, %q", begun, a.Session.System(), said)
		}
	}
}
