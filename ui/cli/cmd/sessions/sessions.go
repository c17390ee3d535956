// Package sessions implements the commands about stored conversations and the usage report. If a list could be read
// only in part, the commands write that part and note the error.
package sessions

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/session"
	"parley/session/transfer"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/theme"

	"os"
)

// Options configure the commands about stored conversations.
type Options struct {
	Stored     cmdutil.Conversations
	Archive    transfer.Archive // reads and writes files with conversations
	Out        io.Writer
	Note       func(string) // writes a line to standard error
	Render     bool         // Out is a terminal, Width cells wide
	Width      int
	Now        func() time.Time
	Styled     io.Writer                // Out for styled text; nil: Out
	Markdown   *theme.Theme             // for rendered Markdown; nil: the terminal's
	AbbrevPath func(path string) string // abbreviates directories; nil: unchanged
	Forget     func(id string) error    // removes data stored outside the conversation; nil for none
}

// ForTerminal returns s for standard output, rendered if that is a terminal.
func (s Options) ForTerminal() Options {
	styled := cmdutil.Styled(s.Out)
	s.Styled, s.Markdown = styled, cmdutil.MarkdownTheme(styled)
	s.Render, s.Width = term.IsTerminal(os.Stdout.Fd()), cmdutil.OutputWidth()
	return s
}

// Add adds the commands about conversations to conversations, and the usage report to root.
func (s Options) Add(root, conversations *cobra.Command) {
	one := []*cobra.Command{s.show(), s.export(), s.remove()}
	for _, cmd := range one {
		cmd.ValidArgsFunction = s.Stored.Complete
	}
	list := s.list()
	conversations.Args, conversations.RunE = cobra.NoArgs, list.RunE // alone it lists
	conversations.Flags().AddFlagSet(list.Flags())
	conversations.AddCommand(append(one, list, s.search(), s.importCmd())...)
	root.AddCommand(s.usage())
}

// query adds the flags that choose conversations.
func query(cmd *cobra.Command, q *session.Query, since *string) {
	f := cmd.Flags()
	f.StringVarP(&q.Model, "model", "m", "", "only with this `MODEL`, or part of its name")
	f.StringVar(&q.Dir, "folder", "", "only started in this `FOLDER` or below")
	f.StringVar(since, "since", "", "only changed since a `DAY`: 2026-11-20, 12h or 30d ago")
}

// finish completes q from the textual flags.
func (s Options) finish(q *session.Query, since string) error {
	if q.Dir != "" {
		folder, err := filepath.Abs(q.Dir)
		if err != nil {
			return fmt.Errorf("--folder %s: %w", q.Dir, err)
		}
		q.Dir = folder
	}
	var err error
	q.Since, err = localTime(since, s.Now())
	if err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	return nil
}

// localTime parses a date or an age.
func localTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && days >= 0 && fmt.Sprintf("%dd", days) == text {
		y, m, d := now.Date()
		return time.Date(y, m, d-days, 0, 0, 0, 0, now.Location()), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is neither a date such as %s nor a time such as 12h or 30d", text, now.Format(time.DateOnly))
}

// lines writes text, truncated to the width of a terminal.
func (s Options) lines(text string) error { return cmdutil.WriteLines(s.Out, s.Width, text) }

func (s Options) show() *cobra.Command {
	var raw bool
	var as string
	cmd := &cobra.Command{Use: "show SESSION", Short: "Show a conversation, with configured keys masked", Args: commandNames, RunE: func(_ *cobra.Command, words []string) error {
		form, err := s.Archive.Formats.Find(map[string]string{"text": "md", "jsonl": "jsonl"}[as])
		if err != nil {
			return err
		}
		return s.one(words, raw, as == "text", func(c transfer.Conversation) error {
			if as == "jsonl" {
				return s.write(c, form.Write, escaped)
			}
			out := bufio.NewWriter(s.Out)
			return errors.Join(form.Write(pieceWriter{s, out}, c), out.Flush())
		})
	}}
	cmdutil.FormatFlags(cmd, &as, "JSON lines, all branches and parts", "text", "jsonl")
	cmd.Flags().BoolVar(&raw, "raw", false, "do not mask configured keys")
	return cmd
}

// A pieceWriter shows each piece of a conversation that is written to it, rendered if s.Render is set.
type pieceWriter struct {
	Options
	out *bufio.Writer
}

func (w pieceWriter) Write(piece []byte) (int, error) {
	text := sanitize.Cleaned(string(piece))
	if !w.Render {
		_, err := w.out.WriteString(text.String())
		return len(piece), err
	}
	doc := markdown.New(cmp.Or(w.Markdown, theme.Terminal()))
	doc.Append(text)
	doc.Finish()
	for _, line := range doc.Lines(max(w.Width, 20)) {
		w.out.WriteString(line + "\n")
	}
	return len(piece), w.out.WriteByte('\n')
}

