package termimage

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

func TestUpload(t *testing.T) {
	tests := []struct {
		name       string
		id         uint32
		png        string
		cols, rows int
		want       string
	}{
		{"small", 42, "abc", 3, 2, "\x1b_Ga=T,U=1,f=100,i=42,c=3,r=2,q=2,m=0;YWJj\x1b\\"},
		{"two chunks", 7, strings.Repeat("a", 3075), 1, 1,
			"\x1b_Ga=T,U=1,f=100,i=7,c=1,r=1,q=2,m=1;" + strings.Repeat("YWFh", 1024) + "\x1b\\" + "\x1b_Gq=2,m=0;YWFh\x1b\\"},
		{"one chunk, full", 7, strings.Repeat("a", 3072), 1, 1,
			"\x1b_Ga=T,U=1,f=100,i=7,c=1,r=1,q=2,m=0;" + strings.Repeat("YWFh", 1024) + "\x1b\\"},
		{"no number", 0, "abc", 1, 1, ""},
		{"no picture", 1, "", 1, 1, ""},
		{"no cells", 1, "abc", 0, 1, ""},
		{"more rows than can be named", 1, "abc", 1, MaxSide + 1, ""},
	}
	for _, tt := range tests {
		if got := Upload(tt.id, []byte(tt.png), tt.cols, tt.rows); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// For any size, the joined chunks are the image, none is longer than the
// protocol allows, and the length of all but the last is a multiple of four.
func TestUploadChunks(t *testing.T) {
	for _, size := range []int{1, 3071, 3073, 6144, 10000} {
		png := strings.Repeat("x", size)
		var data string
		chunks := strings.Split(strings.TrimSuffix(Upload(1, []byte(png), 1, 1), "\x1b\\"), "\x1b\\")
		for i, chunk := range chunks {
			_, payload, _ := strings.Cut(chunk, ";")
			if len(payload) > 4096 || i < len(chunks)-1 && len(payload)%4 != 0 {
				t.Errorf("%d bytes: chunk %d has %d", size, i, len(payload))
			}
			data += payload
		}
		if got, err := base64.StdEncoding.DecodeString(data); err != nil || string(got) != png {
			t.Errorf("%d bytes: came back as %d, %v", size, len(got), err)
		}
	}
}

// The first two are the examples of the protocol's description, with row and
// column in every cell.
func TestCells(t *testing.T) {
	const p, d0, d1, d2 = "\U0010EEEE", "\u0305", "\u030D", "\u030E"
	tests := []struct {
		id         uint32
		cols, rows int
		want       []string
	}{
		{42, 2, 2, []string{
			"\x1b[38;2;0;0;42m" + p + d0 + d0 + p + d0 + d1 + "\x1b[39m",
			"\x1b[38;2;0;0;42m" + p + d1 + d0 + p + d1 + d1 + "\x1b[39m",
		}},
		{42 + 2<<24, 1, 1, []string{"\x1b[38;2;0;0;42m" + p + d0 + d0 + d2 + "\x1b[39m"}},
		{0x123456, 1, 1, []string{"\x1b[38;2;18;52;86m" + p + d0 + d0 + "\x1b[39m"}},
		{0, 1, 1, nil},
		{1, 0, 1, nil},
		{1, 1, MaxSide + 1, nil},
	}
	for _, tt := range tests {
		if got := Cells(tt.id, tt.cols, tt.rows); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
			t.Errorf("Cells(%#x, %d, %d):\n got %q\nwant %q", tt.id, tt.cols, tt.rows, got, tt.want)
		}
	}
}

// Layout counts each placeholder with its diacritics as one cell, for every
// possible row and column, and no two cells are equal.
func TestCellsAreCells(t *testing.T) {
	if !narrow() {
		t.Skip("placeholders are two cells wide in this locale")
	}
	seen := map[string]bool{}
	for id, cols := range map[uint32]int{1: 3, 0xffffffff: MaxSide} {
		for row, line := range Cells(id, cols, MaxSide) {
			if got := ansi.StringWidth(line); got != cols {
				t.Fatalf("row %d of picture %#x is %d wide", row, id, got)
			}
			if got := lipgloss.Width(line); got != cols {
				t.Fatalf("row %d of picture %#x is %d wide to lipgloss", row, id, got)
			}
			for _, cell := range strings.Split(ansi.Strip(line), "\U0010EEEE")[1:] {
				if seen[cell] {
					t.Fatalf("row %d of picture %#x: %+q is there twice", row, id, cell)
				}
				seen[cell] = true
			}
		}
	}
	half := ansi.Truncate(Cells(1, 10, 1)[0], 5, "")
	if got := strings.Count(half, "\U0010EEEE"); got != 5 {
		t.Errorf("cut to 5 cells: %d", got)
	}
}

func TestForget(t *testing.T) {
	if got, want := Forget(42), "\x1b_Ga=d,d=I,i=42,q=2\x1b\\"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Forget(0); got != "" { // 0 would mean every image
		t.Errorf("Forget(0) = %q", got)
	}
}

func TestFit(t *testing.T) {
	tests := []struct {
		w, h, maxCols, maxRows int
		cols, rows             int
	}{
		{800, 800, 80, 20, 40, 20},
		{1600, 400, 80, 24, 80, 10},
		{400, 1600, 80, 24, 12, 24},
		{16, 16, 80, 24, 2, 1}, // not enlarged
		{1, 1, 80, 24, 1, 1},
		{10000, 1, 80, 24, 80, 1},
		{1, 10000, 80, 24, 1, 24},
		{1 << 30, 1 << 30, 1 << 20, 1 << 20, 297, 149},
		{0, 10, 80, 24, 0, 0},
		{10, -1, 80, 24, 0, 0},
		{10, 10, 0, 24, 0, 0},
	}
	for _, tt := range tests {
		if cols, rows := Fit(tt.w, tt.h, tt.maxCols, tt.maxRows); cols != tt.cols || rows != tt.rows {
			t.Errorf("Fit(%d, %d, %d, %d) = %d, %d, want %d, %d", tt.w, tt.h, tt.maxCols, tt.maxRows, cols, rows, tt.cols, tt.rows)
		}
	}
}
