package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// openSession opens the conversation that the flags name, or a new one. Notice is
// what the user has to know at the start; "" is nothing.
func (a *program) openSession(screen bool) (s *session.Session, notice string, err error) {
	if a.flags.toolNames != "none" && !a.config.Sandbox.Off {
		go process.Sandbox.Probe() // once, and beside the opening of the store
	}
	if a.dir, err = os.Getwd(); err != nil {
		return nil, "", fmt.Errorf("the working folder: %w", err)
	}
	a.project.skills.find()
	go projectReader(a)()
	var trouble error
	a.library, trouble = a.openLibrary()
	doubt := a.loadProjectTrust(screen)
	if err := (promptFiles{a}).use(); err != nil {
		return nil, "", err
	}
	log := a.library.Create(session.Info{Dir: a.dir})
	if screen && a.flags.resume != "" {
		a.flags.listWords = ambiguousWords(a.library, a.flags.resume)
	}
	if a.flags.listWords == nil && (a.flags.continueLast || a.flags.resume != "") {
		if trouble != nil {
			return nil, "", trouble
		}
		if log, err = a.openRequestedSession(); log == nil {
			return nil, "", err
		}
		trouble = err // what of it could not be read
		if !screen && log.Session().History == session.HistoryFull {
			log.Prefetch() // the request follows at once
		}
	}
	if trouble != nil && a.Quiet && !screen { // what is not stored, or was lost, is no detail
		cmdutil.Warn(trouble.Error())
		trouble = nil
	}
	s, notice, err = a.newSession(screen, log, a.flags.settings)
	go pruneUndo(openUndo(a))
	for _, more := range []error{trouble, doubt} {
		if more != nil {
			notice = joinNotices(notice, more.Error())
		}
	}
	return s, joinNotices(notice, workspaceNotice(a.toolSet, s, screen)), err
}

// joinNotices puts two notices on one line; "" is none.
func joinNotices(a, b string) string { return strings.Trim(a+" · "+b, " ·") }

// ambiguousWords returns the words to list conversations for if resume may mean
// more than one; nil otherwise.
func ambiguousWords(library *session.Store, resume string) *string {
	found, _ := library.Find(resume) // an error is told when one is opened
	switch {
	case len(found) < 2:
		return nil
	case strings.HasPrefix(strings.ToLower(found[0].ID), strings.ToLower(resume)):
		return new(string) // lists look for words
	}
	return &resume
}

// workspaceNotice says that the working directory is no workspace, and what that
// means; "" if it is one, or if it makes no difference.
func workspaceNotice(set *tools.Set, s *session.Session, screen bool) string {
	switch {
	case s == nil, set == nil, set.WorkspaceProblem() == "", s.Policy().Mode() == act.ModeYolo:
		return ""
	case screen:
		return fmt.Sprintf("This folder %s: tools ask before reading a file here, and every time before changing one. /cd opens a project folder", set.WorkspaceProblem())
	}
	return fmt.Sprintf("This folder %s: tools do not read or change files here without approval. Start parley in a project folder, or allow files with --allow", set.WorkspaceProblem())
}

// resumeSession continues the conversation of a log, with its own settings in the place of the
// flags; one from the list of -r is still the one that these are for. Damage that comes with a log
// says what of it could not be read.
func (a *program) resumeSession(log *session.Log, damage error) (*session.Session, string, error) {
	if log == nil {
		return nil, "", damage
	}
	var flags settingFlags
	if a.flags.listWords != nil {
		flags, a.flags.listWords = a.flags.settings, nil
	}
	s, notice, err := a.newSession(true, log, flags)
	if damage != nil {
		notice = joinNotices(damage.Error(), notice)
	}
	return s, notice, err
}

// openRequestedSession opens the conversation of -c or -r.
func (a *program) openRequestedSession() (*session.Log, error) {
	about, err := findSession(a, a.flags.resume)
	if err != nil {
		return nil, err
	}
	switch {
	case a.flags.wire.dryRun:
		return a.library.Fork(about.ID, 0) // a copy that is never written: no turn follows
	case a.flags.fork:
		return forkSession(a, about.ID, 0)
	}
	log, err := a.library.Resume(about.ID)
	var held *session.LockedError
	if errors.As(err, &held) {
		return nil, cmdutil.Usagef("%q is open in %s: add --fork to continue in a copy", a.maskKeys()(app.Title(about)), held.By)
	}
	return log, err
}

// findSession returns the conversation that resume names, or for "" the last one
// held in the working directory.
func findSession(a *program, resume string) (session.Info, error) {
	if resume != "" {
		return a.conversations().Find(a.library, resume)
	}
	last, err := a.library.Latest(a.dir) // imported ones say themselves where and when they were held
	if errors.Is(err, session.ErrNotFound) {
		err = cmdutil.Usagef("-c: no conversation in this folder: -r continues another one, parley sessions list shows them")
	}
	return last, err
}

// openLibrary opens the stored conversations. With an error, which says why nothing
// can be stored, the library keeps them in memory.
func (a *program) openLibrary() (*session.Store, error) {
	if a.flags.ephemeral && !a.flags.fork {
		return session.MemoryStore(), nil
	}
	return session.OpenStore(os.Getenv)
}

// closeSession ends a session, and notes what of it could not be saved.
func closeSession(s *session.Session, note func(string)) {
	if err := s.Close(); err != nil {
		note("could not save this conversation: " + format.ErrorText(err))
	}
}

// closeLibrary closes the library; without one it does nothing.
func (a *program) closeLibrary() {
	if a.library == nil {
		return
	}
	if err := a.library.Close(); err != nil {
		cmdutil.Warn("could not save the conversations: " + format.ErrorText(err))
	}
}
