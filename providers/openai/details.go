package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// details collects reasoning_details (OpenRouter, MiniMax): entries of text, summaries and
// encrypted data, some of them signed. They must go back unchanged. Consecutive pieces of one entry
// are joined; nothing else is modified. Two services use fields of their own, in which the entries
// also go back:
//
//	thinking_blocks, LiteLLM's for Claude's: {"type":"thinking","thinking":"…","signature":"…"} {"type":"redacted_thinking","data":"…"}
//	reasoning_opaque, Copilot's, a string: {"type":"reasoning_opaque","data":"…"} here
type details []*detail

type detail struct {
	raw        json.RawMessage // JSON of its first piece
	head       detailHead
	text       wire.Quoted // text of all pieces
	cumulative cumulative
	joined     bool
	signature  json.RawMessage // from a later piece
}

// detailHead holds the fields needed to join a piece.
type detailHead struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Index     int             `json:"index"`
	Text      wire.Quoted     `json:"text"`
	Summary   wire.Quoted     `json:"summary"`
	Encrypted wire.Quoted     `json:"encrypted"`
	Thinking  wire.Quoted     `json:"thinking"`
	Signature json.RawMessage `json:"signature"`
}

// detailFields maps the types of entries that come in pieces to the field that is joined.
var detailFields = map[string]string{
	"reasoning.text": "text", "reasoning.summary": "summary",
	"summary": "summary", "encrypted": "encrypted", // Kimi
	thinkingBlock: "thinking",
}

// Types of entries from fields other than reasoning_details.
const (
	thinkingBlock  = "thinking"
	redactedBlock  = "redacted_thinking"
	opaqueThinking = "reasoning_opaque"
)

// opaqueEntry returns Copilot's string as an entry; nil if data is empty.
func opaqueEntry(data wire.Text) []json.RawMessage {
	if data == "" {
		return nil
	}
	entry, err := adapter.Marshal(map[string]any{"type": opaqueThinking, "data": data})
	if err != nil {
		return nil
	}
	return []json.RawMessage{entry}
}

// isKimi reports whether an entry is Kimi's, which refuses it back with its index.
func (h *detailHead) isKimi() bool { return h.Type == "summary" || h.Type == "encrypted" }

// add collects one piece and returns its text. If grows, the text may be cumulative: add returns
// the part known to be new, which may include buffered text.
func (d *details) add(raw json.RawMessage, grows bool) string {
	var h detailHead
	if adapter.DecodeLenient(raw, &h) != nil {
		return ""
	}
	if n := len(*d); n > 0 && (*d)[n-1].continues(h) {
		return (*d)[n-1].join(h, grows)
	}
	pending := d.flush()
	entry := &detail{raw: bytes.Clone(raw), head: h}
	*d = append(*d, entry)
	return pending + entry.add(h, grows)
}

// flush returns the buffered text; see cumulative.
func (d details) flush() string {
	if len(d) == 0 {
		return ""
	}
	e := d[len(d)-1]
	pending := wire.Quoted(e.cumulative.flush())
	e.text = append(e.text, pending...)
	return pending.Text()
}

// hasPending reports whether text is buffered.
func (d details) hasPending() bool { return len(d) > 0 && d[len(d)-1].cumulative.pending != "" }

// continues reports whether h is the next piece of e.
func (e *detail) continues(h detailHead) bool {
	return detailFields[h.Type] != "" && h.Type == e.head.Type && h.Index == e.head.Index &&
		(h.ID == "" || h.ID == e.head.ID) &&
		!adapter.IsPresent(e.signature) && !adapter.IsPresent(e.head.Signature)
}

func (e *detail) join(h detailHead, grows bool) string {
	e.joined = true
	if adapter.IsPresent(h.Signature) {
		e.signature = bytes.Clone(h.Signature)
		if len(h.Thinking) > 0 && bytes.Equal(h.Thinking, e.text) { // the signature comes with the whole text again
			return ""
		}
	}
	return e.add(h, grows)
}

// add adds a piece to the text of e and returns the text to show.
func (e *detail) add(h detailHead, grows bool) string {
	piece := append(append(h.Text, h.Summary...), h.Thinking...)
	if grows {
		piece = wire.Quoted(e.cumulative.add(string(piece)))
	}
	e.text = append(append(e.text, piece...), h.Encrypted...)
	return piece.Text()
}

// state returns all entries as one JSON list; nil if there are none.
func (d details) state() json.RawMessage {
	if len(d) == 0 {
		return nil
	}
	list := make([]json.RawMessage, 0, len(d))
	for _, e := range d {
		list = append(list, e.rawEntry())
	}
	state, err := adapter.Marshal(list)
	if err != nil {
		return nil
	}
	return state
}

// rawEntry returns an entry with its pieces joined.
func (e *detail) rawEntry() json.RawMessage {
	if !e.joined && !e.head.isKimi() {
		return e.raw
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(e.raw, &fields) != nil {
		return e.raw
	}
	if e.joined {
		fields[detailFields[e.head.Type]] = e.text.JSON()
	}
	if e.head.isKimi() {
		delete(fields, "index")
	}
	if e.signature != nil {
		fields["signature"] = e.signature
	}
	whole, err := adapter.Marshal(fields)
	if err != nil {
		return e.raw
	}
	return whole
}

// replayDetails returns the entries in the parts of a message that may go back, by message field.
// It omits entries whose id is in sent, and text without Anthropic's signature.
func replayDetails(parts []llm.Part, sent *adapter.Set) map[string]any {
	var fields map[string]any
	set := func(field string, value any) {
		if fields == nil {
			fields = map[string]any{}
		}
		fields[field] = value
	}
	add := func(field string, raw json.RawMessage) {
		list, _ := fields[field].([]json.RawMessage)
		set(field, append(list, raw))
	}
	for _, p := range parts {
		var entries []json.RawMessage
		if p.Kind == llm.Call || len(p.State) == 0 || json.Unmarshal(p.State, &entries) != nil {
			continue
		}
		for _, raw := range entries {
			var e struct {
				detailHead
				Format string    `json:"format"`
				Data   wire.Text `json:"data"`
			}
			if adapter.DecodeLenient(raw, &e) != nil || e.Type == "" {
				continue
			}
			claude := e.Type == thinkingBlock || e.Type == "reasoning.text" && strings.HasPrefix(e.Format, "anthropic")
			switch key := e.Type + " " + e.ID; {
			case claude && !adapter.IsPresent(e.Signature):
			case e.Type == thinkingBlock, e.Type == redactedBlock:
				add("thinking_blocks", raw)
			case e.Type == opaqueThinking:
				set(opaqueThinking, string(e.Data))
			case e.ID != "" && e.Type == "reasoning.encrypted" && sent.Has(key):
			default:
				if e.ID != "" && e.Type == "reasoning.encrypted" {
					sent.Add(key)
				}
				add("reasoning_details", raw)
			}
		}
	}
	return fields
}
