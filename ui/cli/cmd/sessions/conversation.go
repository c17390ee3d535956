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
	mask, pages := s.Stored.Mask(), c.Pages
	c = transfer.Mask(c, mask)
	note := func(texts int) {
		if texts > 0 {
			s.Note("Configured keys masked in " + format.Plural(texts, "text") + ": --raw shows them")
		}
	}
	if pages == nil {
		note(c.MaskedTexts)
		return c
	}
	c.Pages = func(yield func([]session.Node) bool) {
		texts := c.MaskedTexts
		defer func() { note(texts) }()
		for page := range pages {
			masked := transfer.Mask(transfer.Conversation{Nodes: page}, mask)
			if texts += masked.MaskedTexts; !yield(masked.Nodes) {
				return
			}
		}
	}
	return c
}

// one finds the conversation named by words and masks its keys, unless raw is set. With paged, a long one is read
// page by page while it is written.
func (s Options) one(words []string, raw, paged bool, do func(transfer.Conversation) error) error {
	return s.Stored.With(func(lib *session.Store) error {
		found, err := s.Stored.Find(lib, strings.Join(words, " "))
		if err != nil {
			return err
		}
		c, err := s.read(lib, found.ID, raw, paged)
		if err != nil {
			return err
		}
		return do(c)
	})
}

// read returns a conversation, with its keys masked unless raw is set. If only a part is readable, it returns that and
// notes why. With paged, a long conversation of one branch has Pages in place of Nodes.
func (s Options) read(lib *session.Store, id string, raw, paged bool) (c transfer.Conversation, err error) {
	if paged {
		c, err = s.paged(lib, id)
	}
	if c.Pages == nil {
		c, err = stored(lib, id)
	}
	if c.Pages == nil && cmdutil.Fatal(err, len(c.Nodes)) != nil {
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

// paged reads all of a conversation but its messages, which Pages reads. It has no Pages if the messages are few, have
// branches, or cannot be read so.
func (s Options) paged(lib *session.Store, id string) (c transfer.Conversation, err error) {
	info, models, pages, err := lib.Paged(id)
	if err != nil || pages == nil {
		return c, err
	}
	c.Session, c.Models = info, models
	c.Annotations, err = lib.Annotations(id)
	c.Pages = func(yield func([]session.Node) bool) {
		for page, err := range pages {
			if err != nil {
				s.Note(format.ErrorText(err))
			}
			if !yield(page) {
				return
			}
		}
	}
	return c, err
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
