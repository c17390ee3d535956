package termimage

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// drawn returns a PNG of w by h pixels: the upper half red, the lower half of many colors.
func drawn(t *testing.T, w, h int, many bool) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{255, 0, 0, 255}
			if many && y >= h/2 {
				c = color.NRGBA{uint8(x * 7), uint8(y * 5), uint8(x * y), 255}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSixelStrips(t *testing.T) {
	s := NewStrips(Sixel, drawn(t, 40, 16, false), 4, 1, image.Pt(10, 16))
	for _, tt := range []struct {
		row, from, to int
		want          string
	}{
		{0, 0, 4, "\x1bP0;1q\"1;1;40;16#1;2;100;0;0#1!40~$-#1!40~$-#1!40N$\x1b\\"},
		{0, 1, 2, "\x1bP0;1q\"1;1;10;16#1;2;100;0;0#1!10~$-#1!10~$-#1!10N$\x1b\\"},
		{1, 0, 4, ""}, {-1, 0, 4, ""}, {0, 0, 5, ""}, {0, 2, 2, ""}, {0, -1, 2, ""},
	} {
		if got := string(s.Append(nil, tt.row, tt.from, tt.to)); got != tt.want {
			t.Errorf("row %d, [%d, %d): %q, want %q", tt.row, tt.from, tt.to, got, tt.want)
		}
	}
	if many := NewStrips(Sixel, drawn(t, 80, 64, true), 8, 4, image.Pt(10, 16)); bytes.IndexByte(many.Append(nil, 3, 0, 8), '#') < 0 {
		t.Error("nothing is drawn of an image with many colors")
	}
}

// Transparent pixels and those around an image of another shape keep the color of the screen.
func TestSixelTransparent(t *testing.T) {
	s := NewStrips(Sixel, drawn(t, 10, 16, false), 4, 1, image.Pt(10, 16))
	if got, want := string(s.Append(nil, 0, 0, 4)), "\x1bP0;1q\"1;1;40;16#1;2;100;0;0#1!10~$-#1!10~$-#1!10N$\x1b\\"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestITermStrips(t *testing.T) {
	s := NewStrips(ITerm, drawn(t, 40, 32, true), 4, 2, image.Pt(10, 16))
	head, data, _ := strings.Cut(string(s.Append(nil, 1, 1, 3)), ":")
	if !strings.HasPrefix(head, "\x1b]1337;File=inline=1;") || !strings.Contains(head, ";width=2;height=1;") {
		t.Errorf("head %q", head)
	}
	file, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(data, "\a"))
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(file)); err != nil || img.Bounds().Size() != image.Pt(20, 16) {
		t.Errorf("%v, %v", img, err)
	}
}

func TestStripsOfNoImage(t *testing.T) {
	if NewStrips(Sixel, []byte("no PNG"), 4, 2, image.Pt(10, 16)) != nil || NewStrips(Sixel, drawn(t, 4, 4, false), 0, 2, image.Pt(10, 16)) != nil {
		t.Error("strips of nothing")
	}
}

func TestPrint(t *testing.T) {
	data := drawn(t, 16, 32, false)
	for p, want := range map[Protocol]string{
		Kitty:  "\x1b_Ga=T,f=100,c=2,r=2,q=2,m=0;",
		ITerm:  "\x1b[?25l\n\n\n\x1b[3A\x1b7\x1b]1337;File=",
		Sixel:  "\x1b[?25l\n\n\n\x1b[3A\x1b7\x1bP0;1q",
		Blocks: "\x1b[38;2;255;0;0m",
		Off:    "",
	} {
		got := Print(p, data, 16, 32, 60, 20)
		if !strings.HasPrefix(got, want) || (got == "") != (p == Off) || got != "" && !strings.Contains(got[len(got)-7:], "\n") {
			t.Errorf("%s: %q", p, got)
		}
	}
}
