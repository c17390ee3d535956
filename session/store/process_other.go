//go:build !unix

package store

func bootID() string { return "" }

func pidNamespace() string { return "" }

// began cannot tell anything about other processes here.
func began(int) (start string, gone bool) { return "", false }

// inheritOwner does nothing where files have no owner that root could leave out.
func inheritOwner(string) {}
