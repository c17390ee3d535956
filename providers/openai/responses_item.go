package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An item is an entry of an answer: a message, reasoning, a call, or the use of a tool run by the
// provider. Only the fields that parley shows are decoded; Part.State keeps the whole item.
type item struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments arguments       `json:"arguments"`
	Phase     string          `json:"phase"`
	Content   []entry         `json:"content"`
	Summary   []entry         `json:"summary"`
	Encrypted json.RawMessage `json:"encrypted_content"`

	Action  json.RawMessage `json:"action"`       // web_search_call, local_shell_call
	Input   wire.Text       `json:"input"`        // custom_tool_call
	Patch   json.RawMessage `json:"operation"`    // apply_patch_call
	Server  string          `json:"server_label"` // mcp_approval_request
	Queries json.RawMessage `json:"queries"`      // file_search_call
	Code    wire.Text       `json:"code"`         // code_interpreter_call
	Outputs []struct {
		Logs wire.Text `json:"logs"`
	} `json:"outputs"`
	Output json.RawMessage `json:"output"`        // mcp_call
	Image  string          `json:"result"`        // image_generation_call, base64
	Format string          `json:"output_format"` // of Image
}

// An entry is a piece of a message or of reasoning.
type entry struct {
	Text    wire.Text  `json:"text"`
	Refusal wire.Text  `json:"refusal"`
	Cites   []citation `json:"annotations"`
}

// A webAction is the action of a web search: a query, or opening a result.
type webAction struct {
	Type    string   `json:"type"` // "search", "open_page" or "find_in_page"
	Query   string   `json:"query,omitempty"`
	Queries []string `json:"queries,omitempty"`
	URL     string   `json:"url,omitempty"`
	Pattern string   `json:"pattern,omitempty"` // search text in a page
	Sources []struct {
		URL string `json:"url"`
	} `json:"sources,omitempty"` // pages read by a search
}

// webAction returns the action of a web search; nil for other items.
func (it *item) webAction() *webAction {
	var a webAction
	if it.Type != typeWebSearch || !adapter.IsPresent(it.Action) || adapter.DecodeLenient(it.Action, &a) != nil {
		return nil
	}
	return &a
}

// input returns the request of the action, without its results.
func (a webAction) input() string {
	if a.Sources = nil; len(a.Queries) == 1 && a.Queries[0] == a.Query {
		a.Queries = nil
	}
	data, err := adapter.Marshal(a)
	if err != nil {
		return ""
	}
	return string(data)
}

// A citation is a page that an answer cites.
type citation struct {
	URL     string `json:"url"`
	Title   string `json:"title"`
	Content string `json:"content"` // excerpt of the page (OpenRouter)
}

// typeWebSearch is the type of web search items.
const typeWebSearch = "web_search_call"

// paragraphBreak separates the parts of a summary.
const paragraphBreak = "\n\n"

// text returns the joined text of a message.
func (it *item) text() string { return joinEntries(it.Content, "") }

// thinking returns the summary or, from open models, the reasoning itself.
func (it *item) thinking() string {
	if len(it.Summary) > 0 {
		return joinEntries(it.Summary, paragraphBreak)
	}
	return joinEntries(it.Content, paragraphBreak)
}

func joinEntries(list []entry, between string) string {
	texts := make([]string, 0, len(list))
	for _, e := range list {
		if said := string(e.Text + e.Refusal); said != "" {
			texts = append(texts, said)
		}
	}
	return strings.Join(texts, between)
}

// matches reports whether an item still agrees with its part p and can go back.
func (it *item) matches(p llm.Part) bool {
	switch it.Type {
	case "reasoning":
		// Without either, the server would look for an item it did not store.
		return adapter.IsPresent(it.Encrypted) || len(it.Content) > 0
	case "message":
		return llm.Clean(it.text()) == p.Text // filters may have found calls or thinking in the text
	case "function_call":
		_, ok := llm.Arguments(string(it.Arguments)) // servers also check names, even those written by their models
		ok = ok && !strings.HasPrefix(strings.TrimSpace(string(it.Arguments)), `"`)
		return ok && it.CallID == p.ID && adapter.WireName(it.Name) == it.Name
	}
	return true
}

// isRemote reports whether an item is the use of a tool that parley does not run: the provider runs
// it, or nobody does.
func (it *item) isRemote() bool {
	return cmp.Or(it.ID, it.CallID) != "" && strings.HasSuffix(it.Type, "_call") && it.Type != "function_call" || it.request() != ""
}

// request names the client action that an item requests but parley cannot perform; "" for none.
// Without an answer, the item may not go back.
func (it *item) request() string {
	switch it.Type {
	case "custom_tool_call":
		return "the custom tool " + it.Name
	case "mcp_approval_request":
		return "approval of the tool " + it.Name + " of the MCP server " + it.Server
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return "the tool " + strings.TrimSuffix(it.Type, "_call")
	}
	return ""
}

// answers reports whether an item is the answer to another's request: the output of a tool that the
// provider ran after all.
func (it *item) answers(asked *item) bool {
	return it.CallID != "" && it.CallID == asked.CallID && strings.HasSuffix(it.Type, "_output")
}

// remoteCall returns the use of a remote tool as a part, with the tool's name and input.
func (it *item) remoteCall() llm.Part {
	p := llm.Part{Kind: llm.Call, ID: cmp.Or(it.ID, it.CallID), Name: strings.TrimSuffix(it.Type, "_call"), Remote: true}
	if it.Name != "" {
		p.Name = it.Name
	}
	switch {
	case it.Arguments != "":
		p.Input = string(it.Arguments)
	case it.webAction() != nil:
		p.Input = it.webAction().input()
	case adapter.IsPresent(it.Action):
		p.Input = string(it.Action)
	case adapter.IsPresent(it.Patch):
		p.Input = string(it.Patch)
	case adapter.IsPresent(it.Queries):
		p.Input = `{"queries":` + string(it.Queries) + `}`
	case it.Code != "":
		p.Input = inputText("code", it.Code)
	case it.Input != "":
		p.Input = inputText("input", it.Input)
	}
	return p
}

// inputText returns a JSON object with text in the field name.
func inputText(name string, text wire.Text) string {
	object, err := adapter.Marshal(map[string]string{name: llm.Clean(string(text))})
	if err != nil {
		return ""
	}
	return string(object)
}

// remoteResults returns the result of a remote tool, if the item contains it.
func (it *item) remoteResults() string {
	var b strings.Builder
	for _, o := range it.Outputs {
		b.WriteString(string(o.Logs))
	}
	if a := it.webAction(); a != nil {
		for i, s := range a.Sources {
			fmt.Fprintf(&b, "[%d] %s\n", i+1, s.URL)
		}
	}
	var output string
	if unquote(bytes.TrimSpace(it.Output), &output) == nil {
		b.WriteString(output)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isSearch reports whether an item is a web search that the provider charges for: opening a result
// is free.
func (it *item) isSearch() bool {
	a := it.webAction()
	return it.Type == typeWebSearch && (a == nil || a.Type == "search")
}

// image returns the image in an item; nil if there is none.
func (it *item) image() []byte {
	data, err := adapter.FromBase64(it.Image)
	if it.Type != "image_generation_call" || err != nil || len(data) == 0 {
		return nil
	}
	return data
}
