package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
)

// pieceSize is how long the pieces of a long text are, in bytes. One is long from
// two on. What is findable of a text stands in its first piece; see maxIndexed.
const pieceSize = 1 << 20

// A textRest is what a row does not hold of a long text: pieces in blobs of their
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

// A blobTarget is where a blob belongs: in the Data of a part, or in a long text.
type blobTarget struct {
	part int       // of the message
	long *longText // nil: Data
	at   int       // which of its pieces
}

// fill puts data where it belongs, which is in p.
func (g blobTarget) fill(p *llm.Part, data []byte) {
	if g.long == nil {
		p.Data = data
		return
	}
	g.long.pieces[g.at] = data
}

// A longText is a text whose pieces are being read.
type longText struct {
	part   int
	input  bool // it is the Input of the part, not its Text
	pieces [][]byte
	end    string
}

// blobs are what a message has to get from blobs. The zero value is nothing.
type blobs struct {
	gaps  map[string][]blobTarget // by sha256
	longs []*longText
}

func (b *blobs) add(sha string, g blobTarget) {
	if b.gaps == nil {
		b.gaps = map[string][]blobTarget{}
	}
	b.gaps[sha] = append(b.gaps[sha], g)
}

// long adds the rest of a text of a part.
func (b *blobs) long(r *textRest, part int, input bool) {
	l := &longText{part: part, input: input, pieces: make([][]byte, len(r.Pieces)), end: r.End}
	b.longs = append(b.longs, l)
	for i, sha := range r.Pieces {
		b.add(sha, blobTarget{part, l, i})
	}
}

// join puts a long text together in its part. Pieces that could not be read are
// left out.
func (l *longText) join(p *llm.Part) {
	text := &p.Text
	if l.input {
		text = &p.Input
	}
	size := len(*text) + len(l.end)
	for _, piece := range l.pieces {
		size += len(piece)
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(*text)
	for _, piece := range l.pieces {
		b.Write(piece)
	}
	b.WriteString(l.end)
	*text = b.String()
}
