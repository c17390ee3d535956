package console

import "golang.org/x/sys/windows"

// Echo has the console show what is typed, or not.
func (k *Keyboard) Echo(on bool) {
	var mode uint32
	in := windows.Handle(k.In.Fd())
	if windows.GetConsoleMode(in, &mode) != nil {
		return
	}
	if mode |= windows.ENABLE_ECHO_INPUT; !on {
		mode &^= windows.ENABLE_ECHO_INPUT
	}
	_ = windows.SetConsoleMode(in, mode)
}
