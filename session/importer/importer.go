package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/session/archive"
	"parley/session/store"
)

// A Result says what is in a place, or what came of its import.
type Result struct {
	Program       string           `json:"program"`
	Path          string           `json:"path"`
	Conversations int              `json:"conversations"`      // files, where each holds one
	New           int              `json:"new"`                // of them, that are not here or have changed since; after the import: that were not here
	Grown         int              `json:"grown,omitempty"`    // conversations that were here, and have new messages
	Branched      int              `json:"apart,omitempty"`    // of Grown, where those stand on a branch of their own
	Separate      int              `json:"separate,omitempty"` // of New, whose ID another place's conversation has: they have other IDs here
	Removed       int              `json:"removed,omitempty"`  // that were removed here, and stay so
	Failed        int              `json:"failed,omitempty"`   // files that cannot be read, or hold no conversation
	Busy          int              `json:"busy,omitempty"`     // conversations that are open in another parley, and wait
	Notices       []archive.Notice `json:"notices,omitempty"`  // what could not be taken over
	FirstError    string           `json:"error,omitempty"`    // of Failed
}

// A record is what is remembered of a place.
type record struct {
	Files  map[string]seen   `json:"files"`            // by path below the place
	Stamps map[string]string `json:"stamps,omitempty"` // of conversations, by ID, where one file has several
	Claims bool              `json:"claims,omitempty"` // the store knows which conversations the place brought: records of earlier versions alone did
}

// seen is a file as it was read last.
type seen struct {
	State string   `json:"state"`
	IDs   []string `json:"ids,omitempty"` // of its conversations
}

func (p Place) key() string { return "import " + p.Program + " " + p.Path }

// load returns what is remembered of p; nothing, if that cannot be read.
func (p Place) load(db *store.DB) (r record, err error) {
	text, err := db.Get(p.key())
	if err != nil {
		return r, err
	}
	if json.Unmarshal([]byte(text), &r) != nil {
		r = record{}
	}
	if r.Files == nil {
		r.Files = map[string]seen{}
	}
	if r.Stamps == nil {
		r.Stamps = map[string]string{}
	}
	return r, nil
}

func (p Place) save(db *store.DB, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return db.Set(p.key(), string(text))
}

