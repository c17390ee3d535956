// Package undo lets the user go back in a conversation: edit an earlier message, undo file changes, and continue on
// another branch.
package undo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/process"
	store "parley/tools/undo"
	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := flow{a}
	a.Commands = append(a.Commands,
		app.Command{Name: "rewind", Keys: []string{"esc esc"}, Group: app.Messages, Help: "Edit an earlier message (keeps the old version as a branch)", Unavailable: f.nothingToEdit, Run: f.rewind},
		app.Command{Name: "undo", Aliases: []string{"restore"}, Group: app.Messages, Help: "Undo file changes, the conversation, or both", Unavailable: f.nothingToUndo, Run: f.undo},
	)
	a.Commands = append(a.Commands, app.Command{Name: "diff", Aliases: []string{"changes"}, Keys: []string{"ctrl+x d"}, Group: app.View, Arg: "FILE", Help: "Files this conversation changed: diffs, undo", Unavailable: f.nothingChanged, Args: f.changeArgs, Run: f.changes})
	a.Files.Restore, a.Files.Count = f.branchFiles, f.changedFiles
}

// A flow goes back in the open conversation.
type flow struct{ app *app.App }

func (f flow) nothingToEdit() string {
	if !f.app.Session.HasPrompt() {
		return cmp.Or(f.app.BusyText(), "No message to edit yet")
	}
	return f.app.BusyText()
}

func (f flow) nothingToUndo() string {
	if len(app.Turns(f.app)) == 0 {
		return cmp.Or(f.app.BusyText(), "Nothing to undo yet")
	}
	return f.app.BusyText()
}

// A rewindPoint is a user's prompt with the position in the file history at that time.
type rewindPoint struct {
	seq  int // message; 0 restores files only
	from int // first record after the prompt; 0 if no file was changed
}

// fileHistory returns the file changes that tools made in s.
func fileHistory(s *session.Session) store.History { return store.HistoryOf(s.Files()) }

// pointOf returns the rewindPoint of the prompt seq: its first record is the first one of a later message.
func pointOf(s *session.Session, seq int, records []store.Record) rewindPoint {
	p := rewindPoint{seq: seq}
	for _, r := range records {
		for at := r.Seq; at > seq; {
			n, err := s.At(at)
			if err != nil {
				break
			}
			if at = n.Parent; at == seq {
				p.from = r.N
				return p
			}
		}
	}
	return p
}

// filesUnchanged reports whether all files are known to be as they were before record from.
func filesUnchanged(records []store.Record, from int) bool {
	n, sure := store.CountSince(records, from)
	return n == 0 && sure
}

// rewind lists the user's messages and edits the chosen one. If files were changed since, it asks what to restore.
func (f flow) rewind(string) app.Effect {
	records := fileHistory(f.app.Session).Records()
	return app.Choose("Edit which message? The old version stays as a branch", "message", app.Turns(f.app), func(value string) app.Effect {
		seq, _ := strconv.Atoi(value)
		p := pointOf(f.app.Session, seq, records)
		if filesUnchanged(records, p.from) {
			return app.Edit(seq)
		}
		return f.chooseParts(p, false)
	})
}

// undo asks how far to go back, and then whether to restore files, the conversation or both.
func (f flow) undo(string) app.Effect {
	records := fileHistory(f.app.Session).Records()
	l := &app.List{Title: "Rewind to before which message?", Noun: "message", Items: app.Turns(f.app)}
	for i := range l.Items {
		seq, _ := strconv.Atoi(l.Items[i].Value)
		l.Items[i].Detail = f.unchangedText()
		if n, _ := store.CountSince(records, pointOf(f.app.Session, seq, records).from); n > 0 {
			l.Items[i].Detail = format.Plural(n, "file") + " changed since"
		}
	}
	if n := len(records); n > 0 && records[n-1].Restore {
		last := app.Item{Title: "Undo the last undo", Detail: countChanges(records[n-1].Changes), Value: "-" + strconv.Itoa(records[n-1].N)}
		l.Items = slices.Insert(l.Items, 0, last)
	}
	l.Choose = func(value string) app.Effect {
		seq, _ := strconv.Atoi(value)
		if seq < 0 {
			return f.restoreFiles(rewindPoint{from: -seq}, "before the last undo", false)
		}
		p := pointOf(f.app.Session, seq, records)
		if filesUnchanged(records, p.from) {
			return app.Edit(seq)
		}
		return f.chooseParts(p, true)
	}
	return l
}

