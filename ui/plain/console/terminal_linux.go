package console

// LongestLine is the maximum number of bytes of a line that the kernel's line
// editing keeps (N_TTY has a buffer of 4096, with the newline).
const LongestLine = 4095
