package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// Help lists every key as it is bound: those of actions, including rebound
// ones, of the composer, of browsing and of dialogs.
func TestHelpTellsEveryKey(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) { o.Keys = Keys{"model": {"f7"}, "usage": {"f8", "ctrl+x j"}} })
	told := fmt.Sprint(s.m.keymap.bindings())
	expect := func(what string, keys ...string) {
		for _, key := range keys {
			if !strings.Contains(told, key) {
				t.Errorf("%s of %s is not told", key, what)
			}
		}
	}
	for _, a := range s.m.keymap.actions {
		expect(a.Name, a.Keys...)
	}
	titles := map[string]int{}
	for _, section := range s.m.keymap.bindings() {
		if titles[section.Title]++; titles[section.Title] > 1 {
			t.Errorf("two sections are called %s", section.Title)
		}
	}
	if titles["Writing"] > 0 {
		t.Error("what is written has a section beside Input & messages")
	}
	expect("own keys", "f7", "f8, ctrl+x j")
	if strings.Contains(told, "alt+p") {
		t.Error("a key is told that was given up")
	}
	basic, readline := composer.Bindings()
	for _, row := range slices.Concat(basic, readline) {
		expect("writing", row[0])
	}
	for _, s := range dialog.HelpSections() {
		for _, row := range s.Rows {
			expect("dialogs", row[0])
		}
	}
	for _, row := range transcript.Bindings() {
		expect("browsing", row[0])
	}
}

// With any key bindings, messages name the bound keys.
func TestOwnKeysAreNamed(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) { o.Keys = Keys{"model": {"f7"}, "stash": {}} })
	s.WaitForText("f7")
	s.Press("f2").WaitForText("f7 choose a model")
	s.Type("later").Press("ctrl+x", "p").Type("stash").Press("enter").WaitForText("Draft stashed · /stash")
}
