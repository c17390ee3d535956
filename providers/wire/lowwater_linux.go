package wire

import (
	"net"
	"syscall"
)

// setLowWater makes the system wake the reader of a connection only once that many bytes have arrived, or
// its end or an error (socket(7), SO_RCVLOWAT, which TCP supports since Linux 4.18). If it fails,
// the reader wakes up more often.
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
