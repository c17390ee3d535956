//go:build unix

package termimage

import (
	"image"
	"os"

	"golang.org/x/sys/unix"
)

// CellSize returns the size of a cell of the terminal on standard output, in pixels; zero if it is unknown.
func CellSize() image.Point {
	size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return image.Point{}
	}
	return image.Pt(int(size.Xpixel/size.Col), int(size.Ypixel/size.Row))
}
