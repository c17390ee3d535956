package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/cachewatch"
)

// A part holds how an llm.Part is kept. encoding/json compacts a RawMessage,
// refuses one that is no JSON, and replaces what is no UTF-8, so State is kept as
// a string, and a part that holds other bytes as base64 as a whole.
type part struct {
	Kind     llm.Kind `json:"kind"`
	Text     string   `json:"text,omitempty"`
	ID       string   `json:"id,omitempty"`
	Name     string   `json:"name,omitempty"`
	Input    string   `json:"input,omitempty"`
	Failed   bool     `json:"failed,omitempty"`
	Remote   bool     `json:"remote,omitempty"`
	Repeated bool     `json:"repeated,omitempty"`
	MIME     string   `json:"mime,omitempty"`
	Blob     string   `json:"blob,omitempty"` // sha256 of Data, which is kept once
	Data     []byte   `json:"data,omitempty"` // where there are no blobs
	URL      string   `json:"url,omitempty"`
	Width    int      `json:"width,omitempty"`
	Height   int      `json:"height,omitempty"`
	Made     string   `json:"made,omitempty"`
	State    *string  `json:"state,omitempty"`
	Base64   bool     `json:"base64,omitempty"` // so are the texts of this part

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
			Kind: p.Kind, Text: p.Text, ID: p.ID, Name: p.Name, Input: p.Input, Failed: p.Failed, Remote: p.Remote, Repeated: p.Repeated,
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
			row.TextRest, row.InputRest = split(&row.Text, blobs), split(&row.Input, blobs)
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

// decodeParts undoes encodeParts. What blobs hold is missing; refs say
// what that is.
func decodeParts(text []byte) (parts []llm.Part, refs []blobRef, err error) {
	var rows []part
	if err := json.Unmarshal(text, &rows); err != nil {
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
			Kind: row.Kind, Text: row.Text, ID: row.ID, Name: row.Name, Input: row.Input, Failed: row.Failed, Remote: row.Remote, Repeated: row.Repeated,
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

// nodeExtra holds what a node holds beside its columns.
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
}

func extraOf(n Node) nodeExtra {
	return nodeExtra{n.Partial, n.Summary, n.Interrupted, n.Usage, n.Reason, n.TTFT, n.Duration, n.Results, n.ThinkingDurations, n.InterruptedBy, n.Purpose, n.Missed, n.Cache, n.Trimmed}
}

func (r nodeExtra) into(n *Node) {
	n.Partial, n.Summary, n.Interrupted, n.Usage = r.Open, r.Summary, r.Cut, r.Usage
	n.Reason, n.TTFT, n.Duration, n.Results = r.Reason, r.First, r.Took, r.Results
	n.ThinkingDurations, n.InterruptedBy, n.Purpose = r.Thought, r.Broke, r.Purpose
	n.Missed, n.Cache, n.Trimmed = r.Missed, r.Cache, r.Trimmed
}

// encode marshals v without the escapes that HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// nanos returns t as it is kept: nanoseconds since 1970, NULL for the zero time.
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
