package attach

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// imageMetadata describes the metadata of an image file: place, time and camera, and
// perhaps a thumbnail from before it was cropped.
type imageMetadata struct {
	bare  []byte // the file without metadata; nil if it would have to be decoded
	exif  []byte // the Exif block, a TIFF file; nil if there is none
	found bool   // bare lacks some metadata
}

// metaJPEG keeps the segments before and between the scans that decoding needs,
// and nothing after the end of the image, where phones store films.
func metaJPEG(b []byte) imageMetadata {
	var m imageMetadata
	bare := append(make([]byte, 0, len(b)), b[:2]...)
	for i := 2; i+1 < len(b) && b[i] == 0xff; {
		marker := b[i+1]
		switch {
		case marker == 0xff: // padding
			i++
			continue
		case marker == 0xd9: // end of image
			m.bare, m.found = append(bare, 0xff, 0xd9), m.found || i+2 < len(b)
			return m
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // no length
			bare, i = append(bare, 0xff, marker), i+2
			continue
		case i+4 > len(b):
			return m
		}
		end := i + 2 + int(binary.BigEndian.Uint16(b[i+2:]))
		if end < i+4 || end > len(b) {
			return m
		}
		body := b[i+4 : end]
		if marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) && m.exif == nil {
			m.exif = body[6:]
		}
		if marker == 0xda { // a scan, with its entropy-coded data
			end = scanEnd(b, end)
		}
		if isPrivateSegment(marker, body) {
			m.found = true
		} else {
			bare = append(bare, b[i:end]...)
		}
		i = end
	}
	return m
}

// isPrivateSegment reports whether a JPEG segment is not part of the image:
// comments, and all application segments except JFIF, a color profile, and
// Adobe's color information.
func isPrivateSegment(marker byte, body []byte) bool {
	switch marker {
	case 0xe0:
		return !bytes.HasPrefix(body, []byte("JFIF\x00"))
	case 0xe2:
		return !bytes.HasPrefix(body, []byte("ICC_PROFILE\x00"))
	case 0xee:
		return !bytes.HasPrefix(body, []byte("Adobe"))
	}
	return marker>>4 == 0xe || marker == 0xfe
}

// scanEnd returns the offset of the marker after a scan. Within a scan, 0xff is
// followed by a zero or is part of a restart marker.
func scanEnd(b []byte, i int) int {
	for ; i+1 < len(b); i++ {
		if next := b[i+1]; b[i] == 0xff && next != 0 && next != 0xff && (next < 0xd0 || next > 0xd7) {
			return i
		}
	}
	return len(b)
}

// chunksPNG are the ancillary chunks that affect how pixels are displayed. Texts, times, Exif
// and animation frames are left out, and so are chunks with a wrong checksum, which browsers
// ignore but stricter decoders refuse.
var chunksPNG = []string{"tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "sBIT", "bKGD", "pHYs"}

func metaPNG(b []byte) imageMetadata {
	const around = 12 // length, type and checksum
	var m imageMetadata
	bare := append(make([]byte, 0, len(b)), b[:8]...)
	for i := 8; i+around <= len(b); {
		n := int64(binary.BigEndian.Uint32(b[i:]))
		if n > int64(len(b)-i-around) {
			return m
		}
		end := i + around + int(n)
		kind := string(b[i+4 : i+8])
		critical := kind[0]&0x20 == 0
		whole := crc32.ChecksumIEEE(b[i+4:end-4]) == binary.BigEndian.Uint32(b[end-4:])
		switch {
		case kind == "eXIf":
			m.exif, m.found = b[i+8:end-4], true
		case critical || whole && slices.Contains(chunksPNG, kind):
			bare = append(bare, b[i:end]...)
		default:
			m.found = true
		}
		if i = end; kind == "IEND" {
			m.bare, m.found = bare, m.found || i < len(b)
			return m
		}
	}
	return m
}

func metaWebP(b []byte) imageMetadata {
	var m imageMetadata
	for kind, body := range chunksWebP(b) {
		switch kind {
		case "EXIF":
			m.exif, m.found = bytes.TrimPrefix(body, []byte("Exif\x00\x00")), true
		case "XMP ":
			m.found = true
		}
	}
	return m
}

// chunksWebP yields the complete chunks of a RIFF file.
func chunksWebP(b []byte) func(yield func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for i := 12; i+8 <= len(b); {
			n := int64(binary.LittleEndian.Uint32(b[i+4:]))
			if n > int64(len(b)-i-8) {
				return
			}
			end := i + 8 + int(n)
			if !yield(string(b[i:i+4]), b[i+8:end]) {
				return
			}
			i = end + int(n&1)
		}
	}
}
