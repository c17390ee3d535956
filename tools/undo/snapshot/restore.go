package snapshot

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"parley/tools"
	"parley/tools/undo"
)

// journalName is the file of the journal, which exists from the beginning of a restore until
// its record is written.
const journalName = "restore"

// A journal describes a restore in progress.
type journal struct {
	Record undo.Record `json:"record"`
	Temp   string      `json:"temp"` // prefix of the names of its temporary files
	PID    int         `json:"pid"`  // of the restoring process
}

// Restore implements undo.History.
func (h *History) Restore(p *undo.Plan, confirmed bool, seq int, title string) (undo.Record, []undo.Skipped, error) {
	var skipped []undo.Skipped
	r := undo.Record{Seq: seq, Title: title, At: h.now(), Root: undo.Name(h.dir), Restore: true}
	for _, s := range p.Steps {
		why := s.Blocked
		if why == "" && !confirmed {
			why = s.ConfirmReason
		}
		var now undo.State
		if why == "" {
			var err error
			if now, err = h.state(string(s.Path), maxRestored, true); err != nil {
				why = err.Error()
			} else if !now.Same(s.Now) && !(now.Sum == "" && s.Now.Sum == "" && now.Size == s.Now.Size) {
				why = "changed just now"
			}
		}
		if why != "" {
			skipped = append(skipped, undo.Skipped{Path: s.Path, Why: why})
			continue
		}
		r.Changes = append(r.Changes, undo.Change{Path: s.Path, Before: now, After: s.To})
	}
	if len(r.Changes) == 0 {
		return r, skipped, nil
	}
	j := journal{Record: r, Temp: ".parley-undo-" + rand.Text()[:8], PID: os.Getpid()}
	if err := h.writeJournal(j); err != nil {
		return r, skipped, fmt.Errorf("not restored: %w", err)
	}
	failed := (&restorer{workspace: h.workspace, temp: j.Temp}).run(r.Changes)
	r.Changes = slices.DeleteFunc(r.Changes, func(c undo.Change) bool {
		err := failed[c.Path]
		if err != nil {
			skipped = append(skipped, undo.Skipped{Path: c.Path, Why: err.Error()})
		}
		return err != nil
	})
	err := h.put(&r)
	if err == nil {
		err = os.Remove(h.journalFile())
	}
	return r, skipped, err
}

func (h *History) journalFile() string { return filepath.Join(filepath.Dir(h.file), journalName) }

func (h *History) writeJournal(j journal) error {
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return h.store.writeFile(h.journalFile(), text, true)
}

// A restorer restores paths.
type restorer struct {
	*workspace
	temp string
	n    int
}

// beforeChange is called before every change of the file system; tests kill the process there.
var beforeChange = func() {}

// run carries out changes, and returns errors by path. It removes first, then creates directories
// from the top down, then files and links. It sets the modes of directories last, because they may
// prevent other changes.
func (r *restorer) run(changes []undo.Change) map[undo.Name]error {
	failed := map[undo.Name]error{}
	do := func(c undo.Change, f func(p *parent, base string) error) {
		if failed[c.Path] == nil {
			if err := r.withParent(string(c.Path), f); err != nil {
				failed[c.Path] = err
			}
		}
	}
	topFirst := slices.Clone(changes)
	sort.Slice(topFirst, func(i, j int) bool { return topFirst[i].Path < topFirst[j].Path })
	deepestFirst := slices.Clone(topFirst)
	slices.Reverse(deepestFirst)
	for _, c := range deepestFirst {
		if c.Before.Kind != undo.Absent && (c.After.Kind != c.Before.Kind || c.After.Kind == undo.Link) {
			do(c, func(p *parent, base string) error { beforeChange(); return p.root.Remove(base) })
		}
	}
	for _, c := range topFirst {
		if c.After.Kind == undo.Directory && c.Before.Kind != undo.Directory {
			do(c, func(p *parent, base string) error { beforeChange(); return p.root.Mkdir(base, 0o700) })
		}
	}
	for _, c := range topFirst {
		switch c.After.Kind {
		case undo.File:
			do(c, func(p *parent, base string) error { return r.replaceFile(p, base, c) })
		case undo.Link:
			do(c, func(p *parent, base string) error {
				beforeChange()
				return p.root.Symlink(string(c.After.Target), base)
			})
		}
	}
	for _, c := range deepestFirst {
		if c.After.Kind == undo.Directory {
			do(c, func(p *parent, base string) error { return chmod(p, base, c.After.Mode) })
		}
	}
	return failed
}

