package app

import (
	"encoding/json"
	"os"
	"slices"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools/process"
)

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

// RecordShell stores a record of a shell command that is about to run, and returns once that is
// on disk or cannot be. End removes the record.
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

// SetShells replaces the records that Shells returns.
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
		if r.PID == os.Getpid() || process.Alive(r.PID) {
			left = append(left, r)
			continue
		}
		parts = append(parts, attach.Output("interrupted: "+FirstLine(r.Command), r.Command, "", "Interrupted: the program ended while this ran. What it did until then is not known."))
	}
	return parts, left
}

// ShellOutput returns the output of a command that ended as an attachment.
func ShellOutput(e session.ShellCommand) llm.Part {
	return attach.Output("output of "+FirstLine(e.Command), e.Command, e.Output, e.Notes)
}
