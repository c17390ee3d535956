package format

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestErrorText(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/p/x", Err: syscall.ENOENT}
	dial := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "h.example", Server: "1.1.1.1:53", IsNotFound: true}}
	badJSON := func(text string) error { return json.Unmarshal([]byte(text), new(any)) }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("as it is"), "as it is"},
		{missing, "/p/x: no such file or directory"},
		{fmt.Errorf("configuration: %w", missing), "configuration: /p/x: no such file or directory"},
		{fmt.Errorf("-f /p/x: %w: give another", missing), "-f /p/x: no such file or directory: give another"},
		{errors.Join(fmt.Errorf("a: %w", missing), &fs.PathError{Op: "read", Path: "d", Err: syscall.EISDIR}), "a: /p/x: no such file or directory\nd: is a directory"},
		{&os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EACCES}, "b: permission denied"},
		{os.NewSyscallError("fchmod", syscall.EPERM), "operation not permitted"},
		{&exec.Error{Name: "vi", Err: exec.ErrNotFound}, "vi is not on PATH"},
		{&exec.Error{Name: "./vi", Err: syscall.EACCES}, "./vi: permission denied"},
		{&fs.PathError{Op: "fork/exec", Path: "/bin/x", Err: syscall.ENOEXEC}, "/bin/x: exec format error"},
		{dial, "127.0.0.1:9: connection refused"},
		{&url.Error{Op: "Get", URL: "http://127.0.0.1:9/v1", Err: dial}, "http://127.0.0.1:9/v1: 127.0.0.1:9: connection refused"},
		{&url.Error{Op: "Get", URL: "https://h.example", Err: lookup}, "https://h.example: host h.example not found"},
		{&net.DNSError{Err: "server misbehaving", Name: "h.example", Server: "1.1.1.1:53"}, "host h.example could not be looked up: server misbehaving"},
		{context.Canceled, "stopped"},
		{fmt.Errorf("the program ended: %w", context.Canceled), "the program ended"},
		{io.ErrUnexpectedEOF, "unexpected end of the file"},
		{fmt.Errorf("x.json: %w", io.EOF), "x.json: unexpected end of the file"},
		{errors.New("the variable GEOF is unset, as is EOFX"), "the variable GEOF is unset, as is EOFX"},
		{fmt.Errorf("x: %w", badJSON("\xff")), "x: unexpected character 'ÿ'"},
		{badJSON(`{"a" 1}`), "unexpected character '1'"},
		{badJSON(`[1 2]`), "unexpected character '2'"},
		{badJSON(`{} x`), "unexpected character 'x'"},
		{badJSON(`"\q"`), "unexpected character 'q'"},
		{badJSON(`trux`), "unexpected character 'x'"},
		{badJSON(`{x`), "unexpected character 'x'"},
		{badJSON(`1.x`), "unexpected character 'x'"},
		{badJSON("'"), `unexpected character '\''`},
	} {
		if got := ErrorText(tt.err); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.err, got, tt.want)
		}
	}
	_, err := os.ReadFile(filepath.Join(t.TempDir(), "nope"))
	if got := ErrorText(err); got == err.Error() {
		t.Errorf("got %q", got)
	}
}
