package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/act"
)

// Files returns what keeps the files that tools change in this conversation; nil if nothing does.
func (s *Session) Files() act.Files { return s.files }

// watch begins to look at what a call may change, beside what follows; nothing of one that only
// reads.
func (b *callBatch) watch(call *pendingCall) {
	a, t := call.action, b.turn
	if call.fileWatch != nil || t.session.files == nil || a.Access == act.AccessRead || a.Access == act.AccessFetch {
		return
	}
	watched := act.FileCall{ID: call.part.ID, Seq: b.results.Seq, Title: a.Title}
	switch {
	case a.Access == act.AccessWrite && a.Path != "":
		watched.Paths, watched.Directory = []string{a.Path}, t.callable.DirectoryOf(a.Path)
	case t.callable.WorkspaceProblem() != "":
		a.Irreversible = "what it changes cannot be undone: this folder " + t.callable.WorkspaceProblem()
		return
	}
	if unwatched := unwatchedDirectories(t.callable); unwatched != "" && len(watched.Paths) == 0 {
		a.Irreversible = strings.Trim(a.Irreversible+"; "+unwatched, "; ")
	}
	call.fileWatch = t.session.files.Watch(watched)
}

// tellIrreversible tells with the question about a call what of it cannot be undone.
func (call *pendingCall) tellIrreversible() {
	if call.fileWatch != nil {
		call.action.Irreversible = strings.Trim(call.action.Irreversible+"; "+call.fileWatch.Coverage(), "; ")
	}
}

// unwatch ends the look at a call that does not run, or not as it was looked at.
func (call *pendingCall) unwatch() {
	if call.fileWatch != nil {
		call.fileWatch.Cancel()
	}
	call.fileWatch = nil
}

// keepFiles begins to back up the files that this call may change, and returns a channel that is closed once
// that is done: until then a program may get ready, and runs no instruction. Before that, tell gets an error,
// if there is one. The channel is nil if nothing is backed up.
func (call *pendingCall) keepFiles(tell func(notice string)) <-chan struct{} {
	if call.fileWatch == nil {
		return nil
	}
	kept := make(chan struct{})
	call.filesRecorded = kept
	go func() {
		defer close(kept)
		if err := call.fileWatch.Begin(); err != nil {
			tell("this call cannot be undone: " + err.Error())
			call.unwatch()
		}
	}()
	return kept
}

// compareFiles enters into the history what a call changed. Of a command that goes on in the
// background nothing is known that it changes later. It returns what to tell.
func (call *pendingCall) compareFiles(set act.Set, out *act.Outcome) (notice string) {
	if call.filesRecorded == nil {
		return ""
	}
	<-call.filesRecorded // it may have ended before it began
	if out.Job > 0 {
		call.fileWatch.MarkIncomplete(fmt.Sprintf("the command continued in the background as job %d", out.Job))
	}
	if call.action.Access == act.AccessRun {
		call.fileWatch.MarkIncomplete(unwatchedDirectories(set))
	}
	if err := call.fileWatch.End(); err != nil {
		return "what this call changed cannot be undone: " + err.Error()
	}
	return ""
}

// warmFiles reads files ahead of the snapshots before calls, beside the turn, once in it. Soon says
// that a command has arrived, which runs once the answer has ended: its snapshot is taken now.
func (t *turn) warmFiles(soon bool) {
	if t.session.files == nil || t.warmed && !soon || t.callable.WorkspaceProblem() != "" {
		return
	}
	t.warmed = true
	go t.session.files.Warm(t.ctx, soon)
}

// maxPrefetchInput is the longest input of a call, in bytes, that is checked for its end while it arrives.
const maxPrefetchInput = 8 << 10

// prefetchFiles reads files that the call of delta d may change, while the rest of the answer arrives.
func (t *turn) prefetchFiles(p *partialResponse, d llm.Delta) {
	soon := false
	if t.session.files != nil && strings.HasSuffix(strings.TrimSpace(d.Input), "}") {
		call := p.call(d.Block)
		soon = len(call.Input) <= maxPrefetchInput && json.Valid([]byte(call.Input)) && t.callable.MayChangeAnything(call.Name)
	}
	t.warmFiles(soon)
}

// unwatchedDirectories names the added directories, in which a command's changes are not recorded; "" if there are none.
func unwatchedDirectories(set act.Set) string {
	if dirs := set.Directories(); len(dirs) > 0 {
		return "what a command changes in " + strings.Join(dirs, ", ") + " cannot be undone"
	}
	return ""
}

// endedJobs returns what the model is told of commands in the background that have ended since
// it was told last; "" for nothing.
func endedJobs(t *turn) string {
	if t.session.tools == nil {
		return ""
	}
	return t.session.tools.TakeEndedJobs(t.id)
}

// tellEndedJobs tells the model of them with the result of a call of its own.
func (b *callBatch) tellEndedJobs(out *act.Outcome) {
	if b.results.Seq == 0 {
		return // a command of a prompt: the prompt tells it
	}
	if note := endedJobs(b.turn); note != "" {
		out.Text += "\n\n" + note
	}
}

// withEndedJobs returns a prompt with what the model is told of them.
func withEndedJobs(t *turn, parts []llm.Part) []llm.Part {
	if note := endedJobs(t); note != "" {
		parts = append(slices.Clip(parts), llm.Part{Kind: llm.Text, Name: "jobs that ended", Text: "<note>\n" + note + "\n</note>"})
	}
	return parts
}

