package archive

import (
	"bytes"
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
	"parley/session/store"
)

// providerNames maps other programs' provider names to parley's. Unlisted names are the same.
var providerNames = map[string]string{
	"google": "gemini", "google-vertex": "vertex", "google-vertex-anthropic": "vertex-claude", "vertexai": "vertex",
	"amazon-bedrock": "bedrock", "openai-codex": "openai", "moonshotai": "moonshot", "kimi": "moonshot", "alibaba": "qwen",
}

// foreignModel returns "provider/name" with parley's name of the provider; "" if it is not a model.
func foreignModel(provider, name string) string {
	if p, ok := providerNames[provider]; ok {
		provider = p
	}
	if provider == "" {
		return ""
	}
	return model(provider, name)
}

// answer adds a response of a model, by another program's name of its provider.
func (t *builder) answer(at time.Time, provider, name string) *store.Node {
	return t.add(at, llm.Message{Role: llm.RoleAssistant, Model: foreignModel(provider, name), Origin: stateOrigin(provider, name)})
}

// stateOrigin returns the Origin that the adapters of Anthropic's and OpenAI's own APIs give
// messages of a model; "" for other providers, for which no State is stored, because it could not
// be sent back.
func stateOrigin(provider, name string) string {
	switch {
	case provider == "anthropic":
		return claudeOrigin(name)
	case provider != "openai" || model(provider, name) == "":
		return ""
	}
	return "responses/" + name
}

// think adds thinking to the message at the head: text, State, or both. State without text is opaque, but
// for a signed block of thinking, as the adapters have it.
func (t *builder) think(text string, state json.RawMessage) {
	p := llm.Part{Kind: llm.Thinking, Text: text, State: state}
	if text == "" {
		var b block
		if decode(state, &b) != nil { // there is none
			return
		}
		if b.Type != "thinking" {
			p.Kind = llm.Opaque
		}
	}
	t.append(p)
}

// signedThinking returns a block of thinking as Anthropic's API wrote it, nil without its
// signature. If it is redacted, the signature holds all of it.
func signedThinking(said, signature string, redacted bool) json.RawMessage {
	switch {
	case signature == "":
		return nil
	case redacted:
		return encodeJSON(map[string]string{"type": "redacted_thinking", "data": signature})
	}
	return encodeJSON(map[string]string{"type": "thinking", "thinking": said, "signature": signature})
}

// encryptedReasoning returns a reasoning item as the Responses API wrote it, nil if its id or
// encrypted content are not known.
func encryptedReasoning(id string, summary []string, encrypted string) json.RawMessage {
	if id == "" || encrypted == "" {
		return nil
	}
	pieces := make([]map[string]string, 0, len(summary))
	for _, s := range summary {
		pieces = append(pieces, map[string]string{"type": "summary_text", "text": s})
	}
	return encodeJSON(map[string]any{"type": "reasoning", "id": id, "summary": pieces, "encrypted_content": encrypted})
}

// reasoningItem returns raw if it is a reasoning item that the Responses API takes back, nil if not.
func reasoningItem(raw json.RawMessage) json.RawMessage {
	var it codexItem
	if decode(raw, &it) != nil || it.Type != "reasoning" || it.ID == "" || it.Encrypted == "" || bytes.Contains(raw, []byte(":null")) ||
		!hasOnlyFields(raw, "type", "id", "summary", "content", "encrypted_content", "status") {
		return nil
	}
	return bytes.Clone(raw)
}

func encodeJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

// file returns a file from its content, or from its URL: data:, http: or https:. A file with neither is counted.
func (t *builder) file(mime, name string, data []byte, url string) []llm.Part {
	p := llm.Part{Kind: llm.Media, Name: truncateLine(name), Data: data}
	unknown := "application/octet-stream"
	if head, ok := strings.CutPrefix(url, "data:"); ok {
		head, coded, _ := strings.Cut(head, ",")
		head, _ = strings.CutSuffix(head, ";base64")
		mime, p.Data = cmp.Or(mime, head), fromBase64(coded)
	} else if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		p.URL, unknown = url, "image/*"
	}
	if p.MIME = cmp.Or(mime, unknown); len(p.Data) == 0 && p.URL == "" {
		t.skip(noFiles)
		return nil
	}
	return []llm.Part{p}
}

