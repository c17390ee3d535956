package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/charmbracelet/x/term"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/cli/cmd/sessions/importer"
	"parley/ui/cli/cmdutil"
	"parley/ui/format"
)

// importAll lists the conversations found, asks, and imports new ones.
func (s Options) importAll(ctx context.Context, lib *session.Store, how importOptions) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	places := importer.Find(os.Getenv, folder)
	if len(places) == 0 {
		s.Note("no conversations of other programs found: parley sessions import FILE takes a file or an export")
		return nil
	}
	fresh := 0
	var found []importer.Result
	for _, p := range places {
		r, err := importer.Scan(ctx, lib, s.Archive.Read, p)
		if err != nil {
			return err
		}
		fresh += r.New
		found = append(found, r)
	}
	switch {
	case how.dryRun:
		return s.writeResults(s.Out, found, scanned, how.format)
	case fresh == 0:
		s.Note("Nothing new")
		return s.writeResults(s.Out, found, scanned, how.format)
	case !how.yes:
		if !term.IsTerminal(os.Stdin.Fd()) {
			return cmdutil.Usagef("%s new or changed: --yes imports without asking, --dry-run only lists them", format.Plural(fresh, "conversation"))
		}
		if err := s.writeResults(os.Stderr, found, scanned, "text"); err != nil {
			return err
		}
		yes, err := cmdutil.Confirm(fmt.Sprintf("Import %s (new or changed)?", format.Plural(fresh, "conversation")))
		if err != nil || !yes {
			return err
		}
	}
	return s.importPlaces(ctx, lib, places, how)
}

func (s Options) importPlaces(ctx context.Context, lib *session.Store, places []importer.Place, how importOptions) error {
	var failed []error
	var all []importer.Result
	for _, p := range places {
		r, err := importer.Import(ctx, lib, s.Archive.Read, p)
		for _, n := range r.Notices {
			s.Note(sanitize.Line(r.Program + ": " + n.String()))
		}
		if r.Failed > 0 {
			s.Note(sanitize.Line(fmt.Sprintf("%s: files that cannot be read: %d, the first: %s", r.Program, r.Failed, r.FirstError)))
		}
		if all = append(all, r); how.format != "json" {
			failed = append(failed, s.writeResults(s.Out, all[len(all)-1:], imported, how.format))
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %s: %w", r.Program, r.Path, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if how.format == "json" {
		failed = append(failed, s.writeResults(s.Out, all, imported, how.format))
	}
	return errors.Join(failed...)
}

// importSource returns a function that maps a file named by the user to the source of its conversations.
func importSource() func(program, path string) session.ImportSource {
	places := sync.OnceValue(func() []importer.Place {
		folder, _ := os.Getwd() // "" only leaves out the databases of crush above it
		return importer.Find(os.Getenv, folder)
	})
	return func(program, path string) session.ImportSource { return importer.Source(places(), program, path) }
}

// writeResults writes a line for each place.
func (s Options) writeResults(w io.Writer, all []importer.Result, say func(importer.Result) string, as string) error {
	if as != "text" {
		return cmdutil.WriteRows(w, as, all)
	}
	for _, r := range all {
		if _, err := fmt.Fprintf(w, "%-12s  %s  %s\n", sanitize.Line(r.Program), say(r), sanitize.Line(s.AbbrevPath(r.Path))); err != nil {
			return err
		}
	}
	return nil
}

func scanned(r importer.Result) string {
	return fmt.Sprintf("%d found, %d new or changed", r.Conversations, r.New)
}

func imported(r importer.Result) string {
	text := fmt.Sprintf("%d found, %d imported", r.Conversations, r.New)
	for _, more := range []struct {
		count int
		what  string
	}{
		{r.Separate, "of these with the ID of a conversation from elsewhere: separate conversations"},
		{r.Grown, "with new messages"}, {r.Branched, "of these continued here: new messages are on a branch"},
		{r.Removed, "removed here before"}, {r.Busy, "open in another parley"}, {r.Failed, "not readable"},
	} {
		if more.count > 0 {
			text += fmt.Sprintf(", %d %s", more.count, more.what)
		}
	}
	return text
}
