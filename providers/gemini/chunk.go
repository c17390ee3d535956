package gemini

import (
	"encoding/json"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// A chunk is one event or a whole answer. Unused fields are not decoded.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   *feedback       `json:"promptFeedback"`
	Usage      *usage          `json:"usageMetadata"`
	Error      json.RawMessage `json:"error"`
}

// A label holds the metadata of a chunk. It is the same in all chunks, so only the first ones are
// searched for it.
type label struct {
	ID    string `json:"responseId"`
	Model string `json:"modelVersion"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []piece `json:"parts"`
	} `json:"content"`
	Finish string `json:"finishReason"`
	Words  string `json:"finishMessage"`
	Token  string `json:"continuationToken"`

	Grounding *grounding `json:"groundingMetadata"`
}

// grounding holds Google's search queries and results.
type grounding struct {
	Queries []string `json:"webSearchQueries"`
	Chunks  []struct {
		Web struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
}

// A remoteCall is the use of a Google tool.
type remoteCall struct {
	Type string          `json:"toolType"` // such as GOOGLE_SEARCH_WEB
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args"`
}

// feedback reports why a prompt was not answered.
type feedback struct {
	Reason string `json:"blockReason"`
}

// A piece is a part of the content or a piece of a part: text and thinking come in pieces,
// everything else whole.
type piece struct {
	Text      wire.Text       `json:"text"`
	Thought   bool            `json:"thought"`
	Signature json.RawMessage `json:"thoughtSignature"`
	Call      *fragment       `json:"functionCall"`
	Blob      *blob           `json:"inlineData"`
}

// state returns the data that goes back to the service with a part; nil for none.
func (p *piece) state() json.RawMessage {
	if !adapter.IsPresent(p.Signature) {
		return nil
	}
	return p.Signature
}

func (p *piece) kind() llm.Kind {
	if p.Thought {
		return llm.Thinking
	}
	return llm.Text
}

// A fragment is a call or, on Vertex, a piece of one.
type fragment struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Partial []partial       `json:"partialArgs"`
	More    bool            `json:"willContinue"`
}

type blob struct {
	MIME string    `json:"mimeType"`
	Data wire.Text `json:"data"` // base64
}

// decode decodes a chunk, reusing the memory of c. Its token counts update u.
func (c *chunk) decode(data []byte, u *usage) error {
	clear(c.Candidates[:cap(c.Candidates)]) // json keeps old values of missing fields
	*c = chunk{Candidates: c.Candidates[:0], Usage: u}
	return adapter.DecodeLenient(data, c)
}

// rawParts returns the JSON of the parts of each candidate. The chunk must be valid.
func rawParts(data []byte) [][]json.RawMessage {
	var c struct {
		Candidates []struct {
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	adapter.DecodeLenient(data, &c)
	list := make([][]json.RawMessage, len(c.Candidates))
	for i := range c.Candidates {
		list[i] = c.Candidates[i].Content.Parts
	}
	return list
}

// hasObject reports whether a part contains an object.
func hasObject(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	for _, value := range fields {
		if value[0] == '{' {
			return true
		}
	}
	return false
}
