package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/session"
	"parley/tools"
	"parley/tools/undo"
)

// openUndo returns where files are kept before tools change them; nil if nothing of this run
// is kept.
func (a *program) openUndo() *undo.Store {
	if a.ephemeral {
		return nil
	}
	if a.undo == nil {
		a.undo = undoStore()
	}
	return a.undo
}

// undoStore returns where files are kept before tools change them, beside the conversations;
// nil if there is nowhere to keep anything.
func undoStore() *undo.Store {
	path, err := session.StorePath(os.Getenv)
	if err != nil {
		return nil
	}
	store := undo.Open(filepath.Join(filepath.Dir(path), "undo"))
	store.Preserve = tools.CopyMetadata
	return store
}

// recoverFiles says what came of a restore of files that parley did not end; "" if there is
// none.
func recoverFiles(s *session.Session) string {
	found, err := session.Files(s).Recover()
	switch {
	case err != nil:
		return "an interrupted undo could not be looked at: " + err.Error()
	case found == nil:
		return ""
	}
	text := fmt.Sprintf("An undo of files was interrupted: %d restored", len(found.Restored))
	for _, part := range []struct {
		what  string
		names []undo.Name
	}{{"not restored", found.Left}, {"in between", found.Neither}} {
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

// pruneUndo removes what is kept for too long, or too much of it, once a day.
func pruneUndo(store *undo.Store) {
	if store != nil && store.PruneDue() {
		_, _ = store.Prune(time.Now().Add(-undo.KeptFor), undo.KeptMost, nil)
	}
}
