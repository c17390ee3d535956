package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A journal is a file with the baseline of the commands that run in a workspace, on disk before they
// start. Parley locks it while it lives. If parley and all its processes are killed together, the
// next one finds it and takes away what the commands left.

// journalVersion is the version of the format. A journal of another version is not understood.
const journalVersion = 1

type journalFile struct {
	Version int
	baseline
}

const journalPrefix = "journal-"

// writeJournal writes the baseline to disk.
func (k *keeper) writeJournal() error {
	text, err := json.Marshal(journalFile{journalVersion, k.before.mapped(strconv.QuoteToASCII)})
	if err != nil || k.quarantine.path == "" {
		return err
	}
	if err := os.MkdirAll(k.quarantine.path, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(k.quarantine.path, "new-*")
	if err != nil {
		return err
	}
	name := filepath.Join(k.quarantine.path, journalPrefix+strings.TrimPrefix(filepath.Base(f.Name()), "new-"))
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Sync()); err == nil {
		err = os.Rename(f.Name(), name) // complete and locked
	}
	if err != nil {
		removeJournal(f, f.Name())
		return fmt.Errorf("journal: %w", err)
	}
	removeJournal(k.journal, k.journalName)
	k.journal, k.journalName = f, name
	return nil
}

func removeJournal(f *os.File, name string) {
	if f != nil {
		_ = os.Remove(name)
		f.Close()
	}
}

// mapped returns b with each name and text replaced: those of JSON are UTF-8, and these need not be.
func (b baseline) mapped(f func(string) string) baseline {
	each := func(names []string) (out []string) {
		for _, name := range names {
			out = append(out, f(name))
		}
		return out
	}
	b.Workspace = f(b.Workspace)
	b.Protected, b.GitDirs, b.Links, b.Layout = each(b.Protected), each(b.GitDirs), each(b.Links), each(b.Layout)
	found, states := map[string]saved{}, map[string]map[string]fileState{}
	for name, was := range b.Found {
		found[f(name)] = was
	}
	for dir, files := range b.States {
		own := map[string]fileState{}
		for name, is := range files {
			is.Text, is.Identity = f(is.Text), f(is.Identity)
			own[f(name)] = is
		}
		states[f(dir)] = own
	}
	b.Found, b.States = found, states
	return b
}

// noticePrefix begins the names of notices of a helper that has finished a journal, for the next parley.
const noticePrefix = "notice-"

// FinishJournals takes away what commands left in a workspace that were killed together with their parley, and returns
// a notice; "" without any.
func FinishJournals(workspace string) (notice string) {
	undone, err := os.OpenRoot(undoneDir(workspace))
	if err != nil {
		return ""
	}
	defer undone.Close()
	notice = finishJournals(workspace, undone, undone.Name(), 0)
	entries, _ := fs.ReadDir(undone.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), noticePrefix) {
			text, _ := undone.ReadFile(e.Name())
			notice += string(text)
			_ = undone.Remove(e.Name())
		}
	}
	return notice
}

// finishJournals is FinishJournals for the journals in undone. For a parley that may be ending it waits up to wait.
func finishJournals(workspace string, undone *os.Root, quarantine string, wait time.Duration) (notice string) {
	entries, _ := fs.ReadDir(undone.FS(), ".")
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), journalPrefix) {
			continue
		}
		f, err := undone.Open(e.Name())
		if err != nil {
			continue
		}
		for until := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
			if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil || !time.Now().Before(until) {
				break
			}
		}
		var info unix.Stat_t
		if err == nil && unix.Fstat(int(f.Fd()), &info) == nil && info.Nlink > 0 { // otherwise its owner has just ended
			notice += finishJournal(workspace, quarantine, f)
			_ = undone.Remove(e.Name())
		}
		f.Close()
	}
	return notice
}

// finishJournal finishes one journal.
func finishJournal(workspace, quarantine string, f *os.File) string {
	var j journalFile
	if err := json.NewDecoder(f).Decode(&j); err != nil || j.Version != journalVersion || j.Workspace != strconv.QuoteToASCII(workspace) {
		return "[CAUTION: parley was killed while commands ran here, and its journal " + filepath.Base(f.Name()) + " is damaged: check new files before you use git or the shell here]\n"
	}
	k, err := newKeeper(workspace, quarantine)
	if err != nil {
		return ""
	}
	defer k.close()
	var text strings.Builder
	k.before, k.protected = j.mapped(func(text string) string {
		text, _ = strconv.Unquote(text)
		return text
	}), map[string]bool{}
	for _, dir := range k.before.GitDirs {
		k.gitDirs[dir] = true
	}
	k.running = []*kept{{notices: &text, told: map[string]int{}}}
	k.end(k.running[0])
	k.flush()
	return "[parley was killed while commands ran here. It has now checked for files that they left for git, the shell or parley to run]\n" + text.String()
}
