//go:build !unix

package console

import "os"

// console names the device a user types at.
const console = "CONIN$"

// LongestLine limits the bytes of a line that the console's line editing keeps.
const LongestLine = 8190

// Endings lists the signals that end the program in order, beside ctrl+c.
var Endings []os.Signal

// wait returns at once: reading the console cannot be called off here.
func (k *Keyboard) wait(bool) (bool, error) { return !k.over.Load(), nil }

// Pause does nothing: editors have windows of their own here.
func (k *Keyboard) Pause() (resume func()) { return func() {} }

// Close does not wait for a read that cannot be called off. The program ends.
func (k *Keyboard) Close() { k.over.Store(true) }

// Forget does nothing: what was typed before a question is told by its time.
func (k *Keyboard) Forget() {}
