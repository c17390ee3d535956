//go:build !unix

package store

// bootID is not known here.
func bootID() string { return "" }

// pidNamespace is not known here.
func pidNamespace() string { return "" }

// began cannot tell anything about other processes here.
func began(int) (start string, gone bool) { return "", false }