// withParent calls f with the open directory of a path. It creates the directory if missing,
// and makes it writable during the call if necessary.
func (r *restorer) withParent(file string, f func(p *parent, base string) error) error {
	p, base, err := r.openParent(file)
	if errors.Is(err, fs.ErrNotExist) {
		if dir := path.Dir(file); dir != "." {
			err = r.withParent(dir, func(p *parent, base string) error { return p.root.Mkdir(base, 0o755) })
		}
		if err == nil {
			p, base, err = r.openParent(file)
		}
	}
	if err != nil {
		return err
	}
	defer p.close()
	err = f(p, base)
	if !errors.Is(err, fs.ErrPermission) {
		return plainError(err)
	}
	was, serr := p.Stat(".")
	if serr != nil || was.Permissions&0o300 == 0o300 || p.Chmod(was.Permissions|0o700) != nil {
		return plainError(err)
	}
	defer p.Chmod(was.Permissions)
	return plainError(f(p, base))
}

// plainError returns an error without the path, which is shown separately.
func plainError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return l.Err
	}
	return err
}

// chmod sets the mode of a directory.
func chmod(p *parent, base string, mode uint32) error {
	d, err := p.Open(base)
	if err != nil {
		return err
	}
	defer d.Close()
	beforeChange()
	return d.Chmod(mode)
}

// replaceFile writes the earlier content to a temporary file and renames it over the file.
func (r *restorer) replaceFile(p *parent, base string, c undo.Change) error {
	content, err := r.store.get(c.After.Sum)
	if err != nil {
		return err
	}
	r.n++
	temp := fmt.Sprintf("%s-%d.tmp", r.temp, r.n)
	beforeChange()
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer p.root.Remove(temp) // does nothing after the rename
	defer f.Close()
	if c.Before.Kind == undo.File {
		if old, err := regular(p.root.OpenFile(base, openNoWait, 0)); err == nil {
			err = tools.CopyMetadata(f, old)
			old.Close()
			if err != nil {
				return err
			}
		}
	}
	beforeChange()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Chmod(permissions(c.After.Mode)); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := r.checkUnchanged(p, base, c.Before); err != nil {
		return err
	}
	beforeChange()
	return p.root.Rename(temp, base)
}

// checkUnchanged returns an error if the kind or size of the path has changed since the plan.
func (r *restorer) checkUnchanged(p *parent, base string, was undo.State) error {
	now, there, err := p.stat(base)
	switch {
	case err != nil:
		return err
	case was.Kind != undo.File && there, was.Kind == undo.File && (!there || now.kind != undo.File || now.size != was.Size):
		return errors.New("it changed just now")
	}
	return nil
}

// Interrupted implements undo.Store.
func (s *Store) Interrupted(dir string) map[string]int {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	found := map[string]int{}
	names, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), "sessions", "*", journalName))
	for _, name := range names {
		var j journal
		if text, err := os.ReadFile(name); err == nil && json.Unmarshal(text, &j) == nil && string(j.Record.Root) == real {
			found[filepath.Base(filepath.Dir(name))] = j.PID
		}
	}
	return found
}

// Recover implements undo.History.
func (h *History) Recover() (*undo.Interrupted, error) {
	text, err := os.ReadFile(h.journalFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	h.Records() // also loads the added directories
	var j journal
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	if err != nil || string(j.Record.Root) != h.dir {
		return nil, err // the journal belongs to another workspace
	}
	out := &undo.Interrupted{Title: j.Record.Title}
	dirs := map[string]bool{}
	var done []undo.Change
	for _, c := range j.Record.Changes {
		dirs[path.Dir(string(c.Path))] = true
		now, err := h.state(string(c.Path), maxRestored, false)
		switch {
		case err == nil && now.Same(c.After):
			out.Restored, done = append(out.Restored, c.Path), append(done, c)
		case err == nil && (now.Same(c.Before) || c.Before.Sum == "" && now.Kind == c.Before.Kind && now.Size == c.Before.Size):
			out.Unrestored = append(out.Unrestored, c.Path)
		default:
			out.Changed = append(out.Changed, c.Path)
			c.After = now
			done = append(done, c)
		}
	}
	for dir := range dirs {
		h.removeTemps(dir, j.Temp)
	}
	if r := j.Record; len(done) > 0 && !h.has(r) {
		r.Changes = done
		if err := h.put(&r); err != nil {
			return out, err
		}
	}
	return out, os.Remove(h.journalFile())
}

// has reports whether a restore is already recorded: parley ended before it removed the journal.
func (h *History) has(r undo.Record) bool {
	return slices.ContainsFunc(h.Records(), func(x undo.Record) bool { return x.Restore && x.At.Equal(r.At) && x.Seq == r.Seq })
}

// removeTemps removes the temporary files of an interrupted restore from a directory.
func (h *History) removeTemps(dir, prefix string) {
	if !strings.HasPrefix(prefix, ".parley-undo-") {
		return
	}
	p, _, err := h.openParent(path.Join(dir, "x"))
	if err != nil {
		return
	}
	defer p.close()
	listed, _ := p.Entries(nil, 0)
	for _, e := range listed {
		if strings.HasPrefix(e.Name, prefix) && strings.HasSuffix(e.Name, ".tmp") {
			_ = p.root.Remove(e.Name)
		}
	}
}

// permissions converts a mode of stat(2) to a mode of package fs.
func permissions(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, as := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= as
		}
	}
	return m
}
