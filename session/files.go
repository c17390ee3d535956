package session

import (
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

// Files returns the backups of files that tools change in this conversation; nil if none are made.
func (s *Session) Files() act.Files { return s.files }

// watch starts watching the files that a call may change, concurrently with its approval.
// Read-only calls are not watched.
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

// tellIrreversible adds the irreversible effects of a call to its approval request.
func (call *pendingCall) tellIrreversible() {
	if call.fileWatch != nil {
		call.action.Irreversible = strings.Trim(call.action.Irreversible+"; "+call.fileWatch.Coverage(), "; ")
	}
}

// unwatch stops watching a call that does not run, or whose plan has changed.
func (call *pendingCall) unwatch() {
	if call.fileWatch != nil {
		call.fileWatch.Cancel()
	}
	call.fileWatch = nil
}

// keepFiles begins to back up the files that this call may change, and returns a channel that is closed when
// that is done; nil if nothing is backed up. Until then a program may be prepared but executes nothing. An
// error is passed to tell first.
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

// compareFiles records the changes of a call in the history. Later changes of a command in
// the background are not known. It returns a notice for the user.
func (call *pendingCall) compareFiles(set act.Set, out *act.Outcome) (notice string) {
	if call.filesRecorded == nil {
		return ""
	}
	<-call.filesRecorded // the call may have ended before the backup began
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

// unwatchedDirectories names the added directories, in which a command's changes are not recorded; "" if there are none.
func unwatchedDirectories(set act.Set) string {
	if dirs := set.Directories(); len(dirs) > 0 {
		return "what a command changes in " + strings.Join(dirs, ", ") + " cannot be undone"
	}
	return ""
}

// endedJobs returns a report for the model about background commands that ended since the last
// report; "" for none.
func endedJobs(t *turn) string {
	if t.session.tools == nil {
		return ""
	}
	return t.session.tools.TakeEndedJobs(t.id)
}

// tellEndedJobs adds the report of endedJobs to the result of a tool call.
func (b *callBatch) tellEndedJobs(out *act.Outcome) {
	if b.results.Seq == 0 {
		return // a command of a prompt: the prompt has the report
	}
	if note := endedJobs(b.turn); note != "" {
		out.Text += "\n\n" + note
	}
}

// withEndedJobs returns a prompt with the report of endedJobs.
func withEndedJobs(t *turn, parts []llm.Part) []llm.Part {
	if note := endedJobs(t); note != "" {
		parts = append(slices.Clip(parts), llm.Part{Kind: llm.Text, Name: "jobs that ended", Text: "<note>\n" + note + "\n</note>"})
	}
	return parts
}

// AddedDirectories are the directories outside the workspace that tools can reach in a
// conversation. It is an event; the last one on a branch applies.
type AddedDirectories struct {
	Dirs []string          `json:"dirs"`          // absolute, without links; some may not exist at the moment
	IDs  map[string]string `json:"ids,omitempty"` // directory ids from when they were added, by path; some may be missing
}

// directories manages the directories outside the workspace: those that tools can reach, and those
// stored with a branch.
type directories struct {
	conversation *conversation
	tools        act.Set   // nil: no tools
	files        act.Files // backs up changed files in them; nil: none
}

// Stored returns the added directories stored with the current branch, reachable or not; see
// Missing.
func (d *directories) Stored() []string { return d.last().Dirs }

func (d *directories) last() AddedDirectories {
	a, _ := d.conversation.lastAnnotation(store.KindDirectories)
	f, _ := DecodeAnnotation(a).(AddedDirectories)
	return f
}

// Reachable returns the directories that tools reach beside the workspace.
func (d *directories) Reachable() []string {
	if d.tools == nil {
		return nil
	}
	return d.tools.Directories()
}

// Missing returns the added directories of the conversation that tools cannot use, for instance
// because they no longer exist.
func (d *directories) Missing() []string {
	now := d.Reachable()
	return slices.DeleteFunc(slices.Clone(d.Stored()), func(dir string) bool { return slices.Contains(now, dir) })
}

// Check returns the path of dir without symbolic links, or an error why it cannot be added.
func (d *directories) Check(dir string) (real string, err error) {
	if d.tools == nil {
		return "", errNoTools
	}
	return d.tools.CheckDirectory(dir)
}

var errNoTools = errors.New("no tools are available")

// Add adds a directory that tools may use beside the workspace. Dir is the path that Check
// returned, after the user agreed. The conversation stores it.
func (d *directories) Add(dir string) error {
	others := slices.DeleteFunc(slices.Clone(d.Stored()), func(other string) bool { return other == dir })
	if slices.Contains(d.Missing(), dir) {
		_ = d.Set(others...) // its errors for the others are reported below
	}
	return d.Set(append(others, dir)...)
}

// Set replaces the added directories of the conversation from now on. It leaves out directories
// that cannot be added and returns an error for them. A previous directory that no longer exists
// stays, and is used again once it is back.
func (d *directories) Set(dirs ...string) error {
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

// Restore is Set for the stored directories of a conversation that is opened again.
func (d *directories) Restore(dirs ...string) error {
	if d.tools == nil {
		return nil
	}
	err := d.tools.RestoreDirectories(d.last().IDs, dirs...)
	if d.files != nil {
		d.files.AddDirectories(d.Reachable()...)
	}
	return err
}

// mayExist reports whether something may exist at dir. It is false only if the error says that
// nothing does; an unreadable path counts as existing.
func mayExist(dir string) bool {
	_, err := os.Lstat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// withRestoredDirectories makes directories of the conversation that exist again reachable, and returns a
// prompt with a note for the model. A path at which another directory exists now is removed, with a notice
// for the user.
func withRestoredDirectories(t *turn, parts []llm.Part) []llm.Part {
	d := &t.session.Directories
	missing := d.Missing()
	if d.tools == nil || !slices.ContainsFunc(missing, mayExist) {
		return parts
	}
	there := slices.DeleteFunc(slices.Clone(d.Stored()), func(dir string) bool { return !mayExist(dir) })
	if err := d.Restore(there...); err != nil {
		t.notice("Continuing without a folder: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		_ = d.Set(d.Stored()...) // missing ones stay
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
