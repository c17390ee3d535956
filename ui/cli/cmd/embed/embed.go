// Package embed implements parley embed, which turns texts into vectors, and parley similar, which searches them.
package embed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers/catalog"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// A run is one run of parley embed.
type run struct {
	*ability.Env
	Options
	model   media.Model[works.Embedder, catalog.Embedding]
	library *session.Store
	reader  *textReader
	printed []string // notes printed so far

	old       vectors.Space // space of existing vectors; zero if there are none
	where     string        // place of the existing vectors
	usualTask bool          // the task is the default of collections
}

// Options are the flags of parley embed.
type Options struct {
	name                  string // of the model
	task                  string
	dimensions, parallel  int
	files                 []string
	format, to            string
	store, resume, search string
	matches               int
}

// commands implements the commands about vectors.
type commands struct{ *ability.Env }

// New returns the command that turns texts into vectors.
func New(a *ability.Env) *cobra.Command {
	var f Options
	cmd := &cobra.Command{
		Use:   "embed [TEXT...]",
		Short: "Turn texts into vectors, to search by meaning",
		Long: `Turn texts into vectors, to search by meaning.

Each argument is a text; without arguments, each line of the files of --file, or of
standard input, is a text. Blank lines are skipped but counted. Vectors have length 1.
Each line of the output names the model, dimensions and task of its vector; vectors
that differ in these cannot be compared.`,
		Example: `  parley embed "blue whale" | jq .embedding
  parley embed --file notes.txt --to notes.jsonl
  parley embed --file notes.txt --continue-from notes.jsonl
  parley embed --file notes.txt --store notes && parley similar notes "large animals"
  parley embed --file notes.txt --to notes.npy --dimensions 256`,
		RunE: func(_ *cobra.Command, texts []string) error { return commands{a}.runEmbed(f, texts) },
	}
	set, tasks := cmd.Flags(), cmdutil.Words(works.Tasks)
	formats := append([]string{"text"}, vectors.Formats...) // text is for people: it shows the beginnings of vectors
	set.StringVarP(&f.name, "model", "m", "", "`MODEL`, as provider/model (default: embed_model of the configuration, or the first connected one that embeds)")
	set.IntVar(&f.dimensions, "dimensions", 0, "`NUMBER` of dimensions, if the model supports a choice")
	cmdutil.ChoiceFlag(cmd, &f.task, "task", "", "what the vectors are for, `TASK`: "+strings.Join(tasks, ", "), tasks)
	set.StringArrayVarP(&f.files, "file", "f", nil, "embed each line of `FILE`; - is standard input")
	cmdutil.ChoiceFlag(cmd, &f.format, "output", "o", "output `FORMAT`: "+strings.Join(formats, ", "), formats)
	set.StringVar(&f.to, "to", "", "`FILE` to write; must not exist yet")
	set.StringVar(&f.store, "store", "", "store the vectors in the collection `NAME`, for parley similar")
	set.StringVar(&f.resume, "continue-from", "", "continue this `FILE` of JSON lines: embed the missing texts, and append them")
	set.StringVar(&f.search, "similar", "", "search this `FILE` of JSON lines for the texts most similar to TEXT")
	set.IntVarP(&f.matches, "count", "n", 10, "with --similar, `NUMBER` of lines to find")
	set.IntVar(&f.parallel, "parallel", 4, "`NUMBER` of requests at once")
	a.QuietFlag(cmd)
	cmdutil.ChoiceFlag(cmd, &f.format, "format", "", "the same as --output", formats)
	set.MarkHidden("format")
	cmd.RegisterFlagCompletionFunc("model", a.Complete(media.Embeddings.Names))
	return cmd
}

// runEmbed checks the flags and embeds texts.
func (a commands) runEmbed(f Options, texts []string) error {
	if err := f.validate(texts); err != nil {
		return cmdutil.Usage(err)
	}
	if err := a.Load(); err != nil {
		return err
	}
	if f.search != "" {
		return a.searchFile(f, strings.Join(texts, " "))
	}
	if len(texts) == 0 && len(f.files) == 0 {
		if term.IsTerminal(os.Stdin.Fd()) {
			return cmdutil.Usagef("no text: give texts as arguments, files with --file, or lines on standard input")
		}
		f.files = []string{"-"}
	}
	ctx, cancel := interruptible()
	defer cancel(nil)
	r := &run{Env: a.Env, Options: f}
	return r.run(ctx, texts)
}

