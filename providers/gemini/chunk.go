package gemini

import (
	"encoding/json"
	"errors"
)

// A chunk is what comes in one event, or a whole answer. Fields that mean
// nothing here are not read.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   *feedback       `json:"promptFeedback"`
	Usage      *usage          `json:"usageMetadata"`
	Error      json.RawMessage `json:"error"`
	ID         string          `json:"responseId"`
	Model      string          `json:"modelVersion"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	Finish string `json:"finishReason"`
	Words  string `json:"finishMessage"`
	Token  string `json:"continuationToken"`
}

// feedback says why a prompt was not answered.
type feedback struct {
	Reason string `json:"blockReason"`
}

// A piece is a part of the content, or a part of a part: text and thinking come
// in pieces, everything else whole.
type piece struct {
	Text      *string         `json:"text"`
	Thought   bool            `json:"thought"`
	Signature json.RawMessage `json:"thoughtSignature"`
	Call      *fragment       `json:"functionCall"`
	Blob      *blob           `json:"inlineData"`
}

// A fragment is a call, or on Vertex a part of one.
type fragment struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Partial []partial       `json:"partialArgs"`
	More    bool            `json:"willContinue"`
}

type blob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

// lenient is json.Unmarshal, but skips fields of the wrong type: gateways
// differ in what they send, and the rest is still good.
func lenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) {
		return nil
	}
	return err
}

// present reports whether a raw field says anything.
func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}
