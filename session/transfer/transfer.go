// Package transfer holds conversations on their way to files and from them: as a value, without
// keys, under a name. Package archive writes and reads the files.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"parley/session/store"
)

// A Conversation is a session with all its messages, on all branches.
type Conversation struct {
	Session     store.Session
	Nodes       []store.Node // by rising Seq
	MaskedTexts int          // texts in which Mask masked keys
	Stamp       string       // changes with the conversation, of those from a place that holds several (see Reader); "" if the file holds it alone
	FromParley  bool         // the file says that parley wrote it, which proves nothing: its ID is not to be trusted

	Annotations []store.Annotation // what was shown between the messages, by rising N
}

// An Archive writes conversations to files and reads them. The zero value does neither.
type Archive struct {
	Formats Formats
	Read    Reader
}

// A Format is a way to write a conversation.
type Format struct {
	Name  string // as -o takes it, and the extension of files
	Write func(w io.Writer, c Conversation) error
}

// A Reader calls each for the conversations at a path. Of places that hold several, conversations for
// which known(id, stamp) is true are skipped: stamp is that of the Conversation that was read before.
// A nil known skips none. An error of each ends reading and is returned, with path before it. If there
// is no conversation, not even a known one, the error is ErrNoConversation.
type Reader func(ctx context.Context, path string, known func(id, stamp string) bool, each func(Conversation) error) ([]Notice, error)

// ErrNoConversation reports that a file holds no conversation.
var ErrNoConversation = errors.New("contains no conversation: expected parley's JSONL, a session of Claude Code, " +
	"a rollout of Codex, a session of Gemini CLI, Qwen Code or pi, an export of ChatGPT or Claude (conversations.json or the zip it is in), " +
	"or the database of crush, opencode or llm")

// A Notice counts things of one kind that could not be imported.
type Notice struct {
	Kind  string `json:"what"`            // the kind, in words for a user
	Count int    `json:"count"`           // how many there were
	First string `json:"first,omitempty"` // where the first of them was, such as "line 12"; "" if that is not known
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
