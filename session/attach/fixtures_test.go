package attach

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"testing"

	scaling "golang.org/x/image/draw"
)

// quarters returns an image whose corners tell how it is turned: red, green, blue and
// white, clockwise from the upper left.
func quarters(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	corners := [2][2]color.RGBA{{red, green}, {white, blue}}
	for y := range h {
		for x := range w {
			img.SetRGBA(x, y, corners[2*y/h][2*x/w])
		}
	}
	return img
}

var (
	red   = color.RGBA{0xff, 0, 0, 0xff}
	green = color.RGBA{0, 0xff, 0, 0xff}
	blue  = color.RGBA{0, 0, 0xff, 0xff}
	white = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// noise does not compress.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.NewChaCha8([32]byte{1})
	r.Read(img.Pix)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 0xff
	}
	return img
}

func written(tb testing.TB, write func(io.Writer) error) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func asPNG(tb testing.TB, img image.Image) []byte {
	return written(tb, func(w io.Writer) error { return png.Encode(w, img) })
}

func asJPEG(tb testing.TB, img image.Image) []byte {
	return written(tb, func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: 95}) })
}

// asGIF returns an animation of two frames that goes round, or one still.
func asGIF(tb testing.TB, img image.Image, frames int) []byte {
	still := image.NewPaletted(img.Bounds(), color.Palette{red, green, blue, white})
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			still.Set(x, y, img.At(x, y))
		}
	}
	all := &gif.GIF{}
	for range frames {
		all.Image, all.Delay = append(all.Image, still), append(all.Delay, 1)
	}
	return written(tb, func(w io.Writer) error { return gif.EncodeAll(w, all) })
}

// asWebP returns a lossless image of one color: five codes of one symbol each.
func asWebP(w, h int, c color.RGBA, more ...string) []byte {
	var bits []bool
	put := func(value, n int) {
		for i := range n {
			bits = append(bits, value>>i&1 == 1)
		}
	}
	put(0x2f, 8)
	put(w-1, 14)
	put(h-1, 14)
	put(0, 1+3) // no alpha, version
	put(0, 1+1+1)
	for _, symbol := range []int{int(c.G), int(c.R), int(c.B), int(c.A), 0} {
		put(1, 1) // a simple code
		put(0, 1) // of one symbol
		put(1, 1) // of eight bits
		put(symbol, 8)
	}
	stream := make([]byte, (len(bits)+7)/8)
	for i, set := range bits {
		if set {
			stream[i/8] |= 1 << (i % 8)
		}
	}
	body := "WEBP" + chunkWebP("VP8L", string(stream))
	for _, chunk := range more {
		body += chunk
	}
	return riff(body)
}

func riff(body string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func chunkWebP(kind, body string) string {
	return kind + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body + "\x00"[:len(body)&1]
}

// tags returns an Exif block of nothing but fields of 32 bits.
func tags(order binary.AppendByteOrder, fields ...uint32) []byte {
	b := map[binary.AppendByteOrder][]byte{binary.LittleEndian: []byte("II*\x00"), binary.BigEndian: []byte("MM\x00*")}[order]
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, uint16(len(fields)/2))
	for i := 0; i < len(fields); i += 2 {
		b = order.AppendUint16(b, uint16(fields[i]))
		b = order.AppendUint16(b, 4)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint32(b, fields[i+1])
	}
	return order.AppendUint32(b, 0)
}

// withSegments puts segments after the first two bytes of a JPEG.
func withSegments(jpg []byte, segments ...string) []byte {
	out := append([]byte{}, jpg[:2]...)
	for _, s := range segments {
		out = append(out, 0xff, s[0])
		out = binary.BigEndian.AppendUint16(out, uint16(len(s)+1))
		out = append(out, s[1:]...)
	}
	return append(out, jpg[2:]...)
}

func exifSegment(orientation uint32) string {
	return "\xe1Exif\x00\x00" + string(tags(binary.BigEndian, orientationTag, orientation)) + "GPS 52.5N 13.4E"
}

// withChunks puts chunks after the header of a PNG.
func withChunks(file []byte, chunks ...string) []byte {
	const header = 8 + 25
	out := append([]byte{}, file[:header]...)
	for _, c := range chunks {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c)-4))
		out = append(out, c...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(c)))
	}
	return append(out, file[header:]...)
}

// near reports whether the pixel at x, y has about the color of c.
func near(img image.Image, x, y int, c color.RGBA) bool {
	r, g, b, _ := img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y).RGBA()
	off := func(a uint32, b uint8) bool { return max(int(a>>8), int(b))-min(int(a>>8), int(b)) > 40 }
	return !off(r, c.R) && !off(g, c.G) && !off(b, c.B)
}

func crcOf(chunk []byte) uint32 { return crc32.ChecksumIEEE(chunk) }

// atOnce scales without bands.
func atOnce(dst *image.RGBA, src image.Image) {
	scaling.CatmullRom.Scale(dst, dst.Rect, src, src.Bounds(), scaling.Src, nil)
}
