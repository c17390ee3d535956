package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/undo"
)

// The vocabulary of the history of files, under the session's name, as that of the store.
type (
	FileHistory = undo.History // what tools changed in a conversation
	FileRecord  = undo.Record  // what one call, or one restore, changed
	FileChange  = undo.Change  // what became of one path
	FilePlan    = undo.Plan    // what brings files back
	FileStep    = undo.Step    // what it does to one path
	FileName    = undo.Name    // a path
	FileState   = undo.State   // what stood there
)

// What stands at a path.
const (
	FileAbsent    = undo.Absent
	FileRegular   = undo.File
	FileDirectory = undo.Folder
	FileLink      = undo.Link
)

// Files returns the history of what tools changed in this conversation; nil if none is kept.
func Files(s *Session) *undo.History { return s.files }

// openFiles opens the history of a conversation; nil where nothing can be kept.
func openFiles(s *Session, kept *undo.Store) *undo.History {
	if kept == nil || s.tools == nil || s.log == nil {
		return nil
	}
	h, err := kept.History(s.ID(), s.tools.Root())
	if err != nil {
		return nil
	}
	return h
}

// watch begins to look at what a call may change, beside what follows; nothing of one that only
// reads.
func (b *callBatch) watch(j *job) {
	a := j.action
	if j.fileWatch != nil || b.files == nil || a.Access == tools.AccessRead || a.Access == tools.AccessFetch {
		return
	}
	call := undo.Call{ID: j.call.ID, Seq: b.results.Seq, Title: a.Title}
	switch {
	case a.Access == tools.AccessWrite && a.Path != "":
		call.Paths, call.Folder = []string{a.Path}, b.tools.FolderOf(a.Path)
	case b.tools.WorkspaceProblem() != "":
		a.Irreversible = "what it changes cannot be undone: this folder " + b.tools.WorkspaceProblem()
		return
	}
	if told := unwatchedDirectories(b.tools); told != "" && len(call.Paths) == 0 {
		a.Irreversible = strings.Trim(a.Irreversible+"; "+told, "; ")
	}
	j.fileWatch = b.files.Watch(call)
}

// tellIrreversible tells with the question about a call what of it cannot be undone.
func (j *job) tellIrreversible() {
	if j.fileWatch != nil {
		j.action.Irreversible = strings.Trim(j.action.Irreversible+"; "+j.fileWatch.Coverage(), "; ")
	}
}

// unwatch ends the look at a call that does not run, or not as it was looked at.
func (j *job) unwatch() {
	j.fileWatch.Cancel()
	j.fileWatch = nil
}

// keepFiles begins to keep what a call that runs now may change, and returns what is closed once
// that is done: until then a program may get ready, and runs no instruction. Tell gets what there is
// to say, before that. Nil: nothing is kept.
func (j *job) keepFiles(tell func(notice string)) <-chan struct{} {
	if j.fileWatch == nil {
		return nil
	}
	kept := make(chan struct{})
	j.filesRecorded = kept
	go func() {
		defer close(kept)
		if err := j.fileWatch.Begin(); err != nil {
			tell("this call cannot be undone: " + err.Error())
			j.unwatch()
		}
	}()
	return kept
}

// compareFiles enters into the history what a call changed. Of a command that goes on in the
// background nothing is known that it changes later. It returns what to tell.
func (j *job) compareFiles(set *tools.Set, out *tools.Outcome) (notice string) {
	if j.filesRecorded == nil {
		return ""
	}
	<-j.filesRecorded // it may have ended before it began
	if out.Job > 0 {
		j.fileWatch.MarkIncomplete(fmt.Sprintf("the command continued in the background as job %d", out.Job))
	}
	if j.action.Access == tools.AccessRun {
		j.fileWatch.MarkIncomplete(unwatchedDirectories(set))
	}
	if _, err := j.fileWatch.End(); err != nil {
		return "what this call changed cannot be undone: " + err.Error()
	}
	return ""
}

// warmFiles reads files ahead of the snapshots before calls, beside the turn, once in it. Soon says
// that a command has arrived, which runs once the answer has ended: its snapshot is taken now.
func (t *turn) warmFiles(soon bool) {
	if t.files == nil || t.warmed && !soon || t.tools.WorkspaceProblem() != "" {
		return
	}
	t.warmed = true
	go t.files.Warm(t.ctx, soon)
}

// maxPrefetchInput is the longest input of a call, in bytes, that is checked for its end while it arrives.
const maxPrefetchInput = 8 << 10

// prefetchFiles reads files that the call of delta d may change, while the rest of the answer arrives.
func (t *turn) prefetchFiles(p *partialResponse, d llm.Delta) {
	soon := false
	if t.files != nil && strings.HasSuffix(strings.TrimSpace(d.Input), "}") {
		call := p.call(d.Block)
		soon = len(call.Input) <= maxPrefetchInput && json.Valid([]byte(call.Input)) && tools.MayChangeAnything(call.Name)
	}
	t.warmFiles(soon)
}

// CountFilesSince counts the paths that are not as they were before the record with the number
// from, as far as is known; paths that were restored do not count. For 0 it returns 0. Sure is
// false if more files may have changed.
func CountFilesSince(records []FileRecord, from int) (n int, sure bool) {
	type course struct{ first, last FileState }
	courses := map[FileName]*course{}
	sure = true
	for _, r := range records {
		if r.N < from || from == 0 {
			continue
		}
		sure = sure && !r.Open && r.Partial == ""
		for _, c := range r.Changes {
			if c.Before.Kind == FileDirectory || c.After.Kind == FileDirectory {
				continue
			}
			if courses[c.Path] == nil {
				courses[c.Path] = &course{first: c.Before}
			}
			courses[c.Path].last = c.After
		}
	}
	for _, c := range courses {
		if !c.first.Same(c.last) {
			n++
		}
	}
	return n, sure
}

// unwatchedDirectories names the added directories, in which a command's changes are not recorded; "" if there are none.
func unwatchedDirectories(set *tools.Set) string {
	if dirs := set.Folders(); len(dirs) > 0 {
		return "what a command changes in " + strings.Join(dirs, ", ") + " cannot be undone"
	}
	return ""
}

// endedJobs returns what the model is told of commands in the background that have ended since
// it was told last, one after the other; "" for nothing.
func endedJobs(t *turn) string {
	var lines []string
	for _, j := range t.Session.tools.Jobs().TakeEnded(t.conversation.id) {
		command, _, _ := strings.Cut(j.Command, "\n")
		lines = append(lines, fmt.Sprintf("[job %d has ended: %s: %s. The tool jobs reads what it wrote]", j.N, j.State, command))
	}
	return strings.Join(lines, "\n")
}

// tellEndedJobs tells the model of them with the result of a call of its own.
func (b *callBatch) tellEndedJobs(out *tools.Outcome) {
	if b.results.Seq == 0 {
		return // a command of a prompt: the prompt tells it
	}
	if told := endedJobs(b.turn); told != "" {
		out.Text += "\n\n" + told
	}
}

// withEndedJobs returns a prompt with what the model is told of them.
func withEndedJobs(t *turn, parts []llm.Part) []llm.Part {
	if told := endedJobs(t); told != "" {
		parts = append(slices.Clip(parts), llm.Part{Kind: llm.Text, Name: "jobs that ended", Text: "<note>\n" + told + "\n</note>"})
	}
	return parts
}
