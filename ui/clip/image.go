package clip

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"time"
)

const (
	imageTimeout  = 5 * time.Second
	maxImageBytes = 64 << 20
)

// A reader is a command that writes the image on the clipboard to its standard
// output. Terminals hand over text only.
type reader struct {
	here   func(*environment) bool
	get    []string
	decode func([]byte) ([]byte, error) // nil: it is the image
}

var readers = []reader{
	{here: local("linux", "WAYLAND_DISPLAY"), get: []string{"wl-paste", "--no-newline", "--type", "image/png"}},
	{here: local("linux", "DISPLAY"), get: []string{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"}},
	{here: local("darwin", ""), get: []string{"osascript", "-e", "get the clipboard as «class PNGf»"}, decode: fromAppleScript},
	{here: func(p *environment) bool { return !p.ssh && (p.wsl || p.system == "windows") },
		get: []string{"powershell.exe", "-NoProfile", "-STA", "-Command",
			"Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[Windows.Forms.Clipboard]::GetImage(); if($i){$o=[Console]::OpenStandardOutput(); $i.Save($o,[Drawing.Imaging.ImageFormat]::Png)}"}},
}

// fromAppleScript returns what «data PNGf89504E47…» stands for.
func fromAppleScript(out []byte) ([]byte, error) {
	_, digits, found := bytes.Cut(out, []byte("«data PNGf"))
	digits, _, ends := bytes.Cut(digits, []byte("»"))
	if !found || !ends {
		return nil, errors.New("no image")
	}
	return hex.AppendDecode(nil, digits)
}

// Image returns the image on the clipboard. It runs a command; errors tell the
// user what else can be done.
func (b *Board) Image(ctx context.Context) ([]byte, error) {
	p := b.environment(ctx)
	if p.ssh {
		return nil, errors.New("no clipboard images over ssh: use /attach PATH or @PATH")
	}
	missing := ""
	for _, r := range readers {
		if !r.here(&p) {
			continue
		}
		if _, err := b.findCommand(r.get[0]); err != nil {
			missing = r.get[0]
			continue
		}
		out := &capped{most: maxImageBytes}
		err := b.run(ctx, imageTimeout, r.get, nil, out)
		picture := out.text
		if err == nil && r.decode != nil {
			picture, err = r.decode(picture)
		}
		if err != nil || len(picture) == 0 {
			return nil, errors.New("no image on the clipboard: paste text with the terminal's own key")
		}
		return picture, nil
	}
	if missing != "" {
		return nil, errors.New("pasting images needs " + missing + ": install it, or use /attach PATH or @PATH")
	}
	return nil, errors.New("no clipboard image available: use /attach PATH or @PATH")
}
