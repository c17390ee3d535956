package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/ui/theme"
)

// cutAll returns the sections of text, passed in pieces of the given size.
func cutAll(text string, size int) (sources []string, sections []Section) {
	var s Section
	held := ""
	for text != "" || size > 0 {
		n := min(size, len(text))
		held, text = held+text[:n], text[n:]
		for {
			end, next := s.Cut(held)
			if end == 0 {
				break
			}
			sources, sections = append(sources, held[:end]), append(sections, s)
			held, s = held[end:], next
		}
		if text == "" {
			break
		}
	}
	return append(sources, held), append(sections, s)
}

// longTexts returns long texts of different kinds.
func longTexts(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)+1) }
	var code strings.Builder
	for n := 0; code.Len() < size; n++ {
		fmt.Fprintf(&code, "\tif x%d := f(%d); x != nil {\n\n", n, n)
	}
	return map[string]string{
		"prose":       repeat(strings.Repeat("some words and ", 30) + "\n\n"),
		"one line":    repeat("some words and "),
		"one word":    repeat("word"),
		"code":        "Look:\n\n~~~ go\n" + code.String(),
		"long line":   "```\n" + repeat("0123456789"),
		"blocks":      repeat("# A\n\n- b\n- c\n\n```go\nf()\n```\n\n| d |\n|---|\n| e |\n\n"),
		"one list":    repeat("- an item\n\n  ```\n  code\n\n  more\n  ```\n\n"),
		"blank lines": repeat("\n"),
		"wide":        repeat("漢字"),
	}
}

// A text has the same sections whole and in pieces, none of them too long, and no
// byte is lost. Sections that begin in a code block report it.
func TestSections(t *testing.T) {
	for name, text := range longTexts(3 * maxSection) {
		t.Run(name, func(t *testing.T) {
			whole, sections := cutAll(text, len(text))
			if len(whole) < 3 || strings.Join(whole, "") != text {
				t.Fatalf("%d sections of %d bytes", len(whole), len(strings.Join(whole, "")))
			}
			for i, s := range whole {
				if len(s) > maxSection {
					t.Errorf("section %d has %d bytes", i, len(s))
				}
				if want := i > 0 && (name == "code" || name == "long line"); name != "one list" && sections[i].InCode() != want {
					t.Errorf("section %d: in code %v, want %v", i, !want, want)
				}
			}
			for _, size := range []int{300, 4099} {
				pieces, _ := cutAll(text, size)
				if len(pieces) != len(whole) {
					t.Fatalf("%d sections in pieces of %d bytes, %d as a whole", len(pieces), size, len(whole))
				}
				for i := range pieces {
					if pieces[i] != whole[i] {
						t.Errorf("pieces of %d bytes: section %d has %d bytes, %d as a whole", size, i, len(pieces[i]), len(whole[i]))
					}
				}
			}
		})
	}
}

// Sections shown one below the other look like the whole text.
func TestSectionsLookAlike(t *testing.T) {
	for _, name := range []string{"prose", "code", "blocks"} {
		text := longTexts(2 * maxSection)[name]
		var got []string
		sources, sections := cutAll(text, len(text))
		for i, s := range sections {
			d := s.Doc(theme.Plain())
			d.append(sources[i])
			d.Finish()
			if i > 0 && !s.Joined {
				got = append(got, "")
			}
			got = append(got, d.Lines(100)[s.Head():]...)
		}
		if want := Render(text, 100, theme.Plain()); strings.Join(got, "\n") != want {
			t.Errorf("%s: %d lines, %d as a whole", name, len(got), strings.Count(want, "\n")+1)
		}
	}
}

// A streamed section keeps its rendering when it ends, unless it ends inside a line, and looks
// as if it had arrived at once.
func TestSectionsEnd(t *testing.T) {
	for name, text := range longTexts(maxSection * 3 / 2) {
		t.Run(name, func(t *testing.T) {
			var s Section
			d := s.Doc(theme.Dark())
			for {
				d.append(text[:257])
				text = text[257:]
				end, next := s.Cut(s.Source(d))
				if end == 0 {
					d.Lines(100)
					continue
				}
				source := s.Source(d)
				if kept := s.EndAt(d, end); kept != (source[end-1] == '\n' && name != "blank lines") {
					t.Fatalf("kept: %v, behind %q", kept, source[end-20:end])
				} else if !kept {
					return
				}
				whole := s.Doc(theme.Dark())
				whole.append(source[:end])
				whole.Finish()
				if s.Source(d) != source[:end] || !slices.Equal(d.Lines(100), whole.Lines(100)) || !slices.Equal(d.Code(), whole.Code()) {
					t.Fatalf("section of %d bytes, next %+v:\n got %q\nwant %q", end, next, d.Lines(100), whole.Lines(100))
				}
				return
			}
		})
	}
}