// validate rejects contradictory flags and sets the default format.
func (f *Options) validate(texts []string) error {
	toTerminal := (f.to == "" || f.to == "-") && term.IsTerminal(os.Stdout.Fd())
	if f.format == "" && f.search == "" {
		switch ext := strings.TrimPrefix(filepath.Ext(f.to), "."); {
		case slices.Contains(vectors.Formats, ext):
			f.format = ext
		case toTerminal:
			f.format = "text"
		default:
			f.format = "jsonl"
		}
	}
	switch {
	case f.search != "" && (f.store != "" || f.resume != "" || f.to != "" || len(f.files) > 0 || f.task != "" || f.dimensions != 0):
		return errors.New("--similar searches a file: it goes with TEXT, -n and -o alone")
	case f.search != "" && len(texts) == 0:
		return errors.New("--similar FILE needs a text to look for")
	case f.search != "" && f.format != "" && !slices.Contains(cmdutil.Formats, f.format):
		return fmt.Errorf("-o %s: use one of %s", f.format, strings.Join(cmdutil.Formats, ", "))
	case f.search != "":
		return validMatches(f.matches)
	case len(texts) > 0 && len(f.files) > 0:
		return errors.New("both texts and --file: use one of them")
	case f.dimensions < 0 || f.parallel < 1 || f.parallel > 64:
		return errors.New("--dimensions needs a number above 0, --parallel one from 1 to 64")
	case f.store != "" && !vectors.ValidCollection(f.store):
		return fmt.Errorf("--store %q: a name is one line of up to 100 bytes that begins with no dash", f.store)
	case f.store != "" && (f.to != "" || f.resume != ""):
		return errors.New("--store keeps the vectors in the database: --to and --continue-from write files; use one of them")
	case f.resume != "" && (f.to != "" || f.format != "jsonl" && f.format != "text"):
		return errors.New("--continue-from appends JSON lines to its own file: leave --to and -o out")
	case f.format == "npy" && toTerminal && f.store == "":
		return errors.New("-o npy is binary and this is a terminal: write it with --to FILE, or pipe it")
	}
	return nil
}

// checkFacts rejects dimensions that the model is known not to support.
func (r *run) checkFacts() error {
	facts := r.model.Facts
	switch {
	case !r.model.Known || facts.Dimensions == 0 || r.dimensions == 0 || r.dimensions == facts.Dimensions:
	case facts.Least == 0:
		return cmdutil.Usagef("--dimensions %d: %s has %d dimensions, and no others", r.dimensions, r.model.Name, facts.Dimensions)
	case r.dimensions < facts.Least || r.dimensions > facts.Most:
		return cmdutil.Usagef("--dimensions %d: %s takes %d to %d", r.dimensions, r.model.Name, facts.Least, facts.Most)
	}
	return nil
}

// run embeds texts, or the lines of the files.
func (r *run) run(ctx context.Context, texts []string) (err error) {
	r.library, err = session.OpenStore(os.Getenv)
	if err != nil {
		if r.store != "" {
			return err
		}
		r.Note("usage is not saved: " + format.ErrorText(err))
	}
	defer func() { err = errors.Join(err, r.library.Close()) }()
	out, err := r.newSink()
	if err != nil {
		return err
	}
	defer func() { err = out.end(err) }()
	if r.model, err = media.Embeddings.Find(ctx, r.Find, cmp.Or(r.name, r.EmbedModel), r.OpenOptions()); err != nil {
		return err
	}
	if err := errors.Join(r.checkOld(), r.checkFacts()); err != nil {
		return err
	}
	r.reader = newTextReader(texts, r.files)
	return r.embed(ctx, out)
}

