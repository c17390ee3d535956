package ui

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// readers are the commands that write the picture on the clipboard to standard
// output as PNG, by the system they belong to. The terminal itself hands over
// text only.
var readers = []struct {
	system, variable string // the variable says that the command can work; "" is always
	command          []string
}{
	{"linux", "WAYLAND_DISPLAY", []string{"wl-paste", "--no-newline", "--type", "image/png"}},
	{"linux", "DISPLAY", []string{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"}},
	{"darwin", "", []string{"pngpaste", "-"}},
	{"windows", "", []string{"powershell", "-NoProfile", "-Command",
		"Add-Type -AssemblyName System.Windows.Forms; $i=[Windows.Forms.Clipboard]::GetImage(); if($i){$s=[Console]::OpenStandardOutput(); $i.Save($s,[Drawing.Imaging.ImageFormat]::Png)}"}},
}

// clipboardImage is the picture on the clipboard.
func clipboardImage(getenv func(string) string) ([]byte, error) {
	var missing string
	for _, r := range readers {
		if r.system != runtime.GOOS || r.variable != "" && getenv(r.variable) == "" {
			continue
		}
		path, err := exec.LookPath(r.command[0])
		if err != nil {
			missing = r.command[0]
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, path, r.command[1:]...)
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil || out.Len() == 0 {
			return nil, errors.New("there is no picture on the clipboard; text is pasted with the terminal's own key")
		}
		return out.Bytes(), nil
	}
	if missing != "" {
		return nil, errors.New("to paste pictures, install " + missing + "; or attach a file with /attach PATH or @PATH")
	}
	return nil, errors.New("there is no clipboard here to read pictures from: attach a file with /attach PATH or @PATH")
}
