package attach

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"path/filepath"
	"strings"

	scaling "golang.org/x/image/draw"

	"parley/providers/llm"
)

// imageItem attaches an image. An upright PNG or JPEG within the limits keeps
// its pixels bit for bit; any other image is decoded and encoded again.
func imageItem(path string, f *format, data []byte, l Limits) (Attachment, error) {
	p, err := decode(path, f, data, l.Pixels)
	if err != nil {
		return Attachment{}, err
	}
	was := p.size()
	out := encoded{data: p.bare, mime: f.mime, size: was}
	if !f.keep || p.bare == nil || p.turn != 1 || p.cmyk || max(was.X, was.Y) > l.Edge || len(p.bare) > l.ImageBytes {
		if out, err = p.fit(l.Edge, l.ImageBytes); err != nil {
			return Attachment{}, fmt.Errorf("%s is a %dx%d %s image: %w", printable(path), was.X, was.Y, f.name, err)
		}
	}
	name, w, h := filepath.Base(path), out.size.X, out.size.Y
	return Attachment{
		Part:  llm.Part{Kind: llm.Media, Name: name, MIME: out.mime, Data: out.data, Width: w, Height: h},
		Note:  p.note(f, out),
		Label: label(name, fmt.Sprintf("%dx%d", w, h), len(out.data)),
	}, nil
}

// Preview returns the image of a media part as a PNG with no side longer than edge
// pixels, for display. The image may come from a model: it is measured before it
// is decoded.
func Preview(part llm.Part, edge int) (data []byte, width, height int, err error) {
	f := sniff(part.Data)
	if f == nil || !f.image {
		return nil, 0, 0, fmt.Errorf("%s (%s) is not an image that can be shown", printable(part.Name), printable(part.MIME))
	}
	p, err := decode(part.Name, f, part.Data, DefaultLimits().Pixels)
	if err != nil {
		return nil, 0, 0, err
	}
	small := upright(scale(p.Image, within(p.Bounds().Size(), edge)), p.turn)
	var b bytes.Buffer
	if err := png.Encode(&b, small); err != nil {
		return nil, 0, 0, err
	}
	return b.Bytes(), small.Rect.Dx(), small.Rect.Dy(), nil
}

// A decodedImage is a decoded image, not turned yet.
type decodedImage struct {
	image.Image
	imageMetadata
	turn   orientation
	lossy  bool // compressed with losses
	cmyk   bool // in print colors, which few models' decoders support
	frames bool // the first frame of an animation
}

func (p decodedImage) size() image.Point {
	s := p.Bounds().Size()
	if p.turn > 4 {
		s.X, s.Y = s.Y, s.X
	}
	return s
}

// decode measures an image and then decodes it, without metadata if the format is sent unchanged.
func decode(path string, f *format, data []byte, pixels int) (decodedImage, error) {
	whole := data
	unreadable := func(err error) error {
		return fmt.Errorf("%s is not a readable %s image of %s: %w: open it and save it again, as PNG or JPEG",
			printable(path), f.name, bytesText(int64(len(whole))), err)
	}
	p := decodedImage{turn: 1}
	if f.meta != nil {
		p.imageMetadata = f.meta(data)
		p.turn = orientationOf(p.exif)
	}
	if p.bare != nil {
		data = p.bare
	}
	sizes, err := measure(f, data)
	if err != nil {
		return decodedImage{}, unreadable(err)
	}
	for _, s := range sizes {
		if s.X < 1 || s.Y < 1 {
			return decodedImage{}, unreadable(fmt.Errorf("it measures %dx%d", s.X, s.Y))
		}
		if s.X > pixels/s.Y {
			return decodedImage{}, fmt.Errorf("%s is a %s image of %dx%d, %s megapixels, and at most %s can be read: scale it down first",
				printable(path), f.name, s.X, s.Y, mega(float64(s.X)*float64(s.Y)), mega(float64(pixels)))
		}
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return decodedImage{}, unreadable(err)
	}
	if img.Bounds().Empty() {
		return decodedImage{}, unreadable(errors.New("it has no pixels"))
	}
	p.Image = img
	_, chroma := img.(*image.YCbCr)
	_, p.cmyk = img.(*image.CMYK)
	p.lossy = chroma || f.mime == "image/jpeg"
	p.frames = f.name == "GIF" && bytes.Contains(whole, []byte("NETSCAPE2.0")) || f.name == "PNG" && bytes.Contains(whole, []byte("acTL"))
	return p, nil
}

// measure returns all sizes that an image file has or claims to have.
func measure(f *format, data []byte) ([]image.Point, error) {
	var sizes []image.Point
	if f.name == "WebP" {
		sizes = framesWebP(data)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	return append(sizes, image.Pt(config.Width, config.Height)), err
}

func mega(pixels float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", pixels/1e6), ".0")
}

// framesWebP returns the sizes of the pixel streams in a WebP file, which may differ
// from the size that the file claims.
func framesWebP(b []byte) []image.Point {
	var sizes []image.Point
	for kind, body := range chunksWebP(b) {
		switch {
		case kind == "VP8L" && len(body) >= 5: // a byte, then twice 14 bits
			bits := binary.LittleEndian.Uint32(body[1:])
			sizes = append(sizes, image.Pt(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1))
		case kind == "VP8 " && len(body) >= 10: // 3 bytes, a start code of 3, then twice 14 bits and a scale
			sizes = append(sizes, image.Pt(int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)))
		}
	}
	return sizes
}

