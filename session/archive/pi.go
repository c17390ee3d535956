package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A piImporter reads sessions of pi, ~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl.
//
// The first line names the session. Each other line is an entry of a tree: id and parentId
// link messages, changes of the model, summaries and what extensions note; in version 1 one
// follows the other. The last line is the head of the conversation. (pi's
// docs/session-format.md, version 3.)
type piImporter struct {
	skipped *skippedCounts
	importedThread
	name string
}

type piLine struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Parent  string    `json:"parentId"`
	Time    jsonTime  `json:"timestamp"`
	Dir     string    `json:"cwd"`
	Version int       `json:"version"`
	Message piMessage `json:"message"`

	Summary  string   `json:"summary"`
	Content  jsonList `json:"content"`
	Display  bool     `json:"display"`
	Name     string   `json:"name"`
	Thinking string   `json:"thinkingLevel"`
	Provider string   `json:"provider"`
	Model    string   `json:"modelId"`
}

type piMessage struct {
	Role     string   `json:"role"`
	Content  jsonList `json:"content"`
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	Time     float64  `json:"timestamp"` // ms
	Usage    struct {
		Input  float64 `json:"input"`
		Output float64 `json:"output"`
		Read   float64 `json:"cacheRead"`
		Write  float64 `json:"cacheWrite"`
		Cost   struct {
			Total float64 `json:"total"`
		} `json:"cost"`
	} `json:"usage"`
	Reason  string `json:"stopReason"`
	Error   string `json:"errorMessage"`
	CallID  string `json:"toolCallId"`
	Failed  bool   `json:"isError"`
	Details struct {
		Diff string `json:"diff"`
	} `json:"details"`
	Display *bool  `json:"display"`
	Summary string `json:"summary"`

	Command  string `json:"command"`
	Output   string `json:"output"`
	Exit     *int   `json:"exitCode"`
	Excluded bool   `json:"excludeFromContext"`
}

type piBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"thinkingSignature"`
	Redacted  bool            `json:"redacted"`
	Data      string          `json:"data"`
	MIME      string          `json:"mimeType"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

var piReasons = map[string]llm.Reason{"stop": llm.Stop, "length": llm.Length, "toolUse": llm.Calls}

func newPi(n *skippedCounts) *piImporter {
	return &piImporter{skipped: n, importedThread: importedThread{builder: newBuilder("pi", n)}}
}

func (d *piImporter) line(data []byte) error {
	var l piLine
	if !d.skipped.decode(data, &l, badLines) {
		return nil
	}
	if l.Type == "session" {
		if s := &d.session; s.ID == "" {
			s.ID, s.Created, s.Dir = l.ID, l.Time.Time, directory(l.Dir)
		}
		return nil
	}
	if _, twice := d.keys[l.ID]; twice && l.ID != "" {
		return nil
	}
	parent := d.head
	if l.ID != "" {
		parent = d.follow(l.Parent)
	}
	at := d.entry(&l, parent)
	if l.ID != "" {
		d.keys[l.ID] = at
	}
	d.head = at
	return nil
}

// entry adds an entry, and returns the Seq that later ones follow: parent, if it is no
// message.
func (d *piImporter) entry(l *piLine, parent int) int {
	switch l.Type {
	case "message":
		return d.message(l, parent)
	case "compaction":
		return d.addText(l, parent, l.Summary, true)
	case "branch_summary":
		return d.addText(l, parent, l.Summary, false)
	case "custom_message":
		if !l.Display {
			d.skipped.add(injected, 1)
			return parent
		}
		return d.user(l, parent, l.Content)
	case "session_info":
		d.name = l.Name
	case "thinking_level_change":
		d.session.Effort = efforts[l.Thinking]
	case "model_change":
		d.session.Model = foreignModel(l.Provider, l.Model)
	case "label", "custom":
	default:
		d.skipped.add(unknownLines, 1)
	}
	return parent
}

// addText adds text as a message of the user, or as a summary.
func (d *piImporter) addText(l *piLine, parent int, text string, summary bool) int {
	if strings.TrimSpace(text) == "" {
		return parent
	}
	return d.add("", store.Node{Parent: parent, At: l.Time.Time, Summary: summary, Message: llm.UserText(text)})
}

func (d *piImporter) message(l *piLine, parent int) int {
	m := &l.Message
	switch m.Role {
	case "user":
		return d.user(l, parent, m.Content)
	case "assistant":
		return d.answer(l, parent)
	case "toolResult":
		return d.result(l, parent)
	case "bashExecution":
		text := fmt.Sprintf("$ %s\n%s", m.Command, m.Output)
		if m.Exit != nil && *m.Exit != 0 {
			text += fmt.Sprintf("\n(exit status %d)", *m.Exit)
		}
		return d.addText(l, parent, text, false)
	case "branchSummary":
		return d.addText(l, parent, m.Summary, false)
	case "compactionSummary":
		return d.addText(l, parent, m.Summary, true)
	case "custom", "hookMessage":
		if m.Display != nil && !*m.Display {
			d.skipped.add(injected, 1)
			return parent
		}
		return d.user(l, parent, m.Content)
	}
	d.skipped.add(badMessages, 1)
	return parent
}

