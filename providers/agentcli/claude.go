package agentcli

import (
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// claudeArgs returns the arguments of Claude Code for one plain answer: no tools, no MCP servers, no
// settings, hooks or memory of the user or of the directory, and parley's system prompt instead of
// its own. External values follow "=": as separate arguments, those that begin with a dash would be
// flags.
func claudeArgs(r *run) []string {
	args := []string{
		"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages",
		"--tools=", "--strict-mcp-config", "--setting-sources=", "--disable-slash-commands",
	}
	args = appendFlags(args, "--model=", r.model)
	if r.file != "" {
		args = append(args, "--system-prompt-file="+r.file)
	} else {
		args = append(args, "--system-prompt="+r.system)
	}
	switch r.effort {
	case "":
	case llm.EffortOff:
		args = append(args, "--thinking=disabled")
	case llm.EffortMinimal:
		args = append(args, "--effort=low")
	default:
		args = append(args, "--effort="+string(r.effort))
	}
	if r.settings.Budget > 0 {
		args = append(args, "--max-thinking-tokens="+strconv.Itoa(r.settings.Budget))
	}
	args = appendFlags(args, "--json-schema=", string(r.schema))
	if len(r.prompt.blocks) > 0 {
		args = append(args, "--input-format=stream-json")
	}
	if r.resume.Session != "" {
		args = append(args, "--resume="+r.resume.Session, "--fork-session")
	}
	return args
}

func claudeEnv(r *run) []string {
	if r.settings.MaxTokens == 0 {
		return nil
	}
	return []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=" + strconv.Itoa(r.settings.MaxTokens)}
}

// A claudeLine is a line of Claude Code's stream-json.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_tool_use_id"` // of a sub-agent's lines
	Model   string `json:"model"`
	Content string `json:"content"` // system: message for the user

	Event     claudeEvent     `json:"event"`            // stream_event
	Abandoned json.RawMessage `json:"abandoned_blocks"` // stream_event message_stop, if the stream was interrupted
	Message   claudeMessage   `json:"message"`          // assistant, user
	Error     claudeError     `json:"error"`            // assistant, api_retry; of Qwen Code, result

	// api_retry, and retry of Qwen Code
	Attempt  int     `json:"attempt"`
	Attempts int     `json:"max_retries"`
	Delay    float64 `json:"retry_delay_ms"`
	Status   int     `json:"error_status"`
	Data     struct {
		Keeps bool `json:"preserveText"`
	} `json:"data"` // Qwen Code

	Limit struct { // rate_limit_event
		Status string  `json:"status"`
		Resets float64 `json:"resetsAt"` // seconds since 1970
		Type   string  `json:"rateLimitType"`
	} `json:"rate_limit_info"`

	Failed     bool                   `json:"is_error"` // result
	Result     wire.Text              `json:"result"`
	Errors     []string               `json:"errors"`
	Stop       string                 `json:"stop_reason"`
	Turns      int                    `json:"num_turns"`
	Cost       *float64               `json:"total_cost_usd"`
	Usage      claudeUsage            `json:"usage"`
	Models     map[string]claudeModel `json:"modelUsage"`
	APIStatus  int                    `json:"api_error_status"`
	Structured json.RawMessage        `json:"structured_output"`
}

// A claudeMessage is a message of the Anthropic Messages API.
type claudeMessage struct {
	ID      string        `json:"id"`
	Model   string        `json:"model"`
	Stop    string        `json:"stop_reason"`
	Content claudeContent `json:"content"`
}

// A claudeError is an error code, or an object with an error message.
type claudeError struct{ code, words string }

func (e *claudeError) UnmarshalJSON(data []byte) error {
	var words wire.Text
	var object struct {
		Message wire.Text `json:"message"`
	}
	decodeLenient(data, &words)
	decodeLenient(data, &object)
	e.code, e.words = string(words), string(object.Message)
	return nil
}

// A claudeEvent is a streaming event of the Messages API.
type claudeEvent struct {
	Type    string        `json:"type"`
	Index   int           `json:"index"`
	Message claudeMessage `json:"message"`
	Block   claudeBlock   `json:"content_block"`
	Delta   struct {
		Type     string    `json:"type"`
		Text     wire.Text `json:"text"`
		Thinking wire.Text `json:"thinking"`
		JSON     wire.Text `json:"partial_json"`
		Stop     string    `json:"stop_reason"`
	} `json:"delta"`
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     wire.Text       `json:"text"`
	Thinking wire.Text       `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Call     string          `json:"tool_use_id"` // of a tool_result
	Content  json.RawMessage `json:"content"`     // like the content of a message
	Failed   bool            `json:"is_error"`
}

// claudeContent is a list of blocks; a string decodes as one text block.
type claudeContent []claudeBlock

func (c *claudeContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		b := claudeBlock{Type: "text"}
		decodeLenient(data, &b.Text)
		*c = claudeContent{b}
		return nil
	}
	var blocks []claudeBlock
	decodeLenient(data, &blocks)
	*c = blocks
	return nil
}

// text returns the content as the text of a tool's output.
func (c claudeContent) text() string {
	var texts []string
	for _, b := range c {
		switch b.Type {
		case "text":
			texts = append(texts, string(b.Text))
		case "image":
			texts = append(texts, "[image]")
		}
	}
	return strings.Join(texts, "\n")
}

type claudeUsage struct {
	Input  tokenCount `json:"input_tokens"`
	Write  tokenCount `json:"cache_creation_input_tokens"`
	Read   tokenCount `json:"cache_read_input_tokens"`
	Output tokenCount `json:"output_tokens"`
	Total  tokenCount `json:"total_tokens"` // Qwen Code; then the input includes tokens read from the cache

	Details struct {
		Thinking tokenCount `json:"thinking_tokens"`
	} `json:"output_tokens_details"` // from 2.1.332 on
}

// input returns the number of input tokens, including cached ones.
func (u claudeUsage) input() tokenCount {
	if u.Total > 0 && u.Total == u.Input+u.Output {
		return u.Input
	}
	return u.Input + u.Read + u.Write
}

type claudeModel struct {
	Input  tokenCount `json:"inputTokens"`
	Output tokenCount `json:"outputTokens"`
	Read   tokenCount `json:"cacheReadInputTokens"`
	Write  tokenCount `json:"cacheCreationInputTokens"`
}

// decodeLenient decodes data as far as possible: it skips a field of an unexpected type, not the
// whole line.
func decodeLenient(data []byte, v any) {
	_ = json.Unmarshal(data, v)
}
