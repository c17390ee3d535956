package routes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"parley/tools/process"
)

// passedEnv lists the variables passed to commands. All others, such as API keys,
// are withheld.
var passedEnv = []string{
	"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY",
	"XDG_RUNTIME_DIR", "TMUX", "TMUX_PANE", "TMUX_TMPDIR", "WSL_DISTRO_NAME", "WSL_INTEROP", "PREFIX", "SystemRoot",
}

var errMissing = errors.New("not installed")

// searchPath returns the path in which commands are looked up.
func (b *Board) searchPath() process.SearchPath {
	return process.SearchPath{List: b.Getenv("PATH"), Workspace: b.Workspace}
}

func (b *Board) findCommand(name string) (string, error) {
	if path := b.searchPath().Find(name); path != "" {
		return path, nil
	}
	return "", errMissing
}

func (b *Board) environ() []string {
	env := []string{"PATH=" + b.searchPath().String()}
	for _, name := range passedEnv {
		if value := b.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// run runs a command to its end or until limit, then kills it. On systems
// without a clipboard service, a child of the command keeps running to hold the
// clipboard. It also holds inherited files, so it must not inherit a pipe.
func (b *Board) run(ctx context.Context, limit time.Duration, argv []string, stdin []byte, stdout io.Writer) error {
	path, err := b.findCommand(argv[0])
	if err != nil {
		return err
	}
	within, cancel := b.within(ctx, limit)
	defer cancel()
	const inputDelay = 100 * time.Millisecond // such a child, which outlives the terminal, may keep its input open
	cmd := process.CommandContext(within, inputDelay, path, argv[1:]...)
	cmd.Env, cmd.Dir = b.environ(), string(filepath.Separator)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	if stdout != nil {
		cmd.Stdout = stdout
		cmd.WaitDelay = limit // output may still have to be read when the command has ended
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("no answer in %v", limit)
	case errors.As(err, &exit):
		return fmt.Errorf("exit status %d", exit.ExitCode())
	}
	return err
}

// capped collects up to most bytes, and rejects more.
type capped struct {
	text []byte
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(c.text)+len(p) > c.most {
		return 0, io.ErrShortBuffer
	}
	c.text = append(c.text, p...)
	return len(p), nil
}
