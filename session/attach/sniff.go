package attach

import (
	"bytes"
	"fmt"
	_ "image/gif" // decodes GIF

	_ "golang.org/x/image/webp" // decodes WebP
)

// headSize is how many leading bytes determine the type of a file.
const headSize = 4 << 10

// A format is a file format, recognized by the beginning of a file.
type format struct {
	at    int
	magic string // at offset at; ? stands for any byte
	name  string // for display
	mime  string // media type when sent; "" if no model accepts it

	image bool // package image can decode it
	keep  bool // for images: sent unchanged; others are converted to PNG or JPEG
	meta  func([]byte) imageMetadata

	instead string // advice for a format that no model accepts
}

const (
	saveImage = "save it as PNG or JPEG and attach that"
	unpack    = "unpack it and attach what you need"
	asText    = "attach text, an image or a PDF"
	export    = "export it as text or PDF and attach that"
)

// formats are recognized by their first bytes; the first matching row wins.
// OpenAI and Anthropic accept PNG, JPEG, GIF and WebP, Gemini no GIF, xAI and
// several local servers only the first two, to which all images are converted.
var formats = []format{
	{magic: "\x89PNG\r\n\x1a\n", name: "PNG", mime: "image/png", image: true, meta: metaPNG, keep: true},
	{magic: "\xff\xd8\xff", name: "JPEG", mime: "image/jpeg", image: true, meta: metaJPEG, keep: true},
	{magic: "GIF87a", name: "GIF", mime: "image/gif", image: true},
	{magic: "GIF89a", name: "GIF", mime: "image/gif", image: true},
	{magic: "RIFF????WEBPVP8", name: "WebP", mime: "image/webp", image: true, meta: metaWebP},

	{magic: "%PDF-", name: "PDF", mime: "application/pdf"},
	{magic: "ID3", name: "MP3 audio", mime: "audio/mpeg"},
	{magic: "\xff\xfb", name: "MP3 audio", mime: "audio/mpeg"},
	{magic: "\xff\xf3", name: "MP3 audio", mime: "audio/mpeg"},
	{magic: "\xff\xf2", name: "MP3 audio", mime: "audio/mpeg"},
	{magic: "\xff\xf1", name: "AAC audio", mime: "audio/aac"},
	{magic: "\xff\xf9", name: "AAC audio", mime: "audio/aac"},
	{magic: "RIFF????WAVE", name: "WAV audio", mime: "audio/wav"},
	{magic: "FORM????AIFF", name: "AIFF audio", mime: "audio/aiff"},
	{magic: "fLaC", name: "FLAC audio", mime: "audio/flac"},
	{magic: "OggS\x00", name: "Ogg audio", mime: "audio/ogg"},
	{magic: "????ftypM4A", name: "M4A audio", mime: "audio/mp4"},
	{magic: "RIFF????AVI ", name: "AVI video", mime: "video/x-msvideo"},
	{magic: "\x1a\x45\xdf\xa3", name: "WebM video", mime: "video/webm"},
	{magic: "\x00\x00\x01\xba", name: "MPEG video", mime: "video/mpeg"},
	{magic: "\x00\x00\x01\xb3", name: "MPEG video", mime: "video/mpeg"},
	{magic: "FLV\x01", name: "FLV video", mime: "video/x-flv"},

	{magic: "????ftyphei", name: "a HEIC image", instead: saveImage},
	{magic: "????ftyphev", name: "a HEIC image", instead: saveImage},
	{magic: "????ftypmif1", name: "a HEIC image", instead: saveImage},
	{magic: "????ftypmsf1", name: "a HEIC image", instead: saveImage},
	{magic: "????ftypavi", name: "an AVIF image", instead: saveImage},
	{magic: "BM????\x00\x00\x00\x00", name: "a BMP image", instead: saveImage},
	{magic: "II*\x00", name: "a TIFF image", instead: saveImage},
	{magic: "MM\x00*", name: "a TIFF image", instead: saveImage},
	{magic: "II+\x00", name: "a TIFF image", instead: saveImage},
	{magic: "MM\x00+", name: "a TIFF image", instead: saveImage},
	{magic: "????ftypcrx", name: "a camera's raw image", instead: saveImage},
	{magic: "????ftypqt  ", name: "QuickTime video", mime: "video/quicktime"},
	{magic: "????ftyp3g", name: "3GPP video", mime: "video/3gpp"},
	{magic: "????ftyp", name: "MP4 video", mime: "video/mp4"},
}

