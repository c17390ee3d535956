//go:build !linux

package wire

import "net"

// setLowWater does nothing: a system may not report held-back bytes again.
func setLowWater(net.Conn, int) {}
