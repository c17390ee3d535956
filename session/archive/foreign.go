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

// providerNames translates what other programs call providers; others are called so here too.
var providerNames = map[string]string{
	"google": "gemini", "google-vertex": "vertex", "google-vertex-anthropic": "vertex-claude", "vertexai": "vertex",
	"amazon-bedrock": "bedrock", "openai-codex": "openai", "moonshotai": "moonshot", "kimi": "moonshot", "alibaba": "qwen",
}

// foreignModel returns a model's name with its provider as parley has it, "" if it is none.
func foreignModel(provider, name string) string {
	if p, ok := providerNames[provider]; ok {
		provider = p
	}
	if provider == "" {
		return ""
	}
	return model(provider, name)
}

// signedThinking returns what a model thought, with the block as Anthropic's API wrote it
// where the model is one of its own: origin is what claudeOrigin makes of it.
func signedThinking(origin, said, signature string) llm.Part {
	p := llm.Part{Kind: llm.Thinking, Text: said}
	if origin != "" && signature != "" {
		p.State = encodeJSON(map[string]string{"type": "thinking", "thinking": said, "signature": signature})
	}
	return p
}

// encryptedReasoning returns what a model thought, with the item as the Responses API wrote
// it if what is known of it is whole.
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

// responsesOrigin returns what the adapter of the Responses API stamps on the messages of
// one of OpenAI's models.
func responsesOrigin(provider, name string) string {
	if provider != "openai" || model(provider, name) == "" {
		return ""
	}
	return "responses/" + name
}

// filePart returns a file that comes as base64, false if there is none.
func filePart(mime, name, coded string) (llm.Part, bool) {
	data, err := base64.StdEncoding.DecodeString(coded)
	if mime == "" {
		mime = "application/octet-stream"
	}
	return llm.Part{Kind: llm.Media, MIME: mime, Name: line(name), Data: data}, err == nil && len(data) > 0
}

// textFile returns a file of text as one that is attached here.
func textFile(name, body string) llm.Part {
	name = cmp.Or(line(name), "attachment")
	return llm.Part{Kind: llm.Text, Name: path.Base(filepath.ToSlash(name)), Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", name, body)}
}

// A consumption holds what an answer used, in the figures of programs that count the prompt
// without what was read from a cache or written to one.
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

// span returns how long something took, 0 if that is not known.
func span(from, to time.Time) time.Duration {
	if from.IsZero() || to.IsZero() || to.Before(from) || to.Sub(from) > 30*24*time.Hour {
		return 0
	}
	return to.Sub(from)
}

// A list holds values of JSON. One alone, or text, comes without the brackets.
type list []json.RawMessage

func (l *list) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) == 0 || string(data) == "null":
		return nil
	case data[0] == '[':
		return decode(data, (*[]json.RawMessage)(l))
	}
	*l = list{slices.Clone(data)}
	return nil
}

// said returns the text that v is, if it is.
func said(v json.RawMessage) (text string, ok bool) {
	if len(v) == 0 || v[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(v, &text) == nil
}

// ended notes on the message seq how it came to its end: by what stopped it, or for a reason.
func (t *builder) ended(seq int, reason llm.Reason, cut bool, by string) {
	if n := t.node(seq); n != nil {
		n.Reason = reason
		if cut {
			n.Interrupted, n.InterruptedBy = true, line(by)
		}
	}
}