// unsupported formats are recognized only to name them, after a file was found not to be text.
var unsupported = []format{
	{magic: "PK\x03\x04", name: "a ZIP archive or an office document", instead: "unpack it, or export the document as PDF"},
	{magic: "\xd0\xcf\x11\xe0", name: "an office document", instead: export},
	{magic: "\x1f\x8b", name: "a gzip archive", instead: unpack},
	{magic: "BZh", name: "a bzip2 archive", instead: unpack},
	{magic: "\xfd7zXZ\x00", name: "an xz archive", instead: unpack},
	{magic: "\x28\xb5\x2f\xfd", name: "a zstd archive", instead: unpack},
	{magic: "7z\xbc\xaf\x27\x1c", name: "a 7z archive", instead: unpack},
	{magic: "Rar!\x1a\x07", name: "a RAR archive", instead: unpack},
	{at: 257, magic: "ustar", name: "a tar archive", instead: unpack},
	{magic: "\x7fELF", name: "an executable", instead: asText},
	{magic: "MZ", name: "an executable", instead: asText},
	{magic: "\xcf\xfa\xed\xfe", name: "an executable", instead: asText},
	{magic: "\xca\xfe\xba\xbe", name: "a Java class or an executable", instead: asText},
	{magic: "\x00asm", name: "a WebAssembly module", instead: asText},
	{magic: "SQLite format 3\x00", name: "a SQLite database", instead: export},
	{magic: "PAR1", name: "a Parquet table", instead: export},
	{magic: "wOF", name: "a font", instead: asText},
	{magic: "\x00\x01\x00\x00\x00", name: "a font", instead: asText},
	{magic: "OTTO\x00", name: "a font", instead: asText},
	{magic: "8BPS\x00", name: "a Photoshop image", instead: saveImage},
	{magic: "\x00\x00\x01\x00", name: "an icon", instead: saveImage},
	{magic: "\xff\x0a", name: "a JPEG XL image", instead: saveImage},
	{magic: "\x00\x00\x00\x0cJXL ", name: "a JPEG XL image", instead: saveImage},
	{magic: "\x00\x00\x00\x0cjP  ", name: "a JPEG 2000 image", instead: saveImage},
	{magic: "RIFF????WEBP", name: "a damaged WebP image", instead: saveImage},
}

// sniff returns the format of data by its first bytes; nil for text.
func sniff(data []byte) *format {
	head := data[:min(len(data), headSize)]
	for i := range formats {
		if formats[i].matches(head) {
			return &formats[i]
		}
	}
	if looksText(head, len(data) > len(head)) {
		return nil
	}
	return unknownFormat(head)
}

// unknownFormat returns a description of data that is neither text nor of a
// known format.
func unknownFormat(head []byte) *format {
	for i := range unsupported {
		if unsupported[i].matches(head) {
			return &unsupported[i]
		}
	}
	if bytes.IndexByte(head, 0) < 0 {
		return &format{name: "text in an unknown encoding, or binary data", instead: "convert it to UTF-8, for instance with iconv, and attach that"}
	}
	return &format{name: fmt.Sprintf("binary data (it begins % x)", head[:min(len(head), 8)]), instead: asText}
}

func (f *format) matches(head []byte) bool {
	if len(head) < f.at+len(f.magic) {
		return false
	}
	for i := range len(f.magic) {
		if c := f.magic[i]; c != '?' && c != head[f.at+i] {
			return false
		}
	}
	return true
}
