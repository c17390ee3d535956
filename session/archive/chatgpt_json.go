package archive

import (
	"encoding/json"
	"strings"
)

type gptConversation struct {
	ID             string             `json:"id"`
	ConversationID string             `json:"conversation_id"`
	Title          string             `json:"title"`
	Created        jsonTime           `json:"create_time"`
	Updated        jsonTime           `json:"update_time"`
	Current        string             `json:"current_node"`
	Model          string             `json:"default_model_slug"`
	Mapping        map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Message  *gptMessage `json:"message"`
	Parent   string      `json:"parent"`
	Children []string    `json:"children"`
}

type gptMessage struct {
	Author struct {
		Role string `json:"role"`
		Name string `json:"name"`
	} `json:"author"`
	Time      jsonTime   `json:"create_time"`
	Content   gptContent `json:"content"`
	Status    string     `json:"status"`
	Recipient string     `json:"recipient"`
	Metadata  struct {
		Model  string `json:"model_slug"`
		Hidden bool   `json:"is_visually_hidden_from_conversation"`
		Finish struct {
			Type string `json:"type"`
		} `json:"finish_details"`
		References []struct {
			Match string `json:"matched_text"`
			Alt   string `json:"alt"`
		} `json:"content_references"`
		Attachments []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"attachments"`
	} `json:"metadata"`
}

type gptContent struct {
	Type     string            `json:"content_type"`
	Parts    []json.RawMessage `json:"parts"`
	Text     string            `json:"text"`
	Result   string            `json:"result"`  // tether_browsing_display
	Summary  string            `json:"summary"` // the same
	Name     string            `json:"name"`    // system_error
	URL      string            `json:"url"`     // tether_quote
	Title    string            `json:"title"`   // the same
	Thoughts []struct {
		Summary string `json:"summary"`
		Content string `json:"content"`
	} `json:"thoughts"`
}

// ChatGPT marks references in its text with runes of the private use area:
// begin, kind, separator, arguments, end.
const (
	refBegin = "\ue200"
	refNext  = "\ue202"
	refEnd   = "\ue201"
)

// resolveReferences returns said with its references replaced by their text, or without them.
func (m *gptMessage) resolveReferences(said string) string {
	if !strings.Contains(said, refBegin) {
		return said
	}
	words := map[string]string{}
	for _, r := range m.Metadata.References {
		words[r.Match] = r.Alt
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(said, refBegin)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inside, after, ok := strings.Cut(rest, refEnd)
		if !ok {
			b.WriteString(rest)
			return b.String()
		}
		alt := words[refBegin+inside+refEnd]
		if kind, arguments, _ := strings.Cut(inside, refNext); alt == "" && kind == "entity" {
			var names []string
			if json.Unmarshal([]byte(arguments), &names) == nil && len(names) > 1 {
				alt = names[1]
			}
		}
		b.WriteString(alt)
		said = after
	}
}
