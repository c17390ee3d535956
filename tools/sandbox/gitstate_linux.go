package sandbox

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
	"parley/tools/openat"
)

// Besides its settings and hooks, git stores the state of unfinished operations in its
// directory, and some of it makes git start programs. Commands need to write there, so
// it cannot be read-only.

// stateFile describes a file of a git directory that can make git start programs.
type stateFile struct {
	name       string                                  // relative to the git directory; a final * stands for each file of a directory
	isHarmless func(k *keeper, file, text string) bool // reports whether a file with this text makes git start nothing
	restore    bool                                    // git itself only writes harmless text, so other text is undone; false: it stays and is reported
}

// stateFiles lists all state files, from the sources of git 2.17 to 2.51 and tried with git
// 2.39. The rest of a git directory names objects, references and text, and starts nothing:
// rebase-apply but for author-script, MERGE_*, BISECT_* but for BISECT_NAMES, autostash,
// rerere's directory, info but for attributes. Hooks, config, commondir, modules and
// worktrees are protected; see gitConfigPaths.
var stateFiles = []stateFile{
	// A line "exec COMMAND" goes to a shell. git rebase -x writes them.
	{name: "rebase-merge/git-rebase-todo", isHarmless: noMatch(`(?m)^[ \t]*(exec|x)[ \t]`)},
	// Git reads the same lines here, and refuses anything but picks and
	// reverts.
	{name: "sequencer/todo", isHarmless: noMatch(`(?m)^[ \t]*(exec|x)[ \t]`)},
	// Git runs git-merge-STRATEGY, from the work tree if there is a slash in it.
	{name: "rebase-merge/strategy", isHarmless: fullMatch(`(` + strategies + `)\r?\n?`), restore: true},
	// Git before 2.20 gives these to a shell.
	{name: "rebase-merge/strategy_opts", isHarmless: fullMatch(`([ \t\n]|'?--` + strategyOption + `'?)*`), restore: true},
	// The same two, as settings.
	{name: "sequencer/opts", isHarmless: harmlessOptions, restore: true},
	// Git before 2.20 puts each line into the environment of git commit, as GIT_EDITOR.
	{name: "rebase-merge/author-script", isHarmless: fullMatch(authorScript), restore: true},
	{name: "rebase-apply/author-script", isHarmless: fullMatch(authorScript), restore: true},
	// Arguments of git interpret-trailers: settings map its keys to programs.
	{name: "rebase-merge/trailer", isHarmless: fullMatch(``)},
	// Git before 2.36 gives this to a shell (git bisect visualize).
	{name: "BISECT_NAMES", isHarmless: fullMatch(`( ?'[^']*')*\n?`), restore: true},
	// Names drivers, for which settings name programs.
	{name: "info/attributes", isHarmless: noMatch(`(?m)^[^#\n].*[ \t\r](filter|diff|merge)=`)},
	// To fetch and push, git runs itself in the git directory named here, with the settings of that directory.
	{name: "objects/info/alternates", isHarmless: harmlessAlternates},
	// Remotes in the format before settings: helper::address runs git-remote-helper.
	{name: "remotes/*", isHarmless: noMatch(`::|(?m)^(URL:)?[ \t]*-`), restore: true},
	{name: "branches/*", isHarmless: noMatch(`::|(?m)^[ \t]*-`), restore: true},
}

const (
	strategies     = `ort|recursive|resolve|octopus|ours|subtree`
	strategyOption = `[A-Za-z-]+(=[A-Za-z0-9%._/-]*)?`
	authorScript   = `(GIT_AUTHOR_(NAME|EMAIL|DATE)='([^']|'\\['!]')*'\n?)*`
)

// noMatch returns a check that accepts text without a match.
func noMatch(expr string) func(*keeper, string, string) bool {
	re := lazy.NewRegexp(expr)
	return func(_ *keeper, _, text string) bool { return !re.MatchString(text) }
}

// fullMatch returns a check that accepts text that expr matches as a whole.
func fullMatch(expr string) func(*keeper, string, string) bool {
	re := lazy.NewRegexp(`^(?:` + expr + `)$`)
	return func(_ *keeper, _, text string) bool { return re.MatchString(text) }
}

var (
	strategyValue       = lazy.NewRegexp(`^(` + strategies + `)$`)
	strategyOptionValue = lazy.NewRegexp(`^` + strategyOption + `$`)
)

// harmlessOptions reports whether a cherry-pick or revert continues only with git's own
// strategies. The text must be as git writes it.
func harmlessOptions(_ *keeper, _, text string) bool {
	return allSettings(text, func(key, value string) bool {
		switch key {
		case "options.strategy":
			return strategyValue.MatchString(value)
		case "options.strategy-option":
			return strategyOptionValue.MatchString(value)
		}
		return strings.HasPrefix(key, "options.")
	})
}

