package undo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Call is a tool call that may change files.
type Call struct {
	ID    string
	Seq   int    // message of the conversation that it belongs to
	Title string // what it does; untrusted text
	Paths []string
	// relative to the workspace, or absolute in Folder; none: it may change anything in it
	Folder string // directory beside the workspace that Paths are in; "": they are in it
}

// A Watch looks at what one call may change, before and after it runs. It is for one goroutine.
type Watch struct {
	history *History
	call    Call
	cancel  context.CancelFunc
	done    chan struct{} // closed when the first look has ended
	look    *look
	err     error // why there is no look
	at      time.Time
	record  Record
	warm    chan struct{} // closed when nothing is read beside any more; nil: nothing is
	unseen  string        // why more changes than was seen; "": nothing does
}

// fresh is how old a look may be for a call to begin after it: nobody was asked in between, and the
// end of an answer may arrive that much behind its call. What somebody else changes in that time is
// taken for the call's, as is what they change while it runs.
const fresh = 250 * time.Millisecond

// Watch begins to look at what a call may change, beside what the caller does.
func (h *History) Watch(call Call) *Watch {
	if h == nil {
		return nil
	}
	h.addFolder(call.Folder)
	ctx, cancel := context.WithCancel(h.life)
	w := &Watch{history: h, call: call, cancel: cancel, done: make(chan struct{}), warm: make(chan struct{})}
	if !h.enter() {
		w.err = errClosed
		close(w.done)
		close(w.warm)
		return w
	}
	go func() {
		defer h.leave()
		defer close(w.warm)
		w.look, w.err = w.see(ctx)
		if w.at = time.Now(); w.err == nil {
			w.at = w.look.at
		}
		close(w.done)
		if w.err == nil && len(call.Paths) == 0 && w.look.partial != "" {
			h.warm(ctx, false) // while the user thinks
		}
	}()
	return w
}

// maxWarm is how long files are read ahead.
const maxWarm = 5 * time.Second

// Warm reads what a look before a call will want to know, until ctx ends, for 5 s at most. It
// is for the time in which a model answers. Soon says that a call which may change any file has
// arrived and is made as soon as the answer has ended: it can have the look, if that was begun
// less than 250 ms before.
func (h *History) Warm(ctx context.Context, soon bool) {
	if h == nil || !h.enter() {
		return
	}
	defer h.leave()
	ctx, cancel := context.WithTimeout(ctx, maxWarm)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	h.warm(ctx, soon)
}

func (h *History) warm(ctx context.Context, soon bool) {
	if l := h.walkAhead(ctx, soon); l != nil {
		h.readAhead(ctx, l)
	}
}

// see looks once, for as long as a call may be held up.
func (w *Watch) see(ctx context.Context) (*look, error) {
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	h := w.history
	var l *look
	var err error
	if len(w.call.Paths) > 0 {
		l, err = h.seePaths(w.call.Paths, time.Now().UnixNano())
	} else {
		walking, cancel := context.WithTimeout(ctx, maxLook*2/3) // the rest is for what was found
		defer cancel()
		l, err = h.walkNow(walking)
	}
	if err != nil {
		return nil, err
	}
	h.keep(ctx, l)
	return l, nil
}

// Coverage says what of a call cannot be undone, in words for the user, such as "3 files
// (1.2 GB) cannot be undone"; "" if all can. It waits for the look, at most 300 ms.
func (w *Watch) Coverage() string {
	if w == nil {
		return ""
	}
	<-w.done
	if w.err != nil {
		return "what it changes cannot be undone: " + w.err.Error()
	}
	return w.look.summary()
}

// summary says what a look could not cover. Folders that git ignores are not worth a word.
func (l *look) summary() string {
	var words []string
	var size int64
	for _, u := range l.unkept {
		size += u.Size
	}
	if n := len(l.unkept); n == 1 {
		for file := range l.unkept {
			words = append(words, fmt.Sprintf("%s (%s) cannot be undone", file, bytesText(size)))
		}
	} else if n > 1 {
		words = append(words, fmt.Sprintf("%d files (%s) cannot be undone", n, bytesText(size)))
	}
	if l.partial != "" {
		words = append(words, "the folder is large: "+l.partial+"; changes of others cannot be undone")
	}
	var folders []string
	for _, u := range l.left {
		if u.Why != ignoredFolder {
			folders = append(folders, string(u.Path))
		}
	}
	if slices.Sort(folders); len(folders) > 3 {
		words = append(words, fmt.Sprintf("%d folders cannot be undone", len(folders)))
	} else if len(folders) > 0 {
		words = append(words, strings.Join(folders, ", ")+" cannot be undone")
	}
	return strings.Join(words, "; ")
}

// bytesText returns a number of bytes as people write it.
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

// Begin is to be called right before the call runs. If the look before is old, for a user was
// asked, it looks again: what they changed meanwhile is theirs.
func (w *Watch) Begin() error {
	if w == nil {
		return nil
	}
	<-w.done
	w.cancel()
	<-w.warm
	if w.err == nil && time.Since(w.at) > fresh {
		w.look.git.close()
		w.look, w.err = w.see(context.Background())
	}
	if w.err != nil {
		return w.err
	}
	h := w.history
	h.leaveWalk()
	w.record = Record{Seq: w.call.Seq, Call: w.call.ID, Title: w.call.Title, At: h.now(), Root: Name(h.dir), Folder: Name(w.call.Folder), Open: true, Partial: w.look.partial}
	for _, file := range w.call.Paths {
		was, there := w.look.found[file]
		c := comparison{workspace: h.workspace, before: w.look}
		change := Change{Path: Name(file), After: State{Kind: Other}}
		if there {
			change.Before = c.stateBefore(was)
		}
		w.record.Changes, w.record.Uncovered = append(w.record.Changes, change), append(w.record.Uncovered, c.uncovered...)
	}
	return h.put(&w.record)
}

// Unseen says why more changes than is seen at the end of the call, as where what it started has
// not ended. It is to be called before End; "" says nothing.
func (w *Watch) Unseen(why string) {
	if w != nil {
		w.unseen = strings.Trim(w.unseen+"; "+why, "; ")
	}
}

// maxAfter is how long the look after a call may take.
const maxAfter = 10 * time.Second

// End is to be called once the call has run. It returns what the call changed, which is in the
// history then.
func (w *Watch) End() (Record, error) {
	if w == nil || w.record.N == 0 {
		return Record{}, nil
	}
	h := w.history
	var after *look
	var err error
	if len(w.call.Paths) > 0 {
		after, err = h.seePaths(w.call.Paths, time.Now().UnixNano())
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), maxAfter)
		defer cancel()
		after, err = h.workspace.see(ctx, w.look)
	}
	defer w.look.git.close()
	if err != nil {
		return w.record, err
	}
	c := h.compare(w.look, after)
	w.record.Open, w.record.Changes, w.record.Uncovered = false, c.changes, c.uncovered
	w.record.Partial = strings.Trim(cmp.Or(after.partial, w.record.Partial)+"; "+w.unseen, "; ")
	return w.record, h.put(&w.record)
}

// Cancel is to be called for a call that does not run.
func (w *Watch) Cancel() {
	if w == nil {
		return
	}
	w.cancel()
	go func() {
		<-w.warm
		if w.look != nil {
			w.look.git.close()
		}
	}()
}
