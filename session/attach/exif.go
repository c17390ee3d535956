package attach

import (
	"bytes"
	"encoding/binary"
)

// An orientation says how to turn a stored image upright: 1 is not at all, 2 to 8 as
// in Exif.
type orientation int

// orientationTag is the tag of the orientation in an Exif block.
const orientationTag = 0x112

// orientationOf returns the orientation in an Exif block; 1 if it has none. The
// block has the layout of a TIFF file: a byte order, the offset of a directory,
// and entries of twelve bytes with the value in the last four (Exif 2.32 §4.6.2,
// tag 0x0112; some programs write it as a byte or a long).
func orientationOf(exif []byte) orientation {
	const entrySize = 12
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(exif) < 8:
		return 1
	case bytes.HasPrefix(exif, []byte("MM\x00*")):
		order = binary.BigEndian
	case !bytes.HasPrefix(exif, []byte("II*\x00")):
		return 1
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < entrySize {
			break
		}
		if order.Uint16(entries) == orientationTag {
			o := map[uint16]uint32{1: uint32(entries[8]), 3: uint32(order.Uint16(entries[8:])), 4: order.Uint32(entries[8:])}[order.Uint16(entries[2:])]
			if o >= 1 && o <= 8 {
				return orientation(o)
			}
		}
		entries = entries[entrySize:]
	}
	return 1
}
