package sandbox

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Beside its settings and hooks git keeps in its directory what it goes on with later,
// and starts programs by some of that. Commands need to write there, so that it
// cannot be read-only.

// A stateFile is a file of a git directory that git starts programs by.
type stateFile struct {
	name   string                                    // in the git directory; * at the end is each file of a directory
	plain  func(s *snapshot, file, text string) bool // reports whether git starts nothing by a file with this text
	undone bool                                      // git writes nothing else by itself: what is not plain is undone; else it stays and is told
}

// stateFiles are all of them, read out of the sources of git 2.17 to 2.51 and tried
// with git 2.39. What else is in a git directory names objects, references and text,
// and starts nothing: rebase-apply but for author-script, MERGE_*, BISECT_* but for
// BISECT_NAMES, autostash, rerere's directory, info but for attributes. Hooks, settings,
// commondir, modules and worktrees are protected; see configures.
var stateFiles = []stateFile{
	// A line "exec COMMAND" goes to a shell. git rebase -x writes them.
	{name: "rebase-merge/git-rebase-todo", plain: without(`(?m)^[ \t]*(exec|x)[ \t]`)},
	// Git reads the same lines here, and refuses what is no pick and no revert.
	{name: "sequencer/todo", plain: without(`(?m)^[ \t]*(exec|x)[ \t]`)},
	// Git runs git-merge-STRATEGY, from the work tree if there is a slash in it.
	{name: "rebase-merge/strategy", plain: only(`(` + strategies + `)\r?\n?`), undone: true},
	// Git before 2.20 gives these to a shell.
	{name: "rebase-merge/strategy_opts", plain: only(`([ \t\n]|'?--` + strategyOption + `'?)*`), undone: true},
	// The same two, as settings.
	{name: "sequencer/opts", plain: plainOptions, undone: true},
	// Git before 2.20 puts each line into the environment of git commit, as GIT_EDITOR.
	{name: "rebase-merge/author-script", plain: only(author), undone: true},
	{name: "rebase-apply/author-script", plain: only(author), undone: true},
	// Arguments of git interpret-trailers: settings say which program makes one of a key.
	{name: "rebase-merge/trailer", plain: only(``)},
	// Git before 2.36 gives this to a shell (git bisect visualize).
	{name: "BISECT_NAMES", plain: only(`( ?'[^']*')*\n?`), undone: true},
	// Names drivers, which settings make programs of.
	{name: "info/attributes", plain: without(`(?m)^[^#\n].*[ \t\r](filter|diff|merge)=`)},
	// To fetch and push, git runs itself in the git directory that this leads to, by its settings.
	{name: "objects/info/alternates", plain: plainAlternates},
	// Remotes as they were before there were settings for them: helper::address runs git-remote-helper.
	{name: "remotes/*", plain: without(`::|(?m)^(URL:)?[ \t]*-`), undone: true},
	{name: "branches/*", plain: without(`::|(?m)^[ \t]*-`), undone: true},
}

const (
	strategies     = `ort|recursive|resolve|octopus|ours|subtree`
	strategyOption = `[A-Za-z-]+(=[A-Za-z0-9%._/-]*)?`
	author         = `(GIT_AUTHOR_(NAME|EMAIL|DATE)='([^']|'\\['!]')*'\n?)*`
)

// compiled is a regular expression once it is needed: the helper, which starts with
// each command, hardly ever does.
func compiled(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// without takes text for plain that the expression does not match.
func without(expr string) func(*snapshot, string, string) bool {
	re := compiled(expr)
	return func(_ *snapshot, _, text string) bool { return !re().MatchString(text) }
}

// only takes text for plain that the expression matches as a whole.
func only(expr string) func(*snapshot, string, string) bool {
	re := compiled(`^(?:` + expr + `)$`)
	return func(_ *snapshot, _, text string) bool { return re().MatchString(text) }
}

var (
	strategy        = compiled(`^(` + strategies + `)$`)
	strategyOptions = compiled(`^` + strategyOption + `$`)
)

// plainOptions reports whether a cherry-pick or revert goes on with nothing but
// strategies of git's own. It is read as git writes it.
func plainOptions(_ *snapshot, _, text string) bool {
	return written(text, func(key, value string) bool {
		switch key {
		case "options.strategy":
			return strategy().MatchString(value)
		case "options.strategy-option":
			return strategyOptions().MatchString(value)
		}
		return strings.HasPrefix(key, "options.")
	})
}

// plainAlternates reports whether all directories of objects that a file names are of
// git directories in the workspace that were looked at.
func plainAlternates(s *snapshot, file, text string) bool {
	objects := path.Dir(path.Dir(file))
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(s.root.Name(), objects, line)
		}
		gitFolder, err := filepath.Rel(s.root.Name(), filepath.Dir(line))
		if err != nil || filepath.Base(line) != "objects" || !s.inside(".", line) || !s.ofGit(filepath.ToSlash(gitFolder)) {
			return false
		}
	}
	return true
}

