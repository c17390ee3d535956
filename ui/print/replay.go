package print

import (
	"parley/session"
	"parley/session/archive"
)

// stored reads a conversation with all that is kept of it. After an error it is
// what could be read.
func stored(lib *session.Store, id string) (c archive.Conversation, err error) {
	if c.Session, c.Nodes, err = lib.Read(id); err != nil {
		c.Annotations, _ = lib.Annotations(id) // what is damaged of them is told already
		return c, err
	}
	c.Annotations, err = lib.Annotations(id)
	return c, err
}
