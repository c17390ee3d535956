package anthropic

import (
	"cmp"
	"encoding/json"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An event is one event of a stream. Unused fields are not decoded.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *envelope       `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   *usage          `json:"usage"`
}

// decodeEvent decodes an event into e, replacing its content but reusing the memory of the common
// fields.
func decodeEvent(data []byte, e *event) error {
	d := delta{Text: e.Delta.Text[:0], Thinking: e.Delta.Thinking[:0], Input: e.Delta.Input[:0]}
	*e = event{Delta: d}
	return adapter.DecodeLenient(data, e)
}

// eventDeltas returns the content fields of e. An event whose type is in its SSE name has none.
func eventDeltas(e *event) []json.Unmarshaler {
	if e.Type == "" {
		return nil
	}
	return []json.Unmarshaler{&e.Delta.Text, &e.Delta.Thinking, &e.Delta.Input}
}

// An envelope is a whole answer, or the opening of a streamed one.
type envelope struct {
	ID      string            `json:"id"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Usage   *usage            `json:"usage"`
	Reason  string            `json:"stop_reason"`
	Changed []struct {
		Type string `json:"type"`
	} `json:"input_transformations"`
}

// A delta adds to a block; in message_delta it ends the answer.
type delta struct {
	Type      string          `json:"type"`
	Text      wire.Quoted     `json:"text"`
	Thinking  wire.Quoted     `json:"thinking"`
	Signature wire.Quoted     `json:"signature"`
	Input     wire.Quoted     `json:"partial_json"`
	Citation  json.RawMessage `json:"citation"`
	Reason    string          `json:"stop_reason"`
}

// A blockHead holds the fields at the start of a block of any type.
type blockHead struct {
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	ToolUseID string            `json:"tool_use_id"`
	Text      wire.Quoted       `json:"text"`
	Thinking  wire.Quoted       `json:"thinking"`
	Signature wire.Quoted       `json:"signature"`
	Input     json.RawMessage   `json:"input"`
	Content   json.RawMessage   `json:"content"`
	Caller    json.RawMessage   `json:"caller"` // tool_use
	Citations []json.RawMessage `json:"citations"`
	Failed    bool              `json:"is_error"`
}

// usage holds token counts. A missing count keeps its earlier value.
type usage struct {
	Input   *float64 `json:"input_tokens"` // without tokens read from or written to the cache
	Read    *float64 `json:"cache_read_input_tokens"`
	Written *float64 `json:"cache_creation_input_tokens"`
	Writes  struct {
		Hour *float64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output   *float64 `json:"output_tokens"`
	OutputOf struct {
		Thinking *float64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Tools struct {
		Searches *float64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// add updates u with v. No prompt is empty: services that report 0 at the end reported the true
// count at the start.
func (u *usage) add(v usage) {
	if tokenCount(v.Input)+tokenCount(v.Read)+tokenCount(v.Written) > 0 {
		u.Input = cmp.Or(v.Input, u.Input)
		u.Read = cmp.Or(v.Read, u.Read)
		u.Written = cmp.Or(v.Written, u.Written)
		u.Writes.Hour = cmp.Or(v.Writes.Hour, u.Writes.Hour)
	}
	u.Output = cmp.Or(v.Output, u.Output)
	u.OutputOf.Thinking = cmp.Or(v.OutputOf.Thinking, u.OutputOf.Thinking)
	u.Tools.Searches = cmp.Or(v.Tools.Searches, u.Tools.Searches)
}

// toLLM converts u to parley's counts.
func (u *usage) toLLM() llm.Usage {
	return llm.Usage{
		Input:      tokenCount(u.Input) + tokenCount(u.Read) + tokenCount(u.Written),
		CacheRead:  tokenCount(u.Read),
		CacheWrite: tokenCount(u.Written),
		HourWrite:  min(tokenCount(u.Writes.Hour), tokenCount(u.Written)),
		Output:     tokenCount(u.Output),
		Thinking:   tokenCount(u.OutputOf.Thinking),
		Searches:   tokenCount(u.Tools.Searches),
	}
}

// tokenCount returns a number of tokens; 0 for nil.
func tokenCount(n *float64) int {
	if n == nil {
		return 0
	}
	return adapter.TokenCount(*n)
}
