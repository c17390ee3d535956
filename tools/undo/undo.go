// Package undo brings files back that tools changed. It keeps what a file was before a tool
// changes it, its pre-image, outside of the project:
//
//	Watch ──► look ──► the tool runs ──► look ──► Record, in the History of a conversation
//	            └──► pre-images, in the Store          │
//	                                                   └──► Plan ──► Restore, with a journal
//
// A history is a line of records, restores among them, so that an undo can be undone. What
// git has in its own object store is not kept twice; neither the project's git nor any
// program is asked. What could not be kept is named before a tool runs. A file is never
// overwritten or deleted unless it is what parley saw last, or the user said so.
package undo

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what is kept.
const (
	MaxBytes   = 64 << 20               // of contents that git does not hold, in all, before one command
	maxIgnored = 256 << 10              // of a file that git ignores
	maxLook    = 300 * time.Millisecond // how long a call waits for the look before it
)

// A Name is a path relative to the workspace, or an absolute one in a directory that was added to
// it, with slashes, or the target of a link. Its
// bytes may be anything; JSON keeps them.
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

// A Kind is what stands at a path.
type Kind string

// The kinds. What is neither of them, such as a pipe, is named and left alone.
const (
	Absent Kind = ""
	File   Kind = "file"
	Link   Kind = "link"
	Folder Kind = "folder"
	Other  Kind = "other"
)

// A State is what stood at a path. The zero value is nothing.
type State struct {
	Kind   Kind   `json:"kind,omitempty"`
	Mode   uint32 `json:"mode,omitempty"`   // permissions, with set-user-ID, set-group-ID and sticky as in stat(2); 0 of links
	Size   int64  `json:"size,omitempty"`   // of a file, in bytes
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a file's content, in hexadecimal; "": it was not read
	Target Name   `json:"target,omitempty"` // of a link
	Stamp  string `json:"stamp,omitempty"`  // inode and times of a file whose content was not read
	Kept   bool   `json:"kept,omitempty"`   // the content of a file is in the store
}

// Describe names what stood at the path in a word.
func (s State) Describe() string {
	if s.Kind == Absent {
		return "nothing"
	}
	return string(s.Kind)
}

// Same reports whether both are the same to whoever looks at the path: neither times nor what
// is kept count.
func (s State) Same(t State) bool {
	if s.Kind != t.Kind || s.Mode != t.Mode || s.Target != t.Target {
		return false
	}
	return s.Kind != File || s.sameContent(t)
}

// sameContent reports whether two files have the same content, as far as is known.
func (s State) sameContent(t State) bool {
	if s.Sum == "" || t.Sum == "" {
		return s.Size == t.Size && s.Stamp != "" && s.Stamp == t.Stamp
	}
	return s.Sum == t.Sum
}

// restorable reports whether a path can be made what it was.
func (s State) restorable() bool { return s.Kind != Other && (s.Kind != File || s.Kept) }

// A Change is what became of one path.
type Change struct {
	Path   Name  `json:"path"`
	Before State `json:"before,omitzero"`
	After  State `json:"after,omitzero"`
}

// An Uncovered is something that cannot be undone, and why.
type Uncovered struct {
	Path Name   `json:"path"`
	Size int64  `json:"size,omitempty"` // in bytes; 0 of folders
	Why  string `json:"why"`            // a few words, such as "larger than 64 MB"
}

// A Record is what one tool call, or one restore, changed.
type Record struct {
	N       int       `json:"n"`              // its place in the history, from 1
	Seq     int       `json:"seq,omitempty"`  // message of the conversation that it belongs to
	Call    string    `json:"call,omitempty"` // ID of the tool call; "" of a restore
	Title   string    `json:"title"`          // what was done; untrusted text
	At      time.Time `json:"at"`
	Root    Name      `json:"root"`              // absolute path of the workspace
	Folder  Name      `json:"folder,omitempty"`  // absolute path of the directory beside it that the paths are in, which are absolute then
	Restore bool      `json:"restore,omitempty"` // the user went back
	Open    bool      `json:"open,omitempty"`    // it has not ended, or parley did: what came of it is not known

	Changes   []Change    `json:"changes,omitempty"`
	Uncovered []Uncovered `json:"uncovered,omitempty"` // that it may have changed, or did
	Partial   string      `json:"partial,omitempty"`   // why more may have changed than was seen; "" if not
}

// permissions returns the mode of a file as fs has it.
func permissions(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, as := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= as
		}
	}
	return m
}
