//go:build !unix

package attach

const nonblock = 0
