package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/process"
	"parley/tools/sanitize"
	"parley/tools/undo"
	"parley/ui/format"
)

// openUndo returns the store for earlier versions of files that tools change; nil if this run stores none.
func openUndo(a *program) undo.Store {
	if a.flags.ephemeral {
		return nil
	}
	return a.versions.get()
}

// versions holds the store for earlier versions of files, next to the conversations.
type versions struct {
	open  func(dir string) undo.Store // opens the store; nil if not available
	store undo.Store                  // nil until needed
}

// get returns the store, which it opens at its first call; nil if there is no place for it.
func (v *versions) get() undo.Store {
	if path, err := session.StorePath(os.Getenv); v.store == nil && v.open != nil && err == nil {
		v.store = v.open(filepath.Join(filepath.Dir(path), "undo"))
	}
	return v.store
}

// forget removes the file history of a conversation.
func (v *versions) forget(id string) error {
	if store := v.get(); store != nil {
		return store.Remove(id)
	}
	return nil
}

// forkSession copies a conversation up to the message head, or all of it for 0, together with its file history.
func forkSession(a *program, id string, head int) (*session.Log, error) {
	log, seqs, err := a.library.ForkInto(a.library, id, head)
	if store := openUndo(a); log != nil && store != nil {
		if err := store.Copy(id, log.Session().ID, seqs); err != nil {
			a.Note("/undo cannot restore files of the original conversation: " + err.Error())
		}
	}
	return log, err
}

// recoverFiles describes interrupted restores of files in the workspace of set, from any conversation; "" if there are
// none, or without a store or tools.
func recoverFiles(store undo.Store, set *tools.Set) (notice string) {
	if store == nil || set == nil {
		return ""
	}
	for id, pid := range store.Interrupted(set.Root()) {
		if pid == os.Getpid() || process.Alive(pid) {
			continue // that process is still running
		}
		h, err := store.History(id, set.Root())
		var found *undo.Interrupted
		if err == nil {
			found, err = h.Recover()
		}
		switch {
		case err != nil:
			notice = joinNotices(notice, "an interrupted undo could not be looked at: "+format.ErrorText(err))
		case found != nil:
			notice = joinNotices(notice, interruptedText(found))
		}
	}
	return notice
}

// unfinishedCall reports that parley ended during the last tool call of the conversation if that call may have changed
// files, since nothing recorded those changes. It returns "" if there is no such call, or if the user has sent a
// message since.
func unfinishedCall(s *session.Session) string {
	if s.Empty() {
		return ""
	}
	records := undo.HistoryOf(s.Files()).Records()
	if len(records) == 0 {
		return ""
	}
	last := records[len(records)-1]
	known := slices.ContainsFunc(s.Path(), func(n session.Node) bool { return n.Role == llm.RoleUser && n.Seq > last.Seq })
	if !last.Open || last.Restore || known {
		return ""
	}
	return fmt.Sprintf("parley ended while %q ran: /undo does not know all that it changed", sanitize.Line(last.Title))
}

// interruptedText names the files that an interrupted restore has restored.
func interruptedText(found *undo.Interrupted) string {
	text := fmt.Sprintf("An undo of files was interrupted: %d restored", len(found.Restored))
	for _, part := range []struct {
		what  string
		names []undo.Name
	}{{"not restored", found.Unrestored}, {"in between", found.Changed}} {
		if len(part.names) > 0 {
			text += fmt.Sprintf(", %d %s (%s)", len(part.names), part.what, someNames(part.names))
		}
	}
	return text + ". /undo continues or reverts it"
}

// someNames lists the first few names.
func someNames(names []undo.Name) string {
	const most = 5
	var shown []string
	for i, name := range names {
		if i == most {
			return strings.Join(shown, ", ") + fmt.Sprintf(" and %d more", len(names)-i)
		}
		shown = append(shown, fmt.Sprintf("%q", string(name)))
	}
	return strings.Join(shown, ", ")
}

// finishOwed does what no request should wait for: it adds messages to the index of the search, for a while, and once a
// day removes old versions of files and versions beyond the size limit.
func finishOwed(library *session.Store, store undo.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	library.IndexOwed(ctx)
	if store != nil && store.PruneDue() {
		_, _ = store.Prune(time.Now().Add(-undo.MaxAge), undo.MaxStored)
	}
}
