//go:build linux && !amd64

package sandbox

// legacyChmodCalls lists the calls that set modes and that only old architectures have.
var legacyChmodCalls []chmodCall
