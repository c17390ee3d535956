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

	"parley/session/store"
	"parley/session/transfer"
)

// A Result counts the conversations in a place, or the changes made by its import.
type Result struct {
	Program       string            `json:"program"`
	Path          string            `json:"path"`
	Conversations int               `json:"conversations"`      // files, if each holds one conversation
	New           int               `json:"new"`                // by Scan: conversations that are missing here or have changed; by Import: those that were missing here
	Grown         int               `json:"grown,omitempty"`    // existing conversations with new messages
	Branched      int               `json:"apart,omitempty"`    // those of Grown whose new messages are on a separate branch
	Separate      int               `json:"separate,omitempty"` // those of New with another ID here, because a conversation of another place has theirs
	Removed       int               `json:"removed,omitempty"`  // conversations removed here, which are not imported again
	Failed        int               `json:"failed,omitempty"`   // files that are unreadable or hold no conversation
	Busy          int               `json:"busy,omitempty"`     // conversations open in another parley, left for a later import
	Notices       []transfer.Notice `json:"notices,omitempty"`  // parts that could not be imported
	FirstError    string            `json:"error,omitempty"`    // of Failed
}

// A record is stored between imports of a place.
type record struct {
	Files  map[string]readFile `json:"files"`            // by path below the place
	Stamps map[string]string   `json:"stamps,omitempty"` // by conversation ID, for files with several conversations
	Claims bool                `json:"claims,omitempty"` // claim is done
}

// A readFile describes a file at its last import.
type readFile struct {
	State string   `json:"state"`
	IDs   []string `json:"ids,omitempty"` // conversations in the file
}

func (p Place) key() string { return "import " + p.Program + " " + p.Path }

