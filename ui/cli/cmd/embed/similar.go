package embed

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers/catalog"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// documentTask is the default task of the vectors in a collection.
const documentTask = string(works.TaskDocument)

// NewSimilar returns the command that searches a collection.
func NewSimilar(e *ability.Env) *cobra.Command {
	a := commands{e}
	var n int
	var form, remove string
	cmd := &cobra.Command{
		Use:   "similar [COLLECTION TEXT...]",
		Short: "Find texts of similar meaning in a collection of parley embed --store",
		Long: `Find texts of similar meaning in a collection of parley embed --store.

A score of 1 means the same direction, 0 nothing in common. Without arguments it lists
the collections.`,
		Example: `  parley similar notes "large animals of the sea"
  parley similar notes -n 3 -o jsonl < question.txt`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := validMatches(n); err != nil {
				return cmdutil.Usage(err)
			}
			if err := a.Load(); err != nil {
				return err
			}
			return cmdutil.Conversations{}.With(func(library *session.Store) error {
				switch {
				case remove != "":
					return a.removeCollection(library, remove)
				case len(args) == 0:
					return a.listCollections(library, form)
				}
				text, err := queryText(args[1:])
				if err != nil {
					return err
				}
				return a.searchCollection(library, args[0], text, n, form)
			})
		},
	}
	set := cmd.Flags()
	set.IntVarP(&n, "count", "n", 10, "`NUMBER` of texts to find")
	cmdutil.OutputFlag(cmd, &form)
	set.StringVar(&remove, "remove", "", "delete the collection `NAME`")
	a.QuietFlag(cmd)
	return cmd
}

// mostMatches is the greatest number of texts that a search returns.
const mostMatches = 1000

func validMatches(n int) error {
	if n < 1 || n > mostMatches {
		return fmt.Errorf("-n %d: use 1 to %d", n, mostMatches)
	}
	return nil
}

// queryText returns the words of the command line or, without any, standard input.
func queryText(words []string) (string, error) {
	text := strings.Join(words, " ")
	if len(words) == 0 && !term.IsTerminal(os.Stdin.Fd()) {
		input, err := io.ReadAll(io.LimitReader(os.Stdin, maxText+1))
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(input), "\r\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", cmdutil.Usagef("no text to look for: give one as an argument or on standard input")
	}
	return text, nil
}

func (a commands) removeCollection(library *session.Store, name string) error {
	was, err := vectors.Of(library).Remove(name)
	if err == nil && !was {
		return cmdutil.Usagef("no collection %q: parley similar lists them", name)
	}
	if err == nil {
		a.Note("Deleted collection " + name)
	}
	return err
}

// listCollections prints the collections, one per line.
func (a commands) listCollections(library *session.Store, form string) error {
	all, err := vectors.Of(library).List()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		a.Note("no collections: parley embed --store NAME makes one")
	}
	if form != "text" {
		return cmdutil.WriteRows(a.Out, form, all)
	}
	for _, c := range all {
		if _, err := fmt.Fprintf(a.Out, "%s  %s  %s, %d dimensions\n", sanitize.Line(c.Name), format.Plural(c.Rows, "text"), sanitize.Line(c.Model), c.Dimensions); err != nil {
			return err
		}
	}
	return nil
}

// searchCollection prints the texts of a collection that are nearest to text.
func (a commands) searchCollection(library *session.Store, name, text string, n int, form string) error {
	c, err := vectors.Of(library).Get(name)
	if err != nil {
		return err
	}
	if c.Rows == 0 {
		return cmdutil.Usagef("no collection %q: parley similar lists them, parley embed --store makes one", name)
	}
	ctx, cancel := interruptible()
	defer cancel(nil)
	query, err := a.embedQuery(ctx, library, c.Space, text)
	if err != nil {
		return err
	}
	found, err := vectors.Of(library).Similar(c, query, n)
	if err != nil {
		return err
	}
	return printMatches(a.Out, c.Space, found, form)
}