// commandNames requires an argument that names a conversation.
func commandNames(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("which conversation? Give its ID, the beginning of it, or words of its title: parley sessions list shows them")
	}
	return nil
}

const searchHelp = `Find messages and titles that contain all of the words, the best match first.

It compares whole words: whal* finds words that begin with whal, and '"blue whale"'
finds consecutive words.`

func (s Options) search() *cobra.Command {
	q := session.Query{Limit: -1}
	var since string
	var as string
	var page pagination
	cmd := &cobra.Command{Use: "search WORD...", Short: "Search all conversations", Long: searchHelp, Args: cobra.MinimumNArgs(1), RunE: func(cmd *cobra.Command, words []string) error {
		if err := cmp.Or(s.finish(&q, since), page.check(cmd)); err != nil {
			return cmdutil.Usage(err)
		}
		q.Words = strings.Join(words, " ")
		return s.Stored.With(func(lib *session.Store) error {
			if q.Skip = page.skipped(); !page.all {
				q.Limit = page.limit
			}
			hits, total, err := lib.Search(q)
			if cmdutil.Fatal(err, len(hits)) != nil {
				return err
			}
			masked := s.Stored.Masked()
			for i, h := range hits {
				of := masked(&session.Info{Title: h.Snippet})
				if hits[i].Session = masked(&h.Session); of.Title != h.Snippet {
					hits[i].Snippet, hits[i].Marks = of.Title, [][2]int{} // the marks would not fit the masked title
				}
			}
			if total == 0 {
				s.Note("nothing found for " + q.Words)
			}
			if note := page.note(total, "messages"); note != "" {
				defer s.Note(note)
			}
			if as == "text" {
				return errors.Join(s.lines(hitLines(hits)), err)
			}
			return errors.Join(cmdutil.WriteRows(s.Out, as, hits), err)
		})
	}}
	query(cmd, &q, &since)
	page.flags(cmd, usualPage)
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}

// hitLines returns a line for each hit. Hits with equal lines, such as answers of compared models, share one line with
// their number.
func hitLines(hits []session.Hit) string {
	type line struct{ id, title, who, snippet string }
	var lines []line
	messages := map[line]int{}
	for _, h := range hits {
		who := cmp.Or(map[llm.Role]string{llm.RoleUser: "you", "": "title"}[h.Role], string(h.Role))
		l := line{sanitize.Line(h.Session.ID), sanitize.Line(wording.ListTitle(h.Session)), who, sanitize.Line(h.Snippet)}
		if messages[l]++; messages[l] == 1 {
			lines = append(lines, l)
		}
	}
	var text strings.Builder
	for _, l := range lines {
		who := l.who
		if n := messages[l]; n > 1 {
			who += ", " + format.Plural(n, "message")
		}
		fmt.Fprintf(&text, "%s  %s  %s: %s\n", l.id, l.title, who, l.snippet)
	}
	return text.String()
}

func (s Options) remove() *cobra.Command {
	var as string
	cmd := &cobra.Command{Use: "rm SESSION...", Short: "Remove conversations permanently, by ID or its beginning", Args: commandNames, RunE: func(_ *cobra.Command, ids []string) error {
		return s.Stored.With(func(lib *session.Store) (failed error) {
			var rows []session.Info
			masked := s.Stored.Masked()
			for _, id := range ids { // find all before removing any
				found, err := s.Stored.Find(lib, id)
				if err != nil {
					return err
				}
				found = masked(&found)
				if !strings.HasPrefix(found.ID, strings.ToLower(id)) {
					return cmdutil.Usagef("to remove %q permanently, give its ID: %s", wording.Title(found), found.ID)
				}
				rows = append(rows, found)
			}
			removed := 0
			defer func() {
				if as == "json" {
					failed = errors.Join(failed, cmdutil.WriteRows(s.Out, as, rows[:removed]))
				}
			}()
			for _, r := range rows {
				err := lib.Remove(r.ID)
				if errors.As(err, new(*session.LockedError)) {
					return cmdutil.Usage(err)
				} else if err != nil {
					return err
				}
				if s.Forget != nil {
					if err := s.Forget(r.ID); err != nil {
						return err
					}
				}
				switch removed++; as {
				case "jsonl":
					if err := cmdutil.WriteJSON(s.Out, r); err != nil {
						return err
					}
				case "text":
					s.Note("removed " + r.ID + " " + wording.Title(r))
				}
			}
			return nil
		})
	}}
	cmdutil.FormatFlags(cmd, &as, "one JSON object per line")
	return cmd
}
