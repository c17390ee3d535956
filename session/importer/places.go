// Package importer finds what other programs keep of conversations on this machine, and
// brings in what is new of it.
//
//	Find ──► Place ──► Scan: how many conversations, how many of them new ──► Import
//
// What was read is remembered by size and time, so that a look at what has not changed
// opens no file. Files of other programs are read, never written; links in their folders
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
)

// A Place is where a program keeps conversations.
type Place struct {
	Program string // as in Session.Origin: "claude-code", "codex", "crush", …
	Path    string // absolute: a folder, or a database

	match func(name string) bool // of files below Path; nil: Path is read as a whole
}

// source says to what of p's program conversations of p may add: those of a program that has its
// places in the home to all that it brought from there; a database in a project, which may have
// come with a clone, to what it brought itself.
func (p Place) source() store.ImportSource {
	if p.Program == "crush" {
		return store.ImportSource{Key: p.Program + " " + p.Path}
	}
	return store.ImportSource{Key: p.Program, Adopts: true}
}

// Source returns the place of a conversation file of program at path, which a user names. A file in
// one of places counts as an import of all of that place. An export of an account, which has another
// name each time, adds to what earlier exports brought if it begins with the same message. Any other
// file adds only to what it brought itself.
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

// Find returns the places that exist. Of getenv, HOME counts and what moves the folders of
// programs; folder is where parley was started: of crush, whose conversations stand in
// projects, those of it and of the folders above it count, besides the ones crush lists.
func Find(getenv func(string) string, folder string) []Place {
	home := getenv("HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	in := func(variable string, standard ...string) string {
		if dir := getenv(variable); variable != "" && filepath.IsAbs(dir) {
			return dir
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
		{"claude-code", filepath.Join(in("CLAUDE_CONFIG_DIR", ".claude"), "projects"), claude},
		{"claude-code", filepath.Join(in("", ".config", "claude"), "projects"), claude},
		{"codex", filepath.Join(codex, "sessions"), jsonl},
		{"codex", filepath.Join(codex, "archived_sessions"), jsonl},
		{"gemini-cli", filepath.Join(in("GEMINI_CLI_HOME"), ".gemini", "tmp"), gemini},
		{"llm", filepath.Join(in("LLM_USER_PATH", ".config", "io.datasette.llm"), "logs.db"), nil},
		{"llm", in("", "Library", "Application Support", "io.datasette.llm", "logs.db"), nil},
		{"pi", filepath.Join(in("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions"), jsonl},
	}
	databases, _ := filepath.Glob(filepath.Join(escapeGlob(data), "opencode", "opencode*.db"))
	for _, path := range append(databases, filepath.Join(data, "opencode", "storage")) {
		all = append(all, Place{"opencode", path, nil})
	}
	for _, path := range crushDatabases(filepath.Join(data, "crush", "projects.json"), folder) {
		all = append(all, Place{"crush", path, nil})
	}
	return existing(all)
}

// escapeGlob returns a path as one that a pattern means.
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
		folder := p.match != nil || p.Program == "opencode" && filepath.Base(path) == "storage"
		if err != nil || info.IsDir() != folder || !folder && !info.Mode().IsRegular() {
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

// crushDatabases returns where crush may keep conversations: it lists its projects.
func crushDatabases(list, folder string) (paths []string) {
	var known struct {
		Projects []struct {
			Path string `json:"path"`
			Data string `json:"data_dir"`
		} `json:"projects"`
	}
	if f, err := os.Open(list); err == nil {
		data, err := io.ReadAll(io.LimitReader(f, 4<<20))
		if f.Close(); err == nil {
			_ = json.Unmarshal(data, &known) // what is no list lists nothing
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
	for dir := folder; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		paths = append(paths, filepath.Join(dir, ".crush", "crush.db"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return paths
}

// maxFiles bounds how many files of one place are looked at.
const maxFiles = 1_000_000

// files returns what is to be read of a place, with what changes when it does.
func (p Place) files() map[string]string {
	found := map[string]string{}
	if p.match == nil {
		found[p.Path] = wholeState(p.Path)
		return found
	}
	_ = filepath.WalkDir(p.Path, func(path string, d fs.DirEntry, err error) error { // what cannot be read has nothing
		switch {
		case err != nil:
			return nil
		case d.IsDir() && d.Name() == "subagents":
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