// unchangedText says that no files have changed since a message.
func (f flow) unchangedText() string {
	if others := fileHistory(f.app.Session).OtherRoots(); len(others) > 0 {
		return "no files changed here since; /undo in " + f.app.AbbrevPath(others[0]) + " restores those there"
	}
	return "no files changed since"
}

// chooseParts asks what to restore: files, the conversation, or both. If filesFirst, files are the first choice.
func (f flow) chooseParts(p rewindPoint, filesFirst bool) app.Effect {
	n, _ := store.CountSince(fileHistory(f.app.Session).Records(), p.from)
	items := []app.Item{
		{Title: "Files only", Detail: format.Plural(n, "file"), Value: "files"},
		{Title: "Files and conversation", Detail: "the message becomes your draft", Value: "both"},
		{Title: "Conversation only", Detail: "files do not change", Value: "conversation"},
	}
	if !filesFirst {
		slices.Reverse(items)
	}
	to := "before this message"
	if n, err := f.app.Session.At(p.seq); err == nil {
		to = "before \"" + app.MessageLine(n.Message) + "\""
	}
	return app.Choose("Restore what?", "choice", items, func(what string) app.Effect {
		switch what {
		case "conversation":
			return app.Edit(p.seq)
		case "both":
			return f.restoreFiles(p, to, true)
		}
		return f.restoreFiles(p, to, false)
	})
}

// A fileRestore restores files to an earlier state.
type fileRestore struct {
	app   *app.App
	of    *session.Session // session of the file history
	plan  *store.Plan
	to    string     // the earlier state, such as "before the last undo"
	seq   int        // message that the restore belongs to
	only  store.Name // the file to restore; "" for all
	quiet bool       // shows nothing if there is nothing to restore
	then  app.Effect // effect after the restore; may be nil
}

// restoreFiles shows the plan for restoring files and carries it out if the user agrees. With edit, the message is
// edited afterwards; otherwise the conversation stays as it is.
func (f flow) restoreFiles(p rewindPoint, to string, edit bool) app.Effect {
	r := &fileRestore{app: f.app, of: f.app.Session, to: to, seq: f.app.Session.Head()}
	if edit {
		r.then = app.Edit(p.seq)
		if n, err := f.app.Session.At(p.seq); err == nil {
			r.seq = n.Parent // where the conversation continues
		}
	}
	return r.show(p.from)
}

// branchFiles offers to restore the files as they were when the user left the current branch; it does nothing if they
// are unchanged.
func (f flow) branchFiles() app.Effect {
	n, ok := fileHistory(f.app.Session).BranchMark(f.app.Session.Head())
	if !ok {
		return nil
	}
	r := &fileRestore{app: f.app, of: f.app.Session, to: "when this branch was left", seq: f.app.Session.Head(), quiet: true}
	return r.show(n + 1)
}

