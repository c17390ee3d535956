package archive

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
)

// providerNames translates other programs' names of providers. Those not listed are the same here.
var providerNames = map[string]string{
	"google": "gemini", "google-vertex": "vertex", "google-vertex-anthropic": "vertex-claude", "vertexai": "vertex",
	"amazon-bedrock": "bedrock", "openai-codex": "openai", "moonshotai": "moonshot", "kimi": "moonshot", "alibaba": "qwen",
}

// foreignModel returns "provider/name" with parley's name of the provider, "" if it is no model.
func foreignModel(provider, name string) string {
	if p, ok := providerNames[provider]; ok {
		provider = p
	}
	if provider == "" {
		return ""
	}
	return model(provider, name)
}

// signedThinking returns a thinking part, with the block as Anthropic's API wrote it in State
// if origin, which claudeOrigin returned, is not "".
func signedThinking(origin, said, signature string) llm.Part {
	p := llm.Part{Kind: llm.Thinking, Text: said}
	if origin != "" && signature != "" {
		p.State = encodeJSON(map[string]string{"type": "thinking", "thinking": said, "signature": signature})
	}
	return p
}

// encryptedReasoning returns a thinking part, with the item as the Responses API wrote it in
// State if its id and encrypted content are known.
func encryptedReasoning(id string, summary []string, encrypted string) llm.Part {
	p := llm.Part{Kind: llm.Thinking, Text: strings.Join(summary, "\n\n")}
	if id == "" || encrypted == "" {
		return p
	}
	pieces := make([]map[string]string, 0, len(summary))
	for _, s := range summary {
		pieces = append(pieces, map[string]string{"type": "summary_text", "text": s})
	}
	p.State = encodeJSON(map[string]any{"type": "reasoning", "id": id, "summary": pieces, "encrypted_content": encrypted})
	if p.Text == "" {
		p.Kind = llm.Opaque
	}
	return p
}

func encodeJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// responsesOrigin returns the Origin that the adapter of the Responses API gives messages of
// OpenAI's models, "" for other providers.
func responsesOrigin(provider, name string) string {
	if provider != "openai" || model(provider, name) == "" {
		return ""
	}
	return "responses/" + name
}

// filePart returns the file that base64 holds, false if it is empty or not base64.
func filePart(mime, name, coded string) (llm.Part, bool) {
	data, err := base64.StdEncoding.DecodeString(coded)
	if mime == "" {
		mime = "application/octet-stream"
	}
	return llm.Part{Kind: llm.Media, MIME: mime, Name: truncateLine(name), Data: data}, err == nil && len(data) > 0
}

// textFile returns a text file in the form that parley attaches them.
func textFile(name, body string) llm.Part {
	name = cmp.Or(truncateLine(name), "attachment")
	return llm.Part{Kind: llm.Text, Name: path.Base(filepath.ToSlash(name)), Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", name, body)}
}

// A consumption holds the tokens of a response, as programs count them that leave what was
// read from a cache or written to one out of the input.
type consumption struct {
	input, read, written, output, thinking float64
	cost                                   float64 // US dollars; 0: not known
}

// usage returns nil if nothing is known.
func (t consumption) usage() *llm.Usage {
	u := llm.Usage{
		Input: count(t.input) + count(t.read) + count(t.written), CacheRead: count(t.read), CacheWrite: count(t.written),
		Output: count(t.output), Thinking: min(count(t.thinking), count(t.output)), Cost: t.cost, Priced: t.cost > 0,
	}.Clamped()
	if u == (llm.Usage{}) {
		return nil
	}
	return &u
}

// millis returns a time in milliseconds since 1970.
func millis(ms float64) time.Time {
	if !(ms > 0 && ms < 1e14) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// elapsed returns the time between two, 0 if either is zero or they are implausible.
func elapsed(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() || to.Before(from) || to.Sub(from) > 30*24*time.Hour {
		return 0
	}
	return to.Sub(from)
}

// A jsonList is a list of JSON values, also where one alone stands without brackets.
type jsonList []json.RawMessage

func (l *jsonList) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) == 0 || string(data) == "null":
		return nil
	case data[0] == '[':
		return decode(data, (*[]json.RawMessage)(l))
	}
	*l = jsonList{slices.Clone(data)}
	return nil
}

// jsonString returns the value of a JSON string, false if v is none.
func jsonString(v json.RawMessage) (text string, ok bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(v, &text) == nil
}

// setEnding sets why the message seq ended, and if it was stopped, by what ("": unknown).
func (t *builder) setEnding(seq int, reason llm.Reason, stopped bool, by string) {
	if n := t.node(seq); n != nil {
		n.Reason = reason
		if stopped {
			n.Interrupted, n.InterruptedBy = true, truncateLine(by)
		}
	}
}