// harmlessAlternates reports whether all object directories in a file belong to git
// directories in the workspace that were examined.
func harmlessAlternates(k *keeper, file, text string) bool {
	objects := path.Dir(path.Dir(file))
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(k.root.Name(), objects, line)
		}
		gitDir, err := filepath.Rel(k.root.Name(), filepath.Dir(line))
		if err != nil || filepath.Base(line) != "objects" || !k.staysInside(".", line) || !k.isGitDir(filepath.ToSlash(gitDir)) {
			return false
		}
	}
	return true
}

// fileState holds the state of a state file; the zero value is an absent one.
type fileState struct {
	Mode     fs.FileMode
	Text     string
	Identity string // identifies anything but a small regular file
}

// readState returns the state of a state file, or of a link in its path.
func (k *keeper) readState(gitDir, name string) (file string, is fileState) {
	at := gitDir
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		info, err := k.top.Stat(at)
		if err != nil {
			return at, fileState{}
		}
		is = fileState{Mode: info.Type | fs.FileMode(info.Permissions).Perm()}
		if is.Mode.IsDir() {
			continue
		}
		var ok bool
		if is.Text, ok = k.readSmall(at); !ok {
			is.Identity = fmt.Sprint(info.Size, info.Modified, info.Changed)
		}
		return at, is
	}
	is.Identity = "directory"
	return at, is
}

// expand returns the names in a git directory that match f.
func (f stateFile) expand(k *keeper, gitDir string) []string {
	dir, all := strings.CutSuffix(f.name, "/*")
	if !all {
		return []string{f.name}
	}
	if !k.mode(path.Join(gitDir, dir)).IsDir() {
		return []string{dir}
	}
	const most = 100
	list, err := k.names(path.Join(gitDir, dir), most+1)
	if err != nil || len(list) > most {
		return []string{dir}
	}
	for i := range list {
		list[i] = dir + "/" + list[i]
	}
	return list
}

// stateFiles returns the state files to examine. For a worktree, whose own git directory is
// outside, they include those of submodules.
func (k *keeper) stateFiles() []stateFile {
	if !k.isOutside {
		return stateFiles
	}
	return append(slices.Clone(stateFiles), stateFile{name: submodulesDir})
}

// saveState records the state files of a git directory before a command.
func (k *keeper) saveState(gitDir string) {
	own := map[string]fileState{}
	k.before.States[gitDir] = own
	if !k.exists(gitDir) {
		return
	}
	for _, f := range k.stateFiles() {
		for _, name := range f.expand(k, gitDir) {
			if file, is := k.readState(gitDir, name); is != (fileState{}) {
				own[file] = is
			}
		}
	}
}

// compareStates undoes or reports changes of the state files of git directories that could
// make git start programs.
func (k *keeper) compareStates(gitDirs []string, c *changes) {
	for _, gitDir := range gitDirs {
		before := k.before.States[gitDir]
		listed, err := list(k.top.Open(gitDir))
		for _, f := range k.stateFiles() {
			if top, _, _ := strings.Cut(f.name, "/"); err == nil && !openat.Has(listed, top) {
				continue
			}
			for _, name := range f.expand(k, gitDir) {
				file, now := k.readState(gitDir, name)
				was := before[file]
				if now == (fileState{}) || now == was {
					continue
				}
				readable := now.Identity == "" && file == path.Join(gitDir, name)
				switch {
				case readable && f.isHarmless != nil && f.isHarmless(k, file, now.Text):
				case readable && f.restore && !k.isOutside:
					c.note(file, k.putState(was, file))
				default:
					c.noteDangerous(k, file)
					if before == nil {
						before = map[string]fileState{}
						k.before.States[gitDir] = before
					}
					before[file] = now // it is told once
				}
			}
		}
	}
}

// noteDangerous records that a file names programs.
func (c *changes) noteDangerous(k *keeper, file string) {
	if k.isOutside {
		file = filepath.Join(k.root.Name(), file)
	}
	if !slices.Contains(c.dangerousFiles, file) {
		c.dangerousFiles = append(c.dangerousFiles, file)
	}
}

// putState makes a state file what it was.
func (k *keeper) putState(was fileState, file string) error {
	if k.exists(file) {
		if err := k.take(file); err != nil {
			return err
		}
	}
	if was == (fileState{}) || !was.Mode.IsRegular() || was.Identity != "" {
		return nil
	}
	return k.writeFile(saved{Mode: was.Mode, Data: []byte(was.Text)}, file)
}
