package sessions

import (
	"fmt"
	"strings"

	"parley/session"
	"parley/session/transfer"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// masked returns c without the keys that are configured here, and says so.
func (s Options) masked(c transfer.Conversation) transfer.Conversation {
	if s.Stored.Mask == nil {
		return c
	}
	c = transfer.Mask(c, s.Stored.Mask())
	if c.MaskedTexts > 0 {
		texts := map[bool]string{true: "1 text", false: fmt.Sprintf("%d texts", c.MaskedTexts)}[c.MaskedTexts == 1]
		s.Note("Configured keys masked in " + texts + ": --raw shows them")
	}
	return c
}

// one finds the conversation that words name; unless raw is set, keys are masked
// in it.
func (s Options) one(words []string, raw bool, do func(transfer.Conversation) error) error {
	return s.Stored.With(func(lib *session.Store) error {
		found, err := s.Stored.Find(lib, strings.Join(words, " "))
		if err != nil {
			return err
		}
		c, err := s.read(lib, found.ID, raw)
		if err != nil {
			return err
		}
		return do(c)
	})
}

// read returns a conversation, or what can be read of it with a note that says why not all. Unless
// raw is set, keys are masked in it.
func (s Options) read(lib *session.Store, id string, raw bool) (transfer.Conversation, error) {
	c, err := stored(lib, id)
	if cmdutil.Fatal(err, len(c.Nodes)) != nil {
		return c, err
	}
	if err != nil {
		s.Note(format.ErrorText(err))
	}
	if !raw {
		c = s.masked(c)
	}
	return c, nil
}

// stored reads a conversation with all that is kept of it. After an error it is
// what could be read.
func stored(lib *session.Store, id string) (c transfer.Conversation, err error) {
	if c.Session, c.Nodes, err = lib.Read(id); err != nil {
		c.Annotations, _ = lib.Annotations(id) // what is damaged of them is told already
		return c, err
	}
	c.Annotations, err = lib.Annotations(id)
	return c, err
}
