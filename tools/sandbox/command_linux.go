package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is what the helper is called: its argument 0.
const marker = "parley-sandbox"

// What the helper inherits beside the standard streams.
const (
	jobFD  = 3 // the job
	lifeFD = 4 // ends when the caller does
)

// separate are the namespaces of the helper. The network needs none, for there
// are no sockets, and making one takes as long as all the others.
const separate = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// Command returns argv held by p, not yet started, in a session of its own and
// in the workspace directory. The caller may set its streams and Dir, and end it by
// cleanup: the helper then ends every process that the command started, politely
// and after 0.7 s without asking, puts back what is protected, and exits. Cleanup
// has to be called in any case, and may be again; it does not wait, and removes
// the private temp directory. The exit status is that of the command, 128+n after signal n, and 125
// if the sandbox could not be set up, 126 or 127 if the command could not be
// started. What the helper had to do is told in a line on stderr.
func Command(p Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	b := Probe()
	if !b.OK() {
		return nil, nil, errors.New(b.Why)
	}
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	path, err := program(argv[0])
	if err != nil {
		return nil, nil, err
	}
	if p.Workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
		return nil, nil, err
	}
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	p.findRepositories()
	p.Protected = behind(p.Workspace, p.Protected)
	p.joinWorktree(strings.HasSuffix(b.Name, "pidns"))
	made := p.Temp == ""
	removeTemp, err := tempDir(&p)
	if err != nil {
		return nil, nil, err
	}
	removeUndone, err := undone(&p)
	if err != nil {
		removeTemp()
		return nil, nil, err
	}
	remove := func() { removeTemp(); removeUndone() }
	j := job{
		Policy: p, path: path, argv: argv, made: made, abi: b.ABI,
		spaces: strings.HasSuffix(b.Name, "pidns"), uid: os.Geteuid(), gid: os.Getegid(),
	}
	cmd, letGo, err := j.command()
	if err != nil {
		remove()
		return nil, nil, err
	}
	return cmd, func() { letGo(); remove() }, nil
}

// Supervise returns argv, not yet started, in dir and with the environment env,
// held back by nothing: the helper only sees to it that all its processes end
// with it, with cleanup, or with the caller, as for [Command].
func Supervise(dir string, env []string, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	path, err := program(argv[0])
	if err != nil {
		return nil, nil, err
	}
	j := job{Policy: Policy{Workspace: dir, Env: env}, path: path, argv: argv, free: true}
	return j.command()
}

func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// command is the helper with this job.
func (j *job) command() (cmd *exec.Cmd, letGo func(), err error) {
	instructions, wait, err := j.send()
	if err != nil {
		return nil, nil, err
	}
	life, hold, err := os.Pipe()
	if err != nil {
		instructions.Close()
		wait()
		return nil, nil, err
	}
	cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{marker}, Dir: j.Workspace,
		Env:         []string{"GOMAXPROCS=1", "GOGC=off"}, // quicker to start; and what is not here cannot be read in /proc
		ExtraFiles:  []*os.File{instructions, life},
		SysProcAttr: attributes(j.spaces),
	}
	return cmd, func() {
		instructions.Close()
		wait()
		life.Close()
		hold.Close()
	}, nil
}

// The capabilities with which the helper sets itself up, in its own namespace.
var setup = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID}

// attributes are how the helper is started.
func attributes(apart bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !apart {
		return attr
	}
	attr.Cloneflags = separate
	if os.Geteuid() == 0 {
		// Root stays who it is, and others who they are.
		attr.UidMappings, attr.GidMappings = identity("/proc/self/uid_map"), identity("/proc/self/gid_map")
		attr.GidMappingsEnableSetgroups = true
		return attr
	}
	// The helper maps itself: parley, whose memory nobody may read, cannot write
	// the maps of its children either.
	attr.AmbientCaps = setup
	return attr
}

// identity maps every id that there is to itself.
func identity(file string) []syscall.SysProcIDMap {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, size int
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n == 3 {
			out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		}
	}
	return out
}

// Probe reports what the system offers. What was found out is kept. For tests of
// what happens elsewhere there are two environment variables: with
// PARLEY_TEST_NO_LANDLOCK=1 nothing is offered, with PARLEY_TEST_NO_NAMESPACES=1
// no namespaces are.
func Probe() Backend {
	if os.Getenv("PARLEY_TEST_NO_LANDLOCK") == "1" {
		return Backend{Why: "PARLEY_TEST_NO_LANDLOCK is set"}
	}
	found := find()
	if os.Getenv("PARLEY_TEST_NO_NAMESPACES") == "1" {
		found.apart = errors.New("PARLEY_TEST_NO_NAMESPACES is set")
	}
	return found.backend()
}

// findings are what the kernel said.
type findings struct {
	abi   int   // of Landlock
	err   error // why nothing can be held
	apart error // why the helper cannot have its own namespaces
}

var find = sync.OnceValue(func() findings {
	abi, err := landlock()
	if err == nil {
		err = filters()
	}
	if err != nil {
		return findings{err: err}
	}
	return findings{abi: abi, apart: tryApart()}
})

func (f findings) backend() Backend {
	if f.err != nil {
		return Backend{Why: f.err.Error()}
	}
	b := Backend{ABI: f.abi, Details: []string{fmt.Sprintf("Landlock ABI %d", f.abi)}}
	if f.apart == nil {
		b.Name = "landlock+seccomp+pidns"
		b.Details = append(b.Details, "own user, mount, process and IPC namespaces")
		return b
	}
	if f.abi < 3 {
		return Backend{ABI: f.abi, Why: fmt.Sprintf("Landlock ABI %d cannot keep files from being cut short, and there are no namespaces: %v", f.abi, f.apart)}
	}
	b.Name = "landlock+seccomp"
	b.Details = append(b.Details, fmt.Sprintf("no namespaces: %v", f.apart), "protected paths are put back after each command",
		"mode, owner, times, extended attributes and flags of files of the same user can be changed anywhere")
	if f.abi < 6 {
		b.Details = append(b.Details, "signals to other processes of the same user are not held back before Landlock ABI 6")
	}
	return b
}

// tryApart reports why the helper cannot have its own namespaces. It starts
// nothing: what fails last is that there is no such program. Chroot asks for a
// capability, which some systems deny in a namespace that they let be made.
func tryApart() error {
	attr := attributes(true)
	attr.Chroot = "/"
	const nowhere = "/proc/self/no-such-program"
	_, err := syscall.ForkExec(nowhere, []string{nowhere}, &syscall.ProcAttr{Sys: attr})
	if err == syscall.ENOENT {
		return nil
	}
	return err
}
