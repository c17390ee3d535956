package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readable adapts a server's message for the SDK, which rejects a whole result because of one unknown
// part: such a part is replaced by a note. Tools that run only as tasks are removed from lists,
// because parley does not support tasks. Every transport calls it.
func readable(message []byte) []byte {
	var fields, result map[string]json.RawMessage
	if !bytes.Contains(message, []byte(`"result"`)) || json.Unmarshal(message, &fields) != nil || json.Unmarshal(fields["result"], &result) != nil {
		return message
	}
	content := replaceEach(result, "content", readablePart)
	prompts := replaceEach(result, "messages", readablePrompt)
	tools := replaceEach(result, "tools", dropTaskTool)
	if !content && !prompts && !tools {
		return message
	}
	var err error
	if fields["result"], err = json.Marshal(result); err != nil {
		return message
	}
	if whole, err := json.Marshal(fields); err == nil {
		return whole
	}
	return message
}

// replaceEach replaces each value of a list in fields by the result of f, and removes it if that
// is nil. It reports whether anything changed.
func replaceEach(fields map[string]json.RawMessage, list string, f func(json.RawMessage) json.RawMessage) (changed bool) {
	var values []json.RawMessage
	if json.Unmarshal(fields[list], &values) != nil {
		return false
	}
	out := []json.RawMessage{}
	for _, value := range values {
		now := f(value)
		changed = changed || !bytes.Equal(now, value)
		if now != nil {
			out = append(out, now)
		}
	}
	if text, err := json.Marshal(out); changed && err == nil {
		fields[list] = text
	}
	return changed
}

// readablePart returns a content part, or a note if the SDK cannot read it.
func readablePart(part json.RawMessage) json.RawMessage {
	var head struct {
		Type string `json:"type"`
	}
	var message sdk.PromptMessage
	alone, err := json.Marshal(map[string]json.RawMessage{"content": part})
	if err == nil && json.Unmarshal(part, &head) == nil && head.Type != "" && json.Unmarshal(alone, &message) == nil {
		return part
	}
	note, err := json.Marshal(&sdk.TextContent{Text: fmt.Sprintf("[content of type %q that cannot be read, ignored]", head.Type)})
	if err != nil {
		return part
	}
	return note
}

// readablePrompt applies readablePart to the content of a prompt's message.
func readablePrompt(message json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil || fields["content"] == nil {
		return message
	}
	part := readablePart(fields["content"])
	if bytes.Equal(part, fields["content"]) {
		return message
	}
	fields["content"] = part
	if whole, err := json.Marshal(fields); err == nil {
		return whole
	}
	return message
}

// dropTaskTool returns a listed tool; nil if it can only be called as a task.
func dropTaskTool(tool json.RawMessage) json.RawMessage {
	var t struct{ Execution struct{ TaskSupport string } }
	if json.Unmarshal(tool, &t) == nil && t.Execution.TaskSupport == "required" {
		return nil
	}
	return tool
}

// A messageBody is the body of an HTTP response with its messages made readable: a JSON message,
// or server-sent events.
type messageBody struct {
	io.ReadCloser
	lines *bufio.Reader // for events; nil: the body is JSON
	data  []byte        // of the event that is being read
	rest  []byte        // to be returned by Read
	err   error         // to be returned after rest
}

// eventBody returns the body of server-sent events with its messages made readable.
func eventBody(b io.ReadCloser) *messageBody {
	return &messageBody{ReadCloser: b, lines: bufio.NewReader(b)}
}

func (b *messageBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		if b.lines != nil {
			b.nextLine()
			continue
		}
		whole, err := io.ReadAll(b.ReadCloser)
		if b.err = err; err == nil {
			whole, b.err = readable(whole), io.EOF
		}
		b.rest = whole
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// nextLine reads a line of events. Data lines are held until their event ends; data too long for a
// message is passed on unchanged.
func (b *messageBody) nextLine() {
	var line []byte
	var piece []byte
	err := bufio.ErrBufferFull
	for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxMessage {
		piece, err = b.lines.ReadSlice('\n')
		line = append(line, piece...)
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		b.err = err
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if ok && b.err == nil && len(b.data)+len(line) <= maxMessage {
		b.data = append(b.data, bytes.TrimPrefix(data, []byte(" "))...)
		return
	}
	blank := len(bytes.TrimRight(line, "\r\n")) == 0
	if b.data != nil && (ok || blank) {
		b.rest = fmt.Appendf(nil, "data: %s\n", bytes.ReplaceAll(bytes.TrimRight(readable(b.data), "\r\n"), []byte("\n"), []byte("\ndata: ")))
		b.data = nil
	}
	b.rest = append(b.rest, line...)
}
