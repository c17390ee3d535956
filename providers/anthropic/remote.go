package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// sendSources sends the cited sources, each once.
func (a *answer) sendSources(raw json.RawMessage) {
	var c struct {
		URL      string `json:"url"`
		Title    string `json:"title"`
		Document string `json:"document_title"`
		Text     string `json:"cited_text"`
	}
	if len(raw) == 0 || adapter.DecodeLenient(raw, &c) != nil {
		return
	}
	if c.Title == "" {
		c.Title = c.Document
	}
	key := cmp.Or(c.URL, c.Title)
	if key == "" || a.cited.Has(key) {
		return
	}
	a.cited.Add(key)
	a.out.Send(llm.Delta{Block: a.blocks.New("b"), Part: llm.Part{Kind: llm.Source, URL: c.URL, Name: c.Title, Text: c.Text}})
}

// readableFields lists the fields of a tool result that a user can read, in display order; the last
// two are searched recursively.
var readableFields = []string{"title", "url", "text", "stdout", "stderr", "error_code", "error_message", "data", "content", "source"}

// resultText returns the text of a server tool's result, one line per field, and whether it reports
// an error. The structure of results differs from tool to tool.
func resultText(raw json.RawMessage) (text string, failed bool) {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	var lines []string
	collectText(v, &lines, &failed)
	return strings.Join(lines, "\n"), failed
}

func collectText(v any, lines *[]string, failed *bool) {
	switch v := v.(type) {
	case string:
		if v != "" {
			*lines = append(*lines, v)
		}
	case []any:
		for i, item := range v {
			if found, _ := item.(map[string]any); found["type"] == "web_search_result" {
				*lines = append(*lines, fmt.Sprintf("[%d] %v %v", i+1, found["title"], found["url"]))
				continue
			}
			collectText(item, lines, failed)
		}
	case map[string]any:
		if code, ok := v["error_code"].(string); ok && code != "" {
			*failed = true
		}
		for _, field := range readableFields {
			if field == "data" && v["type"] != "text" { // base64
				continue
			}
			if inner, ok := v[field]; ok {
				collectText(inner, lines, failed)
			}
		}
	}
}
