package agentcli

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/lazy"
)

// codexFeatures lists the features of Codex to switch off. Two of its tools cannot be switched off:
// apply_patch, which cannot write in its sandbox, and exec of newer models, which runs JavaScript
// without files, network and programs.
var codexFeatures = []string{
	"shell_tool", "unified_exec", "view_image", "goals", "apps", "plugins", "image_generation", "skill_search", "multi_agent",
	"tool_suggest", "browser_use", "computer_use", "hooks", "sleep_tool",
}

// codexArgs returns the arguments of codex exec 0.169 and 0.171 for one plain answer: no configuration, rules,
// skills or memory of the user or of the directory, no shell, nothing stored, and read-only tools.
// The prompt comes on stdin.
func codexArgs(r *run) []string {
	args := []string{
		"exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check",
		"--sandbox=read-only", `--config=web_search="disabled"`, "--config=skills.bundled.enabled=false",
		"--config=project_doc_max_bytes=0", "--config=agents.enabled=false", // the feature multi_agent does not count for newer models
	}
	for _, name := range codexFeatures {
		args = append(args, "--config=features."+name+"=false")
	}
	args = appendFlags(args, "--model=", r.model)
	if r.file != "" {
		args = append(args, "--config=model_instructions_file="+strconv.Quote(r.file))
	}
	if r.effort != "" {
		args = append(args, "--config=model_reasoning_effort="+strconv.Quote(effortName(r.effort, "xhigh")))
	}
	for _, path := range r.attached {
		args = append(args, "--image="+path)
	}
	return append(args, "-")
}

// A codexLine is a line of codex exec --json.
type codexLine struct {
	Type    string          `json:"type"`
	Thread  string          `json:"thread_id"` // thread.started
	Item    json.RawMessage `json:"item"`      // item.started, item.updated, item.completed
	Message wire.Text       `json:"message"`   // error
	Error   struct {
		Message wire.Text `json:"message"`
	} `json:"error"` // turn.failed
	Usage struct {
		Input    tokenCount `json:"input_tokens"` // includes cached tokens
		Read     tokenCount `json:"cached_input_tokens"`
		Write    tokenCount `json:"cache_write_input_tokens"`
		Output   tokenCount `json:"output_tokens"` // includes reasoning
		Thinking tokenCount `json:"reasoning_output_tokens"`
	} `json:"usage"` // turn.completed
}

// A codexItem is a piece of an answer.
type codexItem struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Text    wire.Text `json:"text"`    // agent_message, reasoning
	Message wire.Text `json:"message"` // error

	Output wire.Text       `json:"aggregated_output"` // command_execution
	Exit   *int            `json:"exit_code"`
	Result json.RawMessage `json:"result"` // mcp_tool_call
	Status string          `json:"status"`
	Error  struct {
		Message wire.Text `json:"message"`
	} `json:"error"`
}

// codexTools holds the types of items that are tool calls.
var codexTools = set("command_execution", "file_change", "mcp_tool_call", "web_search", "todo_list")

// codexOutputs lists the fields of a tool call item that are not arguments.
var codexOutputs = []string{"id", "type", "aggregated_output", "exit_code", "result", "status", "error"}

// codex decodes the output of codex exec. Text comes in one piece, reasoning as a summary.
type codex struct {
	*answer
	thread    string
	shownText map[string]string // text sent of each item, by id
}

func newCodex(a *answer) decoder {
	return &codex{answer: a, shownText: map[string]string{}}
}

