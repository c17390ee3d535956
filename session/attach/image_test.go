package attach

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

func TestImage(t *testing.T) {
	see := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for i := range see.Pix {
		see.Pix[i] = 0x80
	}
	loud := noise(60, 40)
	loudClear := noise(60, 40)
	loudClear.Pix[3] = 0
	small := Limits{Edge: 30}
	tests := []struct {
		name   string
		data   []byte
		limits Limits
		mime   string
		w, h   int
		note   string
	}{
		{"png as it is", asPNG(t, quarters(60, 40)), Limits{}, "image/png", 60, 40, ""},
		{"jpeg as it is", asJPEG(t, quarters(60, 40)), Limits{}, "image/jpeg", 60, 40, ""},
		{"png downscaled", asPNG(t, quarters(60, 40)), small, "image/png", 30, 20, "downscaled from 60x40 to 30x20"},
		{"jpeg downscaled", asJPEG(t, quarters(40, 60)), small, "image/jpeg", 20, 30, "downscaled from 40x60 to 20x30"},
		{"thin", asPNG(t, quarters(400, 2)), small, "image/png", 30, 1, "downscaled from 400x2 to 30x1"},
		{"gif", asGIF(t, quarters(60, 40), 1), Limits{}, "image/png", 60, 40, "converted from GIF to PNG"},
		{"animation", asGIF(t, quarters(60, 40), 2), Limits{}, "image/png", 60, 40, "converted from GIF to PNG, only the first frame of the animation"},
		{"webp", asWebP(60, 40, red), Limits{}, "image/png", 60, 40, "converted from WebP to PNG"},
		{"transparent", asPNG(t, see), small, "image/png", 30, 20, "downscaled from 60x40 to 30x20"},
		{"too many bytes for a png", asPNG(t, loud), Limits{ImageBytes: 6000}, "image/jpeg", 60, 40, "converted from PNG to JPEG"},
		{"too many bytes, transparent", asPNG(t, loudClear), Limits{ImageBytes: 6000}, "image/jpeg", 60, 40, "converted from PNG to JPEG"},
		{"too many bytes for a jpeg of this size", asJPEG(t, loud), Limits{ImageBytes: 1000}, "image/jpeg", 33, 22, "downscaled from 60x40 to 33x22"},
		{"animated png", withChunks(asPNG(t, quarters(60, 40)), "acTL\x00\x00\x00\x02\x00\x00\x00\x00"), Limits{}, "image/png", 60, 40,
			"only the first frame of the animation, metadata removed"},
	}
	for _, tt := range tests {
		got, err := FromBytes("a.img", tt.data, tt.limits)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got.Part.Kind != llm.Media || got.Part.MIME != tt.mime || got.Part.Width != tt.w || got.Part.Height != tt.h || got.Note != tt.note {
			t.Errorf("%s: got %s %dx%d, note %q; want %s %dx%d, note %q", tt.name, got.Part.MIME, got.Part.Width, got.Part.Height, got.Note, tt.mime, tt.w, tt.h, tt.note)
		}
		if limit := tt.limits.withDefaults().ImageBytes; len(got.Part.Data) > limit {
			t.Errorf("%s: %d bytes, at most %d", tt.name, len(got.Part.Data), limit)
		}
		config, format, err := image.DecodeConfig(bytes.NewReader(got.Part.Data))
		if err != nil || "image/"+format != tt.mime || config.Width != tt.w || config.Height != tt.h {
			t.Errorf("%s: what is sent is %s %dx%d, %v", tt.name, format, config.Width, config.Height, err)
		}
	}
}

func TestImageLabel(t *testing.T) {
	got, err := FromBytes("dir/photo.png", asPNG(t, noise(100, 50)), Limits{})
	if want := "photo.png, 100x50, 15 KB"; err != nil || got.Label != want || got.Part.Name != "photo.png" {
		t.Errorf("got %q, %q, %v, want %q", got.Label, got.Part.Name, err, want)
	}
}

// An image that is downscaled keeps its corners and its colors, in every format.
func TestDownscaleKeepsPicture(t *testing.T) {
	big := quarters(200, 120)
	for name, data := range map[string][]byte{
		"png": asPNG(t, big), "jpeg": asJPEG(t, big), "gif": asGIF(t, big, 1),
	} {
		got, err := FromBytes(name, data, Limits{Edge: 100})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		img, _, err := image.Decode(bytes.NewReader(got.Part.Data))
		if err != nil || !near(img, 5, 5, red) || !near(img, 94, 5, green) || !near(img, 94, 54, blue) || !near(img, 5, 54, white) {
			t.Errorf("%s: the corners are not what they were, %v", name, err)
		}
	}
}

