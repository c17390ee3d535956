package embed

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"parley/session/attach"
	"parley/tools/sanitize"
	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
)

// A sink stores vectors.
type sink interface {
	// unknown returns the inputs that the sink does not contain.
	unknown(inputs iter.Seq2[embedding.Input, error]) iter.Seq2[embedding.Input, error]
	write(set vectors.Space, rows []vectors.Row) error
	// end finishes the sink. It returns err, the error that ended the run, or else an error of the sink.
	end(err error) error
}

// newSink opens the sink and adopts the settings of vectors in it. No request is sent before.
func (r *run) newSink() (sink, error) {
	switch {
	case r.store != "":
		return r.newStoreSink()
	case r.resume != "":
		return r.newResumedFile()
	case r.to == "" || r.to == "-":
		return r.newStdout()
	case r.format == "jsonl":
		f, err := createNew(r.to)
		if err != nil {
			return nil, err
		}
		return &fileSink{run: r, path: r.to, f: f, w: vectors.NewWriter("jsonl", f)}, nil
	}
	return r.newFile()
}

// createNew creates a file that must not exist yet.
func createNew(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, cmdutil.Usagef("%s already exists: give another name", path)
	}
	if err != nil {
		return nil, cmdutil.Usage(err)
	}
	return f, nil
}

// A fileSink writes JSON lines to a file in place: its contents are always usable, and can be continued.
type fileSink struct {
	run  *run
	path string
	f    *os.File
	w    vectors.Writer

	lines     int   // number of lines
	size      int64 // bytes of the lines
	continued bool  // writing starts at size
}

// newResumedFile opens a file of JSON lines to continue after its last whole line.
func (r *run) newResumedFile() (sink, error) {
	f, err := os.OpenFile(r.resume, os.O_RDWR, 0)
	if err != nil {
		return nil, cmdutil.Usagef("--continue-from %w", err)
	}
	s := &fileSink{run: r, path: r.resume, f: f, w: vectors.NewWriter("jsonl", f), continued: true}
	for line, err := range vectors.Lines(f) {
		if err == vectors.ErrTruncated {
			err = errors.New("it has no whole line to continue after: use another file, with --to")
		}
		if err != nil {
			return nil, errors.Join(cmdutil.Usagef("--continue-from %s: %w", r.resume, err), f.Close())
		}
		r.expect(line.Space, "--continue-from "+r.resume)
		break
	}
	return s, nil
}

// expect adopts the model and the task of existing vectors, unless flags name others.
func (r *run) expect(old vectors.Space, where string) {
	r.old, r.where = old, where
	if old.Model != "" {
		r.usualTask = r.task == ""
		r.name, r.task = cmp.Or(r.name, old.Model), cmp.Or(r.task, old.Task)
	}
}

// checkOld returns an error if the new vectors would not match existing ones.
func (r *run) checkOld() error {
	if r.old.Model == "" {
		return nil
	}
	want := vectors.Space{Model: r.model.Name, Dimensions: cmp.Or(r.dimensions, r.old.Dimensions), Task: r.task}
	if why := r.old.Differs(want); why != "" {
		return cmdutil.Usagef("%s: its vectors have %s", r.where, why)
	}
	if r.model.Known && r.model.Facts.Dimensions > 0 && r.model.Facts.Dimensions != want.Dimensions {
		r.dimensions = want.Dimensions
	}
	return nil
}

// unknown implements sink. It skips as many inputs as the file has lines, which must match those inputs.
func (s *fileSink) unknown(inputs iter.Seq2[embedding.Input, error]) iter.Seq2[embedding.Input, error] {
	if !s.continued {
		return inputs
	}
	return func(yield func(embedding.Input, error) bool) {
		if _, err := s.f.Seek(0, io.SeekStart); err != nil {
			yield(embedding.Input{}, err)
			return
		}
		next, stop := iter.Pull2(vectors.Lines(s.f))
		defer stop()
		line, err, more := next()
		for in, bad := range inputs {
			switch {
			case bad != nil:
			case more && err == vectors.ErrTruncated:
				more = false
			case more && err != nil:
				bad = cmdutil.Usagef("--continue-from %s: %w", s.path, err)
			case more && line.Text != in.Text:
				bad = cmdutil.Usagef("--continue-from %s: its line %d is of another text than %s", s.path, s.lines+1, in.Place())
			case more:
				s.lines, s.size = s.lines+1, line.End
				line, err, more = next()
				continue
			}
			if !yield(in, bad) || bad != nil {
				return
			}
		}
		if more && err != vectors.ErrTruncated {
			yield(embedding.Input{}, cmdutil.Usagef("--continue-from %s: it has more lines than there are texts", s.path))
		}
	}
}

func (s *fileSink) write(set vectors.Space, rows []vectors.Row) error {
	if why := s.run.old.Differs(set); s.run.old.Model != "" && why != "" {
		return cmdutil.Usagef("--continue-from %s: its vectors have %s", s.path, why)
	}
	if err := s.cut(); err != nil {
		return err
	}
	s.lines += len(rows)
	return s.w.Write(set, rows)
}

