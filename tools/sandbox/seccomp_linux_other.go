//go:build linux && !amd64

package sandbox

// legacyModeRules are rules for calls that only old architectures have.
var legacyModeRules []argumentRule
