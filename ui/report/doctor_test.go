package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"parley/ui/theme"
)

// On a terminal, the signs of a checkup have the colors of their status; they are
// readable without colors too.
func TestDoctorSigns(t *testing.T) {
	checks := []Check{
		{Section: SectionProviders, Name: "good", Status: Works},
		{Section: SectionProviders, Name: "bad", Status: Broken, Detail: "401", Hint: "check the key"},
		{Section: SectionStore, Name: "disk", Status: Warns},
	}
	for profile, want := range map[colorprofile.Profile]string{
		colorprofile.ANSI:  "\x1b[1mProviders\x1b[m\n\x1b[32m✓\x1b[m good\n\x1b[31m✗\x1b[m bad: 401\n  check the key\n\n\x1b[1mStore\x1b[m\n\x1b[33m!\x1b[m disk\n",
		colorprofile.NoTTY: "Providers\n✓ good\n✗ bad: 401\n  check the key\n\nStore\n! disk\n",
	} {
		var out bytes.Buffer
		if err := Doctor(&colorprofile.Writer{Forward: &out, Profile: profile}, checks, theme.Terminal(), "text"); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got  %q\nwant %q", out.String(), want)
		}
	}
}

// TestSections: sections are in order, each line begins with its sign, and broken
// checks have hints.
func TestSections(t *testing.T) {
	checks := []Check{
		{Section: SectionStore, Name: "disk", Status: Warns, Detail: "1 MB free", Hint: "make room"},
		{Section: SectionProviders, Name: "evil\x1b[2J", Status: Broken, Detail: "a\nb", Hint: "check it"},
		{Section: SectionProviders, Name: "good", Status: Works},
	}
	var got []string
	for _, s := range Checkup(checks) {
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
