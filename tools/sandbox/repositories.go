package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/tools/folders"
	"parley/tools/lazy"
	"parley/tools/openat"
)

// maxInnerGitDirs bounds the git directories inside of a git directory; with more of them,
// that part is read-only as a whole.
const maxInnerGitDirs = 32

// gitConfigPaths returns the paths in a git directory that decide which programs git runs.
// Commondir says where the other files are; modules and worktrees contain git directories.
// Git renames a lock over all other files that it writes, so that only these can be
// read-only.
func gitConfigPaths(gitDir string) (all []string) {
	for _, name := range gitConfigNames {
		all = append(all, path.Join(gitDir, name))
	}
	return all
}

var gitConfigNames = []string{"hooks", "config", "config.worktree", "commondir", "worktrees", "modules"}

// protectRepositories adds to the protected paths those of all existing repositories, the
// topmost first, if git is protected at all.
func (p *policy) protectRepositories() error {
	if !slices.Contains(p.Protected, ".git/config") {
		return nil
	}
	root, err := os.OpenRoot(p.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	r := repositories{root: root, workspace: p.Workspace}
	for _, name := range p.Protected {
		r.protectInner(name)
	}
	err = r.find()
	p.Protected = r.protected
	return err
}

// find protects all repositories in the workspace.
func (r *repositories) find() error {
	list := folders.Open(r.workspace)
	defer list.Close()
	dirs, err := list.Holding(context.Background())
	for _, dir := range dirs {
		r.protectRepository(dir)
	}
	r.protectHooksPaths()
	return err
}

// parentDirs returns the directories above p, the topmost first.
func parentDirs(p string) []string {
	var dirs []string
	for i, r := range p {
		if r == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

// GitRuns reports whether git in the workspace runs file or reads its config from it, although its name does
// not show that: it is in a git directory with another name than .git, or would complete one, or
// core.hooksPath or an include of any repository leads to it. File is relative to the workspace, with slashes.
// Letter case is ignored, as on some file systems.
func GitRuns(workspace, file string) bool {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	r := repositories{root: root, workspace: workspace}
	for _, dir := range parentDirs(file) { // which the list may leave out
		r.protectRepository(dir)
	}
	if r.find() != nil {
		return true
	}
	isIn := func(p string) bool {
		return p != "." && len(file) >= len(p) && strings.EqualFold(file[:len(p)], p) && (len(file) == len(p) || file[len(p)] == '/')
	}
	return slices.ContainsFunc(r.gitDirs, isIn) || slices.ContainsFunc(r.protected, isIn) || r.completes(file)
}

// completes reports whether file would give its directory the layout of a git directory.
func (r *repositories) completes(file string) bool {
	parts := strings.Split(file, "/")
	for i, name := range parts {
		has := func(part string) bool {
			_, err := os.Lstat(filepath.Join(r.workspace, filepath.Join(parts[:i]...), part))
			return err == nil || strings.EqualFold(part, name)
		}
		isPart := slices.ContainsFunc(gitDirLayout, func(part string) bool { return strings.EqualFold(part, name) })
		if isPart && has("HEAD") && (has("objects") && has("refs") || has("commondir")) {
			return true
		}
	}
	return false
}

// withLinkTargets adds the targets of protected links, and of those in protected directories, if they are in the
// workspace.
func withLinkTargets(workspace string, protected []string) []string {
	all := slices.Clone(protected)
	add := func(link string) {
		inside, err := filepath.Rel(workspace, linkTarget(link, maxLinks))
		if name := filepath.ToSlash(inside); err == nil && filepath.IsLocal(inside) && inside != "." && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, name := range protected {
		add(filepath.Join(workspace, name))
		const most = 200                                        // hooks
		dir, err := os.OpenRoot(filepath.Join(workspace, name)) // which waits for no pipe
		if err != nil {
			continue
		}
		var entries []os.DirEntry
		if f, err := dir.Open("."); err == nil {
			entries, _ = f.ReadDir(most)
			f.Close()
		}
		dir.Close()
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				add(filepath.Join(workspace, name, e.Name()))
			}
		}
	}
	return all
}

// maxLinks bounds the links that are followed, as the kernel does.
const maxLinks = 40

// linkTarget returns the path that a path leads to, also if there is nothing yet.
func linkTarget(name string, most int) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(dir, filepath.Base(name))
	}
	to, err := os.Readlink(name)
	if err != nil || most == 0 {
		return name
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(name), to)
	}
	return linkTarget(to, most-1)
}

// repositories holds the repositories found.
type repositories struct {
	root         *os.Root
	workspace    string
	protected    []string        // relative to the workspace, with slashes
	missing      map[string]bool // those of protected that no git directory has
	covered      map[string]bool
	gitDirs      []string // git directories
	knownGitDirs map[string]bool
	bareDirs     map[string]bool // git directories without .git, such as bare repositories
	layoutParts  []string        // existing parts of gitDirLayout in directories that are not git directories
	workTrees    []string        // directories that have a .git
}

