//go:build !unix

package plain

import "os"

// console is what a user types at.
const console = "CONIN$"

// longestLine is how many bytes of a line the console's line editing keeps.
const longestLine = 8190

// endings are the signals that end the program in order, beside ctrl+c.
var endings []os.Signal

// wait is always over: reading the console cannot be called off here.
func (k *keyboard) wait() (bool, error) { return !k.over.Load(), nil }

// pause does nothing: editors have windows of their own here.
func (k *keyboard) pause() (resume func()) { return func() {} }

// close does not wait for a read that cannot be called off. The program ends.
func (k *keyboard) close() { k.over.Store(true) }

// forget does nothing: what was typed before a question is told by its time.
func (k *keyboard) forget() {}
