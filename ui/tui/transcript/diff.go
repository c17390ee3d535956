package transcript

import (
	"cmp"

	"parley/tools/diff"
)

// A diffLine is one line of a diff.
type diffLine struct {
	sign    byte   // '+', '-', ' '; 0 for a line about the diff itself
	line    int    // its number in the new file, or in the old one if it is gone; 0 if unknown
	oldLine int    // its number in the old file; 0 if it is new or unknown
	text    string // without the sign
	file    string // that what follows is of, if the line says that
}

// A unifiedDiff is a diff that was read: its first changes, and the sum of all.
type unifiedDiff struct {
	file           string // that the first changes are of
	changes        []diffLine
	dropped        int // how many more there are
	added, removed int
}

// maxDiffLines sets how many changes of one diff are laid out at most. The details
// of a call have them all.
const maxDiffLines = 500

// hunkGap stands between two places of one file.
const hunkGap = "⋮"

// readDiff reads a unified diff. The names of the files are left out where there is
// only one, which the title names.
func readDiff(text string) (p unifiedDiff) {
	inFile, files := false, 0
	for l := range diff.Lines(text) {
		switch l.Kind {
		case diff.Added, diff.Removed, diff.Context:
			p.add(diffLine{sign: byte(l.Kind), line: cmp.Or(l.New, l.Old), oldLine: l.Old, text: l.Text()})
		case diff.Hunk:
			if inFile {
				p.add(diffLine{text: hunkGap})
			}
			inFile = true
		case diff.NewName:
			files++
			inFile = false
			p.add(diffLine{text: l.File, file: l.File})
		case diff.Note:
			p.add(diffLine{text: l.Raw})
		}
	}
	if files == 1 && p.changes[0].sign == 0 {
		p.file, p.changes = p.changes[0].file, p.changes[1:]
	}
	return p
}

// add counts a change, and keeps it if there is room.
func (p *unifiedDiff) add(c diffLine) {
	switch c.sign {
	case '+':
		p.added++
	case '-':
		p.removed++
	}
	if len(p.changes) == maxDiffLines {
		p.dropped++
		return
	}
	p.changes = append(p.changes, c)
}
