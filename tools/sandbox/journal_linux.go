package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
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
	old := k.journal
	f, err := os.CreateTemp(k.quarantine.path, journalPrefix)
	if err != nil {
		return err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		removeJournal(f)
		return fmt.Errorf("journal: %w", err)
	}
	k.journal = f
	removeJournal(old)
	return nil
}

func removeJournal(f *os.File) {
	if f != nil {
		_ = os.Remove(f.Name())
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

// FinishJournals takes away what commands left in a workspace that were killed together with their parley, and returns
// a notice; "" without any. The journals are in undone. For a parley that may be ending it waits up to wait.
func FinishJournals(workspace, undone string, wait time.Duration) (notice string) {
	entries, _ := os.ReadDir(undone)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), journalPrefix) {
			continue
		}
		name := filepath.Join(undone, e.Name())
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		for until := time.Now().Add(wait); ; time.Sleep(time.Millisecond) {
			if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil || !time.Now().Before(until) {
				break
			}
		}
		if err == nil {
			notice += finishJournal(workspace, undone, f)
			_ = os.Remove(name)
		}
		f.Close()
	}
	return notice
}

// finishJournal finishes one journal.
func finishJournal(workspace, undone string, f *os.File) string {
	var j journalFile
	if err := json.NewDecoder(f).Decode(&j); err != nil || j.Version != journalVersion || j.Workspace != workspace {
		return "[CAUTION: parley was killed while commands ran here, and its journal " + filepath.Base(f.Name()) + " is damaged: check new files before you use git or the shell here]\n"
	}
	k, err := newKeeper(workspace, undone)
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
	return "[parley was killed while commands ran here. It has now checked for files that they left for git, the shell or parley to run]\n" + text.String()
}
