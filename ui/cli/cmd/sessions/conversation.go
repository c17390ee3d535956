package sessions

import (
	"strings"

	"parley/session"
	"parley/session/transfer"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// masked returns c with configured keys masked, and notes that.
func (s Options) masked(c transfer.Conversation) transfer.Conversation {
	if s.Stored.Mask == nil {
		return c
	}
	c = transfer.Mask(c, s.Stored.Mask())
	if c.MaskedTexts > 0 {
		s.Note("Configured keys masked in " + format.Plural(c.MaskedTexts, "text") + ": --raw shows them")
	}
	return c
}

// one finds the conversation named by words and masks its keys, unless raw is set.
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

// read returns a conversation, with its keys masked unless raw is set. If only a part is readable, it returns that and
// notes why.
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

// stored reads a conversation with its annotations. With an error it returns the readable part.
func stored(lib *session.Store, id string) (c transfer.Conversation, err error) {
	if c.Session, c.Nodes, err = lib.Read(id); err != nil {
		c.Annotations, _ = lib.Annotations(id) // damage has been reported already
		return c, err
	}
	c.Annotations, err = lib.Annotations(id)
	return c, err
}
