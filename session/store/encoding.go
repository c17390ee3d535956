package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// A part is an llm.Part as it is stored. encoding/json compacts a RawMessage,
// refuses one that is not JSON, and replaces invalid UTF-8: so State is stored as a
// string, and all texts of a part with invalid UTF-8 as base64.
type part struct {
	llm.Part
	Blob   string  `json:"blob,omitempty"`   // sha256 of Data, which is stored once in the table blobs, except for drafts
	State  *string `json:"state,omitempty"`  // shadows State of llm.Part
	Base64 bool    `json:"base64,omitempty"` // the texts of this part are base64

	TextRest  *textRest `json:"text_rest,omitempty"`  // of a long Text
	InputRest *textRest `json:"input_rest,omitempty"` // of a long Input
}

// texts returns the fields that may hold any bytes.
func (p *part) texts() []*string {
	all := []*string{(*string)(&p.Kind), &p.Text, &p.ID, &p.Name, &p.Input, &p.MIME, &p.URL, &p.Made}
	if p.State != nil {
		all = append(all, p.State)
	}
	return all
}

// encodeParts returns parts as JSON. It adds Data, as bytes, and the pieces of
// long texts, as strings, to blobs by their sha256; if blobs is nil they stay in
// the JSON.
func encodeParts(parts []llm.Part, blobs map[string]any) ([]byte, error) {
	rows := make([]part, len(parts))
	for i, p := range parts {
		row := part{Part: p}
		if p.State != nil {
			state := string(p.State)
			row.State = &state
		}
		if blobs != nil && len(p.Data) > 0 {
			sum := sha256.Sum256(p.Data)
			row.Blob, row.Data = hex.EncodeToString(sum[:]), nil
			blobs[row.Blob] = p.Data
		}
		for _, text := range row.texts() {
			row.Base64 = row.Base64 || !utf8.ValidString(*text)
		}
		if blobs != nil && !row.Base64 {
			row.TextRest, row.InputRest = splitLongText(&row.Text, blobs), splitLongText(&row.Input, blobs)
		}
		if row.Base64 {
			for _, text := range row.texts() {
				*text = base64.StdEncoding.EncodeToString([]byte(*text))
			}
		}
		rows[i] = row
	}
	return encode(rows)
}

// decodeParts decodes the result of encodeParts, with references to the content in
// blobs.
func decodeParts(text string) (parts []llm.Part, refs []blobRef, err error) {
	if parts, refs, ok := readParts(text); ok {
		return parts, refs, nil
	}
	return unmarshalParts(text)
}

// readParts is the fast form of decodeParts for most messages; ok is false for others.
func readParts(text string) (parts []llm.Part, refs []blobRef, ok bool) {
	r := newJSONReader(text)
	if n := strings.Count(text, `{"kind":`); n > 0 {
		parts = make([]llm.Part, 0, n)
	}
	r.list(func() {
		parts = append(parts, llm.Part{})
		p := &parts[len(parts)-1]
		sha := ""
		r.object(func() {
			readText(r, "kind", &p.Kind)
			readText(r, "text", &p.Text)
			readText(r, "id", &p.ID)
			readText(r, "name", &p.Name)
			readText(r, "input", &p.Input)
			readBool(r, "failed", &p.Failed)
			readBool(r, "remote", &p.Remote)
			readBool(r, "repeated", &p.Repeated)
			readBool(r, "begins", &p.Begins)
			readText(r, "mime", &p.MIME)
			readText(r, "url", &p.URL)
			readInt(r, "width", &p.Width)
			readInt(r, "height", &p.Height)
			readText(r, "made", &p.Made)
			readText(r, "blob", &sha)
			if r.field("state") {
				p.State = json.RawMessage(r.text())
			}
		})
		if sha != "" {
			refs = append(refs, blobRef{part: len(parts) - 1, sha: sha})
		}
	})
	return parts, refs, r.atEnd()
}

// unmarshalParts is the slow form of decodeParts, for all messages.
func unmarshalParts(text string) (parts []llm.Part, refs []blobRef, err error) {
	var rows []part
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, nil, err
	}
	for i, row := range rows {
		if row.Base64 {
			for _, text := range row.texts() {
				b, err := base64.StdEncoding.DecodeString(*text)
				if err != nil {
					return nil, nil, fmt.Errorf("part %d: %w", i+1, err)
				}
				*text = string(b)
			}
		}
		p := row.Part
		if row.State != nil {
			p.State = json.RawMessage(*row.State)
		}
		if row.Blob != "" {
			refs = append(refs, blobRef{part: i, sha: row.Blob})
		}
		if row.TextRest != nil {
			refs = append(refs, blobRef{part: i, rest: row.TextRest})
		}
		if row.InputRest != nil {
			refs = append(refs, blobRef{part: i, rest: row.InputRest, input: true})
		}
		parts = append(parts, p)
	}
	return parts, refs, nil
}

