package process

import (
	"io"
	"os/exec"
)

// Sandbox confines the programs of this process; package sandbox sets it before any program starts.
// The default confines nothing, and each command needs approval.
var Sandbox = SandboxDriver{
	Probe:     func() Backend { return Backend{Reason: "this program has none"} },
	Check:     func(SandboxPolicy, func(string) string) error { return nil },
	Supervise: superviseWithoutHelper,
	GitRuns:   func(_, _ string) bool { return true },
	Trust:     func() func() { return func() {} },
	Accept:    func(string) {},
	Finish:    func(string) string { return "" },
}

// A SandboxDriver confines programs on this system. The last fields are nil if Probe finds
// no sandbox. Cleanup functions end the program and release its resources. They are always called,
// and if called before the program's end, once more after it; nil if there is nothing to release.
type SandboxDriver struct {
	Probe     func() Backend                                                                   // returns the available sandbox
	Check     func(p SandboxPolicy, problem func(dir string) string) error                     // returns why p restricts nothing; problem says why a directory is not used as a workspace
	Supervise func(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) // prepares an unconfined program with p's Workspace, Env and Ready; with a helper, no process outlives parley
	GitRuns   func(workspace, file string) bool                                                // reports whether git runs file or reads its settings from it; true if unknown
	Trust     func() (release func())                                                          // accepts what appears in workspaces until release, because an unconfined program runs that the user approved
	Accept    func(file string)                                                                // accepts a file that parley itself is about to make
	Finish    func(workspace string) (notice string)                                           // takes away what commands left there that were killed together with their parley

	Command       func(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) // prepares a confined program
	Hides         func(program string) bool                                                        // reports whether a policy that denies a program hides all its files; nil: never
	Policy        func(workspace string, env []string) SandboxPolicy                               // returns the usual policy of a command in a workspace
	Follow        func(workspace string) (stop func())                                             // keeps a list of the workspace's folders, so that commands need not walk it
	ExplainDenial func(output string) (what string, ok bool)                                       // guesses from a confined program's output which access was denied
}

// A SandboxPolicy restricts a program. Paths are absolute unless noted; missing ones are skipped.
// With only Workspace set it is strictest.
type SandboxPolicy struct {
	Workspace   string   // readable and writable; must not be or contain the home directory
	TempDir     string   // private temp directory, and the command's /tmp; "": created, and removed by cleanup
	ReadPaths   []string // more files and directories to read
	WritePaths  []string // more files and directories to read and write
	Directories []string // more directories to read and write, in which files that configure or run programs for git, parley and the shell are read-only
	ReadOnly    []string // more read-only files and directories in Directories
	Protected   []string // files and directories whose content is preserved, relative to Workspace; missing ones stay missing
	Denied      []string // names of programs whose files in the system's directories and on the search path cannot be opened; needs namespaces
	Network     bool     // may open IP sockets to any address; Unix sockets stay closed
	Env         []string // the whole environment, to which only TMPDIR is added
	LongRunning bool     // runs alongside the user's own work, like a server: of what it makes only the configuration of new repositories is taken away, and more is read-only

	Ready   <-chan struct{} `json:"-"` // the command executes no instruction before it is closed; nil: no wait
	Notices io.Writer       `json:"-"` // receives reports of undone changes and warnings at once; nil: the command's standard error does, after its end
}

// A Backend describes the system's sandbox.
type Backend struct {
	Name    string   // "landlock+seccomp+pidns", "landlock+seccomp", "seatbelt"; "" if there is none
	ABI     int      // of Landlock; 0 without Landlock
	Details []string // more facts for the user, one each
	Reason  string   // why no sandbox is available, if Name is ""
	Weak    string   // what it lacks, such as "no namespaces", so that each command asks; "" for nothing
}

// Available reports whether commands can be confined.
func (b Backend) Available() bool { return b.Name != "" }

// AwaitReady waits until the program may run.
func (p *SandboxPolicy) AwaitReady() {
	if p.Ready != nil {
		<-p.Ready
	}
}

// superviseWithoutHelper is Supervise without a helper: it waits for p.Ready itself, and only
// the first process is sure to end with parley.
func superviseWithoutHelper(p SandboxPolicy, argv ...string) (cmd *exec.Cmd, cleanup func(), err error) {
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = p.Workspace, p.Env
	Detach(cmd)
	p.AwaitReady()
	return cmd, nil, nil
}
