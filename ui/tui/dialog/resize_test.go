package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// A pager keeps its line when its width changes, however many rows the lines before it have then.
func TestPagerKeepsItsLine(t *testing.T) {
	var part format.Part
	for i := range 20 {
		part.Lines = append(part.Lines, format.Line{Text: fmt.Sprint(i, strings.Repeat(" words", 4*i))})
	}
	p := dialog.Pages("An exchange", []format.Part{part}, theme.Plain())
	p.SetSize(40, 12)
	p.GoToLine(15)
	for _, width := range []int{20, 80, 9, 200, 40} {
		if p.SetSize(width, 12); p.Line() != 15 {
			t.Errorf("in %d cells: line %d, want 15", width, p.Line())
		}
	}
	p.GoToEnd()
	part.Lines = append(part.Lines, format.Line{Text: "more"})
	if p.SetParts("", []format.Part{part}); p.Line() != 20 || !p.AtEnd() {
		t.Errorf("text that was added is not followed: line %d", p.Line())
	}
	p.GoToLine(3)
	if p.SetParts("", []format.Part{part}); p.Line() != 3 || p.AtEnd() {
		t.Errorf("new text moves the cursor to line %d", p.Line())
	}
}
