// Package sandbox runs a command so that it can read the system, change the
// workspace and a private temp directory, and do nothing else: no home, no network,
// no sockets, no other process.
//
//	Command ──► the same program again, as the helper ──► the command
//	   │        namespaces · mounts                       Landlock · seccomp
//	   │        ends everything
//	   └──► journal, keeper: takes away what no command may make
//
// The helper, not the caller, outlives the command: when the caller dies, however
// that happens, the helper ends every process and does what is left of the keeper's work.
// Landlock and seccomp bind the command alone, not the helper. For a program that runs
// as long as the user works, the helper becomes the program where there are namespaces, and one
// guard for each workspace ends it if the caller dies.
//
// On Linux, what configures git or starts programs is protected: in git its hooks, wherever core.hooksPath
// puts them, its settings, and the files that locate these, in all repositories of the workspace;
// .envrc, .mcp.json and .parley at its top; what the policy names. Existing ones are mounted
// read-only. Missing ones cannot be; a keeper takes them away within milliseconds of their creation,
// by a list of the workspace's folders that follows each change (package folders). It does not know
// who made a file, so that nothing is deleted: what it takes is in the quarantine directory, and reported.
// Files that git itself creates in a new repository (settings that run nothing, sample hooks) stay, as
// long as they run nothing; so a repository that the user makes meanwhile stays as well. While a
// program runs that the user let run outside of the sandbox, everything stays. For programs that run as
// long as the user works, git's directory is read-only as a whole, and new files at the top of the
// workspace stay and are reported.
//
// State of unfinished operations by which git starts programs (stateFiles) is compared when a
// command ends. It is undone if git does not write such content itself, such as a strategy that is a
// path. Otherwise it stays and is reported, such as a rebase with commands in it or attributes that name
// drivers. In a workspace that is a worktree, the repository elsewhere can be read, and with
// namespaces be committed to: its objects and branches can be changed, its configuration cannot, and
// changed state of unfinished operations is reported.
//
// Before a command starts, the journal on disk says what was there. If parley and its helpers are
// killed together, the next parley takes away what the journal does not name.
//
// Folders more than 64 levels deep, and those beyond 200,000, are not examined; new ones are
// reported. Inside .git folders, only what configures git is examined.
//
// No file gets a setuid or setgid bit.
//
// Still possible: the names, sizes and times of files elsewhere can be read (stat is not restricted
// by Landlock); a file made in memory or in the workspace can be executed, under the same
// restrictions. Where namespaces are forbidden, as in most containers, more is possible: mode,
// owner, times, extended attributes and flags of files of the same user can be changed anywhere,
// the command lines of other processes can be read, a protected path that exists can be changed
// and is then put back, also if the user changed it, and before Linux 6.12 other
// processes of the same user can be sent signals.
package sandbox

import (
	"path/filepath"
	"strings"

	"parley/tools/folders"
	"parley/tools/process"
)

// Names from package process.
type (
	Policy  = process.SandboxPolicy
	Backend = process.Backend
)

// Register makes this package confine the programs of this process. In a process that was
// started as the helper it runs the helper and does not return: call it first in main.
func Register() {
	d := &process.Sandbox
	addHelper(d)
	d.Probe, d.Check, d.Command, d.GitRuns, d.ExplainDenial = Probe, check, Command, GitRuns, ExplainDenial
	d.Follow = func(workspace string) func() { return folders.Open(workspace).Close }
	d.Policy = func(workspace string, env []string) Policy {
		return Policy{Workspace: workspace, Env: env, ReadPaths: ReadablePaths(env), Protected: Protected()}
	}
}

// A policy is a Policy with related facts from the disk.
type policy struct {
	Policy
	readOnlyFiles  []string            // files in WritePaths that are read-only; needs namespaces
	outsideGitDirs []string            // git directories in WritePaths, outside of the workspace
	readOnlyParts  []string            // paths in Directories that are read-only; needs namespaces
	hidden         []string            // files of denied programs; needs namespaces
	inDirectories  map[string][]string // protected paths of Directories, relative to each
}

// Protected returns the paths that configure or run programs for parley, git and the shell,
// relative to the workspace. A policy with .git/config also protects the configuration of
// all repositories in the workspace, and their hooks wherever they are in it.
func Protected() []string {
	return append([]string{".parley", ".mcp.json", ".envrc"}, gitConfigPaths(".git")...)
}

// isWithin reports whether path is dir or below it; both are clean.
func isWithin(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}
