//go:build !unix

package holder

// tellsProcesses says whether the system tells which processes run.
const tellsProcesses = false

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart knows nothing about other processes on this system.
func processStart(int) (start string, gone bool) { return "", false }
