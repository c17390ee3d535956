package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"

	"github.com/charmbracelet/x/term"
)

// openSession opens the conversation that the flags name, or a new one. Notice is shown at the start; "" for none.
func (a *program) openSession(screen bool) (s *session.Session, notice string, err error) {
	if a.flags.toolNames != "none" && !a.config.Sandbox.Off {
		go process.Sandbox.Probe() // once, concurrently with opening the store
	}
	if a.dir, err = os.Getwd(); err != nil {
		return nil, "", fmt.Errorf("the working folder: %w", err)
	}
	findSkills(a)
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
	if a.flags.listWords != nil && a.flags.ephemeral {
		return nil, "", cmdutil.Usagef("--ephemeral --fork needs a conversation: give its ID with -r; parley sessions list shows them")
	}
	if a.flags.listWords == nil && (a.flags.continueLast || a.flags.resume != "") {
		if trouble != nil {
			return nil, "", trouble
		}
		if log, err = a.openRequestedSession(); log == nil {
			return nil, "", err
		}
		trouble = err // describes unreadable parts of the log
	}
	if trouble != nil && a.Quiet && !screen { // also with -q: lost or unsaved messages are important
		cmdutil.Warn(trouble.Error())
		trouble = nil
	}
	s, notice, err = a.newSession(screen, log, a.flags.settings)
	if err == nil && a.flags.until != "" {
		s.Check.Set(a.until()(s, a.flags.until, a.flags.untilRounds))
	}
	if screen {
		go a.library.IndexOwed(context.Background())
	}
	for _, more := range []error{trouble, doubt} {
		if more != nil {
			notice = joinNotices(notice, more.Error())
		}
	}
	return s, joinNotices(notice, workspaceNotice(a.toolSet, s, screen)), err
}

// joinNotices joins notices on one line; "" is no notice.
func joinNotices(notices ...string) string { return format.Join(" · ", notices...) }

// ambiguousWords returns the search text for a list of conversations if resume matches several; nil otherwise.
func ambiguousWords(library *session.Store, resume string) *string {
	found, _ := library.Find(resume) // opening one reports the error
	switch {
	case len(found) < 2:
		return nil
	case strings.HasPrefix(strings.ToLower(found[0].ID), strings.ToLower(resume)):
		return new(string) // an id prefix is no search text: list all
	}
	return &resume
}

// workspaceNotice says that the working directory cannot be a workspace, and the consequences; "" if it can, or if
// there are none.
func workspaceNotice(set *tools.Set, s *session.Session, screen bool) string {
	switch {
	case s == nil, set == nil, set.WorkspaceProblem() == "", s.Policy().Mode() == act.ModeYolo:
		return ""
	case screen:
		return fmt.Sprintf("This folder %s: tools ask before reading a file here, and every time before changing one. /cd opens a project folder", set.WorkspaceProblem())
	}
	return fmt.Sprintf("This folder %s: tools do not read or change files here without approval. Start parley in a project folder, or allow files with --allow", set.WorkspaceProblem())
}

// resumeSession continues the conversation of a log with its stored settings in place of the flags. The flags still
// apply to a conversation chosen from the list of -r. Damage describes unreadable parts of the log.
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
	case a.flags.wire.dryRun, a.flags.aside != "", a.flags.fork && a.flags.ephemeral: // nothing is saved
		a.original, a.library, a.flags.aside = a.library, session.MemoryStore(), about.ID
		log, _, err := a.original.ForkInto(a.library, about.ID, 0)
		return log, err
	case a.flags.fork:
		return forkSession(a, about.ID, 0)
	}
	log, err := a.library.Resume(about.ID)
	var held *session.LockedError
	if errors.As(err, &held) {
		if term.IsTerminal(os.Stdin.Fd()) && term.IsTerminal(os.Stderr.Fd()) {
			yes, err := cmdutil.Confirm(fmt.Sprintf("%q is open in %s. Continue in a copy?", a.maskKeys()(wording.Title(about)), held.By))
			if yes {
				return forkSession(a, about.ID, 0)
			} else if err != nil {
				return nil, err
			}
		}
		return nil, cmdutil.Usagef("%q is open in %s: add --fork to continue in a copy", a.maskKeys()(wording.Title(about)), held.By)
	}
	return log, err
}

// findSession returns the conversation named by resume; for "", the last one of the working directory.
func findSession(a *program, resume string) (session.Info, error) {
	if resume != "" {
		return a.conversations().Find(a.library, resume)
	}
	last, err := a.library.Latest(a.dir) // imported conversations store their directory and time
	if errors.Is(err, session.ErrNotFound) {
		err = cmdutil.Usagef("-c: no conversation in this folder: -r continues another one, parley sessions list shows them")
	}
	return last, err
}

// openLibrary opens the stored conversations. If they cannot be stored, it returns an error and a library in memory.
func (a *program) openLibrary() (*session.Store, error) {
	if a.flags.ephemeral && !a.flags.fork {
		return session.MemoryStore(), nil
	}
	return session.OpenStore(os.Getenv)
}

// closeSession closes a session and notes what could not be saved.
func closeSession(s *session.Session, note func(string)) {
	if err := s.Close(); err != nil {
		note("could not save this conversation: " + format.ErrorText(err))
	}
}

// closeLibrary closes the library, if it is open.
func (a *program) closeLibrary() {
	if a.library == nil {
		return
	}
	err := a.library.Close()
	if a.original != nil {
		err = errors.Join(err, a.original.Close())
		a.original = nil
	}
	if err != nil {
		cmdutil.Warn("could not save the conversations: " + format.ErrorText(err))
	}
}
