package sessions

import (
	"fmt"
	"strings"

	"parley/session"
	"parley/session/archive"
	"parley/ui/app"
	"parley/ui/format"
)

// masked returns c without the keys that are configured here, and says so.
func (s Options) masked(c archive.Conversation) archive.Conversation {
	if s.Mask == nil {
		return c
	}
	c = archive.Mask(c, s.Mask())
	if c.MaskedTexts > 0 {
		texts := map[bool]string{true: "1 text", false: fmt.Sprintf("%d texts", c.MaskedTexts)}[c.MaskedTexts == 1]
		s.Note("Configured keys masked in " + texts + ": --raw shows them")
	}
	return c
}

// maskedInfo returns a function that takes the keys that are configured here out of the texts of a
// conversation's description.
func (s Options) maskedInfo() func(*session.Info) session.Info {
	mask := maskOf(s.Mask)
	return func(f *session.Info) session.Info {
		info := *f
		info.Title, info.Preview = mask(info.Title), mask(info.Preview)
		return info
	}
}

// maskOf returns what takes keys out of text; nil takes out nothing.
func maskOf(mask func() func(string) string) func(string) string {
	if mask == nil {
		return func(text string) string { return text }
	}
	return mask()
}

// one finds the conversation that words name; unless raw is set, keys are masked
// in it.
func (s Options) one(words []string, raw bool, do func(archive.Conversation) error) error {
	return s.with(func(lib *session.Store) error {
		found, err := Find(lib, strings.Join(words, " "), s.Mask)
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
func (s Options) read(lib *session.Store, id string, raw bool) (archive.Conversation, error) {
	c, err := stored(lib, id)
	if fatal(err, len(c.Nodes)) != nil {
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

// Find returns the one conversation that a user means by an ID, the beginning of
// one, or words of its title. The error lists those it may be, their titles masked; nil: as they are.
func Find(lib *session.Store, word string, mask func() func(string) string) (session.Info, error) {
	found, err := lib.Find(word)
	if fatal(err, len(found)) != nil {
		return session.Info{}, err
	}
	switch len(found) {
	case 0:
		return session.Info{}, app.UsageError{Err: fmt.Errorf("no conversation matches %q: parley sessions list shows them", word)}
	case 1:
		return found[0], nil
	}
	var names []string
	masked := maskOf(mask)
	for _, f := range found[:min(len(found), 5)] {
		names = append(names, f.ID+" "+masked(app.ListTitle(f)))
	}
	if rest := len(found) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("and %d more", rest))
	}
	return session.Info{}, app.UsageError{Err: fmt.Errorf("%d conversations match %q, give an ID:\n  %s", len(found), word, strings.Join(names, "\n  "))}
}

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
