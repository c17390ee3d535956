package termimage

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestHalfBlocks(t *testing.T) {
	red, blue, clear := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 255, 255}, color.NRGBA{}
	img := image.NewNRGBA(image.Rect(0, 0, 3, 3))
	for x, column := range [][]color.NRGBA{{red, blue, red}, {clear, blue, clear}, {clear, clear, blue}} {
		for y, c := range column {
			img.SetNRGBA(x, y, c)
		}
	}
	var data bytes.Buffer
	if err := png.Encode(&data, img); err != nil {
		t.Fatal(err)
	}
	got := HalfBlocks(data.Bytes(), 10, 10)
	want := []string{
		"\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀" + "\x1b[m\x1b[38;2;0;0;255m▄" + "\x1b[m " + "\x1b[m",
		"\x1b[m\x1b[38;2;255;0;0m▀" + "\x1b[m " + "\x1b[m\x1b[38;2;0;0;255m▀" + "\x1b[m",
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
	large := image.NewNRGBA(image.Rect(0, 0, 300, 100))
	data.Reset()
	if err := png.Encode(&data, large); err != nil {
		t.Fatal(err)
	}
	if got := HalfBlocks(data.Bytes(), 48, 14); len(got) != 8 || ansi.StringWidth(got[0]) != 48 {
		t.Errorf("%d lines of %d cells, want 8 of 48", len(got), ansi.StringWidth(got[0]))
	}
	if HalfBlocks([]byte("no image"), 48, 14) != nil {
		t.Error("drawn from what is no image")
	}
}
