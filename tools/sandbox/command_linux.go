package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"parley/tools/folders"
	"parley/tools/places"
)

// helperName is argument 0 of the helper process.
const helperName = "parley-sandbox"

// Files that the helper inherits beside the standard streams.
const (
	jobFD   = 3 // the job
	lifeFD  = 4 // read end of a pipe that the caller keeps open
	guardFD = 5 // pipe to the guard, for a program that runs long
	readyFD = 6 // pipe from the guard, which says that it watches
)

// helperNamespaces holds the clone flags of the helper. It needs no network namespace,
// because sockets are denied, and creating one takes as long as all the others.
const helperNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// Command returns argv confined by a policy, not yet started, in a session of its own and in the workspace directory.
// The caller may set its streams and Dir, and end it by cleanup: the helper then ends every process of the command,
// with SIGTERM and after 0.7 s with SIGKILL, and exits. A command still waiting for its Ready
// then does not run. Cleanup must be called in any case, and once more after the end if it was called before; it does
// not wait, and removes the private temp directory. The exit status is that of the command, 128+n after signal n, 125
// if the sandbox could not be set up, 126 or 127 if the command could not be started.
func Command(allowed Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	p, b := policy{Policy: allowed}, Probe()
	if !b.Available() {
		return nil, nil, errors.New(b.Reason)
	}
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	path, err := findProgram(argv[0])
	if err != nil {
		return nil, nil, err
	}
	if p.Workspace, err = filepath.EvalSymlinks(p.Workspace); err != nil {
		return nil, nil, err
	}
	if err := check(p.Policy, places.New(os.Getenv).WorkspaceProblem); err != nil {
		return nil, nil, err
	}
	list := folders.Open(p.Workspace) // until the keeper has it
	defer list.Close()
	p.dropReplaceable()
	if err := p.protectRepositories(); err != nil {
		return nil, nil, err
	}
	p.Protected = withLinkTargets(p.Workspace, p.Protected)
	mounts := strings.HasSuffix(b.Name, "pidns")
	p.allowWorktree(mounts)
	if err := p.allowDirectories(mounts); err != nil {
		return nil, nil, err
	}
	if err := p.protectUndone(mounts); err != nil {
		return nil, nil, err
	}
	p.findHidden()
	made := p.TempDir == ""
	removeTemp, err := makeTempDir(&p)
	if err != nil {
		return nil, nil, err
	}
	watched, err := p.watch(mounts)
	if err != nil {
		removeTemp()
		return nil, nil, err
	}
	j := job{
		policy: p, path: path, argv: argv, ownsTempDir: made, abi: b.ABI,
		hasNamespaces: mounts, uid: os.Geteuid(), gid: os.Getegid(),
	}
	for _, dir := range append([]string{p.Workspace}, p.Directories...) {
		j.undone = append(j.undone, undoneDir(dir))
	}
	start := j.helperCommand
	if j.LongRunning && j.hasNamespaces {
		start = j.commandInPlace
	}
	cmd, letGo, err := start()
	if j.stop != nil {
		watched.setStop(j.stop)
	}
	if err != nil {
		watched.end(nil)
		removeTemp()
		return nil, nil, err
	}
	return cmd, func() {
		ended := hasEnded(cmd)
		letGo()
		removeTemp()
		if ended {
			watched.end(cmd)
		}
	}, nil
}

// protectUndone keeps commands from the quarantine and the journals.
func (p *policy) protectUndone(mounts bool) error {
	undone := filepath.Dir(undoneDir(p.Workspace))
	switch {
	case !slices.ContainsFunc(p.WritePaths, func(dir string) bool { return isWithin(undone, dir) }):
		return nil
	case !mounts: // nothing could
		return fmt.Errorf("sandbox.write allows %s, in which parley keeps what it takes away: allow less", undone)
	}
	p.readOnlyFiles = append(p.readOnlyFiles, undone)
	return os.MkdirAll(undone, 0o700)
}

