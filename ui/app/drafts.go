package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
)

// writer returns the key under which stands who wrote a draft last.
func writer(key string) string { return "draft of " + key }

// DraftKey names the draft of the open conversation, or that of the directory in which
// none has begun.
func (a *App) DraftKey() string {
	if a.Session.Head() > 0 {
		return "session:" + a.Session.ID()
	}
	return "folder:" + a.Folder
}

// NewDraft returns a draft of text with what is attached, the cursor at its end.
func (o Options) NewDraft(text string, attached []llm.Part) session.Draft {
	return session.Draft{Text: text, Cursor: len(text), Parts: attached, At: o.Now()}
}

// RememberPrompt puts text into the history of prompts, where it can be found again, also
// after a restart. The call returned waits until it is stored.
func (o Options) RememberPrompt(text string) (stored func() error) {
	return o.Library.AddPromptAsync(session.SentPrompt{Text: text, Dir: o.Folder, At: o.Now()})
}

// KeepDraft keeps a draft under key, and that this process wrote it.
func (o Options) KeepDraft(key string, d session.Draft) error {
	_ = o.Library.Set(writer(key), strconv.Itoa(os.Getpid()))
	return o.Library.SaveDraft(key, d)
}

// Draft returns what was kept under key, unless it stands in another window at the
// moment. Commands that the user typed there or in the directory, and that parley
// left running, are attached to it.
func (o Options) Draft(key string) (d session.Draft, ok bool) {
	if o.elsewhere(key) {
		return session.Draft{}, false
	}
	d, ok, err := o.Library.Draft(key)
	if err != nil {
		return session.Draft{}, false
	}
	for _, at := range slices.Compact([]string{key, "folder:" + o.Folder}) {
		if parts, left := o.interruptedShells(at); len(parts) > 0 {
			d.Parts, ok = append(d.Parts, parts...), true
			if o.KeepDraft(key, d) == nil {
				_ = o.SetShells(at, left)
			}
		}
	}
	return d, ok
}

// ForgetDraft takes back the draft that was kept under key.
func (o Options) ForgetDraft(key string) { _ = o.Library.SaveDraft(key, session.Draft{}) }

// elsewhere reports whether a draft stands in another window at the moment.
func (o Options) elsewhere(key string) bool {
	kept, err := o.Library.Get(writer(key))
	pid, bad := strconv.Atoi(kept)
	return err == nil && bad == nil && pid != os.Getpid() && tools.ProcessAlive(pid)
}

// Editor makes the command of the user's own editor on a file that holds text.
// Written, which has to be called with the error of the command, returns what
// the file holds then, and removes it.
func Editor(getenv func(string) string, text string) (cmd *exec.Cmd, written func(error) (string, error), err error) {
	name := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if name == "" {
		return nil, nil, errors.New("set $VISUAL or $EDITOR to use an editor")
	}
	f, err := os.CreateTemp("", "parley-*.md") // mode 0600
	if err != nil {
		return nil, nil, err
	}
	path := f.Name()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	// The variable may hold arguments, as in "code --wait".
	cmd = exec.Command("sh", "-c", name+` "$1"`, "sh", path)
	return cmd, func(err error) (string, error) {
		defer os.Remove(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b, err := os.ReadFile(path)
		return strings.TrimRight(string(b), "\n"), err
	}, nil
}

// FirstLine returns the first line of s, with an ellipsis where more follows.
func FirstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// A ShellRecord is a command that the user typed, from before it starts until
// its output is attached. One whose process is gone was interrupted.
type ShellRecord struct {
	PID     int    `json:"pid"`
	N       int    `json:"n"` // counts the commands of the process
	Command string `json:"command"`
}

// shellRecords guards the records of this process against itself.
var shellRecords struct {
	sync.Mutex
	n int
}

// recordKey returns where the records of the commands stand that were typed while the
// draft had this key.
func recordKey(draftKey string) string { return "commands of " + draftKey }

// RecordShell writes that a command the user typed is about to run, and returns
// once that is on disk or cannot be. The function it returns takes the record
// back.
func (o Options) RecordShell(draftKey, command string) (end func()) {
	shellRecords.Lock()
	defer shellRecords.Unlock()
	shellRecords.n++
	r := ShellRecord{os.Getpid(), shellRecords.n, command}
	_ = o.SetShells(draftKey, append(o.Shells(draftKey), r)) // it runs without a disk as well
	return func() {
		shellRecords.Lock()
		defer shellRecords.Unlock()
		_ = o.SetShells(draftKey, slices.DeleteFunc(o.Shells(draftKey), func(x ShellRecord) bool { return x == r }))
	}
}

// Shells returns the records of commands typed while the draft had this key.
func (o Options) Shells(draftKey string) (records []ShellRecord) {
	text, err := o.Library.Get(recordKey(draftKey))
	if err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &records) // what cannot be read names no command
	}
	return records
}

// SetShells stores records in the place of those.
func (o Options) SetShells(draftKey string, records []ShellRecord) error {
	text := ""
	if len(records) > 0 {
		b, err := json.Marshal(records)
		if err != nil {
			return err
		}
		text = string(b)
	}
	return o.Library.Set(recordKey(draftKey), text)
}

// interruptedShells returns an attachment for each command that ran when its
// process ended, and the records that are left.
func (o Options) interruptedShells(draftKey string) (parts []llm.Part, left []ShellRecord) {
	for _, r := range o.Shells(draftKey) {
		if r.PID == os.Getpid() || tools.ProcessAlive(r.PID) {
			left = append(left, r)
			continue
		}
		parts = append(parts, llm.Part{
			Kind: llm.Text, Name: "interrupted: " + FirstLine(r.Command),
			Text: fmt.Sprintf("<output command=%q>\nInterrupted: the program ended while this ran. What it did until then is not known.\n</output>", r.Command),
		})
	}
	return parts, left
}

// QueueOrSteer keeps a message while a turn runs, for after the answer or for the next results
// of tools, and says when it goes.
func QueueOrSteer(a *App, later bool, parts []llm.Part) string {
	if later {
		a.Session.Queue(parts...)
		return "Queued – sent when the answer is done"
	}
	a.Session.Steer(parts...)
	return "Queued – sent with the next tool results, or after the answer"
}
