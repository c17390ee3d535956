package plain

// longestLine is how many bytes of a line the kernel's line editing keeps (N_TTY
// has a buffer of 4096, with the newline).
const longestLine = 4095
