package agentcli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// claude decodes the output of Claude Code. With partial messages everything comes twice, first as
// events of the API's stream and then as whole messages of one block each; only the first is sent.
type claude struct {
	*answer

	message       int                // number of the current message
	messageID     string             // id of the current message
	hasText       bool               // the current message has text
	streamed      map[string]bool    // ids of messages that came as events
	abandoned     bool               // the stream of the current message was interrupted
	begun         bool               // message_start of the current message came
	unnamed       bool               // pieces of the current message came without message_start
	textAfterCall bool               // text came after the last call
	blocks        map[int]claudeOpen // blocks of the message by index; several blocks can share an index
	blocksBegun   int                // number of blocks of all messages so far

	pendingText pendingText // unsent text, if the request has an answer schema
	failed      string      // error code of a message
	failureText string      // text of that message
	resets      time.Time

	qwen *qwen // differences of Qwen Code; nil for Claude Code
}

// claudeOpen is a block of the current message.
type claudeOpen struct {
	name string
	call string // id of a sent call; "" for other blocks
}

// pendingText is message text not yet sent.
type pendingText struct {
	strings.Builder
	whole int // number of bytes that belong to complete messages
}

func newClaude(a *answer) decoder {
	return &claude{answer: a, streamed: map[string]bool{}, blocks: map[int]claudeOpen{}}
}

func (c *claude) line(data []byte) {
	var l claudeLine
	decodeLenient(data, &l)
	if l.Parent != "" {
		return
	}
	switch l.Type {
	case "system":
		c.system(&l)
	case "stream_event":
		c.event(&l.Event, len(l.Abandoned) > 0)
	case "assistant":
		c.assistant(&l)
	case "user":
		c.results(l.Message.Content)
	case "rate_limit_event":
		c.limit(&l)
	case "result":
		c.end(&l)
	}
}

func (c *claude) system(l *claudeLine) {
	switch l.Subtype {
	case "init":
		c.finish.Model = cmp.Or(c.finish.Model, l.Model)
	case "compact_boundary":
		c.notice("the conversation became too long for it; it continues from its own summary")
	case "api_retry":
		wait := time.Duration(max(0, min(l.Delay, 3.6e6)) * float64(time.Millisecond))
		why := c.toError(l.Error.code, l.Status, "")
		if l.Status == 0 && why.Fault == llm.Unknown { // there was no response, or its stream was interrupted
			why = errBrokeOff
		}
		c.restart(llm.Retry{Attempt: l.Attempt, Max: l.Attempts, Wait: wait}, why)
	case "model_fallback", "model_refusal_fallback", "model_consent_fallback", "informational":
		c.noticeOnce(l.Content)
	case "retry": // Qwen Code reports it twice
		if !l.Data.Keeps && c.hasPending() {
			c.restart(llm.Retry{}, errBrokeOff)
		}
	}
}

// errBrokeOff is the error of a retry without a reason.
var errBrokeOff = &llm.Error{Fault: llm.Network, Message: "the connection was lost"}

// hasPending reports whether part of the current message has arrived, sent or buffered.
func (c *claude) hasPending() bool {
	return len(c.pending) > 0 || c.pendingText.Len() > c.pendingText.whole || c.qwen != nil && c.qwen.pending != ""
}

// settle is answer.settle, and keeps the buffered text.
func (c *claude) settle() {
	c.answer.settle()
	c.pendingText.whole = c.pendingText.Len()
}

// restart is answer.restart, and drops the calls and the buffered text of the message.
func (c *claude) restart(r llm.Retry, why *llm.Error) {
	if c.answer.restart(r, why) {
		c.textAfterCall = false // text after a call follows its result, and the result settled
	}
	whole := c.pendingText.String()[:c.pendingText.whole]
	c.pendingText.Reset()
	c.pendingText.WriteString(whole)
	if c.qwen != nil {
		c.qwen.decided, c.qwen.pending = false, ""
	}
}

