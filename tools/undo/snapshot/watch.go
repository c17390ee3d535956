package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/tools/act"
	"parley/tools/undo"
)

// A Watch records the changes of one call, by snapshots before and after it. It is for one goroutine.
type Watch struct {
	history    *History
	call       act.FileCall
	cancel     context.CancelFunc
	done       chan struct{} // closed once snapshot, snapshotAt and err are set
	snapshot   *snapshot
	err        error // why there is no snapshot
	snapshotAt time.Time
	record     undo.Record
	incomplete string // see MarkIncomplete
}

// maxSnapshotAge is the oldest snapshot that a call uses. The end of an answer may arrive this
// much later than its call. Changes by others in this time are attributed to the call, like those
// while it runs.
const maxSnapshotAge = 250 * time.Millisecond

// Watch begins a snapshot of the files that a call may change, in the background. Begin and End,
// or Cancel, must follow.
func (h *History) Watch(call act.FileCall) act.FileWatch {
	h.addDirectory(call.Directory)
	ctx, cancel := context.WithCancel(h.ctx)
	w := &Watch{history: h, call: call, cancel: cancel, done: make(chan struct{})}
	if !h.begin() {
		w.err = errClosed
		close(w.done)
		return w
	}
	go func() {
		defer h.done()
		defer close(w.done)
		w.snapshot, w.err = w.snapshotBefore(ctx)
		if w.snapshotAt = time.Now(); w.err == nil {
			w.snapshotAt = w.snapshot.listedAt
		}
		if w.err == nil && len(call.Paths) == 0 && w.snapshot.base == nil {
			h.remember()
		}
	}()
	return w
}

// Warm implements act.Files.
func (h *History) Warm() {
	if h.begin() {
		go func() {
			defer h.done()
			h.remember()
		}()
	}
}

// snapshotBefore takes the snapshot before the call, within the time that a call may be delayed.
func (w *Watch) snapshotBefore(ctx context.Context) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, maxSnapshotTime)
	defer cancel()
	h := w.history
	var l *snapshot
	var err error
	if len(w.call.Paths) > 0 {
		l, err = h.snapshotPaths(w.call.Paths, time.Now().UnixNano())
	} else if l = h.before(ctx); l != nil {
		return l, nil
	} else {
		walking, cancel := context.WithTimeout(ctx, maxSnapshotTime*2/3) // the rest of the time is for reading
		defer cancel()
		l, err = h.workspace.snapshot(walking, nil)
	}
	if err != nil {
		return nil, err
	}
	h.storeContents(ctx, l)
	return l, nil
}

// Coverage describes the files that cannot be restored, for the user, such as "3 files (1.2
// GB) cannot be undone"; "" if all can. It waits for the snapshot, at most 300 ms.
func (w *Watch) Coverage() string {
	<-w.done
	if w.err != nil {
		return "what it changes cannot be undone: " + w.err.Error()
	}
	return w.snapshot.summary()
}

// summary describes the files that a snapshot does not cover, except directories that git ignores.
func (l *snapshot) summary() string {
	if l.base != nil {
		return l.coverage
	}
	var words []string
	var size int64
	for _, u := range l.unstored {
		size += u.Size
	}
	if n := len(l.unstored); n == 1 {
		for file := range l.unstored {
			words = append(words, fmt.Sprintf("%s (%s) cannot be undone", file, bytesText(size)))
		}
	} else if n > 1 {
		words = append(words, fmt.Sprintf("%d files (%s) cannot be undone", n, bytesText(size)))
	}
	if l.partial != "" {
		words = append(words, "the folder is large: "+l.partial+"; changes of others cannot be undone")
	}
	var directories []string
	for _, u := range l.uncovered {
		if u.Why != ignoredByGit {
			directories = append(directories, string(u.Path))
		}
	}
	if slices.Sort(directories); len(directories) > 3 {
		words = append(words, fmt.Sprintf("%d folders cannot be undone", len(directories)))
	} else if len(directories) > 0 {
		words = append(words, strings.Join(directories, ", ")+" cannot be undone")
	}
	return strings.Join(words, "; ")
}

// bytesText formats a number of bytes for display.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Begin records that the call begins now. It takes a new snapshot if the first one is old,
// because changes by the user during the approval do not belong to the call.
func (w *Watch) Begin() error {
	<-w.done
	w.cancel()
	if w.err == nil && time.Since(w.snapshotAt) > maxSnapshotAge {
		w.history.release(w.snapshot)
		w.snapshot, w.err = w.snapshotBefore(context.Background())
	}
	if w.err != nil {
		return w.err
	}
	h := w.history
	w.record = undo.Record{Seq: w.call.Seq, Call: w.call.ID, Title: w.call.Title, At: h.now(), Root: undo.Name(h.dir), Directory: undo.Name(w.call.Directory), Open: true, Partial: w.snapshot.partial}
	for _, file := range w.call.Paths {
		was, there := w.snapshot.entries[file]
		c := comparison{workspace: h.workspace, before: w.snapshot}
		change := undo.Change{Path: undo.Name(file), After: undo.State{Kind: undo.Other}}
		if there {
			change.Before = c.stateBefore(was)
		}
		w.record.Changes, w.record.Uncovered = append(w.record.Changes, change), append(w.record.Uncovered, c.uncovered...)
	}
	return h.put(&w.record)
}

// MarkIncomplete adds a reason why End cannot see every change, such as a command that still runs;
// "" adds none. Call it before End.
func (w *Watch) MarkIncomplete(why string) {
	w.incomplete = strings.Trim(w.incomplete+"; "+why, "; ")
}

// maxAfterTime bounds the snapshot after a call.
const maxAfterTime = 10 * time.Second

// End records the changes of a call that has ended; nothing if Begin failed.
func (w *Watch) End() error {
	if w.record.N == 0 {
		return nil
	}
	h := w.history
	before := w.snapshot
	var after *snapshot
	var err error
	if len(w.call.Paths) > 0 {
		after, err = h.snapshotPaths(w.call.Paths, time.Now().UnixNano())
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), maxAfterTime)
		defer cancel()
		if before.base != nil {
			before, after, err = h.after(ctx, before)
			go h.storeAll()
		} else {
			after, err = h.workspace.snapshot(ctx, before)
		}
	}
	defer h.release(w.snapshot)
	if err != nil {
		return err
	}
	c := h.compare(before, after)
	w.record.Open, w.record.Changes, w.record.Uncovered = false, c.changes, c.uncovered
	w.record.Partial = strings.Trim(cmp.Or(after.partial, w.record.Partial)+"; "+w.incomplete, "; ")
	return h.put(&w.record)
}

// Cancel releases the watch of a call that does not run.
func (w *Watch) Cancel() {
	w.cancel()
	go func() {
		<-w.done
		w.history.release(w.snapshot)
	}()
}
