package archive

import (
	"cmp"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A qwenImporter reads sessions of Qwen Code 0.5 to 0.24, ~/.qwen/projects/DIRECTORY/chats/ID.jsonl.
//
// Lines are linked by uuid and parentUuid as Claude Code's are, and their messages have the parts of
// Gemini's API. Lines of the type system are links of the chain as well. Those with one uuid are pieces
// of one message.
type qwenImporter struct {
	geminiBuilder
	auth string // authentication type of the answering service
}

type qwenLine struct {
	UUID      string      `json:"uuid"`
	Parent    string      `json:"parentUuid"` // null for the first
	Session   string      `json:"sessionId"`
	Time      jsonTime    `json:"timestamp"`
	Type      string      `json:"type"`
	Subtype   string      `json:"subtype"`
	Dir       string      `json:"cwd"`
	Model     string      `json:"model"`
	Sidechain bool        `json:"isSidechain"`
	Message   qwenMessage `json:"message"`
	Tokens    counts      `json:"usageMetadata"`
	Result    struct {
		Status  string `json:"status"`
		Display struct {
			Diff string `json:"fileDiff"`
		} `json:"resultDisplay"`
	} `json:"toolCallResult"`
	System struct {
		Title      string        `json:"customTitle"`
		Source     string        `json:"titleSource"`
		Auth       string        `json:"authType"`
		Compressed []qwenMessage `json:"compressedHistory"`
		Event      struct {
			Auth string `json:"auth_type"`
		} `json:"uiEvent"`
	} `json:"systemPayload"`
}

type qwenMessage struct {
	Role  string   `json:"role"`
	Parts jsonList `json:"parts"`
}

func (d *qwenImporter) line(data []byte) error {
	var l qwenLine
	switch {
	case !d.skipped.decode(data, &l, badLines):
	case l.UUID == "":
		d.skip(unknownLines)
	case l.Sidechain:
		d.skip(subagents)
	default:
		d.session.ID = cmp.Or(d.session.ID, l.Session)
		d.session.Dir = cmp.Or(d.session.Dir, directory(l.Dir))
		d.addLine(&l)
	}
	return nil
}

// addLine adds a line. Those after one that is no message follow that line's parent.
func (d *qwenImporter) addLine(l *qwenLine) {
	before := d.head
	parent, more := d.keys[l.UUID]
	if !more {
		parent = d.follow(l.Parent)
	}
	d.head = parent
	switch {
	case l.Type == "system":
		d.system(l)
	case l.Type == "assistant":
		d.addAnswer(l, more)
	case l.Type == "tool_result":
		d.addResults(l)
	case l.Type == "user" && (l.Subtype == "notification" || l.Subtype == "goal_runtime"):
		d.skip(injected)
	case l.Type == "user":
		d.addPrompt(l, more)
	default:
		d.skip(unknownLines)
	}
	d.keys[l.UUID] = d.head
	if l.Type == "system" && l.Subtype != "rewind" && d.head == parent {
		d.head = before
	}
}

// system takes facts about the session from a line, and adds a summary.
func (d *qwenImporter) system(l *qwenLine) {
	d.auth = cmp.Or(l.System.Event.Auth, l.System.Auth, d.auth)
	if l.Subtype == "custom_title" {
		d.session.Title, d.session.Named = l.System.Title, l.System.Source != "auto"
	}
	if l.Subtype != "chat_compression" {
		return
	}
	if summary := d.summary(l.System.Compressed); summary != "" {
		d.add(l.Time.Time, llm.UserText(summary)).Summary = true
	}
}

// summary returns the text that replaces a compressed history: a summary, followed by the model's
// scripted thanks, and the messages kept. It is "" for a history that only lost tool results.
func (d *qwenImporter) summary(history []qwenMessage) string {
	if len(history) < 2 || !strings.HasPrefix(d.text(history[1]), "Got it. Thanks for the additional context!") {
		return ""
	}
	said := d.text(history[0])
	for _, m := range history[2:] {
		if text := d.text(m); text != "" {
			said += map[bool]string{true: "\n\nAssistant: ", false: "\n\nUser: "}[m.Role == "model"] + text
		}
	}
	return said
}

// text returns the text of a message, without thoughts.
func (d *qwenImporter) text(m qwenMessage) (said string) {
	for _, p := range d.blocks(m.Parts) {
		if !p.Thought {
			said = join(said, p.Text)
		}
	}
	return said
}

// addPrompt adds a message of the user, or to it more of it.
func (d *qwenImporter) addPrompt(l *qwenLine, more bool) {
	var said []block
	for _, b := range d.blocks(l.Message.Parts) {
		if b.Answer == nil {
			said = append(said, b)
		}
	}
	parts := d.content(said...)
	d.addResults(l)
	if n := d.node(d.head); more && n != nil && n.Role == llm.RoleUser {
		d.append(parts...)
		return
	}
	d.user(l.Time.Time, parts)
}

// addAnswer adds a message of the model's, or to it more of it.
func (d *qwenImporter) addAnswer(l *qwenLine, more bool) {
	blocks := d.blocks(l.Message.Parts)
	if n := d.node(d.head); !more || n == nil || n.Role != llm.RoleAssistant {
		if len(blocks) == 0 {
			return
		}
		d.add(l.Time.Time, llm.Message{Role: llm.RoleAssistant, Model: qwenModel(d.auth, l.Model)})
	}
	for _, b := range blocks {
		switch {
		case b.Call != nil:
			d.addCall(b.Call)
		case b.Thought:
			d.think(b.Text, nil)
		default:
			d.append(d.content(b)...)
		}
	}
	if t := l.Tokens; t != nil {
		input, cached, output, thinking := t["promptTokenCount"], t["cachedContentTokenCount"], t["candidatesTokenCount"], t["thoughtsTokenCount"]
		if input+output+thinking == t["totalTokenCount"] { // at most services, thoughts are part of the output
			output += thinking
		}
		d.node(d.head).Usage = consumption{input: input - cached, read: cached, output: output, thinking: thinking}.usage()
	}
}

// addResults adds the results of calls in a message.
func (d *qwenImporter) addResults(l *qwenLine) {
	for _, b := range d.blocks(l.Message.Parts) {
		if b.Answer == nil {
			continue
		}
		text, files := d.response(b)
		failed := l.Result.Status != "" && l.Result.Status != "success"
		d.result(b.Answer.ID, l.Time.Time, llm.Part{Text: text, Failed: failed}, files, store.Outcome{Diff: l.Result.Display.Diff})
	}
}

// qwenModel returns "provider/name" of a model by its authentication type; most services use OpenAI's
// protocol.
func qwenModel(auth, name string) string {
	provider := map[string]string{"anthropic": "anthropic", "gemini": "gemini", "vertex-ai": "vertexai"}[auth]
	if strings.HasPrefix(name, "gpt-") {
		provider = cmp.Or(provider, "openai")
	}
	return foreignModel(cmp.Or(provider, "qwen"), name)
}
