package app

import (
	"strings"
	"testing"
)

// TestCheckReport: sections stand in their order, each line begins with its sign, and what
// does not work says what to do.
func TestCheckReport(t *testing.T) {
	checks := []Check{
		{Section: SectionStore, Name: "disk", Status: Warns, Detail: "1 MB free", Hint: "make room"},
		{Section: SectionProviders, Name: "evil\x1b[2J", Status: Broken, Detail: "a\nb", Hint: "check it"},
		{Section: SectionProviders, Name: "good", Status: Works},
	}
	var got []string
	for _, s := range CheckReport(checks) {
		got = append(got, s.Title)
		got = append(got, strings.Split(s.Source, "\n")...)
	}
	want := "Providers|✗ evil␛[2J: a␊b|  check it|✓ good|Store|! disk: 1 MB free|  make room"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "|"), want)
	}
	if !HasBrokenCheck(checks) || HasBrokenCheck(checks[:1]) {
		t.Error("what is broken")
	}
}

// TestTerminalChecks: what is not known is said, and a terminal without a way to the
// clipboard is warned of.
func TestTerminalChecks(t *testing.T) {
	getenv := func(string) string { return "" }
	checks := TerminalState{Colors: "256"}.Checks(getenv, nil)
	got := map[string]Check{}
	for _, c := range checks {
		got[c.Name] = c
	}
	if c := got["colors"]; c.Status != Works || c.Detail != "256" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"TERM", "clipboard"} {
		if c := got[name]; c.Status != Warns || c.Hint == "" {
			t.Errorf("%+v", c)
		}
	}
}
