package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// A chunk is one event of a stream or a whole response: both have the same fields, with message in
// place of delta. Fields that no known service sends are not decoded.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Groq    *groq           `json:"x_groq"`
	Error   json.RawMessage `json:"error"`
	Base    *baseResp       `json:"base_resp"`
	found
}

// found holds web search results beside the choices.
type found struct {
	Results []citation `json:"search_results"` // Perplexity
	Cites   []string   `json:"citations"`      // Perplexity, xAI: addresses only
	Web     []struct {
		Title string `json:"title"`
		Link  string `json:"link"`
	} `json:"web_search"` // GLM
}

// list returns the sources in the order of their numbers in the answer.
func (f *found) list() []citation {
	list := f.Results
	for _, w := range f.Web {
		list = append(list, citation{URL: w.Link, Title: w.Title})
	}
	if len(list) == 0 {
		for _, address := range f.Cites {
			list = append(list, citation{URL: address})
		}
	}
	return list
}

// An annotation is a citation in a message.
type annotation struct {
	URL citation `json:"url_citation"`
}

// A label holds the metadata of a chunk. It is the same in all chunks, so only the first ones are
// searched for it.
type label struct {
	ID    string `json:"id"`
	Model string `json:"model"`
}

type choice struct {
	Index   int    `json:"index"`
	Delta   delta  `json:"delta"`
	Message *delta `json:"message"`
	Finish  string `json:"finish_reason"`
	Usage   *usage `json:"usage"` // Kimi

	Error json.RawMessage `json:"error"` // OpenRouter: the upstream stream broke off

	// Why the answer was refused: the results of Azure's filter, and the upstream's finish reason
	// at OpenRouter.
	Filtered json.RawMessage `json:"content_filter_results"`
	Native   string          `json:"native_finish_reason"`
}

type delta struct {
	Content          content           `json:"content"`
	Refusal          wire.Text         `json:"refusal"`
	ReasoningContent wire.Text         `json:"reasoning_content"`
	Reasoning        wire.Text         `json:"reasoning"`
	Details          []json.RawMessage `json:"reasoning_details"`
	Blocks           []json.RawMessage `json:"thinking_blocks"`  // LiteLLM
	ReasoningText    wire.Text         `json:"reasoning_text"`   // Copilot
	ReasoningOpaque  wire.Text         `json:"reasoning_opaque"` // Copilot
	Portkey          []portkeyBlock    `json:"content_blocks"`   // Portkey; its text is also in Content
	Calls            []fragment        `json:"tool_calls"`
	Images           []drawing         `json:"images"` // OpenRouter, Vercel
	Cites            []annotation      `json:"annotations"`
}

// hasContent reports whether d contains anything but citations.
func (d *delta) hasContent() bool {
	return d.Content.text != "" || len(d.Content.list) > 0 || d.Refusal != "" || d.ReasoningContent != "" || d.Reasoning != "" ||
		len(d.Details) > 0 || len(d.Blocks) > 0 || d.ReasoningText != "" || d.ReasoningOpaque != "" || len(d.Portkey) > 0 || len(d.Calls) > 0 || len(d.Images) > 0
}

// A portkeyBlock is a block of Claude's answer, or a piece of one, as Portkey sends it.
type portkeyBlock struct {
	Thinking wire.Text `json:"thinking"`
	Delta    struct {
		Thinking wire.Text `json:"thinking"`
	} `json:"delta"`
}

// A drawing is an image made by the model.
type drawing struct {
	Image imageURL `json:"image_url"`
}

// An imageURL is an address, or an object that contains it.
type imageURL string

func (u *imageURL) UnmarshalJSON(b []byte) error {
	var object struct {
		URL string `json:"url"`
	}
	if b[0] == '{' && adapter.DecodeLenient(b, &object) == nil {
		*u = imageURL(object.URL)
		return nil
	}
	return unquote(b, (*string)(u))
}

// part returns the image, usually from a data URL; ok is false if it cannot be decoded.
func (d drawing) part() (p llm.Part, ok bool) {
	address := string(d.Image)
	head, text, _ := strings.Cut(address, ",")
	kind, inline := strings.CutPrefix(head, "data:")
	switch {
	case inline:
		kind, coded := strings.CutSuffix(kind, ";base64")
		data, err := adapter.FromBase64(text)
		return llm.Part{Kind: llm.Media, MIME: kind, Data: data}, coded && err == nil && len(data) > 0
	case strings.HasPrefix(address, "https://"), strings.HasPrefix(address, "http://"):
		return llm.Part{Kind: llm.Media, MIME: "image/*", URL: address}, true
	}
	return llm.Part{}, false
}

// A fragment is a piece of a tool call.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
	callState
}