// event handles an event of the API's stream. Abandoned is set by message_stop of an interrupted
// message.
func (c *claude) event(e *claudeEvent, abandoned bool) {
	switch e.Type {
	case "message_start":
		c.message++
		c.begun, c.unnamed = true, false
		c.beginMessage(e.Message.ID)
		if c.abandoned && c.hasPending() {
			c.restart(llm.Retry{}, errBrokeOff)
		}
		c.abandoned = false
		c.settle()
		clear(c.blocks)
		c.streamed[e.Message.ID] = true
		c.out.Hold(len(e.Message.ID))
		c.setModel(e.Message.Model)
	case "content_block_start":
		c.unnamed = !c.begun
		c.beginBlock(e.Index, &e.Block)
	case "content_block_delta":
		c.unnamed = !c.begun
		switch e.Delta.Type {
		case "text_delta":
			c.sendText(c.block(e.Index), string(e.Delta.Text))
		case "thinking_delta":
			c.sendThinking(c.block(e.Index), string(e.Delta.Thinking))
		case "input_json_delta":
			if id := c.blocks[e.Index].call; id != "" && e.Delta.JSON != "" {
				c.delta(id, llm.Part{Input: string(e.Delta.JSON)})
			}
		}
	case "message_delta":
		c.finish.Raw = cmp.Or(e.Delta.Stop, c.finish.Raw)
	case "message_stop":
		c.begun = false
		if c.abandoned = abandoned; c.qwen == nil && !abandoned {
			c.settle()
		}
	}
}

// block returns the name of a block of the current message.
func (c *claude) block(index int) string {
	return cmp.Or(c.blocks[index].name, fmt.Sprintf("%d.%d", c.message, index))
}

// beginMessage starts the message with this id, unless it has started.
func (c *claude) beginMessage(id string) {
	if id == "" || id != c.messageID {
		c.messageID, c.hasText = id, false
	}
}

func (c *claude) beginBlock(index int, b *claudeBlock) {
	c.blocksBegun++
	open := claudeOpen{name: fmt.Sprintf("%d.%d.%d", c.message, index, c.blocksBegun)}
	c.blocks[index] = open
	switch {
	case b.Type == "text":
		c.sendText(c.block(index), string(b.Text))
	case b.Type == "thinking":
		c.sendThinking(c.block(index), string(b.Thinking))
	case strings.HasSuffix(b.Type, "tool_use"): // also server_tool_use, mcp_tool_use
		if c.toolUse(b, "") {
			open.call = b.ID
			c.blocks[index] = open
		}
	}
}

// toolUse sends a tool call. It returns false if the call was sent before, or is not to be shown.
func (c *claude) toolUse(b *claudeBlock, input string) bool {
	sent := c.run.schema == nil && c.call(b.ID, b.Name, input)
	c.textAfterCall = c.textAfterCall && !sent
	return sent
}

func (c *claude) sendText(block, text string) {
	if text == "" {
		return
	}
	c.textAfterCall = true
	if c.qwen != nil {
		if text = c.qwen.hold(block, text); text == "" {
			return
		}
	}
	if c.run.schema != nil {
		c.pendingText.WriteString(text)
		c.out.Beat()
		c.out.Hold(len(text))
		return
	}
	c.delta(block, llm.Part{Kind: llm.Text, Text: text, Begins: !c.hasText})
	c.hasText = true
}

func (c *claude) sendThinking(block, text string) {
	if text != "" {
		c.delta(block, llm.Part{Kind: llm.Thinking, Text: text})
	}
}

// setModel records the model of a message; "<synthetic>" stands for the program itself.
func (c *claude) setModel(model string) {
	if model != "" && !strings.HasPrefix(model, "<") {
		c.finish.Model = model
	}
}

// assistant handles a whole message, or one block of it.
func (c *claude) assistant(l *claudeLine) {
	if l.Error.code != "" {
		c.failed, c.failureText = l.Error.code, l.Message.Content.text()
		c.fault = c.toError(l.Error.code, 0, c.failureText) // in case no result line follows
		return
	}
	c.failed, c.fault = "", nil // the program continued
	c.setModel(l.Message.Model)
	c.finish.Raw = cmp.Or(l.Message.Stop, c.finish.Raw)
	if c.qwen != nil && c.qwen.streaming {
		c.streamed[l.Message.ID] = true // a block of the streamed message, with a different id
	}
	streamed := (c.streamed[l.Message.ID] || c.unnamed) && !c.abandoned
	if !streamed && c.qwen == nil && c.hasPending() { // after an interrupted stream, the program requests the answer without streaming
		c.restart(llm.Retry{}, errBrokeOff)
	}
	for i := range l.Message.Content {
		b := &l.Message.Content[i]
		if strings.HasSuffix(b.Type, "tool_use") {
			c.toolUse(b, string(b.Input))
			continue
		}
		if streamed {
			continue
		}
		c.message++
		c.beginMessage(l.Message.ID) // the message comes block by block
		switch b.Type {
		case "text":
			c.sendText(c.block(i), string(b.Text))
		case "thinking":
			c.sendThinking(c.block(i), string(b.Thinking))
		}
	}
	if c.qwen == nil || !c.qwen.streaming {
		c.settle()
	}
}

