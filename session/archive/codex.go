package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A codexImporter reads rollouts of Codex, ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl.
//
// A line has a time, a type and a payload. The conversation is in the lines of
// type response_item, as items of the Responses API in sequence. The event_msg
// lines mostly repeat it for the screen. Until September 2025 items were lines
// of their own, after a line that names the session.
type codexImporter struct {
	skipped   *skippedCounts
	items     *builder // from items
	events    *builder // from events, for files that have nothing else
	model     string
	provider  string // of model
	answering bool   // the message at the head is a response that more items belong to
	counted   string // total of the last token_count; "" if there was none
}

// codexLines holds the types of lines that have a payload.
var codexLines = []string{"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record"}

// codexItems holds the types of items that may stand in a line bare.
var codexItems = []string{
	"message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
	"custom_tool_call_output", "web_search_call",
}

func newCodex(n *skippedCounts) *codexImporter {
	return &codexImporter{
		skipped: n, provider: "openai",
		items:  newBuilder("codex", n),
		events: newBuilder("codex", newSkipped()),
	}
}

func (d *codexImporter) line(data []byte) error {
	var l codexLine
	if !d.skipped.decode(data, &l, badLines) {
		return nil
	}
	switch {
	case l.Record != "":
	case l.Type == "session_meta":
		d.meta(l.Payload)
	case l.Type == "" && len(l.Payload) == 0:
		d.meta(data)
	case l.Type == "turn_context":
		d.context(l.Payload)
	case l.Type == "event_msg":
		d.event(&l)
	case l.Type == "response_item":
		d.item(&l, l.Payload)
	case l.Type == "compacted":
		d.compacted(&l)
	case l.Type == "world_state", l.Type == "token_usage_record": // surroundings of the model; numbers of token_count
	case len(l.Payload) == 0:
		d.item(&l, data)
	default:
		d.skipped.add(unknownLines, 1)
	}
	return nil
}

func (d *codexImporter) end() []Conversation {
	t := d.items
	if t.last() == 0 {
		t.nodes, t.head = d.events.nodes, d.events.head
	}
	t.session.Model = d.model
	return t.end()
}

// meta reads facts about the session of a rollout. One that was forked has a copy
// of the line of the first after its own.
func (d *codexImporter) meta(payload json.RawMessage) {
	var m struct {
		ID       string   `json:"id"`
		Time     jsonTime `json:"timestamp"`
		Dir      string   `json:"cwd"`
		Provider string   `json:"model_provider"`
	}
	s := &d.items.session
	if s.ID != "" || decode(payload, &m) != nil {
		return
	}
	s.ID, s.Created, s.Dir = m.ID, m.Time.Time, directory(m.Dir)
	d.provider = cmp.Or(m.Provider, d.provider)
}

func (d *codexImporter) context(payload json.RawMessage) {
	var c struct {
		Model  string `json:"model"`
		Dir    string `json:"cwd"`
		Effort string `json:"effort"`
	}
	if decode(payload, &c) != nil {
		return
	}
	d.model = cmp.Or(model(d.provider, c.Model), d.model)
	s := &d.items.session
	s.Effort = efforts[c.Effort]
	s.Dir = cmp.Or(s.Dir, directory(c.Dir))
}

func (d *codexImporter) event(l *codexLine) {
	var e codexEvent
	if !d.skipped.decode(l.Payload, &e, badLines) {
		return
	}
	if e.Message == "" && (e.Type == "user_message" || e.Type == "agent_message") {
		return
	}
	switch e.Type {
	case "user_message":
		d.events.add(l.Time.Time, llm.UserText(e.Message))
	case "agent_message":
		d.events.add(l.Time.Time, llm.Message{Role: llm.RoleAssistant, Model: d.model}).Parts = appendText(nil, e.Message)
	case "thread_name_updated":
		d.items.session.Title, d.items.session.Named = e.Name, true
	case "turn_aborted":
		if n := d.items.node(d.items.head); n != nil && n.Role == llm.RoleAssistant {
			n.Interrupted = true
		}
		d.answering = false
	case "thread_rolled_back":
		d.items.rollBack(e.Turns)
		d.events.rollBack(e.Turns)
		d.answering = false
	case "token_count":
		d.usage(&e)
	}
}

// usage sets the usage of the response at the head and ends it: only a call without a result may
// follow before the next response. Codex repeats the numbers when its limits change.
func (d *codexImporter) usage(e *codexEvent) {
	total, u := string(e.Info.Total), e.Info.Last
	if total == "null" {
		total = ""
	}
	if u == nil || total != "" && total == d.counted {
		return
	}
	d.counted = total
	if total != "" {
		d.answering = false
	}
	if n := d.items.node(d.items.head); n != nil && n.Role == llm.RoleAssistant {
		n.Usage = &llm.Usage{
			Input: count(u["input_tokens"]), CacheRead: count(u["cached_input_tokens"]), CacheWrite: count(u["cache_write_input_tokens"]),
			Output: count(u["output_tokens"]), Thinking: count(u["reasoning_output_tokens"]),
		}
	}
}

