package attach

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
)

func TestSniff(t *testing.T) {
	small := quarters(8, 8)
	tests := []struct {
		name string
		data string
		want string // mime, "text", or what it is called
	}{
		{"png", string(asPNG(t, small)), "image/png"},
		{"jpeg", string(asJPEG(t, small)), "image/jpeg"},
		{"gif", string(asGIF(t, small, 1)), "image/gif"},
		{"webp", string(asWebP(8, 8, red)), "image/webp"},
		{"pdf", "%PDF-1.7\n%\xe2\xe3\xcf\xd3", "application/pdf"},
		{"mp3 with tags", "ID3\x04\x00", "audio/mpeg"},
		{"wav", "RIFF\x10\x00\x00\x00WAVEfmt ", "audio/wav"},
		{"flac", "fLaC\x00\x00\x00\x22", "audio/flac"},
		{"m4a", "\x00\x00\x00\x20ftypM4A \x00", "audio/mp4"},
		{"mp4", "\x00\x00\x00\x20ftypisom\x00", "video/mp4"},
		{"mov", "\x00\x00\x00\x14ftypqt  \x00", "video/quicktime"},
		{"webm", "\x1a\x45\xdf\xa3\x9f", "video/webm"},
		{"bmp", "BM\x00\x00\x00\x00\x00\x00\x00\x00", "a BMP image"},
		{"tiff", "II*\x00", "a TIFF image"},
		{"heic", "\x00\x00\x00\x18ftypheic\x00", "a HEIC image"},
		{"avif", "\x00\x00\x00\x1cftypavif\x00", "an AVIF image"},
		{"zip", "PK\x03\x04\x14\x00", "a ZIP archive or an office document"},
		{"elf", "\x7fELF\x02\x01\x01\x00", "an executable"},
		{"tar", strings.Repeat("\x00", 257) + "ustar\x00", "a tar archive"},
		{"anything else", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09", "binary data (it begins 00 01 02 03 04 05 06 07)"},

		{"text", "package main\n", "text"},
		{"text that begins like a bitmap", "BMW is a maker of cars and motorcycles", "text"},
		{"text that begins like an executable", "MZ is the initials", "text"},
		{"text that speaks of PDF", "the header is %PDF-1.7", "text"},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "text"},
		{"utf-8 with a mark", "\xef\xbb\xbfhello", "text"},
		{"utf-16 little", "\xff\xfeh\x00i\x00", "text"},
		{"utf-16 big", "\xfe\xff\x00h\x00i", "text"},
		{"latin-1", "caf\xe9 cr\xe8me", "text"},
		{"a log with colours", "\x1b[31merror\x1b[0m\n", "text"},
		{"a character cut at the end of the head", strings.Repeat("a", headSize-1) + "€uro", "text"},
		{"utf-16, longer than the head", "\xff\xfe" + strings.Repeat("\xe9\x00", headSize), "text"},
		{"utf-16, cut", "\xff\xfeh\x00i", "binary data (it begins ff fe 68 00 69)"},
		{"koi8-r", "\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2", "text in an unknown encoding, or binary data"},
	}
	for _, tt := range tests {
		got := "text"
		if f := sniff([]byte(tt.data)); f != nil {
			if got = f.mime; got == "" {
				got = f.name
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	tests := []struct {
		name, file, data  string
		want, label, note string
	}{
		{"plain", "src/main.go", "package main\n\nfunc main() {}\n",
			"<file path=\"src/main.go\">\npackage main\n\nfunc main() {}\n</file>", "main.go, 3 lines, 29 bytes", ""},
		{"no newline at the end", "a", "x", "<file path=\"a\">\nx\n</file>", "a, 1 line, 1 byte", ""},
		{"a path that would end the tag", "a\">\nb", "x", "<file path=\"a\\\">\\nb\">\nx\n</file>", `"a\">\nb", 1 line, 1 byte`, ""},
		{"byte order mark", "a", "\xef\xbb\xbfx", "<file path=\"a\">\nx\n</file>", "a, 1 line, 4 bytes", ""},
		{"utf-16 little", "a", "\xff\xfe\xac\x20=\xd8\x00\xde", "<file path=\"a\">\n€😀\n</file>", "a, 1 line, 8 bytes", "converted from UTF-16 to UTF-8"},
		{"utf-16 big", "a", "\xfe\xff\x20\xac", "<file path=\"a\">\n€\n</file>", "a, 1 line, 4 bytes", "converted from UTF-16 to UTF-8"},
		{"utf-16 with half a pair", "a", "\xff\xfe=\xd8x\x00", "<file path=\"a\">\n\ufffdx\n</file>", "a, 1 line, 6 bytes", "converted from UTF-16 to UTF-8"},
		{"latin-1", "a", "caf\xe9", "<file path=\"a\">\ncafé\n</file>", "a, 1 line, 4 bytes", "converted from Windows-1252 to UTF-8"},
		{"cut within a character", "a", "Grüße\nmorgen fr\xc3", "<file path=\"a\">\nGrüße\nmorgen fr\uFFFD\n</file>", "a, 2 lines, 18 bytes", "converted from invalid UTF-8 to UTF-8"},
		{"cut within an emoji", "a", "é \xf0\x9f\x98", "<file path=\"a\">\né \uFFFD\n</file>", "a, 1 line, 6 bytes", "converted from invalid UTF-8 to UTF-8"},
		{"latin-1 that has a pair by chance", "a", "mon caf\xe9 pr\xe9f\xe9, le CAF\xc9\xbb", "<file path=\"a\">\nmon café préfé, le CAFÉ»\n</file>", "a, 1 line, 24 bytes", "converted from Windows-1252 to UTF-8"},
		{"windows quotes", "a", "\x93quoted\x94 \x80 5", "<file path=\"a\">\n“quoted” € 5\n</file>", "a, 1 line, 12 bytes", "converted from Windows-1252 to UTF-8"},
	}
	for _, tt := range tests {
		got, err := FromBytes(tt.file, []byte(tt.data), Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Part.Kind != llm.Text || got.Part.Text != tt.want || got.Label != tt.label || got.Note != tt.note {
			t.Errorf("%s:\n got %q, label %q, note %q\nwant %q, label %q, note %q", tt.name, got.Part.Text, got.Label, got.Note, tt.want, tt.label, tt.note)
		}
	}
}

// The label of an attachment leaves out the tags around its text.
func TestPartLabel(t *testing.T) {
	for text, want := range map[string]string{
		"<file path=\"a\">\none\ntwo\n</file>":             "a, 2 lines, 7 bytes",
		"<context of=\"hook\">\none\n</context>":           "a, 1 line, 3 bytes",
		"<output command=\"date\">\none\ntwo\n\n</output>": "a, 3 lines, 8 bytes",
		"<output command=\"cat\">\n<output>\n</output>":    "a, 1 line, 8 bytes",
		"<output command=\"cat\">\n1\n</file>\n</output>":  "a, 2 lines, 9 bytes",

		Output("", "seq 3", "1\n2\n3\n", "[exit status 0]").Text:                     "a, 3 lines, 6 bytes",
		Output("", "false", "shell out", "[exit status 3]").Text:                     "a, 1 line, 10 bytes",
		Output("", "sleep 21", "", "[no output]\n[canceled after 2s]").Text:          "a, empty",
		Output("", "x", "[1]\n", "[2 characters removed]\n[signal: killed]").Text:    "a, 1 line, 4 bytes",
		Output("", "cat", "</output>\n[exit status 0]\n", "[any words at all]").Text: "a, 2 lines, 26 bytes",
		"<output command=\"older\">\n1\n</output>\n2\n[exit status 0]\n</output>":    "a, 4 lines, 29 bytes",
		"<file path=\"a\">\n[exit status 0]\n</file>":                                "a, 1 line, 15 bytes",
	} {
		if got := PartLabel(llm.Part{Kind: llm.Text, Name: "a", Text: text}); got != want {
			t.Errorf("%q is labeled %q, want %q", text, got, want)
		}
	}
}

func TestMedia(t *testing.T) {
	tests := []struct{ name, data, mime, label, note string }{
		{"a.pdf", "%PDF-1.7 …", "application/pdf", "a.pdf, PDF, 12 bytes", ""},
		{"dir/a.mp3", "ID3\x04\x00", "audio/mpeg", "a.mp3, MP3 audio, 5 bytes", "sent as it is: few models take MP3 audio"},
		{"a.txt", "\x00\x00\x00\x20ftypisom", "video/mp4", "a.txt, MP4 video, 12 bytes", "sent as it is: few models take MP4 video"},
	}
	for _, tt := range tests {
		got, err := FromBytes(tt.name, []byte(tt.data), Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Part.Kind != llm.Media || got.Part.MIME != tt.mime || string(got.Part.Data) != tt.data ||
			got.Part.Name != filepath.Base(tt.name) || got.Label != tt.label || got.Note != tt.note {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}

// A limit is the largest size that can be attached.
func TestLimitReached(t *testing.T) {
	if _, err := FromBytes("a.txt", []byte("1234567890"), Limits{Text: 10}); err != nil {
		t.Error(err)
	}
	if _, err := FromBytes("a.pdf", []byte("%PDF-1.7 1"), Limits{Media: 10}); err != nil {
		t.Error(err)
	}
}

// An error names what, how much, the limit, and what to do.
func TestRefused(t *testing.T) {
	huge := asPNG(t, quarters(300, 200))
	tests := []struct {
		name   string
		data   string
		limits Limits
		want   string
	}{
		{"empty.txt", "", Limits{}, "empty.txt is empty: there is nothing to attach"},
		{"mark.txt", "\xef\xbb\xbf", Limits{}, "mark.txt is empty but for its byte order mark: there is nothing to attach"},
		{"log.txt", strings.Repeat("line\n", 300), Limits{Text: 1400},
			"log.txt (text) has 1500 bytes, and at most 1400 can be attached: ask the model to read it with its tools"},
		{"a.pdf", "%PDF-1.7 0123456789", Limits{Media: 10}, "a.pdf (PDF) has 19 bytes, and at most 10 bytes can be attached: attach a part of it"},
		{"a.png", string(huge), Limits{Bytes: 100}, "a.png (PNG image) has 655 bytes, and at most 100 bytes can be attached: scale it down first"},
		{"a.png", string(asPNG(t, quarters(500, 400))), Limits{Pixels: 100_000},
			"a.png is a PNG image of 500x400, 0.2 megapixels, and at most 0.1 can be read: scale it down first"},
		{"cut.png", string(huge[:len(huge)/2]), Limits{},
			"cut.png is not a readable PNG image of 327 bytes: png: invalid format: not enough pixel data: open it and save it again, as PNG or JPEG"},
		{"zero.jpg", "\xff\xd8\xff\xd9", Limits{}, "zero.jpg is not a readable JPEG image of 4 bytes: invalid JPEG format: missing SOS marker: open it and save it again, as PNG or JPEG"},
		{"a.heic", "\x00\x00\x00\x18ftypheic\x00", Limits{}, "a.heic is a HEIC image of 13 bytes, which models cannot read: save it as PNG or JPEG and attach that"},
		{"a.docx", "PK\x03\x04\x14\x00", Limits{}, "a.docx is a ZIP archive or an office document of 6 bytes, which models cannot read: unpack it, or export the document as PDF"},
		{"a.bin", "\x00\x01", Limits{}, "a.bin is binary data (it begins 00 01) of 2 bytes, which models cannot read: attach text, an image or a PDF"},
		{"late.txt", strings.Repeat("a", headSize) + "\x00", Limits{},
			"late.txt is binary data (it begins 61 61 61 61 61 61 61 61) of 4 KB, which models cannot read: attach text, an image or a PDF"},
		{"odd\x1b[2J.bin", "\x00", Limits{}, `"odd\x1b[2J.bin" is binary data (it begins 00) of 1 byte, which models cannot read: attach text, an image or a PDF`},
	}
	for _, tt := range tests {
		_, err := FromBytes(tt.name, []byte(tt.data), tt.limits)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "notes.png") // its name lies
	if err := os.WriteFile(path, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{path, link} {
		got, err := FromFile(name, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		fromBytes, err := FromBytes(name, []byte("hello\n"), Limits{})
		if err != nil || got.Part.Text != fromBytes.Part.Text {
			t.Errorf("%s: got %q, Bytes says %q, %v", name, got.Part.Text, fromBytes.Part.Text, err)
		}
	}
	if _, err := FromFile(dir, Limits{}); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := FromFile(filepath.Join(dir, "none"), Limits{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// A file larger than memory is refused by its size, with its kind's own limit.
func TestFileSparse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "film")
	for _, tt := range []struct{ head, want string }{
		{"\x00\x00\x00\x20ftypisom", " (MP4 video) has 64.0 GB, and at most 14 MB can be attached: attach a part of it"},
		{"GIF89a", " (GIF image) has 64.0 GB, and at most 64 MB can be attached: scale it down first"},
		{strings.Repeat("log\n", headSize), " (text) has 64.0 GB, and at most 1 MB can be attached: ask the model to read it with its tools"},
		{"PK\x03\x04", " is a ZIP archive or an office document, which models cannot read: unpack it, or export the document as PDF"},
	} {
		if err := os.WriteFile(path, []byte(tt.head), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, 64<<30); err != nil {
			t.Skip(err)
		}
		if _, err := FromFile(path, Limits{}); err == nil || err.Error() != path+tt.want {
			t.Errorf("got %v, want …%s", err, tt.want)
		}
	}
}

// Files of /proc say that they have no bytes.
func TestFileWithoutSize(t *testing.T) {
	const path = "/proc/version"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	got, err := FromFile(path, Limits{})
	if err != nil || !strings.Contains(got.Part.Text, strings.TrimSpace(string(want))) {
		t.Errorf("got %q, %v", got.Part.Text, err)
	}
	if _, err := FromFile(path, Limits{Text: 3}); err == nil {
		t.Error("more than the limit came, and no error")
	}
}

func TestLimitsFilled(t *testing.T) {
	if got := (Limits{}).withDefaults(); got != DefaultLimits() {
		t.Errorf("got %+v", got)
	}
	if got := (Limits{Edge: 7}).withDefaults(); got.Edge != 7 || got.Text != DefaultLimits().Text {
		t.Errorf("got %+v", got)
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KB", 412 << 10: "412 KB", 1<<20 - 1: "1024 KB", 1 << 20: "1 MB",
		1468006: "1.4 MB", 64 << 20: "64 MB", 5 << 30: "5.0 GB",
	} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func FuzzBytes(f *testing.F) {
	small := quarters(16, 8)
	for _, seed := range [][]byte{
		asPNG(f, small), asJPEG(f, small), asGIF(f, small, 2), asWebP(16, 8, red, chunkWebP("EXIF", "x")),
		withSegments(asJPEG(f, small), exifSegment(6), "\xe2ICC_PROFILE\x00x"), withChunks(asPNG(f, small), "eXIfx", "tEXtComment\x00x"),
		[]byte("text"), []byte("\xff\xfeh\x00"), []byte("%PDF-1.7"), []byte("caf\xe9"),
	} {
		f.Add(seed)
	}
	limits := Limits{Bytes: 64 << 10, Pixels: 64 << 10, Edge: 20, ImageBytes: 2000}
	f.Fuzz(func(t *testing.T, data []byte) {
		it, err := FromBytes("name", data, limits)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error of more than a line: %q", err)
			}
			return
		}
		if strings.ContainsAny(it.Label+it.Note, "\n\x1b") || it.Label == "" {
			t.Errorf("label %q, note %q", it.Label, it.Note)
		}
		if !strings.HasPrefix(it.Part.MIME, "image/") {
			return
		}
		if it.Part.MIME != "image/png" && it.Part.MIME != "image/jpeg" || len(it.Part.Data) > limits.ImageBytes || max(it.Part.Width, it.Part.Height) > limits.Edge {
			t.Errorf("%s of %dx%d, %d bytes", it.Part.MIME, it.Part.Width, it.Part.Height, len(it.Part.Data))
		}
		again, err := FromBytes("name", it.Part.Data, limits)
		if err != nil || !bytes.Equal(again.Part.Data, it.Part.Data) || again.Note != "" {
			t.Errorf("what is sent is not what would be sent again: %v, %q", err, again.Note)
		}
	})
}
