package doctor

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
		{Section: sectionProviders, Name: "good", Status: works},
		{Section: sectionProviders, Name: "bad", Status: broken, Detail: "401", Hint: "check the key"},
		{Section: sectionStore, Name: "disk", Status: warns},
	}
	for profile, want := range map[colorprofile.Profile]string{
		colorprofile.ANSI:  "\x1b[1mProviders\x1b[m\n\x1b[32m✓\x1b[m good\n\x1b[31m✗\x1b[m bad: 401\n  check the key\n\n\x1b[1mStore\x1b[m\n\x1b[35m!\x1b[m disk\n",
		colorprofile.NoTTY: "Providers\n✓ good\n✗ bad: 401\n  check the key\n\nStore\n! disk\n",
	} {
		var out bytes.Buffer
		if err := write(&colorprofile.Writer{Forward: &out, Profile: profile}, checks, theme.Terminal(), "text"); err != nil {
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
		{Section: sectionStore, Name: "disk", Status: warns, Detail: "1 MB free", Hint: "make room"},
		{Section: sectionProviders, Name: "evil\x1b[2J", Status: broken, Detail: "a\nb", Hint: "check it"},
		{Section: sectionProviders, Name: "good", Status: works},
	}
	var got []string
	for _, s := range sections(checks) {
		got = append(got, s.Title)
		got = append(got, strings.Split(s.Source, "\n")...)
	}
	want := "Providers|✗ evil␛[2J: a␊b|  check it|✓ good|Store|! disk: 1 MB free|  make room"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "|"), want)
	}
	if !hasBroken(checks) || hasBroken(checks[:1]) {
		t.Error("what is broken")
	}
}
