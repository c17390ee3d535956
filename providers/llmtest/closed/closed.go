// Package closed provides an address without a listener.
package closed

import (
	"net"
	"testing"
)

// Address returns an address, as host:port, on which no program listens, nor can until the test
// ends: it is the local address of an open connection. The port of a closed listener could be
// reused.
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
