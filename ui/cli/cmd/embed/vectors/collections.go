package vectors

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/session/store"
)

// A block holds the codes of blockRows vectors: 400 kB for 1,536 dimensions. Every joinedBlocks blocks are joined into
// one, which is contiguous in the file: a disk reads it several times as fast as blocks between vectors.
const (
	blockRows    = 256
	joinedBlocks = 16
)

// A Collection is a named set of comparable vectors.
type Collection struct {
	Name string `json:"name"`
	Space
	Rows    int       `json:"rows"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`

	num int64
}

// A mismatchError reports vectors whose space differs from the collection's.
type mismatchError struct {
	Collection
	Why string // the difference
}

func (e *mismatchError) Error() string {
	return fmt.Sprintf("collection %s has vectors of %s: they cannot be compared", e.Name, e.Why)
}

// Collections gives access to the collections of a store.
type Collections struct{ db *store.DB }

// Of returns the collections of a store.
func Of(db *store.DB) Collections { return Collections{db} }

const collectionColumns = `SELECT num, name, model, dimensions, task, rows, created, updated FROM collections `

func scanCollection(row interface{ Scan(...any) error }) (c Collection, err error) {
	var created, updated any
	err = row.Scan(&c.num, &c.Name, &c.Model, &c.Dimensions, &c.Task, &c.Rows, &created, &updated)
	c.Created, c.Updated = timeOf(created), timeOf(updated)
	return c, err
}

