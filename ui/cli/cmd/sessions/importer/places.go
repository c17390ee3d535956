// Package importer finds the conversations of other programs on this machine, and imports new ones.
//
//	Find ──► Place ──► Scan: how many conversations, how many of them new ──► Import
//
// The size and time of files are recorded, so that unchanged files are not read again. Files of other programs are
// never written, and links in their directories are not followed.
package importer

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"parley/session/store"
	"parley/tools/lazy"
)

// A Place is where a program stores conversations.
type Place struct {
	Program string // as in Session.Origin: "claude-code", "codex", "crush", …
	Path    string // absolute: a directory, or a database

	match func(name string) bool // selects files below Path; nil reads Path as a whole
	own   []string               // directories where parley itself runs programs: their conversations are stored already
}

// source returns which stored conversations an import of p may extend. For programs that store theirs in the home
// directory, these are all conversations imported from there. For a database in a project, which may have come with a
// clone, these are only the conversations imported from it.
func (p Place) source() store.ImportSource {
	if p.Program == "crush" {
		return store.ImportSource{Key: p.Program + " " + p.Path}
	}
	return store.ImportSource{Key: p.Program, Adopts: true}
}

// Source returns the source for a file of program at path, given by the user. A file in one of places counts as an
// import of that whole place. An export of an account, which has a different name each time, extends conversations from
// earlier exports if it begins with the same message. Any other file extends only conversations imported from itself.
func Source(places []Place, program, path string) store.ImportSource {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		path = whole
	}
	for _, p := range places {
		rel, err := filepath.Rel(p.Path, path)
		if p.Program == program && err == nil && filepath.IsLocal(rel) {
			return p.source()
		}
	}
	if program == "chatgpt" || program == "claude.ai" {
		return store.ImportSource{Key: program, Adopts: true, Exports: true}
	}
	return store.ImportSource{Key: program + " " + path}
}

// jsonl matches JSON lines files.
func jsonl(name string) bool { return strings.HasSuffix(name, ".jsonl") }

