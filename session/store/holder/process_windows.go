package holder

import (
	"errors"
	"strconv"

	"golang.org/x/sys/windows"
)

// tellsProcesses reports whether the system can tell which processes run.
const tellsProcesses = true

func bootID() string { return "" }

func pidNamespace() string { return "" }

// processStart returns when a process started, in nanoseconds since 1970, "" if unknown, and whether
// the process does not exist.
func processStart(pid int) (start string, gone bool) {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return "", errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(process)
	if event, err := windows.WaitForSingleObject(process, 0); err == nil && event == windows.WAIT_OBJECT_0 {
		return "", true // it has ended, and another process has a handle of it
	}
	var began, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(process, &began, &ended, &kernel, &user) != nil {
		return "", false
	}
	return strconv.FormatInt(began.Nanoseconds(), 10), false
}