// timeOf converts a column of nanoseconds since 1970; other values give the zero time.
func timeOf(column any) time.Time {
	nanos, ok := column.(int64)
	if !ok {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

// List returns the collections, sorted by name.
func (v Collections) List() (all []Collection, err error) {
	err = v.db.View(func(q store.Tx) error {
		return store.EachRow(q, func(rows *sql.Rows) error {
			c, err := scanCollection(rows)
			all = append(all, c)
			return err
		}, collectionColumns+`ORDER BY name`)
	})
	return all, err
}

// Get returns the collection with this name. If it does not exist, all other fields are zero.
func (v Collections) Get(name string) (c Collection, err error) {
	err = v.db.View(func(q store.Tx) error {
		c, err = scanCollection(q.QueryRow(collectionColumns+`WHERE name = ?`, name))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Collection{Name: name}, nil
	}
	return c, err
}

// Remove deletes a collection and reports whether it existed.
func (v Collections) Remove(name string) (was bool, err error) {
	err = v.db.Update(func(w store.Tx) error {
		c, err := scanCollection(w.QueryRow(collectionColumns+`WHERE name = ?`, name))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		was = err == nil
		for _, query := range []string{`DELETE FROM vectors WHERE collection = ?`, `DELETE FROM coarse WHERE collection = ?`, `DELETE FROM collections WHERE num = ?`} {
			if err == nil {
				err = w.Exec(query, c.num)
			}
		}
		return err
	})
	return was, err
}

// HasText reports whether a collection contains a text.
func (v Collections) HasText(c Collection, text string) (has bool, err error) {
	err = v.db.View(func(q store.Tx) error {
		return q.QueryRow(`SELECT EXISTS (SELECT 1 FROM vectors WHERE collection = ? AND sha = ?)`, c.num, textKey(text)).Scan(&has)
	})
	return has, err
}

func textKey(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// Add adds rows to the collection with this name, creating it if necessary, and returns it. It adds all rows or none.
// Texts already in the collection are not changed. If set is another space, the error is a *mismatchError.
func (v Collections) Add(name string, set Space, rows []Row) (c Collection, err error) {
	err = v.db.Update(func(w store.Tx) error {
		now := time.Now()
		c, err = scanCollection(w.QueryRow(collectionColumns+`WHERE name = ?`, name))
		if errors.Is(err, sql.ErrNoRows) {
			c, err = scanCollection(w.QueryRow(`INSERT INTO collections (name, model, dimensions, task, rows, created, updated) VALUES (?, ?, ?, ?, 0, ?, ?)
				RETURNING num, name, model, dimensions, task, rows, created, updated`, name, set.Model, set.Dimensions, set.Task, now.UnixNano(), now.UnixNano()))
		}
		if err != nil {
			return err
		}
		if why := c.Space.Differs(set); why != "" {
			return &mismatchError{c, why}
		}
		return c.add(w, rows, now)
	})
	return c, err
}

// add writes rows and their codes.
func (c *Collection) add(w store.Tx, rows []Row, now time.Time) error {
	var block []byte
	number := c.Rows / blockRows
	save := func() error {
		if len(block) == 0 {
			return nil
		}
		return w.Exec(`INSERT OR REPLACE INTO coarse (collection, block, data) VALUES (?, ?, ?)`, c.num, number, block)
	}
	if c.Rows%blockRows > 0 {
		if err := w.QueryRow(`SELECT data FROM coarse WHERE collection = ? AND block = ?`, c.num, number).Scan(&block); err != nil {
			return err
		}
		if len(block) != c.Rows%blockRows*recordSize(c.Dimensions) {
			return c.damaged()
		}
	}
	for _, r := range rows {
		if len(r.Vector) != c.Dimensions {
			return &mismatchError{*c, fmt.Sprintf("%d dimensions, not %d", c.Dimensions, len(r.Vector))}
		}
		var added int
		err := w.QueryRow(`INSERT INTO vectors (collection, row, sha, file, line, text, data) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, sha) DO NOTHING RETURNING row`,
			c.num, c.Rows, textKey(r.Text), r.File, r.Line, r.Text, toBytes(r.Vector)).Scan(&added)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		block = appendCode(block, r.Vector)
		if c.Rows++; c.Rows%blockRows == 0 {
			if err := save(); err != nil {
				return err
			}
			block, number = block[:0], number+1
			if err := c.joinBlocks(w, number); err != nil {
				return err
			}
		}
	}
	if err := save(); err != nil {
		return err
	}
	c.Updated = now
	return w.Exec(`UPDATE collections SET rows = ?, updated = ? WHERE num = ?`, c.Rows, now.UnixNano(), c.num)
}

// joinBlocks joins the joinedBlocks blocks before block number end, if end is a multiple of joinedBlocks. It writes the
// joined block before it deletes the others, so that SQLite does not write it into their gaps.
func (c *Collection) joinBlocks(w store.Tx, end int) error {
	if end%joinedBlocks != 0 {
		return nil
	}
	first := end - joinedBlocks
	joined := make([]byte, 0, joinedBlocks*blockRows*recordSize(c.Dimensions))
	if err := store.EachRow(w, func(rows *sql.Rows) error {
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
	if err := w.Exec(`INSERT OR REPLACE INTO coarse (collection, block, data) VALUES (?, ?, ?)`, c.num, first, joined); err != nil {
		return err
	}
	return w.Exec(`DELETE FROM coarse WHERE collection = ? AND block > ? AND block < ?`, c.num, first, end)
}

func (c Collection) damaged() error {
	return fmt.Errorf("collection %s is damaged: remove it and embed its texts again", c.Name)
}

// Similar returns the n texts of a collection nearest to a vector, the nearest first.
func (v Collections) Similar(c Collection, query []float32, n int) ([]SimilarText, error) {
	if len(query) != c.Dimensions {
		return nil, &mismatchError{c, fmt.Sprintf("%d dimensions, not %d", c.Dimensions, len(query))}
	}
	search := NewSearch(query, n)
	err := v.db.View(func(q store.Tx) error {
		if err := c.scan(q, search); err != nil {
			return err
		}
		for _, id := range search.Candidates() {
			t := SimilarText{ID: id}
			var vector []byte
			err := q.QueryRow(`SELECT file, line, text, data FROM vectors WHERE collection = ? AND row = ?`, c.num, id).Scan(&t.File, &t.Line, &t.Text, &vector)
			if errors.Is(err, sql.ErrNoRows) {
				return c.damaged()
			}
			if err != nil {
				return err
			}
			search.Score(t, fromBytes(vector))
		}
		return nil
	})
	return search.Best(), err
}

// scan compares the codes of all blocks. Only one block is in memory at a time.
func (c Collection) scan(q store.Tx, search *Search) error {
	return store.EachRow(q, func(rows *sql.Rows) error {
		var block int64
		var data sql.RawBytes
		if err := rows.Scan(&block, &data); err != nil {
			return err
		}
		first, size := block*blockRows, recordSize(c.Dimensions)
		if !search.Scan(first, data[:min(len(data), max(0, c.Rows-int(first))*size)]) { // ignore rows added since
			return c.damaged()
		}
		return nil
	}, `SELECT block, data FROM coarse WHERE collection = ? ORDER BY block`, c.num)
}

// ValidCollection reports whether name can be the name of a collection: one line of at most 100 bytes that does not
// begin with a dash or a space.
func ValidCollection(name string) bool {
	const most = 100
	return name != "" && len(name) <= most && name[0] != '-' && strings.TrimSpace(name) == name &&
		!slices.ContainsFunc([]rune(name), func(r rune) bool { return r < ' ' || r == 0x7f })
}
