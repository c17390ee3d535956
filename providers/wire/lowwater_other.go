//go:build !linux

package wire

import "net"

// setLowWater does nothing: a system may not tell of bytes again that it has kept quiet about.
func setLowWater(net.Conn, int) {}