// protectRepository protects the repository at or in dir, if any.
func (r *repositories) protectRepository(dir string) {
	// Not through root, which is far slower: only names can leak.
	at := filepath.Join(r.workspace, dir)
	if r.hasGitDirLayout(at) && !r.knownGitDirs[dir] {
		r.protectGitDir(dir)
		if r.bareDirs == nil {
			r.bareDirs = map[string]bool{}
		}
		r.bareDirs[dir] = true
	}
	name := path.Join(dir, ".git")
	info, err := os.Lstat(at + "/.git")
	if err != nil {
		return
	}
	switch {
	case info.IsDir():
		r.protectGitDir(name)
	case info.Mode().IsRegular():
		r.protect(name)
		if to, ok := strings.CutPrefix(r.readLine(name), "gitdir:"); ok {
			r.protectLinked(dir, strings.TrimSpace(to))
		}
	case info.Mode()&os.ModeSymlink != 0:
		r.protect(name)
		r.protectLinked(dir, ".git")
	default:
		return
	}
	r.workTrees = append(r.workTrees, dir)
}

// gitDirLayout holds the files by which git recognizes a git directory: HEAD, and two others
// in it or in the common directory. Any may be a link: git follows links.
var gitDirLayout = []string{"HEAD", "objects", "refs", "commondir"}

// hasGitDirLayout reports whether the directory at is laid out as a git directory.
func (r *repositories) hasGitDirLayout(at string) bool {
	has := func(name string) bool { _, err := os.Lstat(at + "/" + name); return err == nil }
	if !has("HEAD") {
		return false
	}
	if has("objects") && has("refs") || has("commondir") {
		return true
	}
	for _, name := range gitDirLayout {
		if inside, err := filepath.Rel(r.workspace, at); err == nil && has(name) {
			r.layoutParts = append(r.layoutParts, path.Join(filepath.ToSlash(inside), name))
		}
	}
	return false
}

// protectLinked protects the git directory at path, relative to dir, if it is in the
// workspace.
func (r *repositories) protectLinked(dir, path string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workspace, dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	if inside, err := filepath.Rel(r.workspace, real); err == nil && filepath.IsLocal(inside) {
		r.protectGitDir(filepath.ToSlash(inside))
	}
}

func (r *repositories) protectGitDir(gitDir string) {
	if r.knownGitDirs[gitDir] {
		return
	}
	if r.knownGitDirs == nil {
		r.knownGitDirs, r.missing = map[string]bool{}, map[string]bool{}
	}
	r.knownGitDirs[gitDir] = true
	r.gitDirs = append(r.gitDirs, gitDir)
	listed, err := list(openat.OpenPath(filepath.Join(r.workspace, gitDir)))
	for _, name := range gitConfigNames {
		if p := path.Join(gitDir, name); err != nil || openat.Has(listed, name) {
			r.protectInner(p)
		} else {
			r.protect(p)
			r.missing[p] = true
		}
	}
	if common := path.Join(gitDir, "commondir"); !r.missing[common] {
		if to := r.readLine(common); to != "" {
			r.protectLinked(gitDir, to)
		}
	}
}

// list returns the entries of an opened directory, which it closes.
func list(d openat.Dir, err error) ([]openat.Entry, error) {
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Entries(nil, 0)
}

// protectInner protects a path of a git directory. Git directories inside of it, which a
// commit writes to, keep only their configuration protected, if they are few.
func (r *repositories) protectInner(name string) {
	var all []string
	few := false
	switch path.Base(name) {
	case "worktrees":
		all, few = r.gitDirsIn(name, 1)
	case "modules": // names of submodules may contain slashes
		all, few = r.gitDirsIn(name, 3)
	}
	if !few || len(all) == 0 {
		r.protect(name)
		return
	}
	for _, gitDir := range all {
		r.protectGitDir(gitDir)
	}
}

// gitDirsIn returns the git directories in dir, at most depth levels deep. Few reports
// whether dir contains nothing else.
func (r *repositories) gitDirsIn(dir string, depth int) (all []string, few bool) {
	entries, err := os.ReadDir(filepath.Join(r.workspace, dir))
	if err != nil || len(entries) > maxInnerGitDirs {
		return nil, false
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if !e.IsDir() {
			return nil, false
		}
		if info, err := r.root.Lstat(path.Join(name, "HEAD")); err == nil && info.Mode().IsRegular() {
			all = append(all, name)
			continue
		}
		if depth == 1 {
			return nil, false
		}
		below, few := r.gitDirsIn(name, depth-1)
		if !few {
			return nil, false
		}
		all = append(all, below...)
	}
	return all, len(all) <= maxInnerGitDirs
}

