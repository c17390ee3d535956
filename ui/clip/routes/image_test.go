//go:build unix

package routes

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
)

// TestPicture verifies the source of an image, and the error if there is none.
func TestPicture(t *testing.T) {
	wayland := map[string]string{"WAYLAND_DISPLAY": "wayland-0"}
	none := "no image on the clipboard: paste text with the terminal's own key"
	tests := []struct {
		name  string
		env   map[string]string
		setUp func(*desk)
		want  string // expected image, or error
	}{
		{"WSLg has a bitmap", wayland, func(d *desk) {
			d.write(filepath.Join(d.held, "picture.bmp"), bitmap(t))
			d.install("wl-paste", `case "$*" in *list*) printf 'text/plain\nimage/bmp\n';; *image/bmp) cat $held/picture.bmp;; *) exit 1;; esac`)
		}, pngOf(t)},
		{"a bitmap that nobody can read, and PowerShell", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "WSL_DISTRO_NAME": "Debian"}, func(d *desk) {
			d.install("wl-paste", `case "$*" in *list*) echo image/bmp;; *) printf BMxx;; esac`)
			d.install("powershell.exe", `printf '\211PNG'`)
		}, "\x89PNG"},
		{"a bitmap that claims to be larger", wayland, func(d *desk) {
			d.write(filepath.Join(d.held, "picture.bmp"), bitmap(t)[:60])
			d.install("wl-paste", `case "$*" in *list*) echo image/bmp;; *) cat $held/picture.bmp;; esac`)
		}, none},
		{"wl-paste fails, PowerShell has it", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "WSL_DISTRO_NAME": "Debian"}, func(d *desk) {
			d.install("wl-paste", "exit 1")
			d.install("powershell.exe", `printf '\211PNG'`)
		}, "\x89PNG"},
		{"wl-paste has nothing, xclip has it", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, func(d *desk) {
			d.install("wl-paste", "exit 0")
			d.install("xclip", `case "$*" in *TARGETS) printf 'TIMESTAMP\nimage/webp\nimage/jpeg\n';; *) printf '%s' "$*";; esac`)
		}, "-selection clipboard -o -t image/jpeg"},
		{"the first type fails", wayland, func(d *desk) {
			d.install("wl-paste", `case "$*" in *list*) printf 'image/png\nimage/webp\n';; *webp) printf RIFF;; *) exit 1;; esac`)
		}, "RIFF"},
		{"nowhere", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, func(d *desk) {
			d.install("wl-paste", "exit 1")
			d.install("xclip", "exit 1")
		}, none},
		{"wayland", wayland, func(d *desk) { d.install("wl-paste", `printf '\211PNG %s' "$*"`) }, "\x89PNG --no-newline --type image/png"},
		{"X", map[string]string{"DISPLAY": ":0"}, func(d *desk) { d.install("xclip", `printf '\211PNG'`) }, "\x89PNG"},
		{"X behind wayland", map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"},
			func(d *desk) { d.install("xclip", `printf '\211PNG'`) }, "\x89PNG"},
		{"macOS", nil, func(d *desk) { d.System = "darwin"; d.install("osascript", `printf '«data PNGf89504E47»\n'`) }, "\x89PNG"},
		{"macOS with text on the clipboard", nil, func(d *desk) { d.System = "darwin"; d.install("osascript", "exit 1") }, none},
		{"macOS with something odd", nil, func(d *desk) { d.System = "darwin"; d.install("osascript", `printf '«data PNGf89504Z47»\n'`) }, none},
		{"text on the clipboard", wayland, func(d *desk) { d.install("wl-paste", "exit 1") }, none},
		{"nothing", wayland, func(d *desk) { d.install("wl-paste", "exit 0") }, none},
		{"not installed", wayland, func(*desk) {}, "pasting images needs wl-paste: install it, or use /attach PATH or @PATH"},
		{"no desktop", nil, func(*desk) {}, "no clipboard image available: use /attach PATH or @PATH"},
		{"over ssh", map[string]string{"DISPLAY": ":0", "SSH_TTY": "/dev/pts/1"}, func(d *desk) { d.install("xclip", "printf PNG") },
			"no clipboard images over ssh: use /attach PATH or @PATH"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := sit(t, c.env)
			c.setUp(d)
			picture, err := d.Image(context.Background())
			got := string(picture)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// picture returns the image that bitmap and pngOf encode.
func picture() image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	p.SetNRGBA(1, 1, color.NRGBA{R: 255, A: 255})
	p.SetNRGBA(2, 0, color.NRGBA{B: 255, A: 255})
	return p
}

func bitmap(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := bmp.Encode(&b, picture()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func pngOf(t *testing.T) string {
	t.Helper()
	read, err := bmp.Decode(strings.NewReader(bitmap(t)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, read); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
