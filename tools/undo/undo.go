// Package undo is the vocabulary for undoing file changes by tools. The package snapshot
// implements it.
//
//	a call ──► Record, in the History of a conversation ──► Plan ──► Restore
//
// A history is a line of records, restores among them, so that an undo can be undone.
package undo

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools/act"
)

// A Store keeps the pre-images of all conversations, and a history for each. It is safe for concurrent
// use, also by several processes.
type Store interface {
	// Files returns the history of a conversation in the workspace dir; nil if it cannot be stored.
	Files(session, dir string) act.Files
	// History is Files with an error if the history cannot be stored.
	History(session, dir string) (History, error)

	// Session returns the records of a conversation in all its workspaces; none without a history.
	Session(session string) ([]Record, error)

	// Interrupted returns the sessions with an unfinished restore in the workspace dir, each with the
	// process ID of the restore.
	Interrupted(dir string) map[string]int

	// Copy copies the history of one conversation to its copy, whose messages 1, 2, … are copies of the
	// messages seqs; it does nothing without a history.
	Copy(from, to string, seqs []int) error
	// Import copies the history of a conversation from the log of another store, such as a backup's,
	// unless the conversation already has one. The log is not trusted: changes in workspaces other
	// than root are dropped. Refused lists their paths, and those of directories added to root,
	// without duplicates.
	Import(session, log, root string) (refused []string, err error)
	// Remove deletes the history of a conversation, and the contents that no other one uses.
	Remove(session string) error

	// PruneDue reports whether the last Prune was at least a day ago, and if so records it as done now.
	PruneDue() bool
	// Prune removes the histories last written before before, then the oldest until the rest takes
	// at most most bytes; and contents that no history uses, unless they were used in the last day
	// and after before.
	Prune(before time.Time, most int64) (Pruned, error)
}

// A History holds the changes by tools in one workspace for one conversation, oldest first. It
// is safe for concurrent use.
type History interface {
	act.Files

	Records() []Record    // of this workspace
	OtherRoots() []string // other workspaces in which the conversation changed files, without duplicates

	// BranchMark returns the number of records when the user left the branch that ends with the message
	// head; ok is false without a mark, or if nothing has changed since.
	BranchMark(head int) (n int, ok bool)

	// Plan returns the steps that restore the files to their state before the record from. It changes
	// nothing.
	Plan(from int) (*Plan, error)
	// Texts returns the content of a step's file now and after the restore; nil if there is no
	// file, or its content is unknown. Now may be an earlier state.
	Texts(Step) (now, to []byte)
	// Restore carries out the steps of a plan; steps with a ConfirmReason only if confirmed. It stores
	// the current content first, so that the restore can be undone by the returned record; N is 0 if
	// nothing was done. It skips paths that have changed since the plan was made. Seq is the message
	// of the conversation that the restore belongs to.
	Restore(p *Plan, confirmed bool, seq int, title string) (Record, []Skipped, error)
	// Recover records the effects of an interrupted restore and removes its temporary files; nil if
	// there is none. Call it before using the history.
	Recover() (*Interrupted, error)
}

// A Name is a path with slashes, relative to the workspace or absolute in an added directory, or
// the target of a link. It need not be UTF-8: JSON encodes other bytes in base64.
type Name string

// MarshalJSON implements json.Marshaler.
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(n))})
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Name) UnmarshalJSON(data []byte) error {
	if !strings.HasPrefix(string(data), "{") {
		return json.Unmarshal(data, (*string)(n))
	}
	var coded struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(data, &coded)
	*n = Name(coded.Base64)
	return err
}

// A Kind is the type of a file at a path.
type Kind string

// The kinds. Other is anything else, such as a pipe: it is reported and left alone.
const (
	Absent    Kind = ""
	File      Kind = "file"
	Link      Kind = "link"
	Directory Kind = "folder"
	Other     Kind = "other"
)

// A State is the state of a path at some time. The zero value is an absent path.
type State struct {
	Kind   Kind   `json:"kind,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`   // permissions, with set-user-ID, set-group-ID and sticky as in stat(2); 0 for links
	Size   int64  `json:"size,omitempty"`   // of a file, in bytes
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a file's content in hexadecimal; "": not read
	Target Name   `json:"target,omitempty"` // of a link
	Stamp  string `json:"stamp,omitempty"`  // inode and times of a file whose content was not read
	Stored bool   `json:"kept,omitempty"`   // the store has the file's content
}

// Describe returns the kind in a word, such as "file"; "nothing" for an absent path.
func (s State) Describe() string {
	if s.Kind == Absent {
		return "nothing"
	}
	return string(s.Kind)
}

// Same reports whether both have the same kind, mode, target and content. Files whose content was
// not read are compared by size and stamp.
func (s State) Same(t State) bool {
	if s.Kind != t.Kind || s.Mode != t.Mode || s.Target != t.Target {
		return false
	}
	return s.Kind != File || s.sameContent(t)
}

