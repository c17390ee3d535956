package cmdutil

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
)

// Conversations finds stored conversations for commands.
type Conversations struct {
	Open func() (*session.Store, error) // nil opens the user's store
	Mask func() func(string) string     // returns a function that masks configured keys; nil masks nothing
}

// With opens the store for one command.
func (c Conversations) With(do func(*session.Store) error) error {
	if c.Open == nil {
		c.Open = func() (*session.Store, error) { return session.OpenStore(os.Getenv) }
	}
	lib, err := c.Open()
	if err != nil {
		return err
	}
	return errors.Join(do(lib), lib.Close())
}

// Complete returns the IDs of the latest conversations for shell completion.
func (c Conversations) Complete(*cobra.Command, []string, string) (ids []string, how cobra.ShellCompDirective) {
	_ = c.With(func(lib *session.Store) error { // shell completion shows no errors
		found, err := lib.List(session.Query{Limit: 50})
		masked := c.Masked()
		for _, f := range found {
			ids = append(ids, f.ID+"\t"+sanitize.Line(wording.ListTitle(masked(&f))))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// Masked returns a function that masks configured keys in the texts of a conversation's description.
func (c Conversations) Masked() func(*session.Info) session.Info {
	mask := func(text string) string { return text }
	if c.Mask != nil {
		mask = c.Mask()
	}
	return func(f *session.Info) session.Info {
		info := *f
		info.Title, info.Preview = mask(info.Title), mask(info.Preview)
		return info
	}
}

// Find returns the conversation given by an ID, a prefix of one, or words of its title. If several match, the error
// lists them with masked titles.
func (c Conversations) Find(lib *session.Store, word string) (session.Info, error) {
	found, err := lib.Find(word)
	if Fatal(err, len(found)) != nil {
		return session.Info{}, err
	}
	switch len(found) {
	case 0:
		return session.Info{}, Usagef("no conversation matches %q: parley sessions list shows them", word)
	case 1:
		return found[0], nil
	}
	var names []string
	masked := c.Masked()
	for _, f := range found[:min(len(found), 5)] {
		info := masked(&f)
		names = append(names, f.ID+" "+wording.ListTitle(info))
	}
	if rest := len(found) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("and %d more", rest))
	}
	return session.Info{}, Usagef("%d conversations match %q, give an ID:\n  %s", len(found), word, strings.Join(names, "\n  "))
}

// Fatal returns err if n is 0: otherwise there are results to show first.
func Fatal(err error, n int) error {
	if n > 0 {
		return nil
	}
	return err
}