// fromBase64 returns the bytes that text encodes, nil if it is not base64.
func fromBase64(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

// textFile returns a text file in the form that parley attaches them.
func textFile(name, body string) llm.Part {
	name = cmp.Or(truncateLine(name), "attachment")
	return llm.Part{Kind: llm.Text, Name: path.Base(filepath.ToSlash(name)), Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", name, body)}
}

// counts holds the numbers of an object that counts tokens.
type counts map[string]float64

// A consumption holds the tokens of a response, in the way of programs that do not count
// cached tokens as input.
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

// A jsonList is a list of JSON values; a single value may lack the brackets.
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

// A block is a piece of the content of a message.
type block struct {
	raw       json.RawMessage
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   jsonList        `json:"content"`
	Failed    bool            `json:"is_error"`
	Title     string          `json:"title"`
	URL       string          `json:"url"`
	Source    struct {
		Type string `json:"type"`
		MIME string `json:"media_type"`
		Data string `json:"data"` // base64, unless Type is "text"
		URL  string `json:"url"`
	} `json:"source"`

	Image string `json:"image_url"` // Codex

	ThinkingSignature string          `json:"thinkingSignature"` // pi
	Redacted          bool            `json:"redacted"`
	Arguments         json.RawMessage `json:"arguments"`
	Data              string          `json:"data"` // base64
	MIME              string          `json:"mimeType"`

	Think string `json:"think"` // LibreChat
	Used  *struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments string `json:"args"`
		Output    string `json:"output"`
	} `json:"tool_call"`

	Thought bool `json:"thought"` // Gemini's API
	Inline  *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
		Name string `json:"displayName"`
	} `json:"inlineData"`
	File *struct {
		MIME string `json:"mimeType"`
		URI  string `json:"fileUri"`
	} `json:"fileData"`
	Call   *geminiCall `json:"functionCall"`
	Answer *struct {
		ID       string          `json:"id"`
		Response json.RawMessage `json:"response"`
		Parts    jsonList        `json:"parts"`
	} `json:"functionResponse"`
}

// blocks returns the blocks in a list. A string is a block of text.
func (t *builder) blocks(list jsonList) (all []block) {
	for _, raw := range list {
		b := block{Type: "text"}
		if len(raw) == 0 || raw[0] == '{' || json.Unmarshal(raw, &b.Text) != nil { // an error costs more than reading the object
			b = block{raw: raw}
			if !t.skipped.decode(raw, &b, unknownBlocks) {
				continue
			}
		}
		if b.raw != nil || b.Text != "" {
			all = append(all, b)
		}
	}
	return all
}

// content returns the texts and files among blocks. Others are counted.
func (t *builder) content(all ...block) (parts []llm.Part) {
	for _, b := range all {
		switch source := b.Source; {
		case b.Type == "image", b.Type == "document":
			data := fromBase64(cmp.Or(source.Data, b.Data))
			if source.Type == "text" {
				data = []byte(source.Data)
			}
			parts = append(parts, t.file(cmp.Or(source.MIME, b.MIME), b.Title, data, source.URL)...)
		case b.Image != "":
			parts = append(parts, t.file("", "", nil, b.Image)...)
		case b.Inline != nil:
			parts = append(parts, t.file(b.Inline.MIME, b.Inline.Name, fromBase64(b.Inline.Data), "")...)
		case b.File != nil:
			parts = append(parts, t.file(b.File.MIME, path.Base(b.File.URI), nil, b.File.URI)...)
		case b.Text != "":
			parts = appendText(parts, b.Text)
		case !strings.HasSuffix(b.Type, "text") && b.Call == nil:
			t.skip(unknownBlocks)
		}
	}
	return parts
}

// texts returns the texts in a list of blocks, joined by newlines, and the files.
func (t *builder) texts(list jsonList) (said string, files []llm.Part) {
	return splitText(t.content(t.blocks(list)...))
}

// appendText adds text to parts, unless it is blank.
func appendText(parts []llm.Part, said string) []llm.Part {
	if strings.TrimSpace(said) == "" {
		return parts
	}
	return append(parts, llm.Part{Kind: llm.Text, Text: said})
}

// join joins two texts by a newline, if neither is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
