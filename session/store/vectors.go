package store

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/session/vectors"
)

// vectorTables holds collections: texts with their vectors, each text once, in rows from 0.
// A vector is float32 in little-endian order. Coarse codes of the vectors are in blocks, each
// with the number of its first row divided by blockRows: a search reads those, and then only
// the vectors of the best rows.
const vectorTables = `CREATE TABLE collections (
	num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, model TEXT NOT NULL, dimensions INTEGER NOT NULL, task TEXT NOT NULL,
	rows INTEGER NOT NULL, created INTEGER, updated INTEGER);
CREATE TABLE vectors (
	collection INTEGER NOT NULL, row INTEGER NOT NULL, sha BLOB NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL,
	text TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (collection, row), UNIQUE (collection, sha));
CREATE TABLE coarse (collection INTEGER NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (collection, block));`

// A block has the codes of blockRows vectors: 400 kB with 1,536 dimensions. Once there are
// joinedBlocks of them, they are joined to one block, which is in the file in one piece: a disk
// reads it several times as fast as blocks between the vectors.
const (
	blockRows    = 256
	joinedBlocks = 16
)

// A Collection is a named set of vectors that can be compared.
type Collection struct {
	Name string `json:"name"`
	vectors.Space
	Rows    int       `json:"rows"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`

	num int64
}

// A SimilarText is a text of a collection that a search found.
type SimilarText struct {
	File  string // that the text is from; "": none
	Line  int    // in File, from 1
	Text  string
	Score float32 // similarity, from -1 to 1
}

// A VectorMismatchError reports vectors of another space than a collection's.
type VectorMismatchError struct {
	Collection
	Why string // how the collection's space differs
}

func (e *VectorMismatchError) Error() string {
	return fmt.Sprintf("collection %s has vectors of %s: they cannot be compared", e.Name, e.Why)
}

// VectorCollections are the collections of a store.
type VectorCollections struct{ db *DB }

// Collections returns the collections of vectors.
func (db *DB) Collections() VectorCollections { return VectorCollections{db} }

const collectionColumns = `SELECT num, name, model, dimensions, task, rows, created, updated FROM collections `

func scanCollection(row interface{ Scan(...any) error }) (c Collection, err error) {
	var damage columns
	err = row.Scan(append([]any{&c.num, &c.Name, &c.Model, &c.Dimensions, &c.Task, &c.Rows}, damage.places("created updated", &c.Created, &c.Updated)...)...)
	return c, err
}

// List returns the collections, sorted by name.
func (v VectorCollections) List() (all []Collection, err error) {
	err = v.db.read(func(q querier) error {
		return eachRow(q, func(rows *sql.Rows) error {
			c, err := scanCollection(rows)
			all = append(all, c)
			return err
		}, collectionColumns+`ORDER BY name`)
	})
	return all, err
}

