package markdown

import (
	"os"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"parley/ui/theme"
)

var long = os.Getenv("PARLEY_LONG") == "1"

// checkStream streams text in pieces of step bytes, compares the result with
// one rendering of the whole, and verifies that settled lines do not change.
func checkStream(t *testing.T, text string, width, step int) {
	t.Helper()
	checkParts(t, text, width, step, windowSize)
}

// checkParts runs checkStream with long blocks cut after window bytes.
func checkParts(t *testing.T, text string, width, step, window int) {
	t.Helper()
	checkWidths(t, text, []int{width}, step, window)
}

// checkResized runs checkStream with another width for every second group of three pieces.
func checkResized(t *testing.T, text string, width, step int) {
	t.Helper()
	other := 1 + (width+30)%60
	checkWidths(t, text, []int{width, width, width, other, other, other}, step, windowSize)
}

// checkWidths streams text, with these widths in turn; it ends at the first.
func checkWidths(t *testing.T, text string, widths []int, step, window int) {
	t.Helper()
	whole := newWindowed(window)
	whole.append(text)
	whole.Finish()
	want := slices.Clone(whole.Lines(widths[0]))
	d := newWindowed(window)
	seen := map[int]map[string]bool{}
	for _, width := range widths {
		seen[width] = map[string]bool{}
	}
	every := max(1, len(text)/step/4) // pieces between two checks of all lines
	if long {
		every = max(1, len(text)/step/40)
	}
	for n, rest := 0, text; rest != ""; n++ {
		size, width := min(step, len(rest)), widths[n%len(widths)]
		renewed := len(d.missingRefs) + looseable(d)
		resized := width != d.width
		before := slices.Clone(d.lines[:d.settled])
		d.append(rest[:size])
		rest = rest[size:]
		lines := d.Lines(width)
		checkLines(t, lines, width, seen[width])
		if renewed == 0 && !resized && !slices.Equal(before, lines[:min(len(before), len(lines))]) {
			t.Fatalf("settled lines changed\nbefore %q\n after %q", before, lines)
		}
		if n%every == 0 {
			checkNow(t, d, width)
		}
	}
	if strings.HasSuffix(text, "\n") && step%2 == 1 { // looking past the end has no effect
		d.append("- more")
		d.Lines(widths[0])
		if !d.EndAt(len(text)) {
			t.Fatalf("%q does not end before its next line", clip(text))
		}
	}
	d.Finish()
	got := d.Lines(widths[0])
	checkLines(t, got, widths[0], seen[widths[0]])
	if !slices.Equal(got, want) {
		t.Fatalf("widths %d, step %d: %q\n got %s\nwant %s", widths, step, clip(text), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if gc, wc := d.Code(), whole.Code(); !slices.Equal(gc, wc) {
		t.Fatalf("Code: %q\n got %+v\nwant %+v", clip(text), gc, wc)
	}
	if d.Source() != text {
		t.Fatalf("Source is not what was appended")
	}
}

// newWindowed returns a Doc that cuts long blocks after window bytes.
func newWindowed(window int) *Doc {
	d := New(theme.Dark())
	d.split.window = window
	return d
}

// checkNow compares the lines of d in mid-stream with a Doc that got the same text at
// once, and its settled lines with a text that ends here. Different cuts of blocks are
// ignored here, because Finish corrects them.
func checkNow(t *testing.T, d *Doc, width int) {
	t.Helper()
	at := newWindowed(d.split.window)
	at.append(d.Source())
	want := at.Lines(width)
	if !slices.EqualFunc(d.blocks, at.blocks, func(a, b block) bool { return a.same(b.cut) }) {
		return
	}
	if len(d.Source())-d.split.tail <= maxTail && !slices.Equal(d.lines, want) {
		t.Fatalf("width %d, so far %q\n got %q\nwant %q", width, clip(d.Source()), d.lines, want)
	}
	at.Finish()
	ended := at.Lines(width)
	n := len(d.blocks)
	if len(d.missingRefs)+looseable(d) > 0 || n > len(at.blocks) || !slices.EqualFunc(d.blocks, at.blocks[:n], func(a, b block) bool { return a.same(b.cut) }) {
		return
	}
	if n := d.Settled(); n > len(ended) || !slices.Equal(d.lines[:n], ended[:n]) {
		t.Fatalf("width %d, settled in %q\n got %q\nwant %q", width, clip(d.Source()), d.lines[:n], ended)
	}
}

// looseable returns 1 if the tail continues a tight list, which may become loose.
func looseable(d *Doc) int {
	if d.split.list != nil && !d.split.list.loose {
		return 1
	}
	return 0
}

// Each code block starts in a fresh state, whatever the previous one left open. The test
// compares the styles that a terminal shows.
func TestBlocksOfCodeBeginAnew(t *testing.T) {
	th := theme.Dark()
	shown := func(style lipgloss.Style, text string) string { return theme.NewSGR(style).Apply(text) }
	lang, comment := shown(th.Dim, "go"), shown(th.Syntax.Comment, "/* open")
	keyword, bullet := shown(th.Syntax.Keyword, "var")+shown(th.Text, " x"), shown(th.VoiceDim, "•")+" "+shown(th.Text, "a")
	text := "```go\n/* open\n```\n\n```go\nvar x\n```\n\n- a\n\n  ```go\n  /* open\n  ```\n\n  ```go\n  var x\n  ```\n\n```go\nvar x\n/* open\n"
	want := []string{"  " + lang, "  " + comment, "", "  " + lang, "  " + keyword, "", bullet,
		"", "    " + lang, "    " + comment, "", "    " + lang, "    " + keyword, "", "  " + lang, "  " + keyword, "  " + comment}
	for step := 1; step <= len(text); step += 3 {
		d := New(th)
		for piece := range slices.Chunk([]byte(text), step) {
			d.append(string(piece))
			d.Lines(30)
			d.Lines(40)
		}
		for _, state := range []string{"streamed", "whole"} {
			if got := d.Lines(40); !slices.Equal(got, want) {
				t.Fatalf("%s in pieces of %d\n got %q\nwant %q", state, step, got, want)
			}
			d.Finish()
		}
	}
}
