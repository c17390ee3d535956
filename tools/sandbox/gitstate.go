package sandbox

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// Besides its settings and hooks, git stores the state of unfinished operations in its
// directory, and some of it makes git start programs. Commands need to write there, so
// it cannot be read-only.

// stateFile describes a file of a git directory that can make git start programs.
type stateFile struct {
	name       string                                    // relative to the git directory; a final * stands for each file of a directory
	isHarmless func(s *snapshot, file, text string) bool // reports whether a file with this text makes git start nothing
	restore    bool                                      // git itself only writes harmless text, so other text is undone; false: it stays and is reported
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
func noMatch(expr string) func(*snapshot, string, string) bool {
	re := lazy.NewRegexp(expr)
	return func(_ *snapshot, _, text string) bool { return !re.MatchString(text) }
}

// fullMatch returns a check that accepts text that expr matches as a whole.
func fullMatch(expr string) func(*snapshot, string, string) bool {
	re := lazy.NewRegexp(`^(?:` + expr + `)$`)
	return func(_ *snapshot, _, text string) bool { return re.MatchString(text) }
}

var (
	strategyValue       = lazy.NewRegexp(`^(` + strategies + `)$`)
	strategyOptionValue = lazy.NewRegexp(`^` + strategyOption + `$`)
)

// harmlessOptions reports whether a cherry-pick or revert continues only with git's own
// strategies. The text must be as git writes it.
func harmlessOptions(_ *snapshot, _, text string) bool {
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
func harmlessAlternates(s *snapshot, file, text string) bool {
	objects := path.Dir(path.Dir(file))
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(s.root.Name(), objects, line)
		}
		gitDir, err := filepath.Rel(s.root.Name(), filepath.Dir(line))
		if err != nil || filepath.Base(line) != "objects" || !s.staysInside(".", line) || !s.isGitDir(filepath.ToSlash(gitDir)) {
			return false
		}
	}
	return true
}

// fileState holds the state of a state file; the zero value is an absent one.
type fileState struct {
	mode     fs.FileMode
	text     string
	identity string // identifies anything but a small regular file
}

// readState returns the state of a state file, or of a link in its path.
func (s *snapshot) readState(gitDir, name string) (file string, is fileState) {
	at := gitDir
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		info, err := s.root.Lstat(at)
		if err != nil {
			return at, fileState{}
		}
		is = fileState{mode: info.Mode()}
		if info.IsDir() {
			continue
		}
		var ok bool
		if is.text, ok = s.readSmall(at); !ok {
			is.identity = fmt.Sprint(info.Size(), changeTime(info).UnixNano())
		}
		return at, is
	}
	is.identity = "directory"
	return at, is
}

// expand returns the names in a git directory that match f.
func (f stateFile) expand(s *snapshot, gitDir string) []string {
	dir, all := strings.CutSuffix(f.name, "/*")
	if !all {
		return []string{f.name}
	}
	if !s.mode(path.Join(gitDir, dir)).IsDir() {
		return []string{dir}
	}
	const most = 100
	list, err := s.listNames(path.Join(gitDir, dir), most+1)
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
func (s *snapshot) stateFiles() []stateFile {
	if !s.isOutside {
		return stateFiles
	}
	return append(slices.Clone(stateFiles), stateFile{name: submodulesDir})
}

// saveState records the state files of a git directory before a command.
func (s *snapshot) saveState(gitDir string) {
	if s.states == nil {
		s.states = map[string]map[string]fileState{}
	}
	own := map[string]fileState{}
	s.states[gitDir] = own
	if _, err := s.root.Lstat(gitDir); err != nil {
		return
	}
	for _, f := range s.stateFiles() {
		for _, name := range f.expand(s, gitDir) {
			if file, is := s.readState(gitDir, name); is != (fileState{}) {
				own[file] = is
			}
		}
	}
}

// compareStates undoes or reports changes of the state files of git directories that could
// make git start programs.
func (s *snapshot) compareStates(gitDirs []string, c *changes) {
	for _, gitDir := range gitDirs {
		before, known := s.states[gitDir]
		for _, f := range s.stateFiles() {
			for _, name := range f.expand(s, gitDir) {
				file, now := s.readState(gitDir, name)
				was := before[file]
				if now == (fileState{}) || now == was || !known && !s.isNew(file) {
					continue
				}
				readable := now.identity == "" && file == path.Join(gitDir, name)
				switch {
				case readable && f.isHarmless != nil && f.isHarmless(s, file, now.text):
				case readable && f.restore && !s.isOutside:
					c.note(file, s.restoreNode(was.toNode(), file))
				default:
					c.noteDangerous(s, file)
				}
			}
		}
	}
}

// noteDangerous records that a file names programs.
func (c *changes) noteDangerous(s *snapshot, file string) {
	if s.isOutside {
		file = filepath.Join(s.root.Name(), file)
	}
	if !slices.Contains(c.dangerousFiles, file) {
		c.dangerousFiles = append(c.dangerousFiles, file)
	}
}

// toNode returns the node to restore.
func (f fileState) toNode() node {
	if !f.mode.IsRegular() || f.identity != "" || f == (fileState{}) {
		return node{absent: true}
	}
	return node{mode: f.mode, data: []byte(f.text), size: int64(len(f.text))}
}
