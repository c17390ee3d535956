//go:build unix && !linux

package console

// LongestLine is the maximum number of bytes of a line that the kernel's line editing
// keeps (MAX_CANON is 1024 on macOS, with the newline, and 255 or more elsewhere).
const LongestLine = 1023