// Get returns the collection of that name. If there is none, all else of it is zero.
func (v VectorCollections) Get(name string) (c Collection, err error) {
	err = v.db.read(func(q querier) error {
		c, err = scanCollection(q.queryRow(collectionColumns+`WHERE name = ?`, name))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Collection{Name: name}, nil
	}
	return c, err
}

// Remove deletes a collection, and reports whether there was one.
func (v VectorCollections) Remove(name string) (was bool, err error) {
	err = v.db.write(func(w *writer) error {
		c, err := scanCollection(w.queryRow(collectionColumns+`WHERE name = ?`, name))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		was = err == nil
		for _, query := range []string{`DELETE FROM vectors WHERE collection = ?`, `DELETE FROM coarse WHERE collection = ?`, `DELETE FROM collections WHERE num = ?`} {
			if err == nil {
				err = w.exec(query, c.num)
			}
		}
		return err
	})
	return was, err
}

// HasText reports whether a collection has a text.
func (v VectorCollections) HasText(c Collection, text string) (has bool, err error) {
	err = v.db.value(&has, `SELECT EXISTS (SELECT 1 FROM vectors WHERE collection = ? AND sha = ?)`, c.num, textKey(text))
	return has, err
}

func textKey(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// Add adds rows to the collection of that name, which it creates if there is none, and
// returns it. All of them are added, or none. A text that the collection has already stays as
// it is. If set is another space, the error is a *VectorMismatchError.
func (v VectorCollections) Add(name string, set vectors.Space, rows []vectors.Row) (c Collection, err error) {
	err = v.db.write(func(w *writer) error {
		now := v.db.now()
		c, err = scanCollection(w.queryRow(collectionColumns+`WHERE name = ?`, name))
		if errors.Is(err, sql.ErrNoRows) {
			c, err = scanCollection(w.queryRow(`INSERT INTO collections (name, model, dimensions, task, rows, created, updated) VALUES (?, ?, ?, ?, 0, ?, ?)
				RETURNING num, name, model, dimensions, task, rows, created, updated`, name, set.Model, set.Dimensions, set.Task, nanos(now), nanos(now)))
		}
		if err != nil {
			return err
		}
		if why := c.Space.Differs(set); why != "" {
			return &VectorMismatchError{c, why}
		}
		return w.addVectors(&c, rows, now)
	})
	return c, err
}

// addVectors writes rows and their codes.
func (w *writer) addVectors(c *Collection, rows []vectors.Row, now time.Time) error {
	var block []byte
	number := c.Rows / blockRows
	save := func() error {
		if len(block) == 0 {
			return nil
		}
		return w.exec(`INSERT OR REPLACE INTO coarse (collection, block, data) VALUES (?, ?, ?)`, c.num, number, block)
	}
	if c.Rows%blockRows > 0 {
		if err := w.queryRow(`SELECT data FROM coarse WHERE collection = ? AND block = ?`, c.num, number).Scan(&block); err != nil {
			return err
		}
		if len(block) != c.Rows%blockRows*vectors.RecordSize(c.Dimensions) {
			return c.damaged()
		}
	}
	for _, r := range rows {
		if len(r.Vector) != c.Dimensions {
			return &VectorMismatchError{*c, fmt.Sprintf("%d dimensions, not %d", c.Dimensions, len(r.Vector))}
		}
		var added int
		err := w.queryRow(`INSERT INTO vectors (collection, row, sha, file, line, text, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, sha) DO NOTHING RETURNING row`,
			c.num, c.Rows, textKey(r.Text), r.File, r.Line, r.Text, vectors.Bytes(r.Vector)).Scan(&added)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		block = vectors.AppendCode(block, r.Vector)
		if c.Rows++; c.Rows%blockRows == 0 {
			if err := save(); err != nil {
				return err
			}
			block, number = block[:0], number+1
			if err := w.joinBlocks(c, number); err != nil {
				return err
			}
		}
	}
	if err := save(); err != nil {
		return err
	}
	c.Updated = now
	return w.exec(`UPDATE collections SET rows = ?, updated = ? WHERE num = ?`, c.Rows, nanos(now), c.num)
}

// joinBlocks joins the joinedBlocks blocks before the number end, if that is a multiple of
// joinedBlocks. The joined block is written before the others are deleted, so that SQLite does
// not write it into their gaps.
func (w *writer) joinBlocks(c *Collection, end int) error {
	if end%joinedBlocks != 0 {
		return nil
	}
	first := end - joinedBlocks
	joined := make([]byte, 0, joinedBlocks*blockRows*vectors.RecordSize(c.Dimensions))
	if err := eachRow(w, func(rows *sql.Rows) error {
		var data sql.RawBytes
		err := rows.Scan(&data)
		joined = append(joined, data...)
		return err
	}, `SELECT data FROM coarse WHERE collection = ? AND block >= ? AND block < ? ORDER BY block`, c.num, first, end); err != nil {
		return err
	}
	if len(joined) != cap(joined) {
		return c.damaged()
	}
	if err := w.exec(`INSERT OR REPLACE INTO coarse (collection, block, data) VALUES (?, ?, ?)`, c.num, first, joined); err != nil {
		return err
	}
	return w.exec(`DELETE FROM coarse WHERE collection = ? AND block > ? AND block < ?`, c.num, first, end)
}

func (c Collection) damaged() error {
	return fmt.Errorf("collection %s is damaged: remove it and embed its texts again", c.Name)
}

// Similar returns the n texts of a collection that are nearest to a vector, the nearest first.
// It reads a few blocks at a time into memory.
func (v VectorCollections) Similar(c Collection, query []float32, n int) ([]SimilarText, error) {
	if len(query) != c.Dimensions {
		return nil, &VectorMismatchError{c, fmt.Sprintf("%d dimensions, not %d", c.Dimensions, len(query))}
	}
	search := vectors.NewSearch(query, n)
	const group = joinedBlocks * blockRows // read by one goroutine, as another process may join them meanwhile
	if err := inParallel(search, scanParts, (c.Rows+group-1)/group, func(s *vectors.Search, from, to int) error {
		return v.scanBlocks(c, s, from*joinedBlocks, to*joinedBlocks)
	}); err != nil {
		return nil, err
	}
	ids := search.Candidates()
	if err := inParallel(search, scoreParts, len(ids), func(s *vectors.Search, from, to int) error { return v.scoreRows(c, s, ids[from:to]) }); err != nil {
		return nil, err
	}
	var found []SimilarText
	err := v.db.read(func(q querier) error {
		for _, m := range search.Best() {
			t := SimilarText{Score: m.Score}
			if err := q.queryRow(`SELECT file, line, text FROM vectors WHERE collection = ? AND row = ?`, c.num, m.ID).Scan(&t.File, &t.Line, &t.Text); err != nil {
				return c.notFoundError(err)
			}
			found = append(found, t)
		}
		return nil
	})
	return found, err
}

// scanParts is how many goroutines read codes; more are no faster. scoreParts is how many read
// single vectors: the disk needs time for each.
const (
	scanParts  = 2
	scoreParts = 4
)

// inParallel calls do in parallel for parts of n things, each with a fork of search, and joins
// those in search.
func inParallel(search *vectors.Search, parts, n int, do func(s *vectors.Search, from, to int) error) error {
	searches, errs := make([]*vectors.Search, parts), make([]error, parts)
	var done sync.WaitGroup
	for i := range parts {
		searches[i] = search.Fork()
		done.Go(func() { errs[i] = do(searches[i], n*i/parts, n*(i+1)/parts) })
	}
	done.Wait()
	for _, s := range searches {
		search.Join(s)
	}
	return errors.Join(errs...)
}

// scoreRows scores the vectors of rows exactly.
func (v VectorCollections) scoreRows(c Collection, s *vectors.Search, ids []int64) error {
	return v.db.read(func(q querier) error {
		var data []byte
		for _, id := range ids {
			if err := q.queryRow(`SELECT data FROM vectors WHERE collection = ? AND row = ?`, c.num, id).Scan(&data); err != nil {
				return c.notFoundError(err)
			}
			s.Score(id, vectors.FromBytes(data))
		}
		return nil
	})
}

func (c Collection) notFoundError(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return c.damaged()
	}
	return err
}

// scanBlocks scores the codes of the blocks from..to-1 coarsely.
func (v VectorCollections) scanBlocks(c Collection, s *vectors.Search, from, to int) error {
	return v.db.read(func(q querier) error {
		size := vectors.RecordSize(c.Dimensions)
		return eachRow(q, func(rows *sql.Rows) error {
			var block int64
			var data sql.RawBytes
			if err := rows.Scan(&block, &data); err != nil {
				return err
			}
			first := block * blockRows
			if !s.Scan(first, data[:min(len(data), max(0, c.Rows-int(first))*size)]) { // rows added since are left out
				return c.damaged()
			}
			return nil
		}, `SELECT block, data FROM coarse WHERE collection = ? AND block >= ? AND block < ? ORDER BY block`, c.num, from, to)
	})
}

// ValidCollection reports whether a collection can have that name: one line of up to 100
// bytes that does not begin with a dash or a space.
func ValidCollection(name string) bool {
	const most = 100
	return name != "" && len(name) <= most && name[0] != '-' && strings.TrimSpace(name) == name &&
		!slices.ContainsFunc([]rune(name), func(r rune) bool { return r < ' ' || r == 0x7f })
}
