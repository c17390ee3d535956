//go:build !unix

package trust

const nonblock = 0