// show makes the plan and asks about it.
func (r *fileRestore) show(from int) app.Effect {
	return app.Prepare(func(context.Context) func() app.Effect {
		plan, err := fileHistory(r.of).Plan(from)
		if err == nil && r.only != "" {
			plan.Steps = slices.DeleteFunc(plan.Steps, func(s store.Step) bool { return s.Path != r.only })
			plan.Uncovered, plan.Partial = nil, ""
		}
		text := ""
		if err == nil {
			text = planText(fileHistory(r.of), plan, r.to)
		}
		return func() app.Effect {
			r.plan = plan
			switch {
			case err != nil:
				return app.Fail(err)
			case r.quiet && (plan.Empty() || plan.Count(true) == 0):
				return nil
			case r.app.Session != r.of:
				return app.Refuse("another conversation was opened: nothing restored")
			case plan.Empty():
				same := "Files already match the state " + r.to
				if plan.Partial != "" {
					same += " · more may have changed: " + plan.Partial
				}
				return app.Then{r.then, app.Toast(same)}
			case plan.Count(true) == 0:
				return app.Refuse("nothing can be restored: %s: %s", displayName(plan.Steps[0].Path), plan.Steps[0].Blocked)
			case plan.Count(false) == 0:
				return r.askChanged(text + "\n\n")
			}
			return &app.Confirm{Text: text, Yes: "Restore " + fileCount(plan.Steps), No: "Cancel", Accept: func() app.Effect {
				if plan.Count(true) > plan.Count(false) {
					return r.askChanged("")
				}
				return r.restore(false)
			}}
		}
	})
}

// fileCount returns the number of files to restore without a further question, as text.
func fileCount(steps []store.Step) string {
	return countFiles(steps, func(s store.Step) bool {
		return s.Blocked == "" && s.ConfirmReason == "" && s.Now.Kind != store.Directory && s.To.Kind != store.Directory
	})
}

// countFiles counts the restored files, or files and folders if there are folders among them, as text.
func countFiles[T any](restored []T, isFile func(T) bool) string {
	n := 0
	for _, r := range restored {
		if isFile(r) {
			n++
		}
	}
	if n == 0 {
		return "folders"
	}
	return format.Plural(n, "file")
}

// askChanged asks whether to restore files that were changed by others, too.
func (r *fileRestore) askChanged(intro string) app.Effect {
	var lines []string
	for _, s := range r.plan.Steps {
		if s.Blocked == "" && s.ConfirmReason != "" {
			lines = append(lines, fmt.Sprintf("  %s: %s", displayName(s.Path), s.ConfirmReason))
		}
	}
	text := intro + format.Plural(len(lines), "file") + " changed outside of this conversation. Overwrite?\n" + strings.Join(lines, "\n")
	return &app.Confirm{Text: text, Yes: "Overwrite", No: "Keep them", Accept: func() app.Effect { return r.restore(true) }, Decline: func() app.Effect {
		if r.plan.Count(false) == 0 {
			return app.Toast("Nothing restored")
		}
		return r.restore(false)
	}}
}

// restore carries out the plan and attaches a note to the next prompt for the model.
func (r *fileRestore) restore(asked bool) app.Effect {
	return app.Prepare(func(context.Context) func() app.Effect {
		defer process.Sandbox.Trust()() // a job may run
		done, skipped, err := fileHistory(r.of).Restore(r.plan, asked, r.seq, "undo: "+r.to)
		return func() app.Effect {
			var e app.Then
			if err == nil && r.app.Session == r.of {
				e = append(e, r.then)
			}
			for _, s := range skipped {
				e = append(e, app.Notes{fmt.Sprintf("not restored: %s: %s", displayName(s.Path), s.Why)})
			}
			if len(done.Changes) > 0 {
				e = append(e, r.tell(restoredNote(done)))
				if err == nil {
					e = append(e, app.Toast("Restored "+countChanges(done.Changes)+" · /undo takes it back"))
				}
			}
			return append(e, app.Fail(err))
		}
	})
}

// tell attaches note to the next prompt of the conversation whose files were restored.
func (r *fileRestore) tell(note llm.Part) app.Effect {
	if o, of := r.app.Options, r.of; r.app.Session != of {
		return app.Async(func(context.Context) app.Effect { return app.AttachToStored(o, of, note, func() {}) })
	}
	r.app.Attached = append(r.app.Attached, note)
	return app.Attached{note}
}

// countChanges returns the number of restored files, as text.
func countChanges(changes []store.Change) string {
	return countFiles(changes, func(c store.Change) bool {
		return c.Before.Kind != store.Directory && c.After.Kind != store.Directory
	})
}