// sameContent reports whether two files have the same content, by their sums or, without these, their stamps.
func (s State) sameContent(t State) bool {
	if s.Sum == "" || t.Sum == "" {
		return s.Size == t.Size && s.Stamp != "" && s.Stamp == t.Stamp
	}
	return s.Sum == t.Sum
}

// A Change is the change of one path.
type Change struct {
	Path   Name  `json:"path"`
	Before State `json:"before,omitzero"`
	After  State `json:"after,omitzero"`
}

// An Uncovered is a path whose changes cannot be undone, and why.
type Uncovered struct {
	Path Name   `json:"path"`
	Size int64  `json:"size,omitempty"` // in bytes; 0 for directories
	Why  string `json:"why"`            // a few words, such as "larger than 64 MB"
}

// A Record holds the changes of one tool call or one restore.
type Record struct {
	N         int       `json:"n"`              // number in the history, from 1
	Seq       int       `json:"seq,omitempty"`  // message of the conversation that it belongs to; negative: none, as in a copy
	Call      string    `json:"call,omitempty"` // ID of the tool call; "" for a restore
	Title     string    `json:"title"`          // description of the call or restore; untrusted text
	At        time.Time `json:"at"`
	Root      Name      `json:"root"`              // absolute path of the workspace
	Directory Name      `json:"folder,omitempty"`  // added directory that contains the paths, which are then absolute; "": they are in Root
	Restore   bool      `json:"restore,omitempty"` // it is a restore
	Open      bool      `json:"open,omitempty"`    // the call has not ended, or parley ended during it: After is unknown

	Changes   []Change    `json:"changes,omitempty"`
	Uncovered []Uncovered `json:"uncovered,omitempty"` // paths that changed, or may have changed, and cannot be undone
	Partial   string      `json:"partial,omitempty"`   // why Changes may be incomplete; "" if complete
}

// A Step is the restore of one path by [History.Restore].
type Step struct {
	Path          Name
	Now           State  // its current state
	To            State  // the state to restore
	ConfirmReason string // why the user has to confirm it, such as "changed since"; "": no confirmation needed
	Blocked       string // why it is impossible; "" if possible
}

// A Plan holds the steps that restore files to their state before a record.
type Plan struct {
	From      int    // number of the first record to undo
	Steps     []Step // sorted by path; without paths that need no change
	Uncovered []Uncovered
	Partial   string // why the records may be incomplete; "" if complete
}

// Empty reports whether p is nil or has no steps.
func (p *Plan) Empty() bool { return p == nil || len(p.Steps) == 0 }

// Count returns the number of steps that Restore carries out, with or without confirmation.
func (p *Plan) Count(confirmed bool) (n int) {
	for _, s := range p.Steps {
		if s.Blocked == "" && (confirmed || s.ConfirmReason == "") {
			n++
		}
	}
	return n
}

// A Skipped is a path that was not restored, and why.
type Skipped struct {
	Path Name
	Why  string
}

// An Interrupted is a restore during which parley ended, with its paths by their current state.
type Interrupted struct {
	Title      string
	Restored   []Name // as planned
	Unrestored []Name // as before the restore
	Changed    []Name // different from both
}

// Defaults for [Store.Prune].
const (
	MaxAge    = 30 * 24 * time.Hour // of a history
	MaxStored = 1 << 30             // bytes, compressed
)

// Pruned reports what [Store.Prune] removed and what remains.
type Pruned struct {
	Histories, Objects int
	Freed, Remaining   int64 // bytes, compressed
}

// NoHistory is the History of a conversation whose changes are not stored: it has no records and no plans.
type NoHistory struct{ History }

// Records implements History.
func (NoHistory) Records() []Record { return nil }

// OtherRoots implements History.
func (NoHistory) OtherRoots() []string { return nil }

// BranchMark implements History.
func (NoHistory) BranchMark(int) (int, bool) { return 0, false }

// Plan implements History.
func (NoHistory) Plan(int) (*Plan, error) { return nil, errors.New("no files are kept here") }

// HistoryOf returns files as a History.
func HistoryOf(files act.Files) History {
	if h, ok := files.(History); ok {
		return h
	}
	return NoHistory{}
}

// CountSince counts the paths known to differ from their state before the record from;
// restored paths do not count. For 0 it returns 0. Sure is false if more files may have
// changed.
func CountSince(records []Record, from int) (n int, sure bool) {
	type course struct{ first, last State }
	courses := map[Name]*course{}
	sure = true
	for _, r := range records {
		if r.N < from || from == 0 {
			continue
		}
		sure = sure && !r.Open && r.Partial == ""
		for _, c := range r.Changes {
			if c.Before.Kind == Directory || c.After.Kind == Directory {
				continue
			}
			if courses[c.Path] == nil {
				courses[c.Path] = &course{first: c.Before}
			}
			courses[c.Path].last = c.After
		}
	}
	for _, c := range courses {
		if !c.first.Same(c.last) {
			n++
		}
	}
	return n, sure
}
