// Package backup writes everything that parley keeps of conversations into one file, and
// restores it: on another machine, or beside existing conversations. Its commands stand below
// parley sessions.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/atomicfile"
	"parley/tools/undo"
)

// A backup is a compressed tar archive: a manifest, the store of conversations, and the directory
// of files that tools changed, under these names.
const (
	manifestName = "parley-backup.json"
	storeName    = "parley.db"
	undoName     = "undo"
)

// version is that of the format.
const version = 1

// A manifest is the first file of a backup.
type manifest struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
}

// Write writes the store, and the directory files, to w. The directory tmp
// holds a copy of the store meanwhile, for its owner only. Other processes may go on.
func Write(w io.Writer, lib *store.DB, files, tmp string, now time.Time) error {
	dir, err := os.MkdirTemp(tmp, ".backup-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	copied := filepath.Join(dir, storeName)
	if err := store.Snapshot(lib, copied); err != nil {
		return err
	}
	about, err := json.Marshal(manifest{version, now.UTC()})
	if err != nil {
		return err
	}
	packed := gzip.NewWriter(w)
	out := tar.NewWriter(packed)
	if err := out.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(about)), ModTime: now}); err != nil {
		return err
	}
	if _, err := out.Write(about); err != nil {
		return err
	}
	if err := addFile(out, copied, storeName); err != nil {
		return err
	}
	if err := addDirectory(out, files); err != nil {
		return err
	}
	return errors.Join(out.Close(), packed.Close())
}

// addDirectory adds the files of the directory undo. Each is replaced and never changed in
// place, or grows at its end.
func addDirectory(out *tar.Writer, undo string) error {
	return filepath.WalkDir(undo, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // pruned meanwhile, or nothing was ever kept
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(undo, path)
		if err != nil {
			return err
		}
		return addFile(out, path, undoName+"/"+filepath.ToSlash(rel))
	})
}

// addFile adds a file with as many bytes as it has now; one that is gone is none.
func addFile(out *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && name != storeName {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, info.Size())
	return err
}

// Restored reports the result of a restore.
type Restored struct {
	Conversations int      // that are new here
	Same          int      // that are here already, with all their messages
	Copies        int      // that went on differently here: the restored ones are conversations of their own
	Damaged       []string // IDs of those that could not be read whole; the readable parts are here
	Refused       []Refused
	Unchanged     []string // kinds of other things that were here already and stay as they are
}

// A Refused is a path in the history of a conversation's files that was not taken over, so that /undo
// does not touch it: another workspace than the conversation's, or something in a directory beside it, until the
// user adds that directory on this machine.
type Refused struct{ Conversation, Path string }

// restoredKeys are the keys of the store's state that come back. The others are about trust
// and permissions, which the user of this machine decides, or are about processes.
var restoredKeys = []string{"models", "favorites", "hidden", "theme", "image_model", "command_uses"}

// Restore takes back the content of r: conversations into the store lib, and the files that tools
// changed into the directory files, whose histories are kept by changed; nil: there are none. Nothing that
// is there is changed or removed, but conversations in the trash come out of it. The directory tmp holds
// the content of r meanwhile.
func Restore(r io.Reader, lib *store.DB, files string, changed undo.Store, tmp string) (done Restored, err error) {
	dir, err := os.MkdirTemp(tmp, ".restore-")
	if err != nil {
		return done, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := unpack(r, dir, standard); err != nil {
		return done, err
	}
	if err := store.CheckSchema(filepath.Join(dir, storeName)); err != nil {
		return done, fmt.Errorf("this is no backup of parley: %w", err)
	}
	from, err := store.Open(filepath.Join(dir, storeName))
	if err != nil {
		return done, err
	}
	defer func() { _ = from.Close() }()
	if err := from.ReadOnly(); err != nil {
		return done, err // a newer parley made it
	}
	all, err := from.List(store.Query{Limit: -1})
	if err != nil && len(all) == 0 {
		return done, err
	}
	if err := copyMissing(filepath.Join(dir, undoName, "objects"), filepath.Join(files, "objects")); err != nil {
		return done, err
	}
	for _, s := range all {
		if err := restoreSession(lib, from, s.ID, filepath.Join(dir, undoName), changed, &done); err != nil {
			return done, err
		}
	}
	done.Unchanged, err = store.CopyGlobal(lib, from, restoredKeys...)
	return done, err
}

// restoreSession takes back one conversation, with the history of its files.
func restoreSession(lib, from *store.DB, id, kept string, changed undo.Store, done *Restored) error {
	s, nodes, err := from.Read(id)
	if damaged := new(store.DamagedError); errors.As(err, &damaged) {
		done.Damaged = append(done.Damaged, id)
	} else if err != nil {
		return err
	}
	shown, err := from.Annotations(id)
	if damaged := new(store.DamagedError); err != nil && !errors.As(err, &damaged) {
		return err
	}
	if len(nodes) == 0 {
		return nil
	}
	// The user of this machine decides what tools may reach here.
	shown = slices.DeleteFunc(shown, func(a store.Annotation) bool { return a.Kind == store.KindDirectories })
	here, have, err := readHere(lib, id)
	switch {
	case err != nil:
		return err
	case here == nil:
	case holds(have, nodes) && !here.Deleted.IsZero():
		done.Conversations++
		return lib.Restore(id)
	case holds(have, nodes):
		done.Same++
		return nil
	default:
		s.ID = id + "-restored" // always the same, so that another restore finds it
		if before, have, err := readHere(lib, s.ID); err != nil {
			return err
		} else if before != nil && holds(have, nodes) {
			done.Same++
			return nil
		}
		s.Pinned = false
		if _, err := lib.Import(s, nodes, shown...); err != nil { // the history of files is by ID
			return err
		}
		done.Copies++
		return nil
	}
	// The history of its files first: a restore that is begun again passes over what is here.
	if changed != nil && filepath.IsLocal(id) && !strings.ContainsAny(id, `/\:`) { // a stranger's may lead elsewhere; there is no history of such a one
		refused, err := changed.Import(id, filepath.Join(kept, "sessions", id, "log"), s.Dir)
		if err != nil {
			return err
		}
		for _, path := range refused {
			done.Refused = append(done.Refused, Refused{id, path})
		}
	}
	if _, err := lib.Import(s, nodes, shown...); err != nil {
		return err
	}
	done.Conversations++
	return nil
}

// readHere returns a conversation that is here, with what of it can be read; nil for none.
func readHere(lib *store.DB, id string) (*store.Session, []store.Node, error) {
	s, nodes, err := lib.Read(id)
	if damaged := new(store.DamagedError); errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	} else if err != nil && !errors.As(err, &damaged) {
		return nil, nil, fmt.Errorf("%s, which is here, could not be read: %w", id, err)
	}
	return &s, nodes, nil
}

// holds reports whether all messages of nodes are among have, with the same Seq.
func holds(have, nodes []store.Node) bool {
	said := map[int]llm.Message{}
	for _, n := range have {
		said[n.Seq] = n.Message
	}
	for _, n := range nodes {
		m, ok := said[n.Seq]
		if !ok || !reflect.DeepEqual(m.Parts, n.Parts) || m.Role != n.Role {
			return false
		}
	}
	return true
}

// copyMissing copies the files of a directory that another one does not have. Each has its name
// only once all of it is there.
func copyMissing(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		err = atomicfile.Create(target, func(to *os.File) error {
			_, err := io.Copy(to, f)
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	})
}
