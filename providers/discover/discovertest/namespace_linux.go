package discovertest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// namespaceEnv marks a test program that runs in a separate network.
const namespaceEnv = "PARLEY_TEST_NETWORK"

// Isolated reports whether the test runs in a separate network, in which all server ports are free.
// If not, it runs the test again in one and takes over its result, and the caller must return.
// Where that is not allowed, it skips the test.
func Isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceEnv) != "" {
		raiseLoopback(t)
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), namespaceEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skip("a network of its own is not allowed here: ", err)
	}
	if err != nil {
		t.Fatalf("in a network of its own: %v\n%s", err, out)
	}
	t.Logf("in a network of its own:\n%s", out)
	return false
}

// raiseLoopback enables the loopback interface.
func raiseLoopback(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		t.Fatal("loopback: ", err)
	}
}
