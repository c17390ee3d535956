package report

import (
	"bytes"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"parley/ui/app"
	"parley/ui/theme"
)

// The signs of a checkup have the colors of what they say on a terminal, and are readable
// without.
func TestDoctorSigns(t *testing.T) {
	checks := []app.Check{
		{Section: app.SectionProviders, Name: "good", Status: app.Works},
		{Section: app.SectionProviders, Name: "bad", Status: app.Broken, Detail: "401", Hint: "check the key"},
		{Section: app.SectionStore, Name: "disk", Status: app.Warns},
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
