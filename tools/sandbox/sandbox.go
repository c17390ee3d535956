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
// Landlock and seccomp bind the command alone, so that the helper can. For a program that runs
// as long as the user works, the helper becomes the program where there are namespaces: the caller
// restores at its end, and one guard for each workspace if the caller dies.
//
// Existing protected paths are mounted read-only. Missing ones cannot be;
// they are moved away when the command has ended. Whether the user made one meanwhile is unknown, so
// nothing is deleted: new paths are moved to the quarantine directory, and reported. For a
// program that runs as long as the user works nothing is restored: git's directory is
// read-only for it as a whole, and its new files at the top of the workspace (.envrc,
// .mcp.json, .parley, where missing before) stay and are reported. Where namespaces are
// forbidden it cannot create anything at the top of the workspace. Only the configuration
// of new repositories is set aside, at its end or earlier by a [Watch].
//
// Everything is restored by renaming before anything is copied to quarantine: a
// command that leaves many files cannot delay the helper. Files too large to copy stay
// under their new names.
//
// In git the protected files are its hooks, wherever core.hooksPath puts them, its
// settings, and the files that locate these, in all repositories of the workspace. Files
// that git itself creates in a new repository (settings that run nothing, sample hooks)
// stay. Everything else is undone, also in repositories that the command has created
// anywhere in the workspace, bare or not. State of unfinished operations by which git
// starts programs (stateFiles) is undone if git does not write such content itself, such as
// a strategy that is a path. Otherwise it stays and is reported, such as a rebase with
// commands in it or attributes that name drivers. New content is recognized by comparison
// with the repositories and the text of these files before the command. The search for
// repositories goes 64 levels deep. Before a command it covers the first 2,000 directories.
// After it, it covers first those, then new ones, for a second; directories left out are
// reported. Directories beyond these 2,000 count as new only by the time of their last
// change. Farther away a command can leave a hook that runs once a user uses git there. The
// same is true of every program in the workspace. In a workspace that is a worktree, the
// repository elsewhere can be read, and with namespaces be committed to: its objects and
// branches can be changed, its configuration cannot, and changed state of unfinished
// operations is reported.
//
// No file gets a setuid or setgid bit.
//
// Still possible: the names, sizes and times of files elsewhere can be read (stat is not restricted
// by Landlock); a file made in memory or in the workspace can be executed, under the same
// restrictions. Where namespaces are forbidden, as in most containers, more is possible: mode,
// owner, times, extended attributes and flags of files of the same user can be changed anywhere,
// the command lines of other processes can be read, a protected path stays changed until the
// command has ended and is then restored, also if the user changed it, and before Linux 6.12 other
// processes of the same user can be sent signals.
package sandbox

import (
	"path/filepath"
	"strings"

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
	d.Policy = func(workspace string, env []string) Policy {
		return Policy{Workspace: workspace, Env: env, ReadPaths: ReadablePaths(env), Protected: Protected()}
	}
	d.NewWatch = func(dir string) process.RepositoryWatch { return NewWatch(dir) }
}

// A policy is a Policy with related facts from the disk.
type policy struct {
	Policy
	readOnlyFiles  []string // files in WritePaths that are read-only; needs namespaces
	outsideGitDirs []string // git directories in WritePaths, outside of the workspace
	readOnlyParts  []string // paths in Directories that are read-only; needs namespaces
	hidden         []string // files of denied programs; needs namespaces
	searchResult
}

// searchResult is the result of the search for repositories before a command.
type searchResult struct {
	searchedDirs   []string // directories searched
	layoutParts    []string // existing files that are part of gitDirLayout in directories that are not git directories
	searchComplete bool     // searchedDirs holds all directories
	searchedAt     int      // file time of the search, in nanoseconds since 1970; 0: no search
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
