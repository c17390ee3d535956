package attach

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
)

// Tags of TIFF 6.0 that are read here.
const (
	tagWidth        = 0x100
	tagHeight       = 0x101
	tagOrientation  = 0x112
	tagRowsPerStrip = 0x116
	tagTileWidth    = 0x142
	tagTileHeight   = 0x143
)

// A field is the first value of a tag.
type field struct {
	at    int // where it stands in the file
	size  int // its bytes: 1, 2 or 4
	value int
}

// A directory is the first one of a TIFF file or an Exif block, as far as its
// tags have whole numbers.
type directory struct {
	order  binary.ByteOrder
	fields map[uint16]field
	values int64 // of all tags together
}

func readDirectory(b []byte) (directory, bool) {
	d := directory{fields: map[uint16]field{}}
	switch {
	case len(b) < 8:
		return d, false
	case bytes.HasPrefix(b, []byte("II*\x00")):
		d.order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		d.order = binary.BigEndian
	default:
		return d, false
	}
	at := int64(d.order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return d, false
	}
	entries := b[at+2:]
	for range d.order.Uint16(b[at:]) {
		if len(entries) < 12 {
			return d, false
		}
		d.read(b, len(b)-len(entries))
		entries = entries[12:]
	}
	return d, true
}

// read adds the entry at i, of twelve bytes. Values that do not fit into its last
// four stand elsewhere.
func (d *directory) read(b []byte, i int) {
	e := b[i : i+12]
	size := map[uint16]int{1: 1, 3: 2, 4: 4}[d.order.Uint16(e[2:])]
	count := int64(d.order.Uint32(e[4:]))
	d.values += count
	at := int64(i) + 8
	if int64(size)*count > 4 {
		at = int64(d.order.Uint32(e[8:]))
	}
	if size == 0 || count == 0 || at+4 > int64(len(b)) {
		return
	}
	f := field{at: int(at), size: size}
	switch size {
	case 1:
		f.value = int(b[at])
	case 2:
		f.value = int(d.order.Uint16(b[at:]))
	case 4:
		f.value = int(d.order.Uint32(b[at:]))
	}
	d.fields[d.order.Uint16(e)] = f
}

// put returns a copy of b in which the field has another value.
func (d directory) put(b []byte, f field, value int) []byte {
	b = bytes.Clone(b)
	switch f.size {
	case 1:
		b[f.at] = byte(value)
	case 2:
		d.order.PutUint16(b[f.at:], uint16(value))
	case 4:
		d.order.PutUint32(b[f.at:], uint32(value))
	}
	return b
}

// tame makes a TIFF file safe to decode and returns the sizes that matter: the
// image's own, and what the decoder makes room for, which is as much as the strips
// or tiles claim to hold. One strip for all may be given as any number of rows.
func tame(b []byte) ([]byte, []image.Point, error) {
	d, ok := readDirectory(b)
	if !ok {
		return nil, nil, errors.New("its directory is damaged")
	}
	if d.values > 1<<20 {
		return nil, nil, fmt.Errorf("its directory has %d values", d.values)
	}
	size := image.Pt(d.fields[tagWidth].value, d.fields[tagHeight].value)
	piece := size
	if tile := d.fields[tagTileWidth].value; tile > 0 {
		piece = image.Pt(tile, d.fields[tagTileHeight].value)
	} else if strip, ok := d.fields[tagRowsPerStrip]; ok && strip.value > size.Y {
		b = d.put(b, strip, size.Y)
	} else if strip.value > 0 {
		piece.Y = strip.value
	}
	if piece.X == 0 || piece.Y == 0 {
		return nil, nil, fmt.Errorf("it measures %dx%d, in pieces of %dx%d", size.X, size.Y, piece.X, piece.Y)
	}
	whole := func(n, piece int) int { return (n + piece - 1) / piece * piece }
	return b, []image.Point{size, {whole(size.X, piece.X), whole(size.Y, piece.Y)}}, nil
}

// An orientation is how a stored image has to be turned to be upright: 1 is not
// at all, 2 to 8 as in Exif.
type orientation int

func orientationOf(exif []byte) orientation {
	d, ok := readDirectory(exif)
	if o := d.fields[tagOrientation].value; ok && o >= 1 && o <= 8 {
		return orientation(o)
	}
	return 1
}