// rollBack makes the branch end before the user's last turns.
func (t *builder) rollBack(turns int) {
	for ; turns > 0 && t.head > 0; turns-- {
		for t.head > 0 {
			n := t.node(t.head)
			t.head = n.Parent
			if n.Role == llm.RoleUser && !n.Summary {
				break
			}
		}
	}
}

func (d *codexImporter) compacted(l *codexLine) {
	var c struct {
		Message string `json:"message"`
	}
	d.answering = false
	if decode(l.Payload, &c) != nil || strings.TrimSpace(c.Message) == "" {
		return // encrypted, or repeated in the items that follow
	}
	d.items.add(l.Time.Time, llm.UserText(c.Message)).Summary = true
}

func (d *codexImporter) item(l *codexLine, raw json.RawMessage) {
	var it codexItem
	if !d.skipped.decode(raw, &it, badLines) {
		return
	}
	switch it.Type {
	case "message":
		d.message(l, &it)
	case "reasoning":
		d.reasoning(l, &it, raw)
	case "function_call":
		d.addCall(l, llm.Part{ID: it.CallID, Name: it.Name, Input: it.Arguments})
	case "custom_tool_call":
		d.addCall(l, llm.Part{ID: it.CallID, Name: it.Name, Input: string(encodeJSON(map[string]string{"input": it.Input}))})
	case "local_shell_call":
		d.addCall(l, llm.Part{ID: cmp.Or(it.CallID, it.ID), Name: "local_shell", Input: compact(it.Action)})
	case "web_search_call":
		d.addCall(l, llm.Part{Name: "web_search", Input: compact(it.Action), Remote: true})
	case "function_call_output", "custom_tool_call_output":
		d.output(l, &it)
	case "ghost_snapshot", "compaction", "context_compaction", "compaction_summary", "additional_tools":
	default:
		d.skipped.add(unknownBlocks, 1)
	}
}

// injectedPrefixes begin messages that Codex writes in the user's name.
var injectedPrefixes = []string{
	"<environment_context>", "<user_instructions>", "<permissions instructions>", "<turn_aborted>", "<skill>",
	"<collaboration_mode>", "<subagent_notification>", "# AGENTS.md instructions",
}

func (d *codexImporter) message(l *codexLine, it *codexItem) {
	parts := d.items.content(d.items.blocks(it.Content)...)
	if it.Role == "assistant" {
		if len(parts) > 0 {
			d.currentAnswer(l)
			d.items.append(parts...)
		}
		return
	}
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	said := strings.TrimSpace(all.String())
	wrapped := it.Role != "user" || slices.ContainsFunc(injectedPrefixes, func(w string) bool { return strings.HasPrefix(said, w) })
	d.answering = d.answering && !wrapped && len(parts) == 0
	if wrapped {
		d.items.skip(injected)
		d.items.session.Dir = cmp.Or(d.items.session.Dir, cwd(said))
		return
	}
	d.items.user(l.Time.Time, parts)
}

// currentAnswer makes the head the response that items belong to: one for all between two
// messages or results that the model was sent.
func (d *codexImporter) currentAnswer(l *codexLine) *store.Node {
	if !d.answering {
		d.answering = true
		m := llm.Message{Role: llm.RoleAssistant, Model: d.model}
		if _, name, ok := strings.Cut(d.model, "/"); ok {
			m.Origin = "responses/" + name
		}
		d.items.add(l.Time.Time, m)
	}
	return d.items.node(d.items.head)
}

// reasoning adds a reasoning item. The item is stored in State if it is as the API sent it,
// including its id, which Codex mostly omits.
func (d *codexImporter) reasoning(l *codexLine, it *codexItem, raw json.RawMessage) {
	said := ""
	for _, list := range []jsonList{it.Summary, it.Content} {
		var texts []string
		for _, piece := range d.items.blocks(list) {
			if piece.Text != "" {
				texts = append(texts, piece.Text)
			}
		}
		said = cmp.Or(said, strings.Join(texts, "\n\n"))
	}
	state := reasoningItem(raw)
	if d.currentAnswer(l).Origin == "" {
		state = nil
	}
	d.items.think(said, state)
}

func (d *codexImporter) addCall(l *codexLine, p llm.Part) {
	d.currentAnswer(l)
	d.items.call(p)
}

// output adds the result of a call: text, JSON text with output and exit code, an object with
// content and success, or a list of content.
func (d *codexImporter) output(l *codexLine, it *codexItem) {
	d.answering = false
	var result llm.Part
	var files []llm.Part
	var pieces jsonList
	switch {
	case json.Unmarshal(it.Output, &result.Text) == nil:
		result.Text, result.Failed = commandOutput(result.Text)
	case bytes.HasPrefix(it.Output, []byte("[")) && decode(it.Output, &pieces) == nil:
		result.Text, files = d.items.texts(pieces)
	default:
		var o struct {
			Content string `json:"content"`
			Success *bool  `json:"success"`
		}
		decode(it.Output, &o)
		result.Text, result.Failed = commandOutput(o.Content)
		result.Failed = result.Failed || o.Success != nil && !*o.Success
	}
	d.items.result(it.CallID, l.Time.Time, result, files, store.Outcome{})
}
