package tools

import (
	"parley/tools/sandbox"
)

// A SandboxConfig is how commands are held; the section [sandbox] of the
// configuration. The zero value holds them where the system can, and asks where
// it cannot.
type SandboxConfig struct {
	Off      bool     `toml:"off"`      // commands are not held, and so ask each time
	Required bool     `toml:"required"` // without a sandbox no command runs at all
	Read     []string `toml:"read"`     // further files and folders commands may read; ~/ is the home folder
	Write    []string `toml:"write"`    // further ones they may change
	Env      []string `toml:"env"`      // further variables they get, by their exact names
}

// A box is how the commands of a workspace are held.
type box struct {
	SandboxConfig
	backend sandbox.Backend
}

// Sandbox holds all commands from now on, also those of the views of s. It
// returns what there is to hold them with. The program has to call
// [sandbox.Child] first thing in main. Without a call of Sandbox commands are
// not held.
func (s *Set) Sandbox(cfg SandboxConfig) sandbox.Backend {
	s.box = box{SandboxConfig: cfg, backend: sandbox.Probe()}
	return s.box.backend
}
