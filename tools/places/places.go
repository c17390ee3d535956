// Package places knows the files and directories of a machine that do not
// belong to any project: those with credentials, those that start programs at
// login, and the directories that cannot be a workspace.
//
//	New ──► *Table ──► Of(file)         class and reason of one file
//	                   Directory(dir)   why a directory is no workspace
//	                   Within(dir)      what a workspace holds of the table
//	OpenParent         the directory of a path as it was matched, without links
//
// A path is matched after its links were resolved, component by component,
// ignoring letter case. Links in a home directory are also known by their targets,
// so that a repository of dotfiles counts as part of the home directory. The
// package reads no files, only metadata.
package places

import (
	"maps"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Class is the reason for which a place is sensitive. Permission rules use it as
// the name for all files of the class.
type Class string

// The classes.
const (
	Credentials Class = "credentials" // contains keys, passwords or tokens
	Startup     Class = "startup"     // starts programs at login or with a shell
)

// Classes are all classes.
var Classes = []Class{Credentials, Startup}

// A Place is a sensitive file or directory; the zero value is none.
type Place struct {
	Class  Class
	Reason string // completes a sentence: "contains SSH keys"
}

// A Table holds the places of this machine and user. It is immutable, and safe for
// concurrent use.
type Table struct {
	homes     [][]string         // own home directories, folded components
	home      string             // the home directory as given; "" if there is none
	anywhere  map[string][]entry // by first component: matched below any directory
	inHome    map[string][]entry // by first component: matched in a home directory
	absolute  []absolute         // targets of links and variables, and the caller's files
	relocated []string           // native paths of absolute, for Within
	last      map[string]bool    // last components of all places
}

type absolute struct {
	path []string // folded components
	Place
}

// New returns the table for the environment of this process. More are absolute
// paths of further files or directories with credentials; "" is ignored.
func New(getenv func(string) string, more ...string) *Table {
	t := &Table{}
	t.anywhere, t.inHome = indexed()
	t.last = map[string]bool{}
	for _, e := range entries {
		t.last[fold(path.Base(e.path))] = true
	}
	for _, e := range systemEntries {
		t.add(filepath.FromSlash(e.path), e.Place)
	}
	r := resolver{}
	for _, home := range homes(getenv) {
		if t.home == "" {
			t.home = home
		}
		t.homes = append(t.homes, split(home))
		if real := r.resolve(home); real != "" && real != home {
			home = real
			t.homes = append(t.homes, split(real))
		}
		for _, e := range entries {
			t.addTarget(r, filepath.Join(home, filepath.FromSlash(e.path)), e.Place)
		}
	}
	t.addVariables(r, getenv)
	t.addConfiguration(r, more)
	return t
}

// With returns the table with further files or directories with credentials, as
// absolute paths; "" is ignored.
func (t *Table) With(more ...string) *Table {
	c := *t
	c.absolute, c.relocated, c.last = slices.Clip(t.absolute), slices.Clip(t.relocated), maps.Clone(t.last)
	c.addConfiguration(resolver{}, more)
	return &c
}

// addConfiguration adds parley's own files.
func (t *Table) addConfiguration(r resolver, files []string) {
	for _, file := range files {
		if filepath.IsAbs(file) {
			t.add(filepath.Clean(file), Place{Credentials, "is parley's configuration"})
			t.addTarget(r, file, Place{Credentials, "is parley's configuration"})
		}
	}
}

// indexed returns entries by first component: those matched anywhere, and those
// matched in a home directory.
var indexed = sync.OnceValues(func() (anywhere, inHome map[string][]entry) {
	anywhere, inHome = map[string][]entry{}, map[string][]entry{}
	for _, e := range entries {
		e.parts = split(e.path)
		where := anywhere
		if e.home {
			where = inHome
		}
		where[e.parts[0]] = append(where[e.parts[0]], e)
	}
	return anywhere, inHome
})

// A resolver caches the targets of paths, so that common prefixes are resolved once; ""
// means that a path leads nowhere.
type resolver map[string]string

// resolve returns a clean absolute path free of links; "" if it leads nowhere.
func (r resolver) resolve(path string) string {
	real, known := r[path]
	if !known {
		real = r.resolveUncached(path)
		r[path] = real
	}
	return real
}

// resolveUncached is resolve for a path not in the cache.
func (r resolver) resolveUncached(path string) string {
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	if dir = r.resolve(dir); dir == "" {
		return ""
	}
	real := filepath.Join(dir, filepath.Base(path))
	info, err := lstat(real)
	if err == nil && (info.Mode()&os.ModeSymlink != 0 || runtime.GOOS == "windows") { // Windows also has short names
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return ""
	}
	return real
}

// lstat is os.Lstat; tests count its calls.
var lstat = os.Lstat

// homes returns the user's home directories: from the environment, and from the user
// database if that differs.
func homes(getenv func(string) string) (all []string) {
	variable := "HOME"
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	named := []string{getenv(variable)}
	if u, err := user.Current(); err == nil {
		named = append(named, u.HomeDir)
	}
	for _, home := range named {
		if filepath.IsAbs(home) && filepath.Clean(home) != string(filepath.Separator) && !slices.Contains(all, filepath.Clean(home)) {
			all = append(all, filepath.Clean(home))
		}
	}
	return all
}

// addVariables adds places moved by environment variables.
func (t *Table) addVariables(r resolver, getenv func(string) string) {
	for _, v := range placeVariables {
		if v.from == "" { // the variable has the path itself, or several
			for _, file := range filepath.SplitList(getenv(v.name)) {
				if filepath.IsAbs(file) {
					t.add(filepath.Clean(file), v.Place)
					t.addTarget(r, file, v.Place)
				}
			}
			continue
		}
		dir := getenv(v.name)
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, e := range entries {
			if rest, ok := strings.CutPrefix(e.path, v.from+"/"); ok {
				file := filepath.Join(dir, filepath.FromSlash(rest))
				t.add(file, e.Place)
				t.addTarget(r, file, e.Place)
			}
		}
	}
}

// add adds an absolute path as a place.
func (t *Table) add(file string, p Place) {
	t.absolute = append(t.absolute, absolute{split(file), p})
	t.last[fold(filepath.Base(file))] = true
	t.relocated = append(t.relocated, file)
}

// addTarget adds the target of a path, if that differs from the path.
func (t *Table) addTarget(r resolver, file string, p Place) {
	if real := r.resolve(filepath.Clean(file)); real != "" && real != file {
		t.add(real, p)
	}
}

// Of returns the place that is or contains an absolute path; zero if there is none. The path
// must have no links.
func (t *Table) Of(file string) Place {
	parts := split(file)
	for i, part := range parts {
		for _, e := range t.anywhere[part] {
			if hasPrefix(parts[i:], e.parts) {
				return e.Place
			}
		}
		if len(t.inHome[part]) == 0 || !t.isHome(parts[:i]) {
			continue
		}
		for _, e := range t.inHome[part] {
			if hasPrefix(parts[i:], e.parts) {
				return e.Place
			}
		}
	}
	for _, a := range t.absolute {
		if hasPrefix(parts, a.path) {
			return a.Place
		}
	}
	return Place{}
}

// MayEndWith reports whether a place may have name as its last path element. If not, a path that ends with it
// is in a place only if its directory is.
func (t *Table) MayEndWith(name string) bool { return t.last[fold(name)] }

// isHome reports whether a directory is a home directory of this user, or by its
// path, of another one.
func (t *Table) isHome(dir []string) bool {
	if slices.ContainsFunc(t.homes, func(home []string) bool { return slices.Equal(home, dir) }) {
		return true
	}
	return slices.ContainsFunc(otherHomes, func(o []string) bool {
		return len(dir) == len(o) && hasPrefix(dir[:len(dir)-1], o[:len(o)-1]) && (o[len(o)-1] == "*" || o[len(o)-1] == dir[len(dir)-1])
	})
}

// otherHomes are the patterns of other users' home directories; * is any name.
var otherHomes = [][]string{{"root"}, {"home", "*"}, {"users", "*"}, {"var", "root"}, {"private", "var", "root"}, {"export", "home", "*"}, {"c:", "users", "*"}}

// WorkspaceProblem returns why a directory cannot be a workspace, in words that complete a
// sentence; "" if it can. The path is absolute and without links.
func (t *Table) WorkspaceProblem(dir string) (why string) {
	parts := split(dir)
	if len(parts) == 0 {
		return "is the whole file system, with your home folder"
	}
	for _, home := range t.homes {
		switch {
		case slices.Equal(home, parts):
			return "is your home folder"
		case hasPrefix(home, parts):
			return "contains your home folder"
		}
	}
	if t.isHome(parts) {
		return "is the home folder of a user"
	}
	for _, s := range systemDirs {
		if slices.Equal(parts, s.parts) || s.below && hasPrefix(parts, s.parts) {
			return "belongs to the system"
		}
	}
	if p := t.Of(dir); p.Class != "" {
		return p.Reason
	}
	return ""
}

// A Found is a place inside a directory.
type Found struct {
	Path   string // relative to the directory, with slashes
	Exists bool   // it exists
	Place
}

// Within returns the places in dir: those expected at its top, and those that the
// table has with absolute paths. Nonexistent places are returned only in the second
// case. The path is absolute and without links.
func (t *Table) Within(dir string) (all []Found) {
	seen := map[string]bool{}
	look := func(file string, p Place, absent bool) {
		rel, err := filepath.Rel(dir, file)
		if err != nil || !filepath.IsLocal(rel) || rel == "." || seen[rel] {
			return
		}
		_, err = os.Lstat(file)
		if err == nil || absent {
			seen[rel] = true
			all = append(all, Found{filepath.ToSlash(rel), err == nil, p})
		}
	}
	for _, e := range entries {
		file := filepath.FromSlash(e.path)
		if !e.home {
			look(filepath.Join(dir, file), e.Place, false)
		}
		if t.home != "" {
			look(filepath.Join(t.home, file), e.Place, true)
		}
	}
	for i, file := range t.relocated {
		look(file, t.absolute[i].Place, true)
	}
	return all
}

// hasPrefix reports whether a path begins with the components of another.
func hasPrefix(path, with []string) bool {
	return len(path) >= len(with) && slices.Equal(path[:len(with)], with)
}

// split returns the folded components of a path.
func split(path string) []string {
	parts := make([]string, 0, strings.Count(path, "/")+1)
	for rest := filepath.ToSlash(path); rest != ""; {
		var part string
		if part, rest, _ = strings.Cut(rest, "/"); part != "" {
			parts = append(parts, fold(part))
		}
	}
	return parts
}

// fold maps names that may denote the same file to one form: it ignores letter
// case, characters that HFS+ ignores, and trailing dots and spaces on Windows.
func fold(name string) string {
	if runtime.GOOS == "windows" {
		name = strings.TrimRight(name, ". ")
	}
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0x200C, r == 0x200D, r == 0x200E, r == 0x200F, 0x202A <= r && r <= 0x202E, 0x206A <= r && r <= 0x206F, r == 0xFEFF:
			return -1
		case r < 0x80:
			return unicode.ToLower(r)
		}
		least := r // smallest of the case variants: for ſ and the Kelvin sign, an ASCII letter
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, name)
}
