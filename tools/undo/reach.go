package undo

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
)

// reachName is the file beside a log that says in which directories the tools of the
// conversation worked on this machine. No log says that: it may have come with a backup.
const reachName = "reach"

// A reach is that file. What is a workspace is no folder beside another one.
type reach struct {
	Roots   []Name `json:"roots,omitempty"`
	Folders []Name `json:"folders,omitempty"`
}

// readReach reads it; not ok for a history that is older than such files.
func readReach(log string) (r reach, ok bool) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(log), reachName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false
	}
	_ = json.Unmarshal(text, &r) // what cannot be read reaches nothing
	return r, true
}

// add notes a workspace and a folder beside it, "" for none, and reports whether either is new.
func (r *reach) add(root, folder Name) (changed bool) {
	if root != "" && !slices.Contains(r.Roots, root) {
		r.Roots, changed = append(r.Roots, root), true
	}
	if folder != "" && !slices.Contains(r.Folders, folder) {
		r.Folders, changed = append(r.Folders, folder), true
	}
	return changed
}

// loadReach finds out where the history reaches, and opens the directories beside the workspace.
func (h *History) loadReach() {
	r, known := readReach(h.file)
	if !known {
		for _, old := range h.records {
			r.add(old.Root, old.Folder)
		}
	}
	for _, dir := range r.Folders {
		h.addFolder(string(dir))
	}
	h.reach = r
}

// addReach notes that tools work somewhere, before they do. What cannot be written is tried again
// by the next call.
func (h *History) addReach(root, folder Name) error {
	r := reach{slices.Clone(h.reach.Roots), slices.Clone(h.reach.Folders)}
	if !r.add(root, folder) {
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

// AddFolders has the history reach directories beside the workspace, by their absolute paths: its
// user has added them.
func (h *History) AddFolders(dirs ...string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	for _, dir := range dirs {
		h.addFolder(dir)
		if !slices.Contains(h.added, dir) {
			h.added = append(h.added, dir)
		}
	}
}

// outOfReach says why a path of a record is not touched; "" if it may be.
func (h *History) outOfReach(file string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.load()
	if !filepath.IsAbs(filepath.FromSlash(file)) {
		if slices.Contains(h.reach.Roots, Name(h.dir)) {
			return ""
		}
		return h.dir + " is not the workspace that the conversation was restored with"
	}
	if slices.ContainsFunc(h.reach.Folders, func(dir Name) bool { return isBelow(string(dir), file) }) {
		return ""
	}
	if slices.ContainsFunc(h.added, func(dir string) bool { return isBelow(dir, file) }) {
		return ""
	}
	return "its folder was not added on this machine"
}

// isBelow reports whether a path is in a directory.
func isBelow(dir, file string) bool {
	rel, err := filepath.Rel(dir, filepath.FromSlash(file))
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// Import takes the history of a conversation from the file of another store's, such as a backup's,
// which may hold anything, unless there is one here. Its own workspace is root: what it says of
// others is not taken, and what it says of directories beside root is for when the user adds them
// here. Refused are the paths of both, each once.
func (s *Store) Import(session, log, root string) (refused []string, err error) {
	dir, err := s.sessionDir(session)
	if err != nil {
		return nil, nil // there is no history of such a one
	}
	if _, err := os.Lstat(filepath.Join(dir, logName)); err == nil {
		return nil, nil
	}
	if _, err := os.Lstat(log); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	roots := []Name{Name(root)}
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		roots = append(roots, Name(real))
	}
	refuse := func(path string) {
		if path != "" && !slices.Contains(refused, path) {
			refused = append(refused, path)
		}
	}
	records, lefts := readLog(log)
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for i := range records {
		r := &records[i]
		if !slices.Contains(roots, r.Root) {
			refuse(string(r.Root))
			r.Uncovered = []Uncovered{{Path: r.Root, Why: "it is not the workspace that the conversation was restored with"}}
			r.Changes, r.Folder, r.Root = nil, "", roots[len(roots)-1]
		}
		refuse(string(r.Folder))
		for _, c := range r.Changes {
			if r.Folder == "" || !isBelow(string(r.Folder), string(c.Path)) {
				if !local(string(c.Path)) {
					refuse(string(c.Path))
				}
			}
		}
		err = errors.Join(err, lines.Encode(line{Record: r}))
	}
	for head, at := range lefts {
		err = errors.Join(err, lines.Encode(line{Left: &left{head, at}}))
	}
	if err != nil {
		return refused, err
	}
	about, err := json.Marshal(reach{Roots: roots})
	if err == nil {
		err = s.writeFile(filepath.Join(dir, reachName), about, false) // first: without it, a log is one from here
	}
	if err == nil {
		err = s.writeFile(filepath.Join(dir, logName), text.Bytes(), false)
	}
	if err != nil {
		return refused, fmt.Errorf("the files of %s: %w", strings.ToValidUTF8(session, "?"), err)
	}
	return refused, nil
}