// protect adds name unless it, or a directory above it, is protected already.
func (r *repositories) protect(name string) {
	if r.covered == nil {
		r.covered = map[string]bool{}
		for _, p := range r.protected {
			r.covered[p] = true
		}
	}
	if r.covered[name] || slices.ContainsFunc(parentDirs(name), func(dir string) bool { return r.covered[dir] }) {
		return
	}
	r.covered[name] = true
	r.protected = append(r.protected, name)
}

// maxHookSettings bounds the settings read from one file.
const maxHookSettings = 200

// hookPathSetting matches a setting that names git's hooks directory or another config file.
// It may follow its section on the same line.
var hookPathSetting = lazy.NewRegexp(`(?im)^[ \t]*(?:\[[^\]\n]*\][ \t]*)?(hookspath|path)[ \t]*=[ \t]*([^\r\n]*)`)

// protectHooksPaths protects the hooks that core.hooksPath names, if they are in the
// workspace: in the config of a repository, of the user, and of the files that these
// include.
func (r *repositories) protectHooksPaths() {
	home, _ := os.UserHomeDir()
	files := []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config")}
	for _, gitDir := range r.gitDirs {
		for _, name := range []string{"config", "config.worktree"} {
			files = append(files, filepath.Join(r.workspace, gitDir, name))
		}
	}
	const most = 100 // files of settings
	for i := 0; i < len(files) && i < most; i++ {
		for _, found := range hookPathSetting.FindAllStringSubmatch(readConfig(files[i]), maxHookSettings) {
			to := settingValue(found[2])
			if rest, ok := strings.CutPrefix(to, "~/"); ok {
				to = filepath.Join(home, rest)
			}
			switch {
			case to == "":
			case strings.EqualFold(found[1], "path"): // of include and includeIf; other settings named path are harmless
				if !filepath.IsAbs(to) {
					to = filepath.Join(filepath.Dir(files[i]), to)
				}
				if !slices.Contains(files, to) {
					files = append(files, to)
					r.protectAbsolute(to)
				}
			case filepath.IsAbs(to):
				r.protectAbsolute(to)
			default: // relative to the work tree
				for _, tree := range r.workTrees {
					if r.holdsFor(files[i], tree) {
						r.protectAbsolute(filepath.Join(r.workspace, tree, to))
					}
				}
			}
		}
	}
}

// settingValue returns a value of git's config without its quotes and the comment after it.
func settingValue(text string) string {
	var value strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			value.WriteByte(text[i])
		case !quoted && (c == ';' || c == '#'):
			return strings.TrimSpace(value.String())
		default:
			value.WriteByte(c)
		}
	}
	return strings.TrimSpace(value.String())
}

// holdsFor reports whether a settings file may apply to a work tree: the file of another git directory does not
// apply to a work tree with its own.
func (r *repositories) holdsFor(file, tree string) bool {
	own := filepath.Join(r.workspace, tree, ".git")
	gitDir := filepath.Dir(file)
	return filepath.Base(gitDir) != ".git" || gitDir == own || !r.knownGitDirs[path.Join(tree, ".git")]
}

// protectAbsolute protects an absolute path, if it is in the workspace. For husky's hooks
// directory _ it protects the one above, whose hooks those run.
func (r *repositories) protectAbsolute(name string) {
	if filepath.Base(name) == "_" {
		name = filepath.Dir(name)
	}
	if inside, err := filepath.Rel(r.workspace, name); err == nil && filepath.IsLocal(inside) && inside != "." {
		r.protect(filepath.ToSlash(inside))
	}
}

// maxConfigBytes is how much of a config file is read.
const maxConfigBytes = 64 << 10

// readConfig returns the text of a config file; "" if it is not a regular file.
func readConfig(file string) string {
	f, err := os.OpenFile(file, openNoWait, 0)
	if err != nil {
		return ""
	}
	text, _ := readOpen(f, maxConfigBytes)
	return string(text)
}

// readLine returns the only line of a file; "" if it is not a regular file.
func (r *repositories) readLine(name string) string {
	const most = 8 << 10
	text, _ := readRegular(r.root, name, most)
	return strings.TrimSpace(string(text))
}

// openNoWait opens a file for reading, and does not wait for a pipe.
const openNoWait = os.O_RDONLY | syscall.O_NONBLOCK

var errNotSmall = errors.New("not a regular file, or too large")

// readRegular returns the content of a regular file of at most most bytes, that is no link. A command may put
// something else in its place at any time.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errNotSmall, err)
	}
	f, err := root.OpenFile(name, openNoWait, 0)
	if err != nil {
		return nil, err
	}
	text, whole := readOpen(f, most)
	if !whole {
		return nil, errNotSmall
	}
	return text, nil
}

// readOpen reads at most most bytes of an open file, and closes it. Whole is false if it is longer, or no regular file.
func readOpen(f *os.File, most int64) (text []byte, whole bool) {
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || int64(len(text)) <= most {
		return text, err == nil
	}
	return text[:most], false
}
