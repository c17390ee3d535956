// Package drafts stores unsent messages, the prompts that were sent, and records of running shell commands of the user's.
package drafts

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/format"
)

// Drafts stores the drafts of conversations in a directory.
type Drafts struct {
	Store     *session.Store
	Directory string // absolute
	Now       func() time.Time
	Alive     func(pid int) bool // reports whether a process runs; nil if unknown
}

// Key returns the store key for the draft of s. Before its first message, that is the key of the directory: all empty
// conversations there share a draft.
func (d Drafts) Key(s *session.Session) string {
	if s.Head() > 0 {
		return "session:" + s.ID()
	}
	return "folder:" + d.Directory
}

// New returns a draft of text and attachments, with the cursor at the end.
func (d Drafts) New(text string, attached []llm.Part) session.Draft {
	return session.Draft{Text: text, Cursor: len(text), Parts: attached, At: d.Now()}
}

// Attach adds a part to the stored draft of s. It waits for the disk and may run on any goroutine.
func (d Drafts) Attach(s *session.Session, part llm.Part) error {
	key := d.Key(s)
	stored, _, err := d.Store.Drafts().Take(key)
	if err != nil {
		return err
	}
	stored.Parts, stored.At = append(stored.Parts, part), d.Now()
	return d.Store.Drafts().Save(key, stored)
}

// RememberPrompt adds text to the stored prompt history without waiting for the disk, and then deletes the drafts under
// keys. It ignores errors: the conversation has the prompt as well, and reports a full disk.
func (d Drafts) RememberPrompt(text string, drafts ...string) {
	d.Store.AddPromptAsync(session.SentPrompt{Text: text, Dir: d.Directory, At: d.Now()}, drafts...)
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "/") { // no prompt follows that would store it
		go func() { _ = d.Store.Flush() }()
	}
}

// Take returns the draft stored under key. It returns false if there is none, or only drafts of other running
// processes. The output of user's shell commands that were running when parley ended is attached to it.
func (d Drafts) Take(key string) (draft session.Draft, ok bool) {
	draft, ok, err := d.Store.Drafts().Take(key) // ok with an error means that only attachments are damaged
	if err != nil && !ok {
		return session.Draft{}, false
	}
	for _, at := range slices.Compact([]string{key, "folder:" + d.Directory}) {
		if parts, left := d.interrupted(d.Shells(at)); len(parts) > 0 {
			draft.Parts, ok = append(draft.Parts, parts...), true
			if d.Store.Drafts().Save(key, draft) == nil {
				_ = d.SetShells(at, left)
			}
		}
	}
	return draft, ok
}

// A Shell is the record of a shell command of the user's. It is stored from before the command starts until its output is
// attached. A record whose process is gone belongs to an interrupted command.
type Shell struct {
	PID     int    `json:"pid"`
	N       int    `json:"n"` // number of the command within the process
	Command string `json:"command"`
}

// shellRecords serializes updates of the records within this process.
var shellRecords struct {
	sync.Mutex
	n int
}

// recordKey returns the store key for records of commands typed while the draft had key.
func recordKey(key string) string { return "commands of " + key }

// RecordShell stores a record of a shell command before it runs, and returns once the record is on disk or cannot be
// written. End removes the record.
func (d Drafts) RecordShell(key, command string) (end func()) {
	shellRecords.Lock()
	defer shellRecords.Unlock()
	shellRecords.n++
	r := Shell{os.Getpid(), shellRecords.n, command}
	_ = d.SetShells(key, append(d.Shells(key), r)) // the command runs without a disk as well
	return func() {
		shellRecords.Lock()
		defer shellRecords.Unlock()
		_ = d.SetShells(key, slices.DeleteFunc(d.Shells(key), func(x Shell) bool { return x == r }))
	}
}

// Shells returns the records of commands typed while the draft had key.
func (d Drafts) Shells(key string) (records []Shell) {
	text, err := d.Store.Get(recordKey(key))
	if err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &records) // unreadable records are ignored
	}
	return records
}

// SetShells replaces the records of Shells.
func (d Drafts) SetShells(key string, records []Shell) error {
	text := ""
	if len(records) > 0 {
		b, err := json.Marshal(records)
		if err != nil {
			return err
		}
		text = string(b)
	}
	return d.Store.Set(recordKey(key), text)
}

// interrupted returns an attachment for each command whose process ended while it ran, and the other records.
func (d Drafts) interrupted(records []Shell) (parts []llm.Part, left []Shell) {
	for _, r := range records {
		if r.PID == os.Getpid() || d.Alive == nil || d.Alive(r.PID) {
			left = append(left, r)
			continue
		}
		parts = append(parts, attach.Output("interrupted: "+format.FirstLine(r.Command), r.Command, "", "Interrupted: the program ended while this ran. What it did until then is not known."))
	}
	return parts, left
}
