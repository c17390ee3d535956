//go:build unix

package clip

import (
	"context"
	"testing"
)

// TestPicture checks where an image comes from, and the error where there is none.
func TestPicture(t *testing.T) {
	wayland := map[string]string{"WAYLAND_DISPLAY": "wayland-0"}
	none := "no image on the clipboard: paste text with the terminal's own key"
	tests := []struct {
		name  string
		env   map[string]string
		setUp func(*desk)
		want  string // the image, or the error
	}{
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
