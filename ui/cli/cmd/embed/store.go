package embed

import (
	"fmt"
	"iter"

	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
)

// A storeSink adds vectors to a collection of the database.
type storeSink struct {
	run   *run
	has   vectors.Collection // the collection before this run; the text reader reads it concurrently with writes
	known int                // number of texts it had already
	added int
	rows  int // current number of rows
}

func (r *run) newStoreSink() (sink, error) {
	c, err := vectors.Of(r.library).Get(r.store)
	if err != nil {
		return nil, err
	}
	if c.Rows == 0 && r.task == "" {
		r.task, r.usualTask = documentTask, true
	}
	r.expect(c.Space, "--store "+r.store)
	return &storeSink{run: r, has: c, rows: c.Rows}, nil
}

func (s *storeSink) unknown(inputs iter.Seq2[embedding.Input, error]) iter.Seq2[embedding.Input, error] {
	if s.has.Rows == 0 {
		return inputs
	}
	return func(yield func(embedding.Input, error) bool) {
		for in, err := range inputs {
			has := false
			if err == nil {
				has, err = vectors.Of(s.run.library).HasText(s.has, in.Text)
			}
			if has {
				s.known++
				continue
			}
			if !yield(in, err) || err != nil {
				return
			}
		}
	}
}

func (s *storeSink) write(set vectors.Space, rows []vectors.Row) error {
	c, err := vectors.Of(s.run.library).Add(s.run.store, set, rows)
	if err == nil {
		s.added, s.rows = s.added+len(rows), c.Rows
	}
	return err
}

func (s *storeSink) end(err error) error {
	switch {
	case err != nil && s.added > 0:
		s.run.Note(fmt.Sprintf("Collection %s has %d texts; run the same command again to continue", s.run.store, s.rows))
	case err == nil && s.known > 0:
		s.run.Note(fmt.Sprintf("Collection %s has %d texts, of which %d were there before", s.run.store, s.rows, s.known))
	case err == nil:
		s.run.Note(fmt.Sprintf("Collection %s has %d texts: parley similar %[1]s TEXT searches it", s.run.store, s.rows))
	}
	return err
}
