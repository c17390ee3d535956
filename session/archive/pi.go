package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A piImporter reads sessions of pi, ~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl.
//
// The first line names the session. Each other line is an entry of a tree: id and parentId
// link messages, changes of the model, summaries and notes of extensions; in version 1 one
// follows the other. The last line is the head of the conversation. (pi's
// docs/session-format.md, version 3.)
type piImporter struct {
	*builder
}

type piLine struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Parent  string    `json:"parentId"`
	Time    jsonTime  `json:"timestamp"`
	Dir     string    `json:"cwd"`
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

	Command string `json:"command"`
	Output  string `json:"output"`
	Exit    int    `json:"exitCode"`
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
	if l.ID == "" {
		d.entry(&l)
	} else if _, twice := d.keys[l.ID]; !twice {
		d.head = d.follow(l.Parent)
		d.entry(&l)
		d.keys[l.ID] = d.head
	}
	return nil
}

// entry adds an entry after the head.
func (d *piImporter) entry(l *piLine) {
	switch l.Type {
	case "message":
		d.message(l)
	case "compaction":
		d.summary(l, l.Summary)
	case "branch_summary":
		d.user(l.Time.Time, appendText(nil, l.Summary))
	case "custom_message":
		d.custom(l, l.Content, l.Display)
	case "session_info":
		d.session.Title, d.session.Named = l.Name, l.Name != ""
	case "thinking_level_change":
		d.session.Effort = efforts[l.Thinking]
	case "model_change":
		d.session.Model = foreignModel(l.Provider, l.Model)
	case "label", "custom":
	default:
		d.skip(unknownLines)
	}
}

// summary adds text as a summary.
func (d *piImporter) summary(l *piLine, text string) {
	if strings.TrimSpace(text) != "" {
		d.add(l.Time.Time, llm.UserText(text)).Summary = true
	}
}

// custom adds the text of an extension as a message of the user, if it was displayed.
func (d *piImporter) custom(l *piLine, content jsonList, displayed bool) {
	if !displayed {
		d.skip(injected)
		return
	}
	d.user(l.Time.Time, d.content(d.blocks(content)...))
}

func (d *piImporter) message(l *piLine) {
	m := &l.Message
	switch m.Role {
	case "user":
		d.custom(l, m.Content, true)
	case "assistant":
		d.addAnswer(l)
	case "toolResult":
		text, files := d.texts(m.Content)
		d.head = max(d.head, d.result(m.CallID, l.Time.Time, llm.Part{Failed: m.Failed, Text: text}, files, store.Outcome{Diff: m.Details.Diff}))
	case "bashExecution":
		text := fmt.Sprintf("$ %s\n%s", m.Command, m.Output)
		if m.Exit != 0 {
			text += fmt.Sprintf("\n(exit status %d)", m.Exit)
		}
		d.user(l.Time.Time, appendText(nil, text))
	case "branchSummary":
		d.user(l.Time.Time, appendText(nil, m.Summary))
	case "compactionSummary":
		d.summary(l, m.Summary)
	case "custom", "hookMessage":
		d.custom(l, m.Content, m.Display == nil || *m.Display)
	default:
		d.skip(badMessages)
	}
}

func (d *piImporter) addAnswer(l *piLine) {
	m := &l.Message
	if len(m.Content) == 0 && (m.Reason == "error" || m.Reason == "aborted") {
		d.skip(failedAnswers)
		return
	}
	u := m.Usage
	d.answer(l.Time.Time, m.Provider, m.Model).Usage = consumption{u.Input, u.Read, u.Write, u.Output, 0, u.Cost.Total}.usage()
	for _, b := range d.blocks(m.Content) {
		d.addBlock(&b, m.Provider)
	}
	d.setEnding(reasons[m.Reason], m.Reason == "aborted" || m.Reason == "error", m.Error)
}

// addBlock adds a block of a response. The signature that pi keeps is that of Anthropic, a
// whole item of the Responses API, or only the name of a field.
func (d *piImporter) addBlock(b *block, provider string) {
	switch b.Type {
	case "toolCall":
		d.call(llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Arguments)})
	case "thinking":
		var state json.RawMessage
		switch {
		case d.node(d.head).Origin == "":
		case provider == "anthropic":
			if state = signedThinking(b.Thinking, b.ThinkingSignature, b.Redacted); b.Redacted {
				b.Thinking = ""
			}
		default:
			state = reasoningItem(json.RawMessage(b.ThinkingSignature))
		}
		d.think(b.Thinking, state)
	default:
		d.append(d.content(*b)...)
	}
}
