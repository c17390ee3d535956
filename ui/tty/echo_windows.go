package tty

import "golang.org/x/sys/windows"

// Echo sets whether the console fd echoes input.
func Echo(fd uintptr, on bool) {
	var mode uint32
	in := windows.Handle(fd)
	if windows.GetConsoleMode(in, &mode) != nil {
		return
	}
	if mode |= windows.ENABLE_ECHO_INPUT; !on {
		mode &^= windows.ENABLE_ECHO_INPUT
	}
	_ = windows.SetConsoleMode(in, mode)
}
