package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"parley/tools/atomicfile"
	"parley/tools/undo"
)

// A storedItem is a history or an object on disk.
type storedItem struct {
	name string // ID of the session, or sum of the object
	at   time.Time
	size int64
}

// Prune implements undo.Store.
func (s *Store) Prune(before time.Time, most int64) (undo.Pruned, error) {
	var out undo.Pruned
	histories, err := s.histories()
	if err != nil {
		return out, err
	}
	objects, err := s.objects()
	if err != nil {
		return out, err
	}
	uses := map[string]int{} // number of histories using each object
	has := map[string][]string{}
	for _, h := range histories {
		has[h.name] = s.objectsOf(h.name)
		for _, sum := range has[h.name] {
			uses[sum]++
		}
	}
	used := func() (n int64) {
		for sum, o := range objects {
			if uses[sum] > 0 {
				n += o.size
			}
		}
		return n
	}
	sort.Slice(histories, func(i, j int) bool { return histories[i].at.Before(histories[j].at) })
	var errs []error
	for left := used(); len(histories) > 0; histories = histories[1:] {
		h := histories[0]
		if !h.at.Before(before) && left <= most {
			continue
		}
		if err := s.removeHistory(h.name); err != nil {
			errs = append(errs, err)
			continue
		}
		out.Histories++
		for _, sum := range has[h.name] {
			if uses[sum]--; uses[sum] == 0 {
				left -= objects[sum].size
			}
		}
	}
	unwanted := func(sum string, at time.Time) bool {
		return uses[sum] == 0 && (time.Since(at) >= 24*time.Hour || !at.After(before))
	}
	removed, err := s.bundles.remove(unwanted, false)
	errs = append(errs, err)
	for sum, o := range objects {
		if _, done := removed[sum]; !done {
			if !unwanted(sum, o.at) || os.Remove(s.objectPath(sum)) != nil {
				out.Remaining += o.size
				continue
			}
		}
		out.Objects++
		out.Freed += o.size
	}
	return out, errors.Join(errs...)
}

// PruneDue implements undo.Store.
func (s *Store) PruneDue() bool {
	mark := filepath.Join(s.dir, "pruned")
	info, err := os.Stat(mark)
	if _, none := os.Stat(s.dir); none != nil || err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return false
	}
	return s.writeFile(mark, nil, false) == nil
}

func (s *Store) histories() (all []storedItem, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "sessions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(s.dir, "sessions", e.Name(), logName)); err == nil {
			all = append(all, storedItem{e.Name(), info.ModTime(), info.Size()})
		}
	}
	return all, err
}

// objects returns the stored contents by their sums, and removes old temporary files.
func (s *Store) objects() (map[string]storedItem, error) {
	all := s.bundles.items()
	dirs, err := os.ReadDir(filepath.Join(s.dir, "objects"))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(s.dir, "objects", dir.Name()))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue
			}
			if sum := dir.Name() + e.Name(); isSum(sum) {
				all[sum] = storedItem{sum, info.ModTime(), info.Size()}
			} else if atomicfile.Unfinished(e.Name()) && time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(s.dir, "objects", dir.Name(), e.Name()))
			}
		}
	}
	return all, nil
}

// objectsOf returns the sums of the contents that a history uses, without
// duplicates.
func (s *Store) objectsOf(session string) (sums []string) {
	records, err := s.Session(session)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	for _, r := range records {
		for _, c := range r.Changes {
			for _, state := range []undo.State{c.Before, c.After} {
				if state.Stored && !seen[state.Sum] {
					seen[state.Sum] = true
					sums = append(sums, state.Sum)
				}
			}
		}
	}
	return sums
}
