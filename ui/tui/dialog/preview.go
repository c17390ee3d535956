package dialog

import (
	"parley/ui/format"
	"parley/ui/tui/diffview"
)

// An itemDiff is the diff of the selected item of a Picker.
type itemDiff struct {
	value string // of the item
	patch *diffview.Diff
}

const (
	// MaxPreview is how many lines of a diff a preview may need.
	MaxPreview = 100
	// minPreviewRows is the minimum number of rows of a preview, and of the list above it.
	minPreviewRows = 6
)

// SetPreview sets the diff of the item with a value; nil for a diff that is not read yet. The first call
// makes room for diffs.
func (p *Picker) SetPreview(value string, patch *diffview.Diff) {
	p.preview, p.view = &itemDiff{value, patch}, ""
}

// previewLines returns the first lines of the diff in a number of rows. The first row is empty.
func (p *Picker) previewLines(rows int) []string {
	lines := []string{""}
	if d := p.preview.patch; d != nil && p.preview.value == p.Selected() {
		most, rest := rows-1, ""
		if total := d.Len() + d.Dropped; total > most {
			most--
			rest = p.theme.Dim.Render("    ⋯ " + format.Plural(total-most, "more line") + " (enter)")
		}
		lines = append(append(lines, d.Render(diffview.View{Styles: diffview.NewStyles(p.theme), Width: p.width}, most)...), rest)
	}
	return append(lines, make([]string, max(rows-len(lines), 0))...)[:rows]
}
