package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"parley/tools/process"
	"parley/tools/sanitize"
)

const (
	filterTime  = 2 * time.Second
	filterDelay = 100 * time.Millisecond // wait for output still held open by processes that outlive the command
	maxFiltered = 4 << 10                // bytes
)

// Filter runs a command line of the user in dir with input on its standard input, and returns the beginning of
// its output, unsanitized. It has no terminal, 2 s, and the environment of commands, without the workspace in
// PATH: a model's command may have put programs there. Its process group ends with it.
func Filter(ctx context.Context, dir, command string, input []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, filterTime)
	defer cancel()
	return filter(ctx, dir, command, input)
}

// filter is Filter without a time limit of its own.
func filter(ctx context.Context, dir, command string, input []byte) (string, error) {
	argv, err := shellArgv(command)
	if err != nil {
		return "", err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer in.Close()
	child := process.New(in)
	cmd := exec.Command(argv[0], argv[1:]...)
	process.Detach(cmd)
	stderr := &process.PrefixBuffer{Limit: maxFiltered}
	cmd.Dir, cmd.Env = dir, append(commandEnvironment(os.Environ(), nil), "PATH="+process.OutsideWorkspace(os.Getenv("PATH")).String(), child.Mark())
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(input), out, stderr, filterDelay
	err = child.Start(cmd, nil)
	out.Close()
	if err != nil {
		return "", err
	}
	stdout, ended := &process.PrefixBuffer{Limit: maxFiltered}, make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(stdout, in)
	}()
	var stopped error
	select {
	case <-child.Exited():
		child.KillGroup()
	case <-ctx.Done():
		stopped = ctx.Err()
		child.Kill()
	}
	_ = in.SetReadDeadline(time.Now().Add(filterDelay))
	<-ended
	switch {
	case errors.Is(stopped, context.DeadlineExceeded):
		return "", fmt.Errorf("it did not end within %s", filterTime)
	case stopped != nil:
		return "", stopped
	case !child.State().Success():
		why, _, _ := strings.Cut(strings.TrimSpace(string(stderr.Bytes())), "\n")
		return "", errors.New(strings.TrimSuffix(child.State().String()+": "+sanitize.Line(why), ": "))
	}
	return string(stdout.Bytes()), nil
}