// A fileState is what is known of a state file; the zero value is none.
type fileState struct {
	mode  fs.FileMode
	text  string
	other string // tells a state from others where text is not read: no small regular file
}

// state looks at a state file, or at the link that is on the way to it.
func (s *snapshot) state(gitFolder, name string) (file string, is fileState) {
	at := gitFolder
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
		if is.text, ok = s.text(at); !ok {
			is.other = fmt.Sprint(info.Size(), changedAt(info).UnixNano())
		}
		return at, is
	}
	is.other = "folder"
	return at, is
}

// names are the files of a git directory that f is.
func (f stateFile) names(s *snapshot, gitFolder string) []string {
	dir, all := strings.CutSuffix(f.name, "/*")
	if !all {
		return []string{f.name}
	}
	if !s.mode(path.Join(gitFolder, dir)).IsDir() {
		return []string{dir}
	}
	const most = 100
	list, err := s.list(path.Join(gitFolder, dir), most+1)
	if err != nil || len(list) > most {
		return []string{dir}
	}
	for i := range list {
		list[i] = dir + "/" + list[i]
	}
	return list
}

// files are those that are looked at: in a worktree's own git directory, which is
// elsewhere, the submodules as well.
func (s *snapshot) files() []stateFile {
	if !s.elsewhere {
		return stateFiles
	}
	return append(slices.Clone(stateFiles), stateFile{name: submodules})
}

// remember keeps what the state files of a git directory are before a command.
func (s *snapshot) remember(gitFolder string) {
	if s.states == nil {
		s.states = map[string]map[string]fileState{}
	}
	own := map[string]fileState{}
	s.states[gitFolder] = own
	if _, err := s.root.Lstat(gitFolder); err != nil {
		return
	}
	for _, f := range s.files() {
		for _, name := range f.names(s, gitFolder) {
			if file, is := s.state(gitFolder, name); is != (fileState{}) {
				own[file] = is
			}
		}
	}
}

// compareStates undoes or tells what has become of the state files of git directories,
// if git could start programs by it now.
func (s *snapshot) compareStates(gitFolders []string, c *changes) {
	for _, gitFolder := range gitFolders {
		before, known := s.states[gitFolder]
		for _, f := range s.files() {
			for _, name := range f.names(s, gitFolder) {
				file, now := s.state(gitFolder, name)
				was := before[file]
				if now == (fileState{}) || now == was || !known && !s.fresh(file) {
					continue
				}
				readable := now.other == "" && file == path.Join(gitFolder, name)
				switch {
				case readable && f.plain != nil && f.plain(s, file, now.text):
				case readable && f.undone && !s.elsewhere:
					c.note(file, s.mend(was.node(), file))
				default:
					c.tell(s, file)
				}
			}
		}
	}
}

// tell notes that a file names programs.
func (c *changes) tell(s *snapshot, file string) {
	if s.elsewhere {
		file = filepath.Join(s.root.Name(), file)
	}
	if !slices.Contains(c.armed, file) {
		c.armed = append(c.armed, file)
	}
}

// node is what a state file is to be again.
func (f fileState) node() node {
	if !f.mode.IsRegular() || f.other != "" || f == (fileState{}) {
		return node{absent: true}
	}
	return node{mode: f.mode, data: []byte(f.text), size: int64(len(f.text))}
}