// embed sends the texts to the model and writes the vectors.
func (r *run) embed(ctx context.Context, out sink) (err error) {
	budget := newEmbedBudget(r)
	var progress *ability.Progress
	if !r.Quiet && term.IsTerminal(os.Stderr.Fd()) {
		progress = ability.NewProgress(os.Stderr, time.Now(), func(elapsed, text string) string { return cmp.Or(text, "Embedding "+elapsed) })
	}
	set := vectors.Space{Model: r.model.Name, Task: r.task}
	n := 0
	defer func() {
		progress.Stop()
		budget.end()
		if err == nil || n > 0 {
			r.Note(r.summary(n, set.Dimensions, budget.spent.Bill))
		}
	}()
	o := embedding.Options{
		EmbedOptions: works.EmbedOptions{Dimensions: r.dimensions, Task: works.Task(r.task)},
		Model:        r.model.Name, MaxInput: r.model.Facts.MaxInput, Parallel: r.parallel, Reserve: budget.reserve,
		MaxBatch: max(1, batchNumbers/cmp.Or(r.dimensions, r.model.Facts.Dimensions, likelyDimensions)),
	}
	for batch, err := range embedding.Run(ctx, r.model.Service, out.unknown(r.reader.texts()), o) {
		if err != nil {
			return inputError(err)
		}
		budget.spend(batch.Bill)
		r.printNotes(batch.Notes)
		if set.Dimensions == 0 {
			set.Dimensions = len(batch.Vectors[0])
		}
		rows := make([]vectors.Row, len(batch.Inputs))
		for i, in := range batch.Inputs {
			rows[i] = vectors.Row{File: in.File, Line: in.Line, Text: in.Text, Vector: batch.Vectors[i]}
		}
		if len(rows[0].Vector) != set.Dimensions {
			return fmt.Errorf("%s returned vectors of %d and of %d dimensions", r.model.Name, set.Dimensions, len(rows[0].Vector))
		}
		if err := out.write(set, rows); err != nil {
			return err
		}
		n += len(rows)
		progress.Show(r.progress(n, budget.spent.Bill))
	}
	return nil
}

// batchNumbers limits the numbers in the vectors of one request, 4 MB of memory: larger requests are not faster.
// Unknown dimensions count as likelyDimensions.
const (
	batchNumbers     = 1 << 20
	likelyDimensions = 2048
)

// inputError marks errors of texts as usage errors.
func inputError(err error) error {
	if errors.As(err, new(*embedding.TooLongError)) || errors.As(err, new(*textError)) {
		return cmdutil.Usage(err)
	}
	return err
}

// printNotes prints each note about requests once. It omits notes about the default task.
func (r *run) printNotes(notes []string) {
	if r.usualTask {
		return
	}
	for _, n := range notes {
		if !slices.Contains(r.printed, n) {
			r.printed = append(r.printed, n)
			r.Note(n)
		}
	}
}

// progress describes the progress of the run on one line.
func (r *run) progress(n int, bill works.Bill) string {
	const width = 20
	text := format.Plural(n, "text") + billed(bill)
	if share := r.reader.share(); share > 0 {
		full := min(width, int(share*width))
		text = strings.Repeat("━", full) + strings.Repeat("─", width-full) + fmt.Sprintf(" %3.0f%% · ", 100*share) + text
	}
	return "Embedding " + text
}

// billed describes the usage after a dot; "" for none.
func billed(b works.Bill) string {
	text := ""
	if b.Tokens > 0 {
		text += " · " + format.Tokens(b.Tokens) + " tokens"
	}
	if cost := format.Cost(b.USD, b.Priced); cost != "" {
		text += " · " + cost
	}
	return text
}

// summary describes the result of the run.
func (r *run) summary(n, dimensions int, bill works.Bill) string {
	text := "Embedded " + format.Plural(n, "text") + " with " + r.model.Name
	if dimensions > 0 {
		text += fmt.Sprintf(" (%d dimensions)", dimensions)
	}
	text += billed(bill)
	if blank := r.reader.blank.Load(); blank > 0 {
		text += " · " + format.Plural(int(blank), "blank line") + " skipped"
	}
	return text
}

// interruptible returns a context that ends on terminating signals, and when the reader of standard output leaves.
func interruptible() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	exit.CancelOnSignals(cancel)
	return ctx, cancel
}