// A callState goes back unchanged with a call: Google's signature of the call, whose two forms are
// in github.com/earendil-works/pi issue 6733. Without the signature Gemini 3 refuses the result.
//
//	{"google":{"thought_signature":"…"}}  {"vertex":{"thought_signature":"…"}}
type callState struct {
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

// state returns c for Part.State; nil if it is empty.
func (c callState) state() json.RawMessage {
	if !adapter.IsPresent(c.Extra) {
		return nil
	}
	state, err := adapter.Marshal(c)
	if err != nil {
		return nil
	}
	return state
}

// groq holds Groq's token counts and errors.
type groq struct {
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// baseResp holds MiniMax's errors in responses with status 200.
type baseResp struct {
	Status int `json:"status_code"`
}

// content is a string, or Mistral's list of text and thinking.
type content struct {
	text string
	list []piece
}

// A piece is an entry of a list of content. The value of "thinking" is itself a list of text
// pieces.
type piece struct {
	Type     string          `json:"type"`
	Text     wire.Text       `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return adapter.DecodeLenient(b, &c.list)
	}
	return unquote(b, &c.text)
}

// thinking returns the text of a thinking piece.
func (p piece) thinking() string {
	var parts []piece
	if json.Unmarshal(p.Thinking, &parts) != nil {
		var text string
		if unquote(p.Thinking, &text) != nil {
			return ""
		}
		return text
	}
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(string(part.Text))
	}
	return text.String()
}

// arguments is the JSON of a call's arguments, sent in a string or, by some templates of llama.cpp,
// as an object.
type arguments string

func (a *arguments) UnmarshalJSON(b []byte) error {
	if b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return unquote(b, (*string)(a))
}

// unquote decodes a JSON string as wire.Text does. Other values decode to "".
func unquote(b []byte, s *string) error {
	if text, err := wire.Unquote(b); err == nil {
		*s = text
	}
	return nil
}

// decodeChunk decodes a chunk into c, replacing its content.
func decodeChunk(data []byte, c *chunk) error {
	clear(c.Choices[:cap(c.Choices)]) // json keeps old values of missing fields
	*c = chunk{Choices: c.Choices[:0]}
	return adapter.DecodeLenient(data, c)
}

// chunkDeltas returns the content fields of a delta in c.
func chunkDeltas(c *chunk) []json.Unmarshaler {
	if len(c.Choices) != 1 {
		return nil
	}
	d := &c.Choices[0].Delta
	fields := []json.Unmarshaler{&d.Content, &d.ReasoningContent, &d.Reasoning}
	if len(d.Calls) == 1 {
		fields = append(fields, &d.Calls[0].Function.Arguments)
	}
	return fields
}

// usage holds the token counts of all dialects. Numbers are floats because some servers write them
// so.
type usage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`
	PromptOf   struct {
		Cached float64 `json:"cached_tokens"`
		cacheWrites
		Creation float64 `json:"cache_creation_input_tokens"` // Qwen
	} `json:"prompt_tokens_details"`
	CompletionOf struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cached float64       `json:"cached_tokens"`           // Kimi
	Hit    float64       `json:"prompt_cache_hit_tokens"` // DeepSeek; its cache misses are the rest of the prompt
	Cost   *reportedCost `json:"cost"`                    // OpenRouter, US dollars
	Ticks  *float64      `json:"cost_in_usd_ticks"`       // xAI, 1e-10 US dollars
	BYOK   bool          `json:"is_byok"`                 // then the upstream's cost is added
	Search float64       `json:"num_search_queries"`      // Perplexity
	Tools  struct {
		Searches float64 `json:"web_search_requests"`
	} `json:"server_tool_use"` // OpenRouter
	CostOf struct {
		Upstream float64 `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// cacheWrites counts the tokens written to the cache, also by lifetime. All cost the same:
// developers.openai.com/api/docs/guides/prompt-caching.
type cacheWrites struct {
	Written float64 `json:"cache_write_tokens"`
	For     struct {
		HalfAnHour  float64 `json:"ttl_30m_tokens"`
		TwelveHours float64 `json:"ttl_12h_tokens"`
	} `json:"cache_write_tokens_details"`
}

// total returns the number of tokens written, even if only the counts by lifetime are set.
func (w cacheWrites) total() float64 { return max(w.Written, w.For.HalfAnHour+w.For.TwelveHours) }

// A reportedCost is in US dollars; negative if unknown. Perplexity reports it in parts.
type reportedCost float64

// UnmarshalJSON never fails: an error would stop the decoding of later fields.
func (c *reportedCost) UnmarshalJSON(b []byte) error {
	*c = -1
	parts := struct {
		Total json.RawMessage `json:"total_cost"`
	}{}
	if b[0] == '{' && adapter.DecodeLenient(b, &parts) == nil {
		b = parts.Total
	}
	text, err := wire.Unquote(b)
	if err != nil {
		text = string(b)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		*c = reportedCost(n)
	}
	return nil
}

// toLLM converts u to parley's counts. Impossible numbers are ignored.
func (u *usage) toLLM() llm.Usage {
	n := llm.Usage{
		Input:      adapter.TokenCount(u.Prompt),
		Output:     adapter.TokenCount(u.Completion),
		CacheRead:  adapter.TokenCount(max(u.PromptOf.Cached, u.Cached, u.Hit)),
		CacheWrite: adapter.TokenCount(max(u.PromptOf.total(), u.PromptOf.Creation)),
		Thinking:   adapter.TokenCount(u.CompletionOf.Reasoning),
		Searches:   adapter.TokenCount(max(u.Search, u.Tools.Searches)),
	}
	// xAI does not count thinking as completion, as its total shows. Nor does Gemini through some
	// gateways, since it reports more thinking than completion.
	if n.Thinking > n.Output || n.Thinking > 0 && adapter.TokenCount(u.Total) == n.Input+n.Output+n.Thinking {
		n.Output += n.Thinking
	}
	if n.CacheRead > n.Input { // not counted in the prompt either
		n.Input += n.CacheRead
	}
	switch {
	case u.Cost != nil && *u.Cost >= 0:
		n.Cost, n.Priced = float64(*u.Cost), true
		if u.BYOK && u.CostOf.Upstream > 0 {
			n.Cost += u.CostOf.Upstream
		}
	case u.Ticks != nil && *u.Ticks >= 0:
		n.Cost, n.Priced = *u.Ticks/1e10, true
	}
	return n
}