// note describes the changes to an image, for the user.
func (p decodedImage) note(f *format, out encoded) string {
	var said []string
	say := func(when bool, format string, args ...any) {
		if when {
			said = append(said, fmt.Sprintf(format, args...))
		}
	}
	was := p.size()
	say(out.mime != f.mime, "converted from %s to %s", f.name, strings.ToUpper(strings.TrimPrefix(out.mime, "image/")))
	say(out.size != was, "downscaled from %dx%d to %dx%d", was.X, was.Y, out.size.X, out.size.Y)
	say(p.turn != 1, "turned upright")
	say(p.frames, "only the first frame of the animation")
	say(p.found, "metadata removed")
	return strings.Join(said, ", ")
}

// encoded is an encoded image.
type encoded struct {
	data []byte
	mime string
	size image.Point
}

// qualities are the JPEG qualities to try.
var qualities = []int{90, 75, 60}

// fit encodes the image with no side longer than edge and in at most limit
// bytes, reducing its size as necessary.
func (p decodedImage) fit(edge, limit int) (encoded, error) {
	for ; edge > 0; edge = edge * 3 / 4 {
		img := upright(scale(p.Image, within(p.Bounds().Size(), edge)), p.turn)
		if data, mime := encode(img, p.lossy, limit); data != nil {
			return encoded{data, mime, img.Rect.Size()}, nil
		}
		edge = min(edge, max(img.Rect.Dx(), img.Rect.Dy()))
	}
	return encoded{}, fmt.Errorf("it does not fit into %s, however small", bytesText(int64(limit)))
}

// encode encodes img in at most limit bytes, or returns nil. A lossless image
// stays lossless if that fits. Only PNG supports transparency; JPEG shows it as
// white.
func encode(img *image.RGBA, lossy bool, limit int) (data []byte, mime string) {
	var b bytes.Buffer
	opaque := img.Opaque()
	if !lossy || !opaque {
		if err := png.Encode(&b, img); err == nil && b.Len() <= limit {
			return b.Bytes(), "image/png"
		}
	}
	if !opaque {
		white := image.NewRGBA(img.Rect)
		draw.Draw(white, white.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(white, white.Rect, img, img.Rect.Min, draw.Over)
		img = white
	}
	for _, quality := range qualities {
		b.Reset()
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err == nil && b.Len() <= limit {
			return b.Bytes(), "image/jpeg"
		}
	}
	return nil, ""
}

// within returns size reduced in proportion so that its longer side is at most
// edge.
func within(size image.Point, edge int) image.Point {
	long := max(size.X, size.Y)
	if long <= edge {
		return size
	}
	part := func(n int) int { return max(1, (n*edge+long/2)/long) }
	return image.Pt(part(size.X), part(size.Y))
}

// band is how many rows or columns are scaled at once.
const band = 64

// scale returns img in another size, with its corner at the origin. The scaler
// needs 32 bytes for each pixel of the new width and the old height, so the
// width and then the height are scaled separately, band by band. Along a side
// that keeps its size, the filter does not change pixels.
func scale(img image.Image, to image.Point) *image.RGBA {
	from := img.Bounds()
	wide := image.NewRGBA(image.Rect(0, 0, to.X, from.Dy()))
	if to.X == from.Dx() {
		draw.Draw(wide, wide.Rect, img, from.Min, draw.Src)
	} else {
		bands(from.Dy(), func(n int) scaling.Scaler {
			return scaling.CatmullRom.NewScaler(to.X, n, from.Dx(), n)
		}, func(s scaling.Scaler, y, end int) {
			s.Scale(wide, image.Rect(0, y, to.X, end), img, image.Rect(0, y, from.Dx(), end).Add(from.Min), draw.Src, nil)
		})
	}
	if to.Y == from.Dy() {
		return wide
	}
	out := image.NewRGBA(image.Rectangle{Max: to})
	bands(to.X, func(n int) scaling.Scaler {
		return scaling.CatmullRom.NewScaler(n, to.Y, n, from.Dy())
	}, func(s scaling.Scaler, x, end int) {
		s.Scale(out, image.Rect(x, 0, end, to.Y), wide, image.Rect(x, 0, end, from.Dy()), draw.Src, nil)
	})
	return out
}

// bands calls do for each band of a side, with a scaler for its number of rows
// or columns; bands of equal size share one.
func bands(side int, scaler func(n int) scaling.Scaler, do func(s scaling.Scaler, from, to int)) {
	s := scaler(min(band, side))
	for from := 0; from < side; from += band {
		to := min(from+band, side)
		if from > 0 && to-from < band {
			s = scaler(to - from)
		}
		do(s, from, to)
	}
}

// upright returns img turned upright: from 5 on its sides are swapped, and then it is mirrored.
func upright(img *image.RGBA, o orientation) *image.RGBA {
	if o == 1 {
		return img
	}
	size := img.Rect.Size()
	if o > 4 {
		size.X, size.Y = size.Y, size.X
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			tx, ty := x, y
			if o > 4 {
				tx, ty = y, x
			}
			if o%4 >= 2 { // 2, 3, 6 and 7
				tx = size.X - 1 - tx
			}
			if (o-1)%4 >= 2 { // 3, 4, 7 and 8
				ty = size.Y - 1 - ty
			}
			copy(out.Pix[out.PixOffset(tx, ty):][:4], img.Pix[img.PixOffset(x, y):][:4])
		}
	}
	return out
}