// hasEnded reports whether a command has ended, or never ran.
func hasEnded(cmd *exec.Cmd) bool {
	return cmd.Process == nil || errors.Is(cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// Supervise returns argv, not yet started and not confined, with Workspace, Env and Ready of
// p: the helper only ends all its processes when it ends, on cleanup, or with the caller, as
// for [Command].
func Supervise(p Policy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	if len(argv) == 0 {
		return nil, nil, errors.New("no command")
	}
	path, err := findProgram(argv[0])
	if err != nil {
		return nil, nil, err
	}
	j := job{policy: policy{Policy: Policy{Workspace: p.Workspace, Env: p.Env, Ready: p.Ready}}, path: path, argv: argv, unrestricted: true}
	return j.helperCommand()
}

func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// helperCommand returns the helper with this job.
func (j *job) helperCommand() (cmd *exec.Cmd, letGo func(), err error) {
	instructions, end, err := j.send()
	if err != nil {
		return nil, nil, err
	}
	life, hold, err := os.Pipe()
	if err != nil {
		instructions.Close()
		end()
		return nil, nil, err
	}
	cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{helperName}, Dir: j.Workspace,
		Env:         []string{"GOMAXPROCS=1", "GOGC=off"}, // faster start; and variables left out here cannot be read in /proc
		ExtraFiles:  []*os.File{instructions, life},
		SysProcAttr: attributes(j.hasNamespaces),
	}
	if !j.inPlace {
		j.stop = func() { _, _ = hold.Write([]byte{goAhead}) }
	}
	return cmd, func() {
		instructions.Close()
		end()
		life.Close()
		_, _ = hold.Write([]byte{goAhead}) // the caller lives; an error means that the helper has ended
		hold.Close()
	}, nil
}

// setupCapabilities holds the capabilities with which the helper sets itself up, in its own
// namespace.
var setupCapabilities = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID}

// attributes returns the attributes for starting the helper.
func attributes(apart bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if !apart {
		return attr
	}
	attr.Cloneflags = helperNamespaces
	if os.Geteuid() == 0 {
		// Every id maps to itself.
		attr.UidMappings, attr.GidMappings = identityMapping("/proc/self/uid_map"), identityMapping("/proc/self/gid_map")
		attr.GidMappingsEnableSetgroups = true
		return attr
	}
	// The helper maps itself: parley, whose memory nobody may read, cannot write
	// the maps of its children either.
	attr.AmbientCaps = setupCapabilities
	return attr
}

// identityMapping maps every id to itself.
func identityMapping(file string) []syscall.SysProcIDMap {
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

// Probe returns the available sandbox; the kernel is probed once. Two environment variables
// are for tests: PARLEY_TEST_NO_LANDLOCK=1 disables the sandbox, PARLEY_TEST_NO_NAMESPACES=1
// the namespaces.
func Probe() Backend {
	if os.Getenv("PARLEY_TEST_NO_LANDLOCK") == "1" {
		return Backend{Reason: "PARLEY_TEST_NO_LANDLOCK is set"}
	}
	found := probeKernel()
	if os.Getenv("PARLEY_TEST_NO_NAMESPACES") == "1" {
		found.namespaceErr = errors.New("PARLEY_TEST_NO_NAMESPACES is set")
	}
	return found.backend()
}

// kernelSupport describes the kernel's support.
type kernelSupport struct {
	abi          int   // of Landlock
	landlockErr  error // why commands cannot be confined
	namespaceErr error // why the helper cannot have namespaces
}

var probeKernel = sync.OnceValue(func() kernelSupport {
	abi, err := landlockABI()
	if err == nil {
		err = checkSeccomp()
	}
	if err != nil {
		return kernelSupport{landlockErr: err}
	}
	return kernelSupport{abi: abi, namespaceErr: probeNamespaces()}
})

func (f kernelSupport) backend() Backend {
	if f.landlockErr != nil {
		return Backend{Reason: f.landlockErr.Error()}
	}
	b := Backend{ABI: f.abi, Details: []string{fmt.Sprintf("Landlock ABI %d", f.abi)}}
	if f.namespaceErr == nil {
		b.Name = "landlock+seccomp+pidns"
		b.Details = append(b.Details, "own user, mount, process and IPC namespaces")
		return b
	}
	if f.abi < 3 {
		return Backend{ABI: f.abi, Reason: fmt.Sprintf("Landlock ABI %d cannot keep files from being cut short, and there are no namespaces: %v", f.abi, f.namespaceErr)}
	}
	b.Name, b.Weak = "landlock+seccomp", "no namespaces"
	b.Details = append(b.Details, fmt.Sprintf("no namespaces: %v", f.namespaceErr), "so each command asks, and protected paths are put back after a change",
		"mode, owner, times, extended attributes and flags of files of the same user can be changed anywhere")
	if f.abi < 6 {
		b.Details = append(b.Details, "signals to other processes of the same user are not held back before Landlock ABI 6")
	}
	return b
}

// probeNamespaces returns why the helper cannot have namespaces. It starts no program:
// the expected error is that the program does not exist. Chroot needs a capability,
// which some systems deny even in a namespace that they allow.
func probeNamespaces() error {
	attr := attributes(true)
	attr.Chroot = "/"
	const nowhere = "/proc/self/no-such-program"
	_, err := syscall.ForkExec(nowhere, []string{nowhere}, &syscall.ProcAttr{Sys: attr})
	if err == syscall.ENOENT {
		return nil
	}
	return err
}