func (c *codex) line(data []byte) {
	var l codexLine
	decodeLenient(data, &l)
	if l.Type != "turn.failed" {
		c.noticePending()
	}
	switch l.Type {
	case "thread.started":
		if validSessionID.MatchString(l.Thread) {
			c.thread = l.Thread
		}
	case "item.started", "item.updated", "item.completed":
		var item codexItem
		decodeLenient(l.Item, &item)
		c.item(&item, l.Item, l.Type == "item.completed")
	case "error":
		c.onError(string(l.Message))
	case "turn.failed":
		c.done = true
		words := cmp.Or(string(l.Error.Message), c.lastError, "it did not say why it failed")
		if why, ok := strings.CutPrefix(words, "Incomplete response returned, reason: "); ok {
			c.finish = llm.Finish{Reason: llm.Length, Raw: why, ID: c.thread}
			if why != "max_output_tokens" {
				c.finish.Reason = llm.Refused
			}
			return
		}
		c.fault = c.toError("", 0, words)
	case "turn.completed":
		c.done = true
		if u := l.Usage; u.Input+u.Output > 0 {
			c.out.Send(llm.Usage{Input: int(u.Input), CacheRead: int(u.Read), CacheWrite: int(u.Write), Output: int(u.Output), Thinking: int(u.Thinking)})
		}
		c.finish = llm.Finish{Reason: llm.Stop, Raw: l.Type, ID: c.thread}
	}
}

// codexReconnectRE matches the message of a retry.
var codexReconnectRE = lazy.NewRegexp(`^Reconnecting(?:\.\.\.|…) ?(\d+)/(\d+) ?\(?(.*?)\)?$`)

// onError handles an error that does not end the turn.
func (c *codex) onError(words string) {
	c.lastError = words
	if m := codexReconnectRE.FindStringSubmatch(words); m != nil {
		attempt, _ := strconv.Atoi(m[1])
		most, _ := strconv.Atoi(m[2])
		c.settle() // texts come complete
		c.lost = 0 // it falls back to another transport: only turn.failed and the end are final
		c.restart(llm.Retry{Attempt: attempt, Max: most}, c.toError("", 0, m[3]))
		return
	}
	if !isWebsocketError(words) {
		c.pendingError = words
	}
}

// isWebsocketError reports whether an error is about the websocket that Codex tries before HTTPS.
func isWebsocketError(words string) bool {
	return strings.Contains(words, "ws://") || strings.Contains(words, "wss://")
}

func (c *codex) item(item *codexItem, raw json.RawMessage, completed bool) {
	id := strings.TrimPrefix(c.thread+"-"+item.ID, "-") // ids such as item_0 repeat in each run
	switch {
	case item.Type == "agent_message":
		c.sendNewText(id, llm.Text, string(item.Text), completed)
	case item.Type == "reasoning":
		c.sendNewText(id, llm.Thinking, string(item.Text), completed)
	case item.Type == "error":
		words := string(item.Message)
		if !strings.Contains(words, "unrecognized configuration setting") && !isWebsocketError(words) { // an older version lacks a feature to switch off
			c.noticeOnce(words)
		}
	case codexTools[item.Type] && item.ID != "":
		c.tool(id, item, raw, completed)
	}
}

// sendNewText sends the part of an item's text that was not sent yet. Codex 0.169 sends texts once,
// completed, and updates only lists of tasks (event_processor_with_jsonl_output.rs). If a completed
// text differs from the text sent so far, it is sent again as a whole in a new block.
func (c *codex) sendNewText(id string, kind llm.Kind, text string, completed bool) {
	more, grown := strings.CutPrefix(text, c.shownText[id])
	block := id
	if !grown && completed && !strings.HasPrefix(c.shownText[id], text) {
		more, block = text, "all of "+id
	} else if !grown || more == "" {
		return
	}
	begun := block == id && c.shownText[id] != ""
	c.out.Hold(len(more))
	c.shownText[id] = text
	c.delta(block, llm.Part{Kind: kind, Text: more, Begins: kind == llm.Text && !begun})
}

func (c *codex) tool(id string, item *codexItem, raw json.RawMessage, completed bool) {
	if _, called := c.calls[id]; !called {
		var input map[string]json.RawMessage
		decodeLenient(raw, &input)
		for _, name := range codexOutputs {
			delete(input, name)
		}
		text, err := json.Marshal(input)
		if err != nil {
			text = []byte("{}")
		}
		c.call(id, item.Type, string(text))
	}
	if !completed {
		return
	}
	failed := item.Status == "failed" || item.Status == "declined" || item.Exit != nil && *item.Exit != 0
	text := cmp.Or(string(item.Output), string(item.Error.Message))
	if text == "" && len(item.Result) > 0 && string(item.Result) != "null" {
		text = string(item.Result)
	}
	c.result(id, text, failed)
}
