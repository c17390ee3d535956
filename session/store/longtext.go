package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
)

// pieceSize sets how long the pieces of a long text are, in bytes. One is long from
// two on. What is findable of a text stands in its first piece; see maxIndexed.
const pieceSize = 1 << 20

// A textRest holds what a row does not hold of a long text: pieces in blobs of their
// own, and what follows those. A text that grows keeps its pieces, so that
// writing it again costs its end, and memory for one piece at a time.
type textRest struct {
	Pieces []string `json:"pieces"` // sha256 of each
	End    string   `json:"end"`
}

// split leaves the beginning of a long text in place, puts the pieces after it
// into blobs, and returns the rest; nil for a text that is not long.
func split(text *string, blobs map[string]any) *textRest {
	if len(*text) < 2*pieceSize {
		return nil
	}
	head, left := firstPiece(*text)
	r := &textRest{}
	for len(left) >= pieceSize {
		var piece string
		piece, left = firstPiece(left)
		sha := sha256Hex(piece)
		r.Pieces, blobs[sha] = append(r.Pieces, sha), piece
	}
	*text, r.End = head, left
	return r
}

// firstPiece returns the first piece of s, whole characters, and what follows it.
func firstPiece(s string) (piece, left string) {
	n := pieceSize
	for n > pieceSize-utf8.UTFMax && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], s[n:]
}

// sha256Hex returns the sha256 of s, without a copy of it.
func sha256Hex(s string) string {
	sum := sha256.New()
	var buf [8 << 10]byte
	for s != "" {
		n := copy(buf[:], s)
		sum.Write(buf[:n])
		s = s[n:]
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A blobRef holds what a part gets from blobs: its Data, or the rest of a long text.
type blobRef struct {
	part  int       // of the message
	sha   string    // of Data
	rest  *textRest // nil: Data
	input bool      // the rest is of Input, not of Text
}

// A blobReader fills parts with what blobs hold of them. What cannot be read is left
// out, and counted.
type blobReader struct {
	q      querier
	data   map[string][]byte // that was read, for parts that share it
	missed *damageReport
	err    error // the first one
}

func (b *blobReader) fill(p *llm.Part, ref blobRef) {
	switch {
	case ref.rest == nil:
		if _, ok := b.data[ref.sha]; !ok {
			b.data[ref.sha] = nil
			b.read(ref.sha, func(data []byte) { b.data[ref.sha] = bytes.Clone(data) })
		}
		p.Data = b.data[ref.sha]
	case ref.input:
		p.Input = b.join(p.Input, ref.rest)
	default:
		p.Text = b.join(p.Text, ref.rest)
	}
}

// join returns a long text. It holds one copy of it, and one of a piece.
func (b *blobReader) join(head string, rest *textRest) string {
	size := len(head) + len(rest.End)
	for _, sha := range rest.Pieces {
		var n int
		_ = b.q.one(`SELECT length(data) FROM blobs WHERE sha = ?`, sha).Scan(&n)
		size += n
	}
	var text strings.Builder
	text.Grow(size)
	text.WriteString(head)
	for _, sha := range rest.Pieces {
		b.read(sha, func(piece []byte) { text.Write(piece) })
	}
	text.WriteString(rest.End)
	return text.String()
}

// read calls use with a blob, which is good during the call.
func (b *blobReader) read(sha string, use func(data []byte)) {
	found := false
	err := each(b.q, func(rows *sql.Rows) error {
		var data sql.RawBytes
		err := rows.Scan(&data)
		if found = err == nil; found {
			use(data)
		}
		return err
	}, `SELECT data FROM blobs WHERE sha = ?`, sha)
	if !found {
		b.missed.add(fmt.Errorf("data %.12s is missing", sha))
	}
	b.err = cmp.Or(b.err, err)
}
