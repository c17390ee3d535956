package process

import (
	"io"
	"os/exec"
)

// Sandbox confines the programs of this process; package sandbox sets it before any program starts.
// By default there is none: nothing is confined, and each command asks.
var Sandbox = SandboxDriver{
	Probe:     func() Backend { return Backend{Reason: "this program has none"} },
	Check:     func(SandboxPolicy, func(string) string) error { return nil },
	Supervise: superviseWithoutHelper,
	GitRuns:   func(_, _ string) bool { return true },
}

// A SandboxDriver is how this system confines programs. The fields after GitRuns are nil where Probe
// finds nothing. Cleanup functions end the program and release what it needs: they are called in any
// case, and once more after the end if they were called before; nil if there is nothing to release.
type SandboxDriver struct {
	Probe     func() Backend                                                                   // reports what the system offers
	Check     func(p SandboxPolicy, problem func(dir string) string) error                     // reports why p restricts nothing; problem says why a directory is no workspace
	Supervise func(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) // returns a program that is not confined, not yet started, of p with Workspace, Env and Ready; where there is a helper, nothing outlives parley
	GitRuns   func(workspace, file string) bool                                                // reports whether git runs file or reads its settings from it; true if that is not known

	Command       func(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) // returns a confined program, not yet started
	Policy        func(workspace string, env []string) SandboxPolicy                               // returns what a command in a workspace may usually do
	NewWatch      func(dir string) RepositoryWatch                                                 // starts to watch a directory
	ExplainDenial func(output string) (what string, ok bool)                                       // guesses from the output of a confined program what was denied
}

// A SandboxPolicy restricts a program. Paths are absolute unless said; absent ones are skipped. With
// only Workspace set it is the strictest.
type SandboxPolicy struct {
	Workspace     string   // readable and writable; must neither be nor hold the home directory
	TempDir       string   // private temp directory, and the command's /tmp; "": created, and removed by cleanup
	ReadPaths     []string // further files and directories to read
	WritePaths    []string // further files and directories to read and write
	Directories   []string // further directories to read and write, in which what configures or runs programs for git, parley and the shell is read-only
	ReadOnly      []string // files and directories in Directories that are, too
	Protected     []string // files and directories that keep their content, relative to Workspace; absent ones stay absent
	Network       bool     // may open IP sockets, to anywhere; Unix sockets stay closed
	Env           []string // the whole environment; nothing of the caller's own is added but TMPDIR
	LongRunning   bool     // runs beside a user's own work, as a server does: only what configures new repositories is put back, and more is read-only
	QuarantineDir string   // keeps what was in the place of a protected path; "": the workspace's own in the cache directory

	Ready   <-chan struct{} `json:"-"` // no instruction of the command runs before it is closed; nil: it need not wait
	Notices io.Writer       `json:"-"` // receives what was undone, and warnings, from cleanup; nil: they go to the standard error of the command
}

// A Backend describes how the system can confine commands.
type Backend struct {
	Name    string   // "landlock+seccomp+pidns", "landlock+seccomp", "seatbelt"; "" if there is none
	ABI     int      // of Landlock; 0 without Landlock
	Details []string // further facts for the user, one each
	Reason  string   // why nothing is available, where Name is ""
}

// Available reports whether commands can be confined at all.
func (b Backend) Available() bool { return b.Name != "" }

// A RepositoryWatch detects new repositories in a directory while programs run. It is safe for
// concurrent use.
type RepositoryWatch interface {
	Accept()               // the current repositories are the user's
	QuarantineNew() string // moves what configures new ones to quarantine, and returns a notice; "" without any
}

// AwaitReady waits until the program may run.
func (p *SandboxPolicy) AwaitReady() {
	if p.Ready != nil {
		<-p.Ready
	}
}

// superviseWithoutHelper does as Supervise where there is no helper: nothing that could wait for
// p.Ready but itself, and only the first process does not outlive parley.
func superviseWithoutHelper(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.Workspace, p.Env
	Detach(cmd)
	p.AwaitReady()
	return cmd, nil, nil
}
