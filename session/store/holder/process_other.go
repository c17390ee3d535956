//go:build !unix

package holder

// tellsProcesses reports whether the system can tell which processes run.
const tellsProcesses = false

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart returns no information on this system.
func processStart(int) (start string, gone bool) { return "", false }
