package wire

import (
	"net"
	"syscall"
)

// setLowWater has the system wake the reader of a connection no sooner than so many bytes have
// arrived, its end or an error (socket(7), SO_RCVLOWAT, which TCP obeys since Linux 4.18). Where
// it cannot, the reader is woken more often.
func setLowWater(conn net.Conn, bytes int) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes) })
}