// searchFile prints the lines of a file of vectors that are nearest to text.
func (a commands) searchFile(f Options, text string) error {
	file, err := os.Open(f.search)
	if err != nil {
		return cmdutil.Usagef("--similar %w", err)
	}
	defer func() { _ = file.Close() }()
	ctx, cancel := interruptible()
	defer cancel(nil)
	var search *vectors.Search
	var set vectors.Space
	for line, err := range vectors.Lines(file) {
		if err == vectors.ErrTruncated && search != nil {
			a.Note(f.search + ": " + format.ErrorText(err) + ", and is skipped")
			break
		}
		if err != nil {
			return cmdutil.Usagef("--similar %s: %w", f.search, err)
		}
		if search == nil {
			set = line.Space
			err := cmdutil.Conversations{}.With(func(library *session.Store) error {
				query, err := a.embedQuery(ctx, library, set, text)
				search = vectors.NewSearch(query, f.matches)
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		search.Score(vectors.SimilarText{File: line.File, Line: line.Row.Line, Text: line.Text}, line.Vector)
	}
	if search == nil {
		return cmdutil.Usagef("--similar %s: it has no lines", f.search)
	}
	return printMatches(a.Out, set, search.Best(), f.format)
}

// embedQuery returns the vector of a text, to compare with those of set. It asks a model with unknown dimensions for
// set's only if its default differs.
func (a commands) embedQuery(ctx context.Context, library *session.Store, set vectors.Space, text string) ([]float32, error) {
	m, err := media.Embeddings.Find(ctx, a.Find, set.Model, a.OpenOptions())
	if err != nil {
		return nil, err
	}
	o := works.EmbedOptions{Task: works.Task(set.Task)}
	if o.Task == works.TaskDocument {
		o.Task = works.TaskQuery
	}
	if m.Known && m.Facts.Dimensions > 0 && m.Facts.Dimensions != set.Dimensions {
		o.Dimensions = set.Dimensions
	}
	spent := &ability.Spending{Purpose: session.PurposeEmbed, Model: m.Name}
	defer func() {
		if err := spent.Save(library); err != nil {
			a.Note("usage is not saved: " + format.ErrorText(err))
		}
	}()
	query, err := embedOne(ctx, m, text, o, spent)
	if err == nil && len(query) != set.Dimensions && o.Dimensions == 0 {
		o.Dimensions = set.Dimensions
		query, err = embedOne(ctx, m, text, o, spent)
	}
	return query, err
}

// embedOne returns the vector of one text.
func embedOne(ctx context.Context, m media.Model[works.Embedder, catalog.Embedding], text string, o works.EmbedOptions, spent *ability.Spending) ([]float32, error) {
	input := func(yield func(embedding.Input, error) bool) { yield(embedding.Input{Line: 1, Text: text}, nil) }
	for batch, err := range embedding.Run(ctx, m.Service, input, embedding.Options{EmbedOptions: o, Model: m.Name, MaxInput: m.Facts.MaxInput}) {
		if err != nil {
			return nil, inputError(err)
		}
		spent.Add(batch.Bill)
		return batch.Vectors[0], nil
	}
	return nil, context.Cause(ctx)
}

// printMatches prints the texts found, the nearest first.
func printMatches(out io.Writer, set vectors.Space, found []vectors.SimilarText, form string) error {
	switch form {
	case "json":
		return cmdutil.WriteJSON(out, struct {
			Model   string                `json:"model"`
			Matches []vectors.SimilarText `json:"matches"`
		}{set.Model, append([]vectors.SimilarText{}, found...)})
	case "jsonl":
		return cmdutil.WriteRows(out, form, found)
	}
	var lines strings.Builder
	for _, m := range found {
		place := fmt.Sprint(m.Line)
		if m.File != "" {
			place = m.File + ":" + place
		}
		fmt.Fprintf(&lines, "%.3f  %s  %s\n", m.Score, sanitize.Line(place), sanitize.Line(m.Text))
	}
	return cmdutil.WriteLines(out, cmdutil.OutputWidth(), lines.String())
}
