package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/undo"
)

// reachName is the file beside a log that lists the directories in which the conversation's
// tools worked on this machine. The log is not trusted for that, because it may come from a
// backup.
const reachName = "reach"

// A reach is the content of the reach file: workspaces, and directories added to them.
type reach struct {
	Roots       []undo.Name `json:"roots,omitempty"`
	Directories []undo.Name `json:"folders,omitempty"`
}

// readReach reads the reach of a log; ok is false if the file is missing, as for histories of old versions.
func readReach(log string) (r reach, ok bool) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(log), reachName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false
	}
	_ = json.Unmarshal(text, &r) // a damaged file gives an empty reach
	return r, true
}

// include adds a workspace and a directory added to it, "" for none, and reports whether r
// changed.
func (r *reach) include(root, directory undo.Name) (changed bool) {
	if root != "" && !slices.Contains(r.Roots, root) {
		r.Roots, changed = append(r.Roots, root), true
	}
	if directory != "" && !slices.Contains(r.Directories, directory) {
		r.Directories, changed = append(r.Directories, directory), true
	}
	return changed
}

// loadReach reads the reach of the history, and opens its added directories.
func (h *History) loadReach() {
	r, known := readReach(h.file)
	if !known {
		for _, old := range h.records {
			r.include(old.Root, "") // old versions restored any log: added directories count only after they are added again
		}
	}
	for _, dir := range r.Directories {
		h.addDirectory(string(dir))
	}
	h.reach = r
}

// addReach stores where tools are about to work. If storing fails, the next call retries.
func (h *History) addReach(root, directory undo.Name) error {
	r := reach{slices.Clone(h.reach.Roots), slices.Clone(h.reach.Directories)}
	if !r.include(root, directory) {
		return nil
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = h.store.writeFile(filepath.Join(filepath.Dir(h.file), reachName), text, false)
	}
	if err == nil {
		h.reach = r
	}
	return err
}

// AddDirectories lets the history restore files in directories that the user added to the workspace.
// Paths are absolute.
func (h *History) AddDirectories(dirs ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	for _, dir := range dirs {
		h.addDirectory(dir)
		if !slices.Contains(h.added, dir) {
			h.added = append(h.added, dir)
		}
	}
}

// outOfReach returns why a path of a record must not be touched; "" if it may be.
func (h *History) outOfReach(file string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	if !filepath.IsAbs(filepath.FromSlash(file)) {
		if slices.Contains(h.reach.Roots, undo.Name(h.dir)) {
			return ""
		}
		return h.dir + " is not the workspace that the conversation was restored with"
	}
	if slices.ContainsFunc(h.reach.Directories, func(dir undo.Name) bool { return isBelow(string(dir), file) }) {
		return ""
	}
	if slices.ContainsFunc(h.added, func(dir string) bool { return isBelow(dir, file) }) {
		return ""
	}
	return "its folder was not added on this machine"
}

// isBelow reports whether file is inside dir.
func isBelow(dir, file string) bool {
	rel, err := filepath.Rel(dir, filepath.FromSlash(file))
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// Import implements undo.Store.
func (s *Store) Import(session, log, root string) (refused []string, err error) {
	dir, err := s.sessionDir(session)
	if err != nil {
		return nil, nil // an invalid ID has no history
	}
	if _, err := os.Lstat(filepath.Join(dir, logName)); err == nil {
		return nil, nil
	}
	if _, err := os.Lstat(log); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	roots := []undo.Name{undo.Name(root)}
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		roots = append(roots, undo.Name(real))
	}
	refuse := func(path string) {
		if path != "" && !slices.Contains(refused, path) {
			refused = append(refused, path)
		}
	}
	records, marks := readLog(log)
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for i := range records {
		r := &records[i]
		if !slices.Contains(roots, r.Root) {
			refuse(string(r.Root))
			r.Uncovered = []undo.Uncovered{{Path: r.Root, Why: "it is not the workspace that the conversation was restored with"}}
			r.Changes, r.Directory, r.Root = nil, "", roots[len(roots)-1]
		}
		refuse(string(r.Directory))
		for _, c := range r.Changes {
			if r.Directory == "" || !isBelow(string(r.Directory), string(c.Path)) {
				if !isLocalPath(string(c.Path)) {
					refuse(string(c.Path))
				}
			}
		}
		err = errors.Join(err, lines.Encode(logLine{Record: r}))
	}
	for head, at := range marks {
		err = errors.Join(err, lines.Encode(logLine{Mark: &branchMark{head, at}}))
	}
	if err != nil {
		return refused, err
	}
	about, err := json.Marshal(reach{Roots: roots})
	if err == nil {
		err = s.writeFile(filepath.Join(dir, reachName), about, false) // first, because a log without this file is trusted
	}
	if err == nil {
		err = s.writeFile(filepath.Join(dir, logName), text.Bytes(), false)
	}
	if err != nil {
		return refused, fmt.Errorf("the files of %s: %w", strings.ToValidUTF8(session, "?"), err)
	}
	return refused, nil
}
