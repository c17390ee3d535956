package attach

import (
	"bytes"
	"encoding/binary"
)

// An orientation reports how a stored image has to be turned to be upright: 1 is not
// at all, 2 to 8 as in Exif.
type orientation int

// orientationTag holds the tag of the orientation in an Exif block.
const orientationTag = 0x112

// orientationOf returns the orientation that an Exif block holds, 1 if it holds
// none. The block is laid out as a TIFF file: a byte order, the offset of a
// directory, and entries of twelve bytes, whose value stands in the last four
// (Exif 2.32 §4.6.2, tag 0x0112; programs write it as a byte or a long as well).
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
