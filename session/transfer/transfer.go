// Package transfer is the vocabulary for exporting and importing conversations: the
// conversation as a value, masking of keys, and file names. Package archive writes and reads
// the files.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"parley/session/store"
)

// A Conversation is a session with all its messages, on all branches.
type Conversation struct {
	Session     store.Session
	Nodes       []store.Node // by rising Seq
	MaskedTexts int          // texts in which Mask masked keys
	Stamp       string       // changes with the conversation, for sources with several (see Reader); "" if the file has only this one
	FromParley  bool         // the file claims to be written by parley, which is no proof: do not trust its ID

	Annotations []store.Annotation // events shown between the messages, by rising N

	Pages  iter.Seq[[]store.Node] // the messages in place of Nodes, for writers of the current branch; nil: Nodes has them
	Models []string               // with Pages: who answered, in the order of their first answers
}

// An Archive writes conversations to files and reads them. The zero value does neither.
type Archive struct {
	Formats Formats
	Read    Reader
}

// A Format is a way to write a conversation.
type Format struct {
	Name  string // for -o, and as the file extension
	Write func(w io.Writer, c Conversation) error
}

// A Reader calls each for the conversations at a path. In sources with several, it skips conversations
// for which known(id, stamp) is true; stamp is that of an earlier Conversation. A nil known skips
// none. An error of each ends reading and is returned with path before it. If there is no
// conversation, not even a known one, the error is ErrNoConversation.
type Reader func(ctx context.Context, path string, known func(id, stamp string) bool, each func(Conversation) error) ([]Notice, error)

// ErrNoConversation reports that a file has no conversation.
var ErrNoConversation = errors.New("contains no conversation: expected parley's JSONL, a session of Claude Code, " +
	"a rollout of Codex, a session of Gemini CLI, Qwen Code or pi, an export of ChatGPT or Claude (conversations.json, or the zip or folder it is in), of Open WebUI or LibreChat, " +
	"or the database of crush, opencode or llm")

// A Notice counts things of one kind that could not be imported.
type Notice struct {
	Kind  string `json:"what"`            // the kind, in words for a user
	Count int    `json:"count"`           // how many there were
	First string `json:"first,omitempty"` // position of the first one, such as "line 12"; "" if unknown
}

// String returns n on one line.
func (n Notice) String() string {
	text := fmt.Sprintf("%s (%d)", n.Kind, n.Count)
	switch {
	case n.First == "":
	case n.Count > 1:
		text += ": first in " + n.First
	default:
		text += ": " + n.First
	}
	return text
}
