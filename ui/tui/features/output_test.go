package features

import (
	"fmt"
	"slices"
	"testing"

	"parley/ui/app"
)

// numbered returns lines from first to last.
func numbered(first, last int) (lines []string) {
	for i := first; i <= last; i++ {
		lines = append(lines, fmt.Sprintf("line %03d", i))
	}
	return lines
}

// The cursor stays on its line while the text grows, even if earlier lines are dropped. If the line itself is
// dropped, the cursor moves to the next one.
func TestLineOfGrowingOutput(t *testing.T) {
	text := func(written int, lines []string) app.OutputText {
		return app.OutputText{Lines: lines, Size: int64(written * len("line 000\n"))}
	}
	gap := "… left out"
	before := text(100, slices.Concat(numbered(1, 10), []string{gap}, numbered(91, 100)))
	for _, tt := range []struct {
		name     string
		now      app.OutputText
		at, want int
	}{
		{"nothing new", before, 15, 15},
		{"in the part that stays", text(103, slices.Concat(numbered(1, 10), []string{gap}, numbered(94, 103))), 3, 3},
		{"after the gap, which grew", text(103, slices.Concat(numbered(1, 10), []string{gap}, numbered(94, 103))), 15, 12},
		{"the last line", text(103, slices.Concat(numbered(1, 10), []string{gap}, numbered(94, 103))), 20, 17},
		{"a line that was left out", text(200, slices.Concat(numbered(1, 10), []string{gap}, numbered(191, 200))), 15, 11},
		{"a line that is none", before, 99, 99},
	} {
		if got := movedTo(before, tt.now, tt.at); got != tt.want {
			t.Errorf("%s: line %d is at %d, want %d", tt.name, tt.at, got, tt.want)
		}
	}
}