// Scaling in bands gives what the scaler gives at once, but for rounding, as long
// as the filter's overshoot does not leave what a byte holds in between.
func TestScaleInBands(t *testing.T) {
	img := noise(300, 200)
	for i := range img.Pix {
		if i%4 != 3 {
			img.Pix[i] = img.Pix[i]/3 + 0x50
		}
	}
	for _, to := range []image.Point{{150, 100}, {299, 199}, {300, 100}, {100, 200}, {301, 7}, {1, 1}} {
		got, want := scale(img, to), image.NewRGBA(image.Rectangle{Max: to})
		atOnce(want, img)
		for i := range got.Pix {
			if d := int(got.Pix[i]) - int(want.Pix[i]); d < -3 || d > 3 {
				t.Errorf("%v: byte %d is %d, want %d", to, i, got.Pix[i], want.Pix[i])
				break
			}
		}
	}
}

// JPEG knows no transparency; what was clear is white then, not black.
func TestTransparentBecomesWhite(t *testing.T) {
	clear := noise(60, 40)
	for i := range clear.Pix[:len(clear.Pix)/2] {
		clear.Pix[i] = 0
	}
	got, err := FromBytes("a.png", asPNG(t, clear), Limits{ImageBytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	img, format, err := image.Decode(bytes.NewReader(got.Part.Data))
	if err != nil || format != "jpeg" || !near(img, 2, 2, white) {
		t.Errorf("%s, %v: the corner is %v", format, err, img.At(2, 2))
	}
}

// turned holds the corners of quarters, clockwise from the upper left, as they have
// to be once an image with this orientation is upright.
var turned = map[uint32][4]color.RGBA{
	1: {red, green, blue, white}, 2: {green, red, white, blue}, 3: {blue, white, red, green}, 4: {white, blue, green, red},
	5: {red, white, blue, green}, 6: {white, red, green, blue}, 7: {blue, green, red, white}, 8: {green, blue, white, red},
}

func TestOrientation(t *testing.T) {
	for o, corners := range turned {
		exif := string(tags(binary.LittleEndian, orientationTag, o))
		for name, data := range map[string][]byte{
			"jpeg": withSegments(asJPEG(t, quarters(60, 40)), exifSegment(o)),
			"png":  withChunks(asPNG(t, quarters(60, 40)), "eXIf"+exif),
		} {
			got, err := FromBytes(name, data, Limits{})
			if err != nil {
				t.Errorf("%s %d: %v", name, o, err)
				continue
			}
			w, h, note := 60, 40, "turned upright, metadata removed"
			if o > 4 {
				w, h = 40, 60
			}
			if o == 1 {
				note = "metadata removed"
			}
			if got.Part.Width != w || got.Part.Height != h || got.Note != note {
				t.Errorf("%s %d: got %dx%d, note %q", name, o, got.Part.Width, got.Part.Height, got.Note)
			}
			img, _, err := image.Decode(bytes.NewReader(got.Part.Data))
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range []image.Point{{3, 3}, {w - 4, 3}, {w - 4, h - 4}, {3, h - 4}} {
				if !near(img, at.X, at.Y, corners[i]) {
					t.Errorf("%s %d: corner %d is %v, want %v", name, o, i, img.At(at.X, at.Y), corners[i])
				}
			}
		}
	}
}

func TestOrientationOf(t *testing.T) {
	long := tags(binary.BigEndian, 0x10f, 1, orientationTag, 8)
	tests := []struct {
		name string
		exif []byte
		want orientation
	}{
		{"little endian", tags(binary.LittleEndian, orientationTag, 3), 3},
		{"big endian", tags(binary.BigEndian, orientationTag, 6), 6},
		{"behind another tag", long, 8},
		{"none", nil, 1},
		{"out of range", tags(binary.BigEndian, orientationTag, 9), 1},
		{"zero", tags(binary.BigEndian, orientationTag, 0), 1},
		{"cut", long[:len(long)-8], 1},
		{"more entries than there are", []byte("II*\x00\x08\x00\x00\x00\xff\xff"), 1},
		{"directory beyond the end", []byte("II*\x00\xff\xff\xff\xff"), 1},
		{"not Exif", []byte("hello there"), 1},
	}
	for _, tt := range tests {
		if got := orientationOf(tt.exif); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Removing metadata leaves every pixel as it was.
func TestMetadataRemoved(t *testing.T) {
	jpg, img := asJPEG(t, quarters(60, 40)), asPNG(t, quarters(60, 40))
	profile := "\xe2ICC_PROFILE\x00\x01\x01colours"
	tests := []struct {
		name string
		data []byte
		want []byte
	}{
		{"exif", withSegments(jpg, exifSegment(1)), jpg},
		{"xmp", withSegments(jpg, "\xe1http://ns.adobe.com/xap/1.0/\x00<GPS/>"), jpg},
		{"iptc", withSegments(jpg, "\xedPhotoshop 3.0\x00GPS"), jpg},
		{"comment", withSegments(jpg, "\xfeGPS"), jpg},
		{"the other pictures of a phone", withSegments(jpg, "\xe2MPF\x00GPS"), jpg},
		{"a film behind the picture", append(bytes.Clone(jpg), "\x00\x00\x00\x20ftypmp42GPS"...), jpg},
		{"a colour profile stays", withSegments(jpg, exifSegment(1), profile), withSegments(jpg, profile)},
		{"png text", withChunks(img, "tEXtComment\x00GPS"), img},
		{"png exif", withChunks(img, "eXIfGPS"), img},
		{"png xmp", withChunks(img, "iTXtXML:com.adobe.xmp\x00GPS"), img},
		{"png time", withChunks(img, "tIME\x07\xea\x01\x01\x01\x01\x01"), img},
		{"what a cropped png had been", append(bytes.Clone(img), "GPS"...), img},
		{"a png text with a wrong checksum", bytes.Replace(withChunks(img, "tEXta\x00GPS"), []byte("GPS"), []byte("GPs"), 1), img},
		{"a colour profile with a wrong checksum", bytes.Replace(withChunks(img, "iCCPsRGB\x00\x00profile"), []byte("profile"), []byte("prof1le"), 1), img},
		{"png resolution stays", withChunks(img, "pHYs\x00\x00\x00\x01\x00\x00\x00\x01\x01", "tEXta\x00GPS"), withChunks(img, "pHYs\x00\x00\x00\x01\x00\x00\x00\x01\x01")},
	}
	for _, tt := range tests {
		got, err := FromBytes("a", tt.data, Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !bytes.Equal(got.Part.Data, tt.want) || got.Note != "metadata removed" {
			t.Errorf("%s: %d bytes, want %d; note %q", tt.name, len(got.Part.Data), len(tt.want), got.Note)
		}
	}
	for marker := range 16 { // the application segments
		got, err := FromBytes("a", withSegments(jpg, string([]byte{0xe0 + byte(marker)})+"GPS"), Limits{})
		if err != nil || !bytes.Equal(got.Part.Data, jpg) {
			t.Errorf("segment %x: %d bytes, want %d, %v", 0xe0+marker, len(got.Part.Data), len(jpg), err)
		}
	}
	for name, data := range map[string][]byte{
		"downscaled jpeg": withSegments(jpg, exifSegment(1)),
		"downscaled png":  withChunks(img, "tEXtComment\x00GPS"),
		"webp":            asWebP(60, 40, red, chunkWebP("EXIF", "GPS")),
	} {
		got, err := FromBytes("a", data, Limits{Edge: 30})
		if err != nil || bytes.Contains(got.Part.Data, []byte("GPS")) || !strings.HasSuffix(got.Note, ", metadata removed") {
			t.Errorf("%s: note %q, %v", name, got.Note, err)
		}
	}
}

// The walk through a JPEG file copies what decoding takes, wherever it stands, and
// gives up on what it does not understand: then the image is written anew.
func TestMetaJPEG(t *testing.T) {
	const soi, eoi = "\xff\xd8", "\xff\xd9"
	const scan = "\xff\xda\x00\x04\x01\x00" + "ab\xff\x00c\xff\xd0d"
	const table, jfif, adobe = "\xff\xdb\x00\x03\x01", "\xff\xe0\x00\x08JFIF\x00x", "\xff\xee\x00\x08Adobe\x00"
	tests := []struct {
		name, file, want string // "" cannot be told apart
		found            bool
	}{
		{"tables and a scan", soi + table + scan + eoi, soi + table + scan + eoi, false},
		{"several scans", soi + scan + table + scan + eoi, soi + scan + table + scan + eoi, false},
		{"colours", soi + jfif + adobe + scan + eoi, soi + jfif + adobe + scan + eoi, false},
		{"a segment beside those of applications", soi + "\xff\xf0\x00\x03\x01" + scan + eoi, soi + "\xff\xf0\x00\x03\x01" + scan + eoi, false},
		{"a segment beside comments", soi + "\xff\xff\xfd\x00\x03\x01" + scan + eoi, soi + "\xff\xfd\x00\x03\x01" + scan + eoi, false},
		{"a thumbnail", soi + jfif + "\xff\xe0\x00\x07JFXX\x00" + scan + eoi, soi + jfif + scan + eoi, true},
		{"between scans", soi + scan + "\xff\xfe\x00\x05GPS" + scan + eoi, soi + scan + scan + eoi, true},
		{"padding", soi + "\xff\xff" + table[1:] + scan + "\xff" + eoi, soi + table + scan + "\xff" + eoi, false},
		{"markers without length", soi + "\xff\x01\xff\xd3" + scan + eoi, soi + "\xff\x01\xff\xd3" + scan + eoi, false},
		{"behind the end", soi + scan + eoi + "\xff\xe1GPS", soi + scan + eoi, true},
		{"no end", soi + table + scan, "", false},
		{"a length beyond the file", soi + "\xff\xe1\xff\xff", "", false},
		{"a length of less than itself", soi + "\xff\xe1\x00\x01" + eoi, "", false},
		{"a length cut off", soi + "\xff\xe1\x00", "", false},
		{"something between segments", soi + "x" + table + scan + eoi, "", false},
	}
	for _, tt := range tests {
		got := metaJPEG([]byte(tt.file))
		if string(got.bare) != tt.want || tt.want != "" && got.found != tt.found {
			t.Errorf("%s:\n got %q, %v\nwant %q, %v", tt.name, got.bare, got.found, tt.want, tt.found)
		}
	}
	odd := asJPEG(t, quarters(60, 40))
	first := 4 + int(binary.BigEndian.Uint16(odd[4:]))
	odd = slices.Insert(odd, first, []byte("GPS")...)
	if it, err := FromBytes("a", odd, Limits{}); err != nil || bytes.Contains(it.Part.Data, []byte("GPS")) {
		t.Errorf("%q, %v", it.Note, err)
	}
}

// Small files that claim to be large are refused before memory is taken for them.
func TestBombs(t *testing.T) {
	huge := func(file []byte, at int, order binary.ByteOrder) []byte {
		file = bytes.Clone(file)
		order.PutUint32(file[at:], 60000)
		order.PutUint32(file[at+4:], 60000)
		return file
	}
	png := huge(asPNG(t, quarters(8, 8)), 16, binary.BigEndian)
	png = binary.BigEndian.AppendUint32(png[:29:29], crcOf(png[12:29]))
	canvas := "WEBP" + chunkWebP("VP8X", "\x00\x00\x00\x00\x07\x00\x00\x07\x00\x00")
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"png", png, "60000x60000, 3600 megapixels, and at most 100"},
		{"webp", asWebP(16384, 16384, red), "16384x16384, 268.4 megapixels"},
		{"webp, small by its canvas", riff(canvas + string(asWebP(16384, 16384, red)[12:])), "16384x16384, 268.4 megapixels"},
	}
	for _, tt := range tests {
		_, err := FromBytes("a", tt.data, Limits{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestPreview(t *testing.T) {
	jpg := withSegments(asJPEG(t, quarters(60, 40)), exifSegment(6))
	data, w, h, err := Preview(llm.Part{Kind: llm.Media, MIME: "image/jpeg", Data: jpg}, 30)
	if err != nil || w != 20 || h != 30 {
		t.Fatalf("got %dx%d, %v", w, h, err)
	}
	img, format, err := image.Decode(bytes.NewReader(data))
	if err != nil || format != "png" || img.Bounds().Dx() != w || img.Bounds().Dy() != h || !near(img, 2, 2, white) {
		t.Errorf("got %s %v, %v", format, img.Bounds(), err)
	}
	for name, part := range map[string]llm.Part{
		"no data":     {Kind: llm.Media, MIME: "image/png", URL: "https://example.com/a.png"},
		"no image":    {Kind: llm.Media, MIME: "image/png", Data: []byte("%PDF-1.7")},
		"not a whole": {Kind: llm.Media, MIME: "image/png", Data: asPNG(t, quarters(8, 8))[:40]},
	} {
		if _, _, _, err := Preview(part, 30); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// An image of 12 megapixels from a phone.
func BenchmarkDownscaleJPEG(b *testing.B) {
	img := image.NewRGBA(image.Rect(0, 0, 4032, 3024))
	for i := range img.Pix {
		img.Pix[i] = byte(i>>10 + i%4032*7) // some detail, as photographs have
	}
	data := withSegments(asJPEG(b, img), exifSegment(6))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromBytes("photo.jpg", data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScreenshot(b *testing.B) {
	data := asPNG(b, quarters(1920, 1080))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := FromBytes("screen.png", data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
