//go:build !unix

package termimage

import "image"

// CellSize returns zero: the size of a cell is unknown.
func CellSize() image.Point { return image.Point{} }
