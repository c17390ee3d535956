package routes

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"image/png"
	"slices"
	"strings"
	"time"

	"golang.org/x/image/bmp"
)

const (
	imageTimeout  = 5 * time.Second
	maxImageBytes = 64 << 20
)

// A reader is a command that writes the image on the clipboard to its standard
// output. Terminals return only text.
type reader struct {
	here   func(*environment) bool
	get    []string
	list   []string                     // prints the types on the clipboard, to append one to get; nil if get needs none
	decode func([]byte) ([]byte, error) // nil if the output is the image
}

// imageTypes lists the image types that are read, best first.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/bmp"}

var readers = []reader{
	{here: local("linux", "WAYLAND_DISPLAY"), get: []string{"wl-paste", "--no-newline", "--type"}, list: []string{"wl-paste", "--list-types"}},
	{here: local("linux", "DISPLAY"), get: []string{"xclip", "-selection", "clipboard", "-o", "-t"}, list: []string{"xclip", "-selection", "clipboard", "-o", "-t", "TARGETS"}},
	{here: local("darwin", ""), get: []string{"osascript", "-e", "get the clipboard as «class PNGf»"}, decode: fromAppleScript},
	{here: func(p *environment) bool { return !p.ssh && (p.wsl || p.system == "windows") },
		get: []string{"powershell.exe", "-NoProfile", "-STA", "-Command",
			"Add-Type -AssemblyName System.Windows.Forms,System.Drawing; $i=[Windows.Forms.Clipboard]::GetImage(); if($i){$o=[Console]::OpenStandardOutput(); $i.Save($o,[Drawing.Imaging.ImageFormat]::Png)}"}},
}

// fromAppleScript decodes output of the form «data PNGf89504E47…».
func fromAppleScript(out []byte) ([]byte, error) {
	_, digits, found := bytes.Cut(out, []byte("«data PNGf"))
	digits, _, ends := bytes.Cut(digits, []byte("»"))
	if !found || !ends {
		return nil, errors.New("no image")
	}
	return hex.AppendDecode(nil, digits)
}

// fromBMP converts the BMP image on WSLg's clipboard to PNG.
func fromBMP(data []byte) ([]byte, error) {
	config, err := bmp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if int64(config.Width)*int64(config.Height) > int64(len(data)) {
		return nil, errors.New("not all of the image")
	}
	picture, err := bmp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = png.Encode(&out, picture)
	return out.Bytes(), err
}

// Image returns the image on the clipboard. It runs commands until one returns it. Errors
// suggest alternatives to the user.
func (b *Board) Image(ctx context.Context) ([]byte, error) {
	p := b.environment(ctx)
	if p.ssh {
		return nil, errors.New("no clipboard images over ssh: use /attach PATH or @PATH")
	}
	missing, read := "", false
	for _, r := range readers {
		if !r.here(&p) {
			continue
		}
		if _, err := b.findCommand(r.get[0]); err != nil {
			missing = r.get[0]
			continue
		}
		read = true
		for _, get := range b.requests(ctx, &r) {
			if picture, err := b.read(ctx, &r, get); err == nil && len(picture) > 0 {
				return picture, nil
			}
		}
	}
	switch {
	case read:
		return nil, errors.New("no image on the clipboard: paste text with the terminal's own key")
	case missing != "":
		return nil, errors.New("pasting images needs " + missing + ": install it, or use /attach PATH or @PATH")
	}
	return nil, errors.New("no clipboard image available: use /attach PATH or @PATH")
}

// requests returns the commands that get an image, one for each type on the clipboard. If the
// clipboard lists no types, it requests a PNG.
func (b *Board) requests(ctx context.Context, r *reader) (all [][]string) {
	if r.list == nil {
		return [][]string{r.get}
	}
	out := &capped{most: 64 << 10}
	_ = b.run(ctx, getTimeout, r.list, nil, out) // on error there are no types
	types := strings.Fields(string(out.text))
	for _, t := range imageTypes {
		if slices.Contains(types, t) {
			all = append(all, slices.Concat(r.get, []string{t}))
		}
	}
	if all == nil {
		all = [][]string{slices.Concat(r.get, imageTypes[:1])}
	}
	return all
}

// read returns the image that get writes.
func (b *Board) read(ctx context.Context, r *reader, get []string) ([]byte, error) {
	out := &capped{most: maxImageBytes}
	err := b.run(ctx, imageTimeout, get, nil, out)
	switch {
	case err != nil:
		return nil, err
	case r.decode != nil:
		return r.decode(out.text)
	case bytes.HasPrefix(out.text, []byte("BM")):
		return fromBMP(out.text)
	}
	return out.text, nil
}
