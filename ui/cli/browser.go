package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"parley/tools/process"
)

// openersByOS maps operating systems to the program that opens an address in the user's browser, with its first
// arguments.
var openersByOS = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// browserVariables are the environment variables that the browser inherits; keys are not among them. The form is that
// of [process.Variables].
var browserVariables = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_", "TZ", "TERM", "TMPDIR",
	"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_",
	"DESKTOP_SESSION", "GNOME_DESKTOP_SESSION_ID", "KDE_", "MOZ_ENABLE_WAYLAND", "GDK_BACKEND", "QT_QPA_PLATFORM", "LD_LIBRARY_PATH",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"WSL_", "WSLENV", "PREFIX", // PREFIX is set by Termux
	"__CF_USER_TEXT_ENCODING", // macOS; the following ones are for Windows
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "ALLUSERSPROFILE", "PUBLIC", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432",
	"COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)",
}

// openURL opens a web address, which begins with its scheme, in the user's browser. It never runs a program from the
// workspace, and waits for it only long enough to see it fail.
func openURL(ctx context.Context, workspace, address string) error {
	command := openersByOS[runtime.GOOS]
	if command == nil {
		if command = []string{"xdg-open"}; os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
			return errors.New("no browser here: open the address yourself")
		}
	}
	path := process.SearchPath{List: os.Getenv("PATH"), Workspace: workspace}
	opener := path.Find(command[0])
	if opener == "" {
		return fmt.Errorf("no browser: %s is not installed", command[0])
	}
	cmd := exec.Command(opener, append(slices.Clip(command[1:]), address)...)
	cmd.Env = append(process.Variables(os.Environ(), browserVariables), "PATH="+path.String())
	cmd.Dir = string(filepath.Separator) // BROWSER may hold a relative path
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("no browser: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
	case <-ctx.Done():
	case <-time.After(2 * time.Second): // the program is the browser itself
	}
	return nil
}
