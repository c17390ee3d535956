package anthropic

import (
	"cmp"
	"encoding/json"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An event is what comes in one event of a stream. Fields that nobody needs are
// not read.
type event struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Message *envelope       `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   *usage          `json:"usage"`
}

// decodeEvent reads an event into e, whatever e held, but keeps the memory of what mostly
// comes.
func decodeEvent(data []byte, e *event) error {
	d := delta{Text: e.Delta.Text[:0], Thinking: e.Delta.Thinking[:0], Input: e.Delta.Input[:0]}
	*e = event{Delta: d}
	return adapter.DecodeLenient(data, e)
}

// eventDeltas returns the fields of e in which an answer arrives. An event that its name tells
// apart has none.
func eventDeltas(e *event) []json.Unmarshaler {
	if e.Type == "" {
		return nil
	}
	return []json.Unmarshaler{&e.Delta.Text, &e.Delta.Thinking, &e.Delta.Input}
}

// An envelope is a whole answer, or what opens a streamed one.
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

// A blockHead is what the beginning of a block says, of whatever type it is.
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
	Caller    json.RawMessage   `json:"caller"` // of tool_use
	Citations []json.RawMessage `json:"citations"`
	Failed    bool              `json:"is_error"`
}

// usage counts tokens. What is missing keeps its earlier value.
type usage struct {
	Input   *float64 `json:"input_tokens"` // without what the cache read or wrote
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

// add takes over what v says. No prompt is empty: services that say so at the
// end have said the truth at the beginning.
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

// toLLM returns u as parley counts.
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

// tokenCount returns a number of tokens; 0 if there is none.
func tokenCount(n *float64) int {
	if n == nil {
		return 0
	}
	return adapter.TokenCount(*n)
}
