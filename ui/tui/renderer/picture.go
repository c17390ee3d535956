package renderer

import (
	"maps"
	"sync"
	"unicode"

	"github.com/charmbracelet/x/ansi/kitty"
)

// A PictureMsg makes the screen draw a picture in its cells: placeholders of kitty's graphics protocol,
// with the number as their color, which terminals without that protocol cannot draw. Once there was a
// picture, those of unknown pictures are blank.
type PictureMsg interface {
	// Picture returns the number of the picture. Append is nil if the terminal draws the placeholders.
	Picture() (id uint32, p Picture)
}

// A Picture is drawn in pieces of one row of cells.
type Picture struct {
	Append func(b []byte, row, from, to int) []byte // appends the sequence that draws cells of a row at the cursor
	Fixed  bool                                     // the terminal may leave it in place when it moves rows
}

// ForgetPicturesMsg makes the screen forget pictures that are shown no longer.
type ForgetPicturesMsg []uint32

// changePictures changes the pictures of frames from now on. An unfinished frame keeps the old map.
func (s *Screen) changePictures(change func(map[uint32]Picture)) {
	s.updateSettings(func(k *settings) {
		if k.pictures = maps.Clone(k.pictures); k.pictures == nil {
			k.pictures = map[uint32]Picture{}
		}
		change(k.pictures)
	})
}

// A piece is part of a picture in cells of one row of the screen.
type piece struct {
	id       uint32
	row      int // of the picture
	from, to int // columns of the picture
	x        int // column of the screen
}

// diacritics maps the marks of placeholders to the numbers from 1 that they mean.
var diacritics = sync.OnceValue(func() map[rune]int {
	m := map[rune]int{}
	for i := 0; i == 0 || kitty.Diacritic(i) != kitty.Diacritic(0); i++ {
		m[kitty.Diacritic(i)] = i + 1
	}
	return m
})

// placeholder returns the picture of a cell, with its row and column there. ok is false if there is none.
func (g *grid) placeholder(c cell) (id uint32, row, col int, ok bool) {
	if c.text <= unicode.MaxRune || g.styles.all[c.style].Fg == nil {
		return 0, 0, 0, false
	}
	runes := []rune(g.styles.clusters[c.text-unicode.MaxRune-1])
	if len(runes) != 3 || runes[0] != kitty.Placeholder {
		return 0, 0, 0, false
	}
	red, green, blue, _ := g.styles.all[c.style].Fg.RGBA()
	id = red>>8<<16 | green>>8<<8 | blue>>8
	row, col = diacritics()[runes[1]]-1, diacritics()[runes[2]]-1
	return id, row, col, row >= 0 && col >= 0
}

// cover blanks a cell of a picture, and adds it to the pieces to draw. It returns false for text and for
// placeholders that the terminal draws.
func (g *grid) cover(c cell, x int) bool {
	id, row, col, ok := g.placeholder(c)
	picture, known := g.pictures[id]
	if !ok || known && picture.Append == nil {
		return false
	}
	g.setStyle(0)
	g.out = append(g.out, ' ')
	if !known {
		return true
	}
	if n := len(g.pieces); n > 0 {
		if p := &g.pieces[n-1]; p.id == id && p.row == row && p.to == col && p.x+p.to-p.from == x {
			p.to++
			return true
		}
	}
	g.pieces = append(g.pieces, piece{id, row, col, col + 1, x})
	return true
}

// drawPieces draws the pieces of row y. Some terminals scroll after one in the last row, which stays empty.
func (g *grid) drawPieces(y int) {
	for _, p := range g.pieces {
		if y < g.h-1 {
			g.to(p.x, y)
			g.out = g.pictures[p.id].Append(g.out, p.row, p.from, p.to)
			g.x, g.y = -1, -1
		}
	}
	g.pieces = g.pieces[:0]
}

// moves reports whether the terminal moves the pictures in rows [top, bottom) as it moves text.
func (g *grid) moves(top, bottom int) bool {
	if g.pictures == nil {
		return true
	}
	for _, r := range g.rows[top:bottom] {
		for _, c := range r.cells[:r.end] {
			if id, _, _, ok := g.placeholder(c); ok && g.pictures[id].Fixed {
				return false
			}
		}
	}
	return true
}