// cut truncates a continued file after its last whole line.
func (s *fileSink) cut() error {
	if !s.continued {
		return nil
	}
	s.continued = false
	if s.lines == 0 {
		_, err := s.f.Seek(0, io.SeekEnd) // the file is empty
		return err
	}
	_, err := s.f.Seek(s.size, io.SeekStart)
	return errors.Join(s.f.Truncate(s.size), err)
}

func (s *fileSink) end(err error) error {
	if err == nil {
		err = s.cut()
	}
	err = cmp.Or(err, s.f.Close())
	switch {
	case err == nil:
		s.run.Note("Wrote " + s.path)
	case s.lines == 0 && s.run.resume == "":
		_ = os.Remove(s.path)
	case s.lines > 0 && !s.continued:
		again := "again"
		if s.run.resume == "" {
			again = "with --continue-from " + s.path + " instead of --to"
		}
		s.run.Note(fmt.Sprintf("%s has the first %d; run the same command %s to continue", s.path, s.lines, again))
	}
	return err
}

// A wholeSink writes a file that is usable only when complete. Until then it has a temporary name.
type wholeSink struct {
	run       *run
	path      string
	f         *os.File
	w         vectors.Writer
	texts     *wholeSink // second file for the texts of a NumPy file; nil for other formats
	finish    func(s *wholeSink) error
	sanitizes bool // rows are shown on a terminal
}

// newFile returns a sink for a file that gets its name when it is complete. For a NumPy file, which holds no texts, it
// adds a file with the texts.
func (r *run) newFile() (sink, error) {
	s, err := r.newWhole(r.to, r.format)
	if err != nil || r.format != "npy" {
		return s, err
	}
	if s.texts, err = r.newWhole(r.to+".jsonl", "texts"); err != nil {
		return nil, s.end(err)
	}
	return s, nil
}

func (r *run) newWhole(path, format string) (*wholeSink, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, cmdutil.Usagef("%s already exists: give another name", path)
	}
	f, err := attach.CreateTemp(path)
	if err != nil {
		return nil, cmdutil.Usage(err)
	}
	return &wholeSink{run: r, path: path, f: f, w: vectors.NewWriter(format, f), finish: (*wholeSink).rename}, nil
}

// newStdout returns a sink that writes to standard output. A NumPy file is written to a temporary file first, because
// its header contains the number of vectors.
func (r *run) newStdout() (sink, error) {
	terminal := term.IsTerminal(os.Stdout.Fd())
	s := &wholeSink{run: r, sanitizes: terminal && r.format == "csv"}
	switch r.format {
	case "text":
		s.w = &vectorPreview{r.Out, cmdutil.OutputWidth()}
	case "npy":
		f, err := os.CreateTemp("", "parley-*.npy")
		if err != nil {
			return nil, err
		}
		s.f, s.w, s.finish = f, vectors.NewWriter("npy", f), (*wholeSink).copyOut
	default:
		s.w = vectors.NewWriter(r.format, r.Out)
	}
	return s, nil
}

func (s *wholeSink) unknown(inputs iter.Seq2[embedding.Input, error]) iter.Seq2[embedding.Input, error] {
	return inputs
}

func (s *wholeSink) write(set vectors.Space, rows []vectors.Row) error {
	if s.sanitizes {
		for i := range rows {
			rows[i].Text = sanitize.Text(rows[i].Text)
		}
	}
	err := s.w.Write(set, rows)
	if err == nil && s.texts != nil {
		err = s.texts.write(set, rows)
	}
	return err
}

func (s *wholeSink) end(err error) error {
	if err == nil {
		err = s.w.Close()
	}
	if s.f != nil {
		if err == nil {
			err = s.finish(s)
		}
		err = cmp.Or(err, s.f.Close())
		_ = os.Remove(s.f.Name()) // it has been renamed, or is incomplete
	}
	if s.texts != nil {
		err = s.texts.end(err)
	}
	return err
}

// rename gives the file its name or, if that exists by now, one with a number.
func (s *wholeSink) rename() error {
	if err := s.f.Sync(); err != nil {
		return err
	}
	path, err := attach.RenameUnique(s.f.Name(), s.path)
	switch {
	case err == nil && path != s.path:
		s.run.Note(s.path + " was created in the meantime: saved as " + path)
	case err == nil:
		s.run.Note("Wrote " + path)
	}
	return err
}

func (s *wholeSink) copyOut() error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(s.run.Out, s.f)
	return err
}

// vectorPreview prints the beginnings of vectors, one per line.
type vectorPreview struct {
	w     io.Writer
	width int // of the terminal; 0 if there is none
}

func (b *vectorPreview) Write(_ vectors.Space, rows []vectors.Row) error {
	const textWidth, numbers = 28, 4
	for _, r := range rows {
		text := ansi.Truncate(sanitize.Line(r.Text), textWidth, "…")
		line := text + spaces(textWidth-ansi.StringWidth(text)) + " "
		for _, x := range r.Vector[:min(numbers, len(r.Vector))] {
			line += fmt.Sprintf("%8.4f", x)
		}
		line += fmt.Sprintf(" … %d numbers", len(r.Vector))
		if err := cmdutil.WriteLines(b.w, b.width, line); err != nil {
			return err
		}
	}
	return nil
}

func (b *vectorPreview) Close() error { return nil }

func spaces(n int) string { return fmt.Sprintf("%*s", max(n, 0), "") }