// maxNamed is the greatest number of files named in the note to the model.
const maxNamed = 50

// restoredNote lists for the model the files that no longer have its changes.
func restoredNote(r store.Record) llm.Part {
	var b strings.Builder
	b.WriteString("<note>\nThe user took changes of files back. Read them again before you change them:\n")
	for i, c := range r.Changes {
		if i == maxNamed {
			fmt.Fprintf(&b, "and %d more\n", len(r.Changes)-i)
			break
		}
		what := "restored"
		if c.After.Kind == store.Absent {
			what = "removed"
		}
		fmt.Fprintf(&b, "%s: %s\n", what, strconv.Quote(string(c.Path)))
	}
	b.WriteString("</note>")
	return llm.Part{Kind: llm.Text, Name: "restored files", Text: b.String()}
}

// maxPlanLines is the greatest number of diff lines shown before a restore.
const maxPlanLines = 200

// planText describes a plan: its files, those that cannot be restored, and the diffs.
func planText(h store.History, p *store.Plan, to string) string {
	var head, diffs strings.Builder
	fmt.Fprintf(&head, "Restore files to the state %s?\n", to)
	lines := 0
	for _, s := range p.Steps {
		fmt.Fprintf(&head, "  %s %s%s\n", stepSign(s), displayName(s.Path), stepNote(s))
		if lines < maxPlanLines && s.Blocked == "" {
			text := stepDiff(h, s)
			lines += strings.Count(text, "\n")
			diffs.WriteString(text)
		}
	}
	if len(p.Uncovered) > 0 {
		head.WriteString("\nNot covered:\n")
		for i, u := range p.Uncovered {
			if i == 10 {
				fmt.Fprintf(&head, "  and %d more\n", len(p.Uncovered)-i)
				break
			}
			fmt.Fprintf(&head, "  %s: %s\n", displayName(u.Path), u.Why)
		}
	}
	if p.Partial != "" {
		head.WriteString("\nMore may have changed: " + p.Partial + "\n")
	}
	out := strings.Split(strings.TrimRight(diffs.String(), "\n"), "\n")
	if more := len(out) - maxPlanLines; more > 0 {
		out = append(out[:maxPlanLines], "… "+format.Plural(more, "more line"))
	}
	return strings.TrimRight(head.String()+"\n"+strings.Join(out, "\n"), "\n")
}

// displayName returns a path on one line, quoted if necessary.
func displayName(name store.Name) string {
	if q := strconv.Quote(string(name)); q != `"`+string(name)+`"` {
		return q
	}
	return string(name)
}

// stepSign returns a letter for a step, as git status does.
func stepSign(s store.Step) string {
	switch {
	case s.Now.Kind == store.Absent:
		return "A"
	case s.To.Kind == store.Absent:
		return "D"
	}
	return "M"
}

// stepNote returns the special circumstances of a step.
func stepNote(s store.Step) string {
	switch {
	case s.Blocked != "":
		return " (cannot be restored: " + s.Blocked + ")"
	case s.ConfirmReason != "":
		return " (" + s.ConfirmReason + ")"
	case s.To.Kind == store.Directory, s.To.Kind == store.Absent && s.Now.Kind == store.Directory:
		return "/"
	case s.Now.Kind == s.To.Kind && s.Now.Sum == s.To.Sum && s.Now.Mode != s.To.Mode:
		return fmt.Sprintf(" (mode %04o → %04o)", s.Now.Mode, s.To.Mode)
	case s.To.Kind == store.Link:
		return " → " + displayName(s.To.Target)
	}
	return ""
}

// stepDiff returns the unified diff of a step; "" if there is nothing to show.
func stepDiff(h store.History, s store.Step) string {
	if s.Now.Kind != store.File && s.To.Kind != store.File {
		return ""
	}
	now, to := h.Texts(s)
	return tools.FileDiff(string(s.Path), s.Now.Kind == store.File, now, to)
}
