//go:build !unix

package holder

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart knows nothing about other processes on this system.
func processStart(int) (start string, gone bool) { return "", false }
