package app

import (
	"encoding/json"
	"os"
	"slices"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
)

// A ShellRecord is a shell command of the user's. It is stored from before the command starts until its output is
// attached. A record whose process is gone belongs to an interrupted command.
type ShellRecord struct {
	PID     int    `json:"pid"`
	N       int    `json:"n"` // number of the command within the process
	Command string `json:"command"`
}

// shellRecords serializes updates of the records within this process.
var shellRecords struct {
	sync.Mutex
	n int
}

// recordKey returns the store key for records of commands typed while the draft had draftKey.
func recordKey(draftKey string) string { return "commands of " + draftKey }

// RecordShell stores a record of a shell command before it runs, and returns once the record is on disk or cannot be
// written. End removes the record.
func (o *Options) RecordShell(draftKey, command string) (end func()) {
	shellRecords.Lock()
	defer shellRecords.Unlock()
	shellRecords.n++
	r := ShellRecord{os.Getpid(), shellRecords.n, command}
	_ = o.SetShells(draftKey, append(o.Shells(draftKey), r)) // the command runs without a disk as well
	return func() {
		shellRecords.Lock()
		defer shellRecords.Unlock()
		_ = o.SetShells(draftKey, slices.DeleteFunc(o.Shells(draftKey), func(x ShellRecord) bool { return x == r }))
	}
}

// Shells returns the records of commands typed while the draft had draftKey.
func (o *Options) Shells(draftKey string) (records []ShellRecord) {
	text, err := o.Library.Get(recordKey(draftKey))
	if err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &records) // unreadable records are ignored
	}
	return records
}

// SetShells replaces the records of Shells.
func (o *Options) SetShells(draftKey string, records []ShellRecord) error {
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

// interrupted returns an attachment for each command whose process ended while it ran, and the other records.
func (m *Machine) interrupted(records []ShellRecord) (parts []llm.Part, left []ShellRecord) {
	for _, r := range records {
		if r.PID == os.Getpid() || m.Alive == nil || m.Alive(r.PID) {
			left = append(left, r)
			continue
		}
		parts = append(parts, attach.Output("interrupted: "+FirstLine(r.Command), r.Command, "", "Interrupted: the program ended while this ran. What it did until then is not known."))
	}
	return parts, left
}

// ShellOutput returns the output of a finished command as an attachment.
func ShellOutput(e session.ShellCommand) llm.Part {
	return attach.Output("output of "+FirstLine(e.Command), e.Command, e.Output, e.Notes)
}
