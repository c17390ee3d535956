//go:build !linux

package folders

import (
	"syscall"
	"time"

	"parley/tools/openat"
)

// A system watches nothing here.
type system struct{}

// settles is how long after a change of a folder a later one may leave its times as they are.
const settles = 3 * time.Second

func systemWatches() int { return 0 }

func openSystem() system { return system{} }

func (s *system) close() {}

func (s *system) wait() bool { return false }

func (s *system) read(events []event) []event { return events }

func makeReadable(openat.Dir, string) bool { return false }

func (s *system) isShared(dir) bool { return false }

func (s *system) add(dir) (int32, error) { return 0, syscall.ENOSPC }

func (s *system) remove(int32) {}
