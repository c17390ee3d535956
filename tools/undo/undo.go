// Package undo restores files that tools changed. It stores what a file was before a tool changes
// it, its pre-image, outside of the project:
//
//	Watch ──► snapshot ──► the tool runs ──► snapshot ──► Record, in the History of a conversation
//	              └──► pre-images, in the Store              │
//	                                                         └──► Plan ──► Restore, with a journal
//
// A history is a line of records, restores among them, so that an undo can be undone. What
// git has in its own object store is not stored twice; it is read without running git or any
// other program. What could not be stored is named before a tool runs. A file is never
// overwritten or deleted unless it is what parley saw last, or the user confirmed it.
package undo

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a snapshot before a call.
const (
	MaxBytes        = 64 << 20               // of all contents that git does not hold
	maxIgnored      = 256 << 10              // of a file that git ignores; larger ones are not stored
	maxSnapshotTime = 300 * time.Millisecond // that a call waits for it
)

// A Name is a path with slashes, relative to the workspace or absolute in a directory added to it,
// or the target of a link. It need not be UTF-8: JSON holds other bytes in base64.
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

// A State is the state of a path at some time. The zero value is that of an absent one.
type State struct {
	Kind   Kind   `json:"kind,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`   // permissions, with set-user-ID, set-group-ID and sticky as in stat(2); 0 of links
	Size   int64  `json:"size,omitempty"`   // of a file, in bytes
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a file's content, in hexadecimal; "": it was not read
	Target Name   `json:"target,omitempty"` // of a link
	Stamp  string `json:"stamp,omitempty"`  // inode and times of a file whose content was not read
	Stored bool   `json:"kept,omitempty"`   // the store has the content of a file
}

// Describe returns the kind in a word, such as "file"; "nothing" for an absent path.
func (s State) Describe() string {
	if s.Kind == Absent {
		return "nothing"
	}
	return string(s.Kind)
}

// Same reports whether both have the same kind, mode, target and content. Files whose content was
// not read are the same if their sizes and stamps are.
func (s State) Same(t State) bool {
	if s.Kind != t.Kind || s.Mode != t.Mode || s.Target != t.Target {
		return false
	}
	return s.Kind != File || s.sameContent(t)
}

// sameContent reports whether two files have the same content, by their sums or else their stamps.
func (s State) sameContent(t State) bool {
	if s.Sum == "" || t.Sum == "" {
		return s.Size == t.Size && s.Stamp != "" && s.Stamp == t.Stamp
	}
	return s.Sum == t.Sum
}

// restorable reports whether a restore can bring a path back to s.
func (s State) restorable() bool { return s.Kind != Other && (s.Kind != File || s.Stored) }

// A Change is the change of one path.
type Change struct {
	Path   Name  `json:"path"`
	Before State `json:"before,omitzero"`
	After  State `json:"after,omitzero"`
}

// An Uncovered is a path whose changes cannot be undone, and why.
type Uncovered struct {
	Path Name   `json:"path"`
	Size int64  `json:"size,omitempty"` // in bytes; 0 of folders
	Why  string `json:"why"`            // a few words, such as "larger than 64 MB"
}

// A Record is what one tool call, or one restore, changed.
type Record struct {
	N         int       `json:"n"`              // its place in the history, from 1
	Seq       int       `json:"seq,omitempty"`  // message of the conversation that it belongs to; negative: none of it, as in a copy
	Call      string    `json:"call,omitempty"` // ID of the tool call; "" of a restore
	Title     string    `json:"title"`          // description of the call or restore; untrusted text
	At        time.Time `json:"at"`
	Root      Name      `json:"root"`              // absolute path of the workspace
	Directory Name      `json:"folder,omitempty"`  // added directory that the paths, which are absolute then, are in; "": they are in Root
	Restore   bool      `json:"restore,omitempty"` // it is a restore
	Open      bool      `json:"open,omitempty"`    // the call has not ended, or parley ended during it: After is unknown

	Changes   []Change    `json:"changes,omitempty"`
	Uncovered []Uncovered `json:"uncovered,omitempty"` // paths that changed, or may have, and cannot be undone
	Partial   string      `json:"partial,omitempty"`   // why Changes may be incomplete; "" if they are not
}

// permissions converts a mode of stat(2) to one of package fs.
func permissions(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, as := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= as
		}
	}
	return m
}
