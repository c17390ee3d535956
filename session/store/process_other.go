//go:build !unix

package store

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart knows nothing about other processes on this system.
func processStart(int) (start string, gone bool) { return "", false }

// inheritOwner does nothing on this system.
func inheritOwner(string) {}
