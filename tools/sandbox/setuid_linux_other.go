//go:build linux && !amd64

package sandbox

// legacyModes are the calls that set modes and that only old architectures have.
var legacyModes []setsMode