// A nodeExtra is the JSON of a node: the fields without their own columns.
type nodeExtra struct {
	*Node
	Seq    any `json:"seq,omitempty"`
	Parent any `json:"parent,omitempty"`
	At     any `json:"at,omitempty"`
	Role   any `json:"role,omitempty"`
	Origin any `json:"origin,omitempty"`
	Model  any `json:"model,omitempty"`
	Parts  any `json:"parts,omitempty"`
}

// readExtra decodes the nodeExtra of most messages into n; it returns false for others.
func readExtra(n *Node, text string) bool {
	r := newJSONReader(text)
	r.object(func() {
		readBool(r, "open", &n.Partial)
		readBool(r, "summary", &n.Summary)
		readBool(r, "steers", &n.Steers)
		readBool(r, "cut", &n.Interrupted)
		if r.field("usage") {
			n.Usage = cmp.Or(n.Usage, &llm.Usage{})
			readUsage(r, n.Usage)
		}
		readText(r, "reason", &n.Reason)
		readBool(r, "trimmed", &n.Trimmed)
		readText(r, "purpose", &n.Purpose)
		readInt(r, "first", &n.TTFT)
		readInt(r, "took", &n.Duration)
		if r.field("thought") {
			n.ThinkingDurations = []time.Duration{}
			r.list(func() { n.ThinkingDurations = append(n.ThinkingDurations, time.Duration(r.int())) })
		}
		if r.field("cache") {
			n.Cache = cmp.Or(n.Cache, &cachewatch.Entry{})
			r.object(func() {
				readText(r, "key", &n.Cache.Key)
				readText(r, "first", &n.Cache.First)
				readInt(r, "lifetime", &n.Cache.Lifetime)
			})
		}
		readText(r, "broke", &n.InterruptedBy)
		if r.field("results") {
			n.Results = readResults(r, n.Results)
		}
	})
	return r.atEnd()
}

func readResults(r *jsonReader, results map[string]Outcome) map[string]Outcome {
	if results == nil {
		results = map[string]Outcome{}
	}
	r.object(func() {
		for r.ok && len(r.rest) > 1 && r.rest[0] == r.begin && r.rest[1] == '"' {
			r.rest = r.rest[1:]
			id, o := r.text(), Outcome{}
			r.expect(":")
			r.object(func() {
				readText(r, "input", &o.Input)
				readText(r, "diff", &o.Diff)
				readInt(r, "took", &o.Duration)
				readBool(r, "started", &o.Started)
				readBool(r, "denied", &o.Denied)
				readBool(r, "stopped", &o.Stopped)
				readText(r, "by", &o.By)
			})
			results[id] = o
		}
	})
	return results
}

// encode returns v as JSON without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// nanos returns t as it is stored: nanoseconds since 1970, nil (NULL) for the zero time.
func nanos(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case t.Year() < 1678:
		return int64(math.MinInt64)
	case t.Year() > 2261:
		return int64(math.MaxInt64)
	}
	return t.UnixNano()
}

// pieceSize is the size of the pieces of a long text, in bytes; a text is long from two
// pieces on. Only the first piece is indexed for search, see maxIndexed. Tests lower it.
var pieceSize = 1 << 20

// A textRest is the rest of a long text after its first piece: pieces in blobs, and the
// end. As a text grows, its pieces stay the same, so that only its end is written again.
type textRest struct {
	Pieces []string `json:"pieces"` // sha256 of each
	End    string   `json:"end"`
}

// splitLongText shortens a long text to its first piece, adds further pieces to blobs by
// their sha256, and returns the rest; nil if text is not long.
func splitLongText(text *string, blobs map[string]any) *textRest {
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

// firstPiece returns the first piece of s, which ends with a whole character, and the rest of s.
func firstPiece(s string) (piece, left string) {
	n := pieceSize
	for n > pieceSize-utf8.UTFMax && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], s[n:]
}

// sha256Hex returns the sha256 of s, without copying it.
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

// A blobRef is a reference from a part to blobs: its Data, or the rest of a long text.
type blobRef struct {
	part  int       // index in the message
	sha   string    // of Data
	rest  *textRest // nil: Data
	input bool      // the rest is of Input, not of Text
}

// A blobReader completes parts with their blobs. Unreadable blobs are left out and
// counted.
type blobReader struct {
	q      Tx
	data   map[string][]byte // by sha256: data of parts, which may share it
	damage *damageReport
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

// join returns a long text. It needs memory for the text and one piece.
func (b *blobReader) join(head string, rest *textRest) string {
	size := len(head) + len(rest.End)
	for _, sha := range rest.Pieces {
		var n int
		_ = b.q.QueryRow(`SELECT length(data) FROM blobs WHERE sha = ?`, sha).Scan(&n)
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

// read calls use with a blob, which is valid during the call.
func (b *blobReader) read(sha string, use func(data []byte)) {
	found := false
	err := EachRow(b.q, func(rows *sql.Rows) error {
		var data sql.RawBytes
		err := rows.Scan(&data)
		if found = err == nil; found {
			use(data)
		}
		return err
	}, `SELECT data FROM blobs WHERE sha = ?`, sha)
	if !found {
		b.damage.add(fmt.Errorf("data %.12s is missing", sha))
	}
	b.err = cmp.Or(b.err, err)
}
