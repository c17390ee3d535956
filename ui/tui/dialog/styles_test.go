// testdata holds the expected views. go test ./ui/tui/dialog -update rewrites them. Read the diff.

package dialog_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// roles returns the styles of a theme by name.
func roles(th *theme.Theme) map[string]string {
	on := func(s lipgloss.Style) string { return theme.NewSGR(s).On }
	names := map[string]string{}
	c := th.Syntax
	for side, tint := range map[string]lipgloss.Style{"": lipgloss.NewStyle(), " on added": th.Diff.Added, " on removed": th.Diff.Removed} {
		for i, ink := range []lipgloss.Style{th.Text, th.Faint, th.Good.Bold(true), th.Bad.Bold(true), c.Comment, c.Keyword, c.String, c.Number, c.Function, c.Type} {
			names[on(ink.Background(tint.GetBackground()))] = []string{"text", "faint", "+", "-", "comment", "keyword", "string", "number", "function", "type"}[i] + side
		}
	}
	for _, r := range []struct {
		name  string
		style lipgloss.Style
	}{
		{"bad", th.Bad}, {"warn", th.Warn}, {"good", th.Good}, {"strong", th.Strong}, {"accent", th.Accent},
		{"faint", th.Faint}, {"dim", th.Dim}, {"", th.Text},
	} {
		for place, ground := range map[string]lipgloss.Style{"": lipgloss.NewStyle(), " in band": th.Composer, " selected": th.Selected} {
			style := r.style.Background(ground.GetBackground())
			if place != "" && on(ground) == "" {
				continue
			}
			names[on(ground)] = strings.TrimSpace(place)
			names[on(style.Bold(true))] = strings.TrimPrefix(r.name+" bold"+place, " ")
			names[on(style.Underline(true))] = strings.TrimPrefix(r.name+" underlined"+place, " ")
			names[on(style.Bold(true).Underline(true))] = strings.TrimPrefix(r.name+" bold underlined"+place, " ")
			if names[on(style)] == "" || place == "" {
				names[on(style)] = strings.TrimSpace(r.name + place)
			}
		}
	}
	return names
}

// spelled returns a view with the names of styles in place of their sequences.
func spelled(t *testing.T, view string, names map[string]string) string {
	t.Helper()
	var out strings.Builder
	state := byte(0)
	for rest := view; rest != ""; {
		seq, width, n, next := ansi.DecodeSequence(rest, state, nil)
		rest, state = rest[n:], next
		name, known := names[seq]
		switch {
		case width > 0 || seq == "\n":
			out.WriteString(seq)
		case seq == ansi.ResetStyle || seq == "\x1b[0m":
			out.WriteString("›")
		case known && name == "":
			out.WriteString("‹")
		case known:
			out.WriteString("‹" + name + ":")
		default:
			t.Errorf("%q is no style of the theme", seq)
		}
	}
	var lines []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		line = strings.TrimRight(line, " ")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" { // one empty line is enough
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Every dialog has the same text in each theme. Styles are checked by role, so
// that themes differ only in the looks of roles.
func TestLooks(t *testing.T) {
	for _, size := range sizes {
		for _, group := range [][]*theme.Theme{{theme.Dark(), theme.Light()}, {theme.Plain()}} {
			t.Run(size.name+"/"+group[0].Name, func(t *testing.T) {
				var first string
				for i, th := range group {
					all := states(th)
					var out strings.Builder
					for _, name := range slices.Sorted(maps.Keys(all)) {
						view := shown(t, all[name], size.w, size.h).Styled()
						out.WriteString("── " + name + "\n" + spelled(t, view, roles(th)) + "\n")
					}
					if i == 0 {
						first = out.String()
						golden(t, filepath.Join("testdata", size.name, "looks-"+th.Name+".golden"), first)
					} else if out.String() != first {
						t.Errorf("%s has other roles than %s: %s", th.Name, group[0].Name, difference(out.String(), first))
					}
				}
			})
		}
	}
}

// difference returns the first line that differs between two texts.
func difference(got, want string) string {
	w := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(w) || line != w[i] {
			return "got\n" + line + "\nwant\n" + strings.Join(w[min(i, len(w)):min(i+1, len(w))], "")
		}
	}
	return "it ends early"
}

// golden compares text with a file, or writes it with the flag -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: make it with -update", err)
	}
	if got != string(want) {
		t.Errorf("the looks are not %s (-update accepts them): %s", file, difference(got, string(want)))
	}
}