// results handles the results of the program's own tools.
func (c *claude) results(content claudeContent) {
	defer c.settle()
	c.unnamed = false
	for _, b := range content {
		if b.Type == "tool_result" {
			var output claudeContent
			decodeLenient(b.Content, &output)
			c.result(b.Call, output.text(), b.Failed)
		}
	}
}

// end handles the last line.
func (c *claude) end(l *claudeLine) {
	c.done, c.fault = true, nil
	c.report(l)
	c.finish.Raw = cmp.Or(l.Stop, c.finish.Raw)
	success := l.Subtype == "" || l.Subtype == "success"
	overlong := c.failed == "max_output_tokens" // a truncated answer, not an error
	refused := success && c.finish.Raw == "refusal"
	if (!success || l.Failed || c.failed != "") && !overlong && !refused {
		c.reportError(l)
		return
	}
	switch {
	case refused && c.failed != "": // the text is an error message
		c.noticeOnce(cmp.Or(c.failureText, string(l.Result)))
	case c.run.schema != nil && len(l.Structured) > 0 && string(l.Structured) != "null":
		c.delta("answer", llm.Part{Kind: llm.Text, Text: string(l.Structured)})
	case c.run.schema != nil:
		c.delta("answer", llm.Part{Kind: llm.Text, Text: cmp.Or(c.pendingText.String(), string(l.Result))})
	case !c.textAfterCall && l.Result != "" && !overlong:
		c.delta("answer", llm.Part{Kind: llm.Text, Text: string(l.Result)})
	}
	c.finish.ID, c.finish.Reason = l.Session, adapter.FinishReason(c.finish.Raw, false) // older versions omit the stop reason in the last line
	if overlong {
		c.finish.Reason = llm.Length
	}
}

// report sends the usage and stores the session to resume.
func (c *claude) report(l *claudeLine) {
	tokens := tokenCount(0)
	for _, m := range l.Models {
		tokens += m.Input + m.Output + m.Read + m.Write
	}
	usage := llm.Usage{
		Input: int(l.Usage.input()), CacheRead: int(l.Usage.Read), CacheWrite: int(l.Usage.Write),
		Output: int(l.Usage.Output), Thinking: int(l.Usage.Details.Thinking),
	}
	if l.Cost != nil {
		usage.Priced = true
		usage.Cost = *l.Cost
		// The cost and the usage by model may be totals of the session, while the usage is for this
		// answer. The number of tokens shows which.
		if past := c.run.resume; past.Tokens > 0 && int(tokens) >= past.Tokens+int(l.Usage.Input+l.Usage.Write+l.Usage.Read+l.Usage.Output) {
			usage.Cost = max(0, *l.Cost-past.Cost)
		}
	}
	usage = usage.Clamped()
	if usage.Input+usage.Output > 0 { // otherwise no request was made
		c.out.Send(usage)
	}
	if validSessionID.MatchString(l.Session) {
		c.next = state{Session: l.Session, Tokens: int(tokens), Cost: usage.Cost}
		if l.Cost != nil {
			c.next.Cost = max(0, *l.Cost)
		}
	}
}

// reportError handles a last line that reports an error. If its subtype is success, the error is
// the API's and the result is its message. If a limit of the program ended the answer, the result
// is the text of the answer.
func (c *claude) reportError(l *claudeLine) {
	if limit := limitSubtypes[l.Subtype]; limit != "" {
		c.reportLimit(l, limit)
		return
	}
	words := cmp.Or(string(l.Result), strings.Join(l.Errors, "; "), l.Error.words, c.failureText, strings.ReplaceAll(l.Subtype, "_", " "))
	code := c.failed
	if l.Subtype != "success" {
		code = cmp.Or(code, l.Subtype)
	}
	c.fault = c.toError(code, l.APIStatus, words)
	if wait := time.Until(c.resets); wait > 0 && (c.fault.Fault == llm.Quota || c.fault.Fault == llm.RateLimit) {
		c.fault.Wait = wait
	}
}