// Find returns the existing places, sorted by program. It looks up HOME, and the variables that move the directories of
// programs, with getenv. Databases of crush are in projects: Find uses those in crush's own list, and those in dir,
// where parley was started, and its parent directories.
func Find(getenv func(string) string, dir string) []Place {
	home := getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	in := func(variable string, standard ...string) string {
		if moved := getenv(variable); variable != "" && filepath.IsAbs(moved) {
			return moved
		}
		if home == "" {
			return ""
		}
		return filepath.Join(append([]string{home}, standard...)...)
	}
	claude := func(name string) bool { return jsonl(name) && !strings.HasPrefix(name, "agent-") }
	gemini := func(name string) bool {
		return strings.HasPrefix(name, "session-") && (jsonl(name) || strings.HasSuffix(name, ".json"))
	}
	data := in("XDG_DATA_HOME", ".local", "share")
	codex := in("CODEX_HOME", ".codex")
	all := []Place{
		{"claude-code", filepath.Join(in("CLAUDE_CONFIG_DIR", ".claude"), "projects"), claude, ownDirs(in, "claude-cli")},
		{"claude-code", filepath.Join(in("", ".config", "claude"), "projects"), claude, ownDirs(in, "claude-cli")},
		{"codex", filepath.Join(codex, "sessions"), jsonl, nil},
		{"codex", filepath.Join(codex, "archived_sessions"), jsonl, nil},
		{"gemini-cli", filepath.Join(in("GEMINI_CLI_HOME"), ".gemini", "tmp"), gemini, ownDirs(in, "gemini-cli")},
		{"llm", filepath.Join(in("LLM_USER_PATH", ".config", "io.datasette.llm"), "logs.db"), nil, nil},
		{"llm", in("", "Library", "Application Support", "io.datasette.llm", "logs.db"), nil, nil},
		{"qwen-code", filepath.Join(in("QWEN_HOME", ".qwen"), "projects"), jsonl, nil},
		{"qwen-code", filepath.Join(in("QWEN_RUNTIME_DIR", ".qwen"), "projects"), jsonl, nil}, // the same place if the variable is not set
		{"pi", filepath.Join(in("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions"), jsonl, nil},
	}
	databases, _ := filepath.Glob(filepath.Join(escapeGlob(data), "opencode", "opencode*.db"))
	for _, path := range append(databases, filepath.Join(data, "opencode", "storage")) {
		all = append(all, Place{"opencode", path, nil, nil})
	}
	for _, path := range crushDatabases(filepath.Join(data, "crush", "projects.json"), dir) {
		all = append(all, Place{"crush", path, nil, nil})
	}
	return existing(all)
}

// ownDirs returns the directories below the user's caches where parley runs a kind of program, both as named and with
// links followed. In finds directories, as in Find.
func ownDirs(in func(variable string, standard ...string) string, kind string) (dirs []string) {
	for _, caches := range []string{in("XDG_CACHE_HOME", ".cache"), in("", "Library", "Caches")} {
		dir := filepath.Join(caches, "parley", kind)
		dirs = append(dirs, dir)
		if whole, err := filepath.EvalSymlinks(dir); err == nil && whole != dir {
			dirs = append(dirs, whole)
		}
	}
	return dirs
}

// isOwn reports whether dir, below p, belongs to a directory of parley's own. Claude Code names dir after it; Gemini
// CLI writes its path into a file.
func (p Place) isOwn(dir string) bool {
	if len(p.own) == 0 {
		return false
	}
	root := make([]byte, 4096)
	if f, err := os.Open(filepath.Join(dir, ".project_root")); err == nil {
		n, _ := io.ReadFull(f, root)
		f.Close()
		root = root[:n]
	}
	return slices.ContainsFunc(p.own, func(own string) bool {
		return filepath.Base(dir) == notInNames.ReplaceAllString(own, "-") || strings.TrimSpace(string(root)) == own
	})
}

// notInNames matches the characters that Claude Code replaces in directory names.
var notInNames = lazy.NewRegexp(`[^A-Za-z0-9]`)

// escapeGlob returns a pattern that matches only path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// existing returns the places that exist, without duplicates and with links resolved.
func existing(all []Place) (found []Place) {
	for _, p := range all {
		path, err := filepath.EvalSymlinks(p.Path)
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		info, err := os.Stat(path)
		wantsDir := p.match != nil || p.Program == "opencode" && filepath.Base(path) == "storage"
		if err != nil || info.IsDir() != wantsDir || !wantsDir && !info.Mode().IsRegular() {
			continue
		}
		p.Path = path
		if !slices.ContainsFunc(found, func(q Place) bool { return q.Path == path }) {
			found = append(found, p)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Program < found[j].Program })
	return found
}

// crushDatabases returns possible paths of crush databases: in the projects from the file list, and in start and its
// parent directories.
func crushDatabases(list, start string) (paths []string) {
	var known struct {
		Projects []struct {
			Path string `json:"path"`
			Data string `json:"data_dir"`
		} `json:"projects"`
	}
	if f, err := os.Open(list); err == nil {
		data, err := io.ReadAll(io.LimitReader(f, 4<<20))
		if f.Close(); err == nil {
			_ = json.Unmarshal(data, &known) // an invalid list counts as empty
		}
	}
	for _, p := range known.Projects {
		dir := p.Data
		if dir == "" {
			dir = ".crush"
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Path, dir)
		}
		paths = append(paths, filepath.Join(dir, "crush.db"))
	}
	for dir := start; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		paths = append(paths, filepath.Join(dir, ".crush", "crush.db"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return paths
}

// maxFiles is the greatest number of files read from one place.
const maxFiles = 1_000_000

// files returns the files of a place with their states, by path.
func (p Place) files() map[string]string {
	found := map[string]string{}
	if p.match == nil {
		found[p.Path] = wholeState(p.Path)
		return found
	}
	_ = filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error { // unreadable directories count as empty
		switch {
		case err != nil:
			return nil
		case d.IsDir() && (d.Name() == "subagents" || p.isOwn(path)):
			return filepath.SkipDir
		case len(found) >= maxFiles:
			return filepath.SkipAll
		case !d.Type().IsRegular() || !p.match(d.Name()):
			return nil
		}
		if info, err := d.Info(); err == nil {
			found[path] = state(info)
		}
		return nil
	})
	return found
}
