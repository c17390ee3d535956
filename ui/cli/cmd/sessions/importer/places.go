// Package importer finds the conversations that other programs keep on this machine, and imports
// those that are new.
//
//	Find ──► Place ──► Scan: how many conversations, how many of them new ──► Import
//
// Files that were read are recorded by size and time: those that have not changed are not opened again. Files of other programs are read, never written; links in their directories
// are not followed.
package importer

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/session/store"
	"parley/tools/lazy"
)

// A Place is where a program keeps conversations.
type Place struct {
	Program string // as in Session.Origin: "claude-code", "codex", "crush", …
	Path    string // absolute: a directory, or a database

	match func(name string) bool // of files below Path; nil: Path is read as a whole
	own   []string               // directories that parley itself runs programs in: their conversations are here already
}

// source returns which stored conversations an import of p may add to. Programs that keep theirs in
// the home add to all that was imported from there; a database in a project, which may have come with
// a clone, only to conversations imported from it.
func (p Place) source() store.ImportSource {
	if p.Program == "crush" {
		return store.ImportSource{Key: p.Program + " " + p.Path}
	}
	return store.ImportSource{Key: p.Program, Adopts: true}
}

// Source returns the place of a conversation file of program at path, which a user names. A file in
// one of places counts as an import of all of that place. An export of an account, which has another
// name each time, adds to what was imported from earlier exports if it begins with the same message. Any other
// file adds only to what was imported from it.
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

// jsonl accepts files of lines.
func jsonl(name string) bool { return strings.HasSuffix(name, ".jsonl") }

// Find returns the places that exist, sorted by program. It asks getenv for HOME and for the variables
// that move the directories of programs. Dir is where parley was started: the databases of crush,
// which stand in projects, are searched in it and in the directories above it, besides those that
// crush lists.
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
		{"qwen-code", filepath.Join(in("QWEN_RUNTIME_DIR", ".qwen"), "projects"), jsonl, nil}, // the same place where it is not set
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

// ownDirs returns the directories that parley runs the program of a kind in, below the user's caches,
// as they are named and with links followed. In finds directories, as in Find.
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

// isOwn reports whether dir, below p, is of a directory of parley's own: Claude Code names it after
// that, Gemini CLI writes into it which one it is.
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

// notInNames matches the characters that Claude Code replaces in names of directories.
var notInNames = lazy.NewRegexp(`[^A-Za-z0-9]`)

// escapeGlob returns a pattern that matches path alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// existing returns the places there are, each once, with links on the way to them followed.
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
	slices.SortStableFunc(found, func(a, b Place) int { return strings.Compare(a.Program, b.Program) })
	return found
}

// crushDatabases returns where databases of crush may be: in the projects that the file list names,
// and in start and the directories above it.
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
			_ = json.Unmarshal(data, &known) // an invalid list is empty
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

// maxFiles bounds how many files of one place are looked at.
const maxFiles = 1_000_000

// files returns the files to read of a place, by path, with their states.
func (p Place) files() map[string]string {
	found := map[string]string{}
	if p.match == nil {
		found[p.Path] = wholeState(p.Path)
		return found
	}
	_ = filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error { // unreadable directories are empty
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