// below returns how a file of p is remembered.
func (p Place) below(path string) string {
	if rel, err := filepath.Rel(p.Path, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// Scan says how much there is in p, and how much of it is new.
func Scan(ctx context.Context, db *store.DB, p Place) (Result, error) {
	r := Result{Program: p.Program, Path: p.Path}
	was, err := p.load(db)
	if err != nil {
		return r, err
	}
	for path, state := range p.files() {
		if p.match != nil {
			r.Conversations++
			if was.Files[p.below(path)].State != state {
				r.New++
			}
			continue
		}
		if was.Files[p.below(path)].State == state {
			r.Conversations = len(was.Stamps)
			continue
		}
		_, err := archive.ReadFile(ctx, path, func(id, stamp string) bool {
			r.Conversations++
			if was.Stamps[id] != stamp {
				r.New++
			}
			return true
		}, func(archive.Conversation) error { return nil })
		r.fail(err)
	}
	return r, ctx.Err()
}

// fail counts a file that cannot be read.
func (r *Result) fail(err error) {
	if err == nil || errors.Is(err, archive.ErrNoConversation) {
		return
	}
	r.Failed++
	if r.FirstError == "" {
		r.FirstError = err.Error()
	}
}

// saveEvery sets how often what was read is remembered during a long import.
const saveEvery = 5 * time.Second

// Import brings in what is new in p. A canceled ctx ends it between two conversations;
// what was imported until then stays.
func Import(ctx context.Context, db *store.DB, p Place) (Result, error) {
	run := &run{db: db, place: p, Result: Result{Program: p.Program, Path: p.Path}}
	var err error
	if run.record, err = p.load(db); err != nil {
		return run.Result, err
	}
	if err := run.claim(); err != nil {
		return run.Result, err
	}
	files := p.files()
	saved := time.Now()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err = run.file(ctx, path, files[path]); err != nil {
			break
		}
		if time.Since(saved) > saveEvery {
			saved = time.Now()
			if err = p.save(db, run.record); err != nil {
				break
			}
		}
	}
	if run.changed {
		err = errors.Join(err, p.save(db, run.record))
	}
	return run.Result, err
}

// A run is one import of a place.
type run struct {
	Result
	db      *store.DB
	place   Place
	record  record
	changed bool
}

// claim has the store know what the place brought before the store kept that.
func (r *run) claim() error {
	if r.record.Claims {
		return nil
	}
	ids := slices.Collect(maps.Keys(r.record.Stamps))
	for _, file := range r.record.Files {
		ids = append(ids, file.IDs...)
	}
	if len(ids) > 0 {
		if err := store.ClaimImported(r.db, r.place.source(), ids...); err != nil {
			return err
		}
	}
	r.record.Claims, r.changed = true, true
	return nil
}

// errStore marks errors of our own side, which end an import.
type errStore struct{ error }

func (e errStore) Unwrap() error { return e.error }

func (r *run) file(ctx context.Context, path, state string) error {
	name := r.place.below(path)
	was := r.record.Files[name]
	if was.State == state {
		r.Conversations += max(1, len(r.record.Stamps))
		return ctx.Err()
	}
	now := seen{State: state, IDs: was.IDs}
	busy := r.Busy
	notices, err := archive.ReadFile(ctx, path, r.known, func(c archive.Conversation) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.add(c, &now)
	})
	r.tell(path, notices)
	if own := (errStore{}); errors.As(err, &own) {
		return own.error
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.fail(err)
	var system syscall.Errno
	if r.changed = true; r.Busy > busy || errors.As(err, &system) {
		now.State = "" // it waits, or may be readable next time
	}
	r.record.Files[name] = now
	return nil
}

// known reports whether a conversation is as it was.
func (r *run) known(id, stamp string) bool {
	same := r.record.Stamps[id] == stamp
	if same {
		r.Conversations++
	}
	return same
}

// add brings in a conversation, unless it was removed here after an earlier import.
func (r *run) add(c archive.Conversation, now *seen) error {
	r.Conversations++
	id := c.Session.ID
	_, before := r.record.Stamps[id]
	before = before || slices.Contains(now.IDs, id)
	if before {
		if gone, err := r.gone(id); gone || err != nil {
			r.remember(c, now)
			return err
		}
	}
	if at := time.Now(); c.Session.Updated.After(at) { // nobody has talked in the future
		c.Session.Updated = at
	}
	done, err := store.ImportFrom(r.db, r.place.source(), c.Session, c.Nodes, c.Annotations...)
	locked := new(store.LockedError)
	switch {
	case errors.As(err, &locked):
		r.Busy++
		return nil
	case err != nil:
		return errStore{err}
	case done.Deleted:
		r.Removed++
	case done.New:
		r.New++
		if here, err := store.ImportedAs(r.db, r.place.source(), id); err != nil {
			return errStore{err}
		} else if here != id {
			r.Separate++
		}
	case done.Added > 0:
		r.Grown++
		if done.Branched {
			r.Branched++
		}
	}
	r.remember(c, now)
	return nil
}

// gone reports whether a conversation that was imported is not here any more.
func (r *run) gone(there string) (bool, error) {
	id, err := store.ImportedAs(r.db, r.place.source(), there)
	if err != nil {
		return false, errStore{err}
	}
	found, err := r.db.Find(id)
	if err != nil {
		return false, errStore{err}
	}
	if slices.ContainsFunc(found, func(s store.Session) bool { return s.ID == id && s.Deleted.IsZero() }) {
		return false, nil
	}
	r.Removed++
	return true, nil
}

func (r *run) remember(c archive.Conversation, now *seen) {
	r.changed = true
	if c.Stamp != "" {
		r.record.Stamps[c.Session.ID] = c.Stamp
	} else if !slices.Contains(now.IDs, c.Session.ID) {
		now.IDs = append(slices.Clip(now.IDs), c.Session.ID)
	}
}

// tell adds what could not be taken over of a file to what could not of others.
func (r *run) tell(path string, notices []archive.Notice) {
	for _, n := range notices {
		n.First = strings.TrimSuffix(path+", "+n.First, ", ")
		i := slices.IndexFunc(r.Notices, func(m archive.Notice) bool { return m.Kind == n.Kind })
		if i < 0 {
			r.Notices = append(r.Notices, n)
			continue
		}
		r.Notices[i].Count += n.Count
	}
}

// state returns what changes when a file does.
func state(info fs.FileInfo) string {
	return fmt.Sprintf("%d/%d", info.Size(), info.ModTime().UnixNano())
}

// wholeState returns what changes when a database, its log, or a folder of many files does.
// Of a folder nothing says that: it is looked through each time.
func wholeState(path string) string {
	var all []string
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		switch {
		case err != nil:
			all = append(all, "-")
		case info.IsDir():
			return fmt.Sprint("folder ", time.Now().UnixNano())
		default:
			all = append(all, state(info))
		}
	}
	return strings.Join(all, " ")
}
