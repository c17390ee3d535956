// Package backup writes all data about conversations into one file and restores it, on another machine or next to
// existing conversations. Its commands are subcommands of parley sessions.
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

// A backup is a compressed tar archive with these names: a manifest, the store of conversations, and the directory of
// earlier versions of files.
const (
	manifestName = "parley-backup.json"
	storeName    = "parley.db"
	undoName     = "undo"
)

// version is the version of the format.
const version = 1

// A manifest is the first file of a backup.
type manifest struct {
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
}

// Write writes the store, and the directory files, to w. Meanwhile the directory tmp holds a copy of the store that
// only its owner can read. Other processes may continue to use the store.
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

// addDirectory adds the files of the directory undo. Other processes replace these files or append to them, but never
// change them in place.
func addDirectory(out *tar.Writer, undo string) error {
	return filepath.WalkDir(undo, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // pruned meanwhile, or never created
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

// addFile adds a file with its current size. It skips a file that no longer exists.
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
	Conversations int      // new conversations
	Same          int      // conversations that are here already with all their messages
	Copies        int      // conversations that continued differently here, restored as separate ones
	Damaged       []string // IDs of damaged conversations; their readable parts are restored
	Refused       []Refused
	Unchanged     []string // kinds of other data that existed here and were not changed
}

// A Refused is a path in a conversation's file history that was not restored, so that /undo does not touch it. It is
// outside the conversation's workspace, or in an added directory, which the user has to add on this machine first.
type Refused struct{ Conversation, Path string }

// restoredKeys are the keys of the store's state to restore. The others hold trust and permissions, which the user of
// this machine decides, or belong to processes.
var restoredKeys = []string{"models", "favorites", "hidden", "theme", "image_model", "command_uses", "column"}

// Restore restores the content of r: conversations into the store lib, and earlier versions of files into the directory
// files, whose histories changed holds; nil if there are none. It does not change or remove existing data, except that
// it takes conversations out of the trash. Meanwhile the directory tmp holds the content of r.
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
		return done, err // a newer parley wrote it
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

// restoreSession restores one conversation with its file history.
func restoreSession(lib, from *store.DB, id, kept string, changed undo.Store, done *Restored) error {
	s, nodes, err := from.Read(id)
	if errors.As(err, new(*store.DamagedError)) {
		done.Damaged = append(done.Damaged, id)
	} else if err != nil {
		return err
	}
	shown, err := from.Annotations(id)
	if err != nil && !errors.As(err, new(*store.DamagedError)) {
		return err
	}
	if len(nodes) == 0 {
		return nil
	}
	// The user of this machine decides which directories tools may use.
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
		if _, err := lib.Import(s, nodes, shown...); err != nil { // file histories are stored by ID
			return err
		}
		done.Copies++
		return nil
	}
	// The file history comes first: a repeated restore skips conversations that exist.
	if changed != nil && filepath.IsLocal(id) && !strings.ContainsAny(id, `/\:`) { // an ID from a stranger may lead elsewhere; parley makes no such history
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

// readHere returns the conversation in this store, with its readable messages; nil if there is none.
func readHere(lib *store.DB, id string) (*store.Session, []store.Node, error) {
	s, nodes, err := lib.Read(id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	} else if err != nil && !errors.As(err, new(*store.DamagedError)) {
		return nil, nil, fmt.Errorf("%s, which is here, could not be read: %w", id, err)
	}
	return &s, nodes, nil
}

// holds reports whether have contains all messages of nodes with the same Seq.
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

// copyMissing copies the files that the directory to lacks. Each file gets its name only when it is complete.
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
