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
	Kind     llm.Kind `json:"kind"`
	Text     string   `json:"text,omitempty"`
	ID       string   `json:"id,omitempty"`
	Name     string   `json:"name,omitempty"`
	Input    string   `json:"input,omitempty"`
	Failed   bool     `json:"failed,omitempty"`
	Remote   bool     `json:"remote,omitempty"`
	Repeated bool     `json:"repeated,omitempty"`
	Begins   bool     `json:"begins,omitempty"`
	MIME     string   `json:"mime,omitempty"`
	Blob     string   `json:"blob,omitempty"` // sha256 of Data, which is in the table blobs once
	Data     []byte   `json:"data,omitempty"` // where the blobs are not used, as in drafts
	URL      string   `json:"url,omitempty"`
	Width    int      `json:"width,omitempty"`
	Height   int      `json:"height,omitempty"`
	Made     string   `json:"made,omitempty"`
	State    *string  `json:"state,omitempty"`
	Base64   bool     `json:"base64,omitempty"` // the texts of this part are base64

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

// encodeParts returns parts as JSON. Data, as bytes, and the pieces of long texts,
// as strings, go to blobs, by their sha256; with nil they stay in the JSON.
func encodeParts(parts []llm.Part, blobs map[string]any) ([]byte, error) {
	rows := make([]part, len(parts))
	for i, p := range parts {
		row := part{
			Kind: p.Kind, Text: p.Text, ID: p.ID, Name: p.Name, Input: p.Input, Failed: p.Failed, Remote: p.Remote, Repeated: p.Repeated, Begins: p.Begins,
			MIME: p.MIME, Data: p.Data, URL: p.URL, Width: p.Width, Height: p.Height, Made: p.Made,
		}
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

// decodeParts returns the parts that encodeParts encoded, without what is in blobs, and
// references to that. Short strings are held by texts; nil: each has its own memory.
func decodeParts(text string, texts *textArena) (parts []llm.Part, refs []blobRef, err error) {
	if parts, refs, ok := readParts(text, texts); ok {
		return parts, refs, nil
	}
	return unmarshalParts(text)
}

// readParts is the fast form of decodeParts for most messages, false for others.
func readParts(text string, texts *textArena) (parts []llm.Part, refs []blobRef, ok bool) {
	r := newJSONReader(text, texts)
	if n := strings.Count(text, `{"kind":`); n > 0 {
		parts = make([]llm.Part, 0, n)
	}
	r.list(func() {
		parts = append(parts, llm.Part{})
		p := &parts[len(parts)-1]
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
			if r.field("blob") {
				if sha := r.text(); sha != "" {
					refs = append(refs, blobRef{part: len(parts) - 1, sha: sha})
				}
			}
			readText(r, "url", &p.URL)
			readInt(r, "width", &p.Width)
			readInt(r, "height", &p.Height)
			readText(r, "made", &p.Made)
			if r.field("state") {
				p.State = json.RawMessage(r.ownText())
			}
		})
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
		p := llm.Part{
			Kind: row.Kind, Text: row.Text, ID: row.ID, Name: row.Name, Input: row.Input, Failed: row.Failed, Remote: row.Remote, Repeated: row.Repeated, Begins: row.Begins,
			MIME: row.MIME, Data: row.Data, URL: row.URL, Width: row.Width, Height: row.Height, Made: row.Made,
		}
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

// nodeExtra holds the fields of a node that have no column, as they are stored.
type nodeExtra struct {
	Open    bool               `json:"open,omitempty"`
	Summary bool               `json:"summary,omitempty"`
	Cut     bool               `json:"cut,omitempty"`
	Usage   *llm.Usage         `json:"usage,omitempty"`
	Reason  llm.Reason         `json:"reason,omitempty"`
	First   time.Duration      `json:"first,omitempty"`
	Took    time.Duration      `json:"took,omitempty"`
	Results map[string]Outcome `json:"results,omitempty"`
	Thought []time.Duration    `json:"thought,omitempty"`
	Broke   string             `json:"broke,omitempty"`
	Purpose string             `json:"purpose,omitempty"`
	Missed  CacheMiss          `json:"missed,omitzero"`
	Cache   *cachewatch.Entry  `json:"cache,omitempty"`
	Trimmed bool               `json:"trimmed,omitempty"`
	Steers  bool               `json:"steers,omitempty"`
}

func extraOf(n Node) nodeExtra {
	return nodeExtra{n.Partial, n.Summary, n.Interrupted, n.Usage, n.Reason, n.TTFT, n.Duration, n.Results, n.ThinkingDurations, n.InterruptedBy, n.Purpose, n.Missed, n.Cache, n.Trimmed, n.Steers}
}

func (r nodeExtra) applyTo(n *Node) {
	n.Partial, n.Summary, n.Interrupted, n.Usage = r.Open, r.Summary, r.Cut, r.Usage
	n.Reason, n.TTFT, n.Duration, n.Results = r.Reason, r.First, r.Took, r.Results
	n.ThinkingDurations, n.InterruptedBy, n.Purpose = r.Thought, r.Broke, r.Purpose
	n.Missed, n.Cache, n.Trimmed, n.Steers = r.Missed, r.Cache, r.Trimmed, r.Steers
}

// readExtra reads the JSON of most messages' nodeExtra, false for others.
func readExtra(text string, texts *textArena) (e nodeExtra, ok bool) {
	r := newJSONReader(text, texts)
	r.object(func() {
		readBool(r, "open", &e.Open)
		readBool(r, "summary", &e.Summary)
		readBool(r, "cut", &e.Cut)
		if r.field("usage") {
			e.Usage = &llm.Usage{}
			readUsage(r, e.Usage)
		}
		readText(r, "reason", &e.Reason)
		readInt(r, "first", &e.First)
		readInt(r, "took", &e.Took)
		if r.field("results") {
			e.Results = readResults(r)
		}
		if r.field("thought") {
			e.Thought = []time.Duration{}
			r.list(func() { e.Thought = append(e.Thought, time.Duration(r.int())) })
		}
		readText(r, "broke", &e.Broke)
		readText(r, "purpose", &e.Purpose)
		if r.field("cache") {
			e.Cache = &cachewatch.Entry{}
			r.object(func() {
				readText(r, "key", &e.Cache.Key)
				readText(r, "first", &e.Cache.First)
				readBool(r, "told", &e.Cache.Notified)
				readInt(r, "lifetime", &e.Cache.Lifetime)
			})
		}
		readBool(r, "trimmed", &e.Trimmed)
		readBool(r, "steers", &e.Steers)
	})
	return e, r.atEnd()
}

func readResults(r *jsonReader) map[string]Outcome {
	results := map[string]Outcome{}
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

// A textRest is the rest of a long text behind its first piece: pieces in blobs, and what
// follows those. As a text grows, its pieces stay the same: writing it costs only its end.
type textRest struct {
	Pieces []string `json:"pieces"` // sha256 of each
	End    string   `json:"end"`
}

// splitLongText shortens a long text to its first piece, puts further pieces into blobs by
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

// firstPiece returns the first piece of s, which ends with a whole character, and what follows it.
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

// A blobRef refers to what a part has in blobs: its Data, or the rest of a long text.
type blobRef struct {
	part  int       // index in the message
	sha   string    // of Data
	rest  *textRest // nil: Data
	input bool      // the rest is of Input, not of Text
}

// A blobReader completes parts with their blobs. A blob that cannot be read is left
// out, and counted.
type blobReader struct {
	q      querier
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
		_ = b.q.queryRow(`SELECT length(data) FROM blobs WHERE sha = ?`, sha).Scan(&n)
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
	err := eachRow(b.q, func(rows *sql.Rows) error {
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