// load returns the record of p; an empty one if it is missing or invalid.
func (p Place) load(db *store.DB) (r record, err error) {
	text, err := db.Get(p.key())
	if err != nil {
		return r, err
	}
	if json.Unmarshal([]byte(text), &r) != nil {
		r = record{}
	}
	if r.Files == nil {
		r.Files = map[string]readFile{}
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

// relative returns path as used in records: relative to p, with slashes.
func (p Place) relative(path string) string {
	if rel, err := filepath.Rel(p.Path, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// Scan counts all and new conversations in p. It imports nothing.
func Scan(ctx context.Context, db *store.DB, read transfer.Reader, p Place) (Result, error) {
	r := Result{Program: p.Program, Path: p.Path}
	was, err := p.load(db)
	if err != nil {
		return r, err
	}
	for path, state := range p.files() {
		if p.match != nil {
			r.Conversations++
			if was.Files[p.relative(path)].State != state {
				r.New++
			}
			continue
		}
		if was.Files[p.relative(path)].State == state {
			r.Conversations = len(was.Stamps)
			continue
		}
		_, err := read(ctx, path, func(id, stamp string) bool {
			r.Conversations++
			if was.Stamps[id] != stamp {
				r.New++
			}
			return true
		}, func(transfer.Conversation) error { return nil })
		r.fail(err)
	}
	return r, ctx.Err()
}

// fail counts an unreadable file.
func (r *Result) fail(err error) {
	if err == nil || errors.Is(err, transfer.ErrNoConversation) {
		return
	}
	r.Failed++
	if r.FirstError == "" {
		r.FirstError = err.Error()
	}
}

// saveEvery is the interval for saving the record during a long import.
const saveEvery = 5 * time.Second

// Import imports new conversations of p. If ctx is canceled, it ends between two conversations and keeps those already
// imported.
func Import(ctx context.Context, db *store.DB, read transfer.Reader, p Place) (Result, error) {
	run := &run{db: db, read: read, place: p, Result: Result{Program: p.Program, Path: p.Path}}
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
	read    transfer.Reader
	place   Place
	record  record
	changed bool
}

// claim tells the store, once, which conversations earlier versions imported from the place, because they did not
// record it.
func (r *run) claim() error {
	if r.record.Claims {
		return nil
	}
	ids := slices.Collect(maps.Keys(r.record.Stamps))
	for _, file := range r.record.Files {
		ids = append(ids, file.IDs...)
	}
	if len(ids) > 0 {
		if err := r.db.Imports(r.place.source()).Claim(ids...); err != nil {
			return err
		}
	}
	r.record.Claims, r.changed = true, true
	return nil
}

func (r *run) file(ctx context.Context, path, state string) error {
	name := r.place.relative(path)
	was := r.record.Files[name]
	if was.State == state {
		r.Conversations += max(1, len(r.record.Stamps))
		return ctx.Err()
	}
	now := readFile{State: state, IDs: was.IDs}
	busy := r.Busy
	var unstored error // an error of parley's own store, which ends the import
	notices, err := r.read(ctx, path, r.known, func(c transfer.Conversation) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		unstored = r.add(c, &now)
		return unstored
	})
	r.addNotices(path, notices)
	if unstored != nil {
		return unstored
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.fail(err)
	var system syscall.Errno
	if r.changed = true; r.Busy > busy || errors.As(err, &system) {
		now.State = "" // read it again next time: it is busy, or may be readable then
	}
	r.record.Files[name] = now
	return nil
}

// known reports whether a conversation is unchanged since its last import, and counts it.
func (r *run) known(id, stamp string) bool {
	same := r.record.Stamps[id] == stamp
	if same {
		r.Conversations++
	}
	return same
}

// add imports a conversation, unless it was removed here after an earlier import.
func (r *run) add(c transfer.Conversation, now *readFile) error {
	r.Conversations++
	id := c.Session.ID
	_, before := r.record.Stamps[id]
	before = before || slices.Contains(now.IDs, id)
	if before {
		if removed, err := r.isRemoved(id); removed || err != nil {
			r.remember(c, now)
			return err
		}
	}
	if at := time.Now(); c.Session.Updated.After(at) { // the clock of its machine was wrong
		c.Session.Updated = at
	}
	done, err := r.db.Imports(r.place.source()).Add(c.Session, c.Nodes, c.Annotations...)
	switch {
	case errors.As(err, new(*store.LockedError)):
		r.Busy++
		return nil
	case err != nil:
		return err
	case done.Deleted:
		r.Removed++
	case done.New:
		r.New++
		if done.ID != id {
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

// isRemoved reports whether an imported conversation was removed here, and counts it. There is its ID in the other
// program.
func (r *run) isRemoved(there string) (bool, error) {
	id, err := r.db.Imports(r.place.source()).ID(there)
	if err != nil {
		return false, err
	}
	found, err := r.db.Find(id)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(found, func(s store.Session) bool { return s.ID == id && s.Deleted.IsZero() }) {
		return false, nil
	}
	r.Removed++
	return true, nil
}

func (r *run) remember(c transfer.Conversation, now *readFile) {
	r.changed = true
	if c.Stamp != "" {
		r.record.Stamps[c.Session.ID] = c.Stamp
	} else if !slices.Contains(now.IDs, c.Session.ID) {
		now.IDs = append(slices.Clip(now.IDs), c.Session.ID)
	}
}

// addNotices merges the notices of the file at path into those of other files, by kind.
func (r *run) addNotices(path string, notices []transfer.Notice) {
	for _, n := range notices {
		n.First = strings.TrimSuffix(path+", "+n.First, ", ")
		i := slices.IndexFunc(r.Notices, func(m transfer.Notice) bool { return m.Kind == n.Kind })
		if i < 0 {
			r.Notices = append(r.Notices, n)
			continue
		}
		r.Notices[i].Count += n.Count
	}
}

// state returns the size and time of a file, as text to compare.
func state(info fs.FileInfo) string {
	return fmt.Sprintf("%d/%d", info.Size(), info.ModTime().UnixNano())
}

// wholeState returns the state of a database and its log. For a directory it never repeats, because nothing tells
// whether files below it have changed.
func wholeState(path string) string {
	var all []string
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		switch {
		case err != nil:
			all = append(all, "-")
		case info.IsDir():
			return fmt.Sprint(time.Now().UnixNano())
		default:
			all = append(all, state(info))
		}
	}
	return strings.Join(all, " ")
}
