package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// openersByOS are programs that show an address in the user's browser, with the arguments in
// front of it.
var openersByOS = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}

// openURL shows an address of the web, which begins with its scheme, in the user's browser.
// The program is not waited for longer than it takes to say that it cannot.
func openURL(ctx context.Context, address string) error {
	command := openersByOS[runtime.GOOS]
	if command == nil {
		if command = []string{"xdg-open"}; os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
			return errors.New("no browser here: open the address yourself")
		}
	}
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], address)...)
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
	case <-time.After(2 * time.Second): // it is the browser itself
	}
	return nil
}
