// Package closed has an address on which nobody listens.
package closed

import (
	"net"
	"testing"
)

// Address returns an address, as host:port, on which nobody listens, nor can until the test ends: a
// connection comes from it. The port of a listener that was closed may be the next one's.
func Address(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.LocalAddr().String()
}