func (d *piImporter) user(l *piLine, parent int, content jsonList) int {
	parts := d.contentParts(content)
	if len(parts) == 0 {
		return parent
	}
	return d.add("", store.Node{Parent: parent, At: l.Time.Time, Message: llm.Message{Role: llm.RoleUser, Parts: parts}})
}

// contentParts returns the texts and images of content.
func (d *piImporter) contentParts(content jsonList) (parts []llm.Part) {
	for _, raw := range content {
		if alone, ok := jsonString(raw); ok {
			parts = appendText(parts, alone)
			continue
		}
		var b piBlock
		switch {
		case !d.skipped.decode(raw, &b, unknownBlocks):
		case b.Type == "text":
			parts = appendText(parts, b.Text)
		case b.Type == "image":
			if p, ok := filePart(b.MIME, "", b.Data); ok {
				parts = append(parts, p)
			} else {
				d.skipped.add(noFiles, 1)
			}
		default:
			d.skipped.add(unknownBlocks, 1)
		}
	}
	return parts
}

// appendText adds text to parts, unless it is blank.
func appendText(parts []llm.Part, said string) []llm.Part {
	if strings.TrimSpace(said) == "" {
		return parts
	}
	return append(parts, textPart(said))
}

func (d *piImporter) answer(l *piLine, parent int) int {
	m := &l.Message
	if len(m.Content) == 0 && (m.Reason == "error" || m.Reason == "aborted") {
		d.skipped.add(failedAnswers, 1)
		return parent
	}
	origin := responsesOrigin(m.Provider, m.Model)
	if m.Provider == "anthropic" {
		origin = claudeOrigin(m.Model)
	}
	u := m.Usage
	seq := d.add("", store.Node{
		Parent: parent, At: l.Time.Time, Usage: consumption{u.Input, u.Read, u.Write, u.Output, 0, u.Cost.Total}.usage(),
		Message: llm.Message{Role: llm.RoleAssistant, Model: foreignModel(m.Provider, m.Model), Origin: origin},
	})
	for _, raw := range m.Content {
		d.block(seq, raw, m.Provider)
	}
	d.setEnding(seq, piReasons[m.Reason], m.Reason == "aborted" || m.Reason == "error", m.Error)
	return seq
}

// block adds a block of a response. The signature that pi keeps is that of Anthropic, a
// whole item of the Responses API, or only the name of a field.
func (d *piImporter) block(seq int, raw json.RawMessage, provider string) {
	var b piBlock
	if !d.skipped.decode(raw, &b, unknownBlocks) {
		return
	}
	n := d.node(seq)
	switch {
	case b.Type == "toolCall" && b.Name == "":
		d.skipped.add(emptyCalls, 1)
	case b.Type == "toolCall":
		d.call(seq, llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Arguments)})
	case b.Type == "thinking":
		p := llm.Part{Kind: llm.Thinking, Text: b.Thinking}
		switch {
		case n.Origin == "":
		case b.Redacted && provider == "anthropic":
			p = llm.Part{Kind: llm.Opaque, State: encodeJSON(map[string]string{"type": "redacted_thinking", "data": b.Signature})}
		case provider == "anthropic":
			p = signedThinking(n.Origin, b.Thinking, b.Signature)
		default:
			p.State = reasoningItem(b.Signature)
		}
		if p.Text != "" || p.State != nil {
			if p.Text == "" {
				p.Kind = llm.Opaque
			}
			n.Parts = append(n.Parts, p)
		}
	default:
		n.Parts = append(n.Parts, d.contentParts(jsonList{raw})...)
	}
}

// reasoningItem returns text as a reasoning item of the Responses API that can be sent again,
// nil if it is none.
func reasoningItem(text string) json.RawMessage {
	var it codexItem
	raw := json.RawMessage(text)
	whole := decode(raw, &it) == nil && it.Type == "reasoning" && it.ID != "" && it.Encrypted != "" && !strings.Contains(text, ":null") &&
		hasOnlyFields(raw, "type", "id", "summary", "content", "encrypted_content", "status")
	if !whole {
		return nil
	}
	return slices.Clone(raw)
}

func (d *piImporter) result(l *piLine, parent int) int {
	m := &l.Message
	said, files := splitText(d.contentParts(m.Content))
	seq, ok := d.importedThread.result(m.CallID, l.Time.Time, llm.Part{Failed: m.Failed, Text: said}, files, store.Outcome{Diff: m.Details.Diff})
	if !ok || seq < parent {
		return parent
	}
	return seq
}

func (d *piImporter) end() []Conversation {
	if d.last() == 0 {
		return nil
	}
	if d.name != "" {
		d.session.Title, d.session.Named = d.name, true
	}
	return []Conversation{d.importedThread.end(d.head)}
}
