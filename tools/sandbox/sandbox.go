// Package sandbox runs a command so that it can read the system, change the
// workspace and a private temp directory, and do nothing else: no home, no network,
// no sockets, no other process.
//
//	Command ──► the same program again, as the helper ──► the command
//	            namespaces · mounts · snapshot           Landlock · seccomp
//	            ends everything, restores what is protected ◄──── exits
//
// The helper, not the caller, outlives the command: when the caller dies, however
// that happens, the helper ends every process and restores the protected paths.
// Landlock and seccomp bind the command alone, so that the helper can.
//
// Existing protected paths are mounted read-only; absent ones cannot
// be, and go when the command has ended. Whether the user made one meanwhile is unknown, so
// nothing is deleted: it is moved to the quarantine directory, and that is reported. For a
// program that lasts as long as a user works nothing is put back: git's directory
// is read-only for it as a whole, and what it makes at the top of the workspace
// (.envrc, .mcp.json, .parley, where they are absent) stays, and is said. Where
// namespaces are forbidden it can make nothing at the top of the workspace. Only
// what configures a repository that has appeared is set aside at its end, or by a
// [Watch] before that.
//
// All is put back by renaming, before anything is copied to quarantine: a command that
// leaves much cannot make the helper late. What is too much to copy stays by its
// other name.
//
// Of git that is: its hooks, wherever core.hooksPath says they are, its settings,
// and what says where these are, in all repositories of the workspace. What git
// itself makes in a new one (settings that run nothing, hooks that are samples)
// stays; all else is undone, also in repositories that the command has made
// anywhere in the workspace, bare or not. What git goes on with and starts programs
// by (stateFiles) is undone where git does not write such things itself, as a
// strategy that is a path; else it stays, and is said, as a rebase with commands in
// it or attributes that name drivers. What is new is told by comparing: with the
// repositories and the text of these files as they were. Repositories
// are looked for 64 levels deep, before a command in the first 2,000 directories, and
// after it first in those, then in what is new, for a second; if that is not enough,
// the directories left out are reported. Of directories beyond these 2,000 only the time of
// their last change tells whether they are new. Further away a command can leave a
// hook that runs once a user uses git in there. The same is true of every program in the
// workspace. In a workspace that is
// a worktree, the repository elsewhere can be read, and with namespaces be committed
// to: its objects and branches can be changed, what configures it cannot, and what
// git goes on with there is said.
//
// No file gets a setuid or setgid bit.
//
// Still possible, and where: the names, sizes and times of files elsewhere
// can be read (stat is not restricted by Landlock); a file made in memory or in
// the workspace can be executed, under the same restrictions. Where namespaces
// are forbidden, as in most containers, also: mode, owner, times, extended attributes
// and flags of files of the same user can be changed anywhere, the command lines of other processes
// can be read, a protected path is changed until the command has ended and then
// put back, also if the user changed it, and before Linux 6.12 other processes of the same
// user can be sent signals.
package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"parley/tools/process"
)

// The vocabulary of programs that confine others.
type (
	Policy  = process.SandboxPolicy
	Backend = process.Backend
)

// Register has the programs of this process confined here. In a process that was started as the
// helper it runs that, and does not return: call it first in main.
func Register() {
	d := &process.Sandbox
	addHelper(d)
	d.Probe, d.Check, d.Command, d.GitRuns, d.ExplainDenial = Probe, check, Command, GitRuns, ExplainDenial
	d.Policy = func(workspace string, env []string) Policy {
		return Policy{Workspace: workspace, Env: env, ReadPaths: ReadablePaths(env), Protected: Protected()}
	}
	d.NewWatch = func(dir string) process.RepositoryWatch { return NewWatch(dir) }
}

// A policy is a Policy with what was found on the disk for it.
type policy struct {
	Policy
	readOnlyFiles  []string // files in WritePaths that are read-only; needs namespaces
	outsideGitDirs []string // git directories in WritePaths, outside of the workspace
	readOnlyParts  []string // paths in Directories that are read-only; needs namespaces
	searchResult
}

// searchResult holds what the search for repositories before a command found.
type searchResult struct {
	searchedDirs   []string // directories that were searched
	layoutParts    []string // existing files that are part of gitDirLayout in directories that are no git directories
	searchComplete bool     // searchedDirs holds all directories
	searchedAt     int      // file time of the search, in nanoseconds since 1970; 0: it was not made
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

// makeTempDir creates a private temp directory, unless the policy names one.
func makeTempDir(p *policy) (remove func(), err error) {
	if p.TempDir != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "parley-sandbox-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	p.TempDir = dir
	return func() { _ = os.RemoveAll(dir) }, nil
}