// AddedDirectories are the directories beside the workspace that tools reach in a conversation. It
// is an event: the last one on a branch holds.
type AddedDirectories struct {
	Dirs []string          `json:"dirs"`          // absolute, without links; some may be gone at the moment
	IDs  map[string]string `json:"ids,omitempty"` // what told each from others when it was added; not of all
}

// Directories holds the directories beside the workspace: those that tools reach, which they keep,
// and those that a branch stores.
type Directories struct {
	conversation *conversation
	tools        act.Set   // nil: none are offered
	files        act.Files // keeps what is changed in them; nil: nothing does
}

// Directories returns the directories that the user added to the workspace.
func (s *Session) Directories() *Directories { return &s.directories }

// Stored returns the added directories that the current branch stores, whether tools reach them or
// not; see Missing.
func (d *Directories) Stored() []string { return d.last().Dirs }

func (d *Directories) last() AddedDirectories {
	a, _ := d.conversation.lastAnnotation(store.KindDirectories)
	f, _ := DecodeAnnotation(a).(AddedDirectories)
	return f
}

// Reachable returns the directories that tools reach beside the workspace.
func (d *Directories) Reachable() []string {
	if d.tools == nil {
		return nil
	}
	return d.tools.Directories()
}

// Missing returns the added directories of the conversation that tools cannot use, for instance
// because they no longer exist.
func (d *Directories) Missing() []string {
	now := d.Reachable()
	return slices.DeleteFunc(slices.Clone(d.Stored()), func(dir string) bool { return slices.Contains(now, dir) })
}

// Check returns the path of dir without symbolic links, or an error why it cannot be added.
func (d *Directories) Check(dir string) (real string, err error) {
	if d.tools == nil {
		return "", errNoTools
	}
	return d.tools.CheckDirectory(dir)
}

var errNoTools = errors.New("no tools are available")

// Add adds a directory that tools may use beside the workspace. Dir is the path that Check
// returned, after the user agreed. The conversation stores it.
func (d *Directories) Add(dir string) error {
	others := slices.DeleteFunc(slices.Clone(d.Stored()), func(other string) bool { return other == dir })
	if slices.Contains(d.Missing(), dir) {
		_ = d.Set(others...) // what it says of others is said below
	}
	return d.Set(append(others, dir)...)
}

// Set replaces the added directories of the conversation, from here on. It returns an error for
// those that cannot be added, and leaves them out; a directory that the conversation had and that
// no longer exists stays, and is used once it is back.
func (d *Directories) Set(dirs ...string) error {
	if d.tools == nil {
		return errNoTools
	}
	err := d.Restore(dirs...)
	was, now := d.last(), d.Reachable()
	stay := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return !slices.Contains(now, dir) && (!slices.Contains(was.Dirs, dir) || mayExist(dir))
	})
	if !slices.Equal(stay, was.Dirs) {
		ids := d.tools.DirectoryIDs()
		maps.Copy(ids, was.IDs)
		maps.DeleteFunc(ids, func(dir, _ string) bool { return !slices.Contains(stay, dir) })
		d.conversation.Annotate(0, AddedDirectories{Dirs: stay, IDs: ids})
	}
	return err
}

// Restore does what Set does with the directories that the conversation stores, when it is opened
// again.
func (d *Directories) Restore(dirs ...string) error {
	if d.tools == nil {
		return nil
	}
	err := d.tools.RestoreDirectories(d.last().IDs, dirs...)
	if d.files != nil {
		d.files.AddDirectories(d.Reachable()...)
	}
	return err
}

// mayExist reports whether something may stand at dir, whatever it is: only an error that says that
// there is nothing denies it, so that what cannot be looked at counts as there.
func mayExist(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// withRestoredDirectories has tools reach the directories of the conversation that are back, and returns a
// prompt with what the model is told of that. Where another one stands by now it is no longer among
// them, which the user is told.
func withRestoredDirectories(t *turn, parts []llm.Part) []llm.Part {
	d := t.session.Directories()
	missing := d.Missing()
	if d.tools == nil || !slices.ContainsFunc(missing, mayExist) {
		return parts
	}
	there := slices.DeleteFunc(slices.Clone(d.Stored()), func(dir string) bool { return !mayExist(dir) })
	if err := d.Restore(there...); err != nil {
		t.notice("Continuing without a folder: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		_ = d.Set(d.Stored()...) // those that are gone stay
	}
	now := d.Reachable()
	back := slices.DeleteFunc(missing, func(dir string) bool { return !slices.Contains(now, dir) })
	if len(back) == 0 {
		return parts
	}
	notice := "Tools reach " + strings.Join(back, ", ") + " again"
	t.notice("%s", notice)
	return append(slices.Clip(parts), llm.Part{Kind: llm.Text, Name: "note on folders", Text: "<note>\n" + notice + ", as before.\n</note>"})
}

// DirectoriesText tells a model of added directories; "" for none.
func DirectoriesText(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return "Besides the workspace, tools reach these folders, by absolute paths: " + strings.Join(dirs, ", ") + ". Commands in the sandbox can change files in them, but not git's own."
}
