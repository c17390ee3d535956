package archive

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A geminiImporter reads sessions of Gemini CLI, ~/.gemini/tmp/PROJECT/chats/session-*.json
// and, since 2026, .jsonl.
//
// The older form is one object with all messages. The newer one is a journal: a line about
// the session, a message a line, again whenever it changes, {"$set": …} with changed fields
// of the session or with all messages anew, and {"$rewindTo": ID}, which removes that
// message and those behind it. What was removed becomes a branch.
type geminiImporter struct {
	skipped    *skippedCounts
	session    store.Session
	records    []*geminiMessage
	at         map[string]int // by id: its place in records, from 1
	head       int            // place of the last message; 0: none
	isSubagent bool           // of the whole session
}

type geminiLine struct {
	geminiSession
	geminiMessage
	Set    *geminiSession `json:"$set"`
	Rewind string         `json:"$rewindTo"`
}

type geminiSession struct {
	Session  string            `json:"sessionId"`
	Start    jsonTime          `json:"startTime"`
	Updated  jsonTime          `json:"lastUpdated"`
	Kind     string            `json:"kind"`
	Summary  string            `json:"summary"`
	Dirs     []string          `json:"directories"`
	Messages []json.RawMessage `json:"messages"`
}

type geminiMessage struct {
	ID       string   `json:"id"`
	Time     jsonTime `json:"timestamp"`
	Type     string   `json:"type"`
	Content  jsonList `json:"content"`
	Thoughts []struct {
		Subject string `json:"subject"`
		Text    string `json:"description"`
	} `json:"thoughts"`
	Tokens *struct {
		Input    float64 `json:"input"` // with what was cached
		Output   float64 `json:"output"`
		Cached   float64 `json:"cached"`
		Thoughts float64 `json:"thoughts"` // not part of Output
		Tool     float64 `json:"tool"`
	} `json:"tokens"`
	Model string       `json:"model"`
	Calls []geminiCall `json:"toolCalls"`

	parent   int
	position position
}

type geminiCall struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Result  jsonList        `json:"result"`
	Status  string          `json:"status"`
	Time    jsonTime        `json:"timestamp"`
	Display struct {
		Diff string `json:"fileDiff"`
	} `json:"resultDisplay"`
}

type geminiPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Inline  *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
		Name string `json:"displayName"`
	} `json:"inlineData"`
	File *struct {
		MIME string `json:"mimeType"`
		URI  string `json:"fileUri"`
	} `json:"fileData"`
	Call   *geminiCall `json:"functionCall"`
	Answer *struct {
		ID       string          `json:"id"`
		Response json.RawMessage `json:"response"`
		Parts    jsonList        `json:"parts"`
	} `json:"functionResponse"`
}

func newGemini(n *skippedCounts) *geminiImporter {
	return &geminiImporter{skipped: n, at: map[string]int{}, session: store.Session{Origin: "gemini-cli"}}
}

func (d *geminiImporter) line(data []byte) error {
	var l geminiLine
	if !d.skipped.decode(data, &l, badLines) {
		return nil
	}
	switch {
	case l.Rewind != "":
		d.rewind(l.Rewind)
	case l.Set != nil:
		d.about(l.Set)
	case l.ID != "":
		d.message(&l.geminiMessage)
	default:
		d.about(&l.geminiSession)
	}
	return nil
}

func (d *geminiImporter) about(s *geminiSession) {
	d.session.ID = cmp.Or(d.session.ID, s.Session)
	d.session.Title = cmp.Or(s.Summary, d.session.Title)
	d.isSubagent = d.isSubagent || s.Kind == "subagent"
	if d.session.Created.IsZero() {
		d.session.Created = s.Start.Time
	}
	if !s.Updated.IsZero() {
		d.session.Updated = s.Updated.Time
	}
	for _, dir := range s.Dirs {
		d.session.Dir = cmp.Or(d.session.Dir, directory(dir))
	}
	if s.Messages == nil {
		return
	}
	d.head = 0
	for _, raw := range s.Messages {
		var m geminiMessage
		if d.skipped.decode(raw, &m, badMessages) {
			d.message(&m)
		}
	}
}

// message adds a message behind the head, or updates the one with its id. A message that is
// written again when a session is resumed has fewer fields.
func (d *geminiImporter) message(m *geminiMessage) {
	if at := d.at[m.ID]; at > 0 && m.ID != "" {
		have := d.records[at-1]
		if len(m.Calls) > 0 || len(m.Content) > 0 && len(have.Content) == 0 {
			m.parent, m.position = have.parent, have.position
			m.Model = cmp.Or(m.Model, have.Model)
			if m.Tokens == nil {
				m.Tokens = have.Tokens
			}
			if len(m.Thoughts) == 0 {
				m.Thoughts = have.Thoughts
			}
			*have = *m
		} else if m.Tokens != nil && have.Tokens == nil {
			have.Tokens = m.Tokens
		}
		d.head = at
		return
	}
	m.parent, m.position = d.head, d.skipped.position
	d.records = append(d.records, m)
	d.head = len(d.records)
	if m.ID != "" {
		d.at[m.ID] = d.head
	}
}

func (d *geminiImporter) rewind(id string) {
	at := d.at[id]
	for seq := d.head; seq > 0; seq = d.records[seq-1].parent {
		if seq == at {
			d.head = d.records[seq-1].parent
			return
		}
	}
	d.head = 0
}

func (d *geminiImporter) end() []Conversation {
	if d.isSubagent {
		d.skipped.add(subsessions, 1)
		return nil
	}
	g := geminiBuilder{builder: newBuilder("gemini-cli", d.skipped)}
	g.session = d.session
	seqs := make([]int, len(d.records)+1) // by place in records
	for i, m := range d.records {
		d.skipped.position = m.position
		seqs[i+1] = g.message(m, seqs[m.parent])
	}
	d.skipped.at("", 0)
	if g.last() == 0 {
		return nil
	}
	return []Conversation{g.end(seqs[d.head])}
}

// A geminiBuilder builds the conversation of a session.
type geminiBuilder struct{ *builder }

// message adds a record, and returns the Seq that later ones follow.
func (g *geminiBuilder) message(m *geminiMessage, parent int) int {
	switch m.Type {
	case "user":
		return g.user(m, parent)
	case "gemini":
		return g.answer(m, parent)
	case "info", "error", "warning":
		g.skipped.add(injected, 1)
	default:
		g.skipped.add(badMessages, 1)
	}
	return parent
}

func (g *geminiBuilder) user(m *geminiMessage, parent int) int {
	n := store.Node{Parent: parent, At: m.Time.Time, Message: llm.Message{Role: llm.RoleUser}}
	for _, p := range g.parts(m.Content) {
		switch {
		case p.Answer != nil:
			g.addResult(p, m)
		case strings.HasPrefix(p.Text, "<session_context>"):
			g.skipped.add(injected, 1)
			g.session.Dir = cmp.Or(g.session.Dir, workspaceDirectory(p.Text))
		default:
			n.Parts = g.appendPart(n.Parts, p)
		}
	}
	if len(n.Parts) == 0 {
		return parent
	}
	return g.add("", n)
}

// workspaceDirectory returns the directory that Gemini CLI tells the model it works in.
func workspaceDirectory(context string) string {
	_, rest, ok := strings.Cut(context, "Workspace Directories:**")
	if !ok {
		_, rest, _ = strings.Cut(context, "working in the directory:")
	}
	rest = strings.TrimLeft(rest, "- \n\t")
	dir, _, _ := strings.Cut(rest, "\n")
	return directory(strings.TrimSpace(dir))
}

func (g *geminiBuilder) parts(content jsonList) (parts []geminiPart) {
	for _, raw := range content {
		var p geminiPart
		if alone, ok := jsonString(raw); ok {
			if p.Text = alone; alone == "" {
				continue
			}
		} else if !g.skipped.decode(raw, &p, unknownBlocks) {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// appendPart adds a part that stands on its own: text or a file.
func (g *geminiBuilder) appendPart(parts []llm.Part, p geminiPart) []llm.Part {
	switch {
	case p.Inline != nil:
		if m, ok := filePart(p.Inline.MIME, p.Inline.Name, p.Inline.Data); ok {
			return append(parts, m)
		}
		g.skipped.add(noFiles, 1)
	case p.File != nil:
		if m, ok := imagePart(p.File.URI); ok {
			m.MIME, m.Name = cmp.Or(p.File.MIME, m.MIME), path.Base(p.File.URI)
			return append(parts, m)
		}
		g.skipped.add(noFiles, 1)
	case p.Text != "":
		return appendText(parts, p.Text)
	case p.Call == nil:
		g.skipped.add(unknownBlocks, 1)
	}
	return parts
}

func (g *geminiBuilder) answer(m *geminiMessage, parent int) int {
	n := store.Node{Parent: parent, At: m.Time.Time, Message: llm.Message{Role: llm.RoleAssistant, Model: foreignModel("gemini", m.Model)}}
	if t := m.Tokens; t != nil {
		n.Usage = consumption{input: t.Input + t.Tool - t.Cached, read: t.Cached, output: t.Output + t.Thoughts, thinking: t.Thoughts}.usage()
	}
	for _, t := range m.Thoughts {
		if said := join(strings.TrimSpace(t.Subject), t.Text); said != "" {
			n.Parts = append(n.Parts, llm.Part{Kind: llm.Thinking, Text: said})
		}
	}
	calls := m.Calls
	for _, p := range g.parts(m.Content) {
		switch {
		case p.Thought && len(m.Thoughts) > 0:
		case p.Thought:
			n.Parts = append(n.Parts, llm.Part{Kind: llm.Thinking, Text: p.Text})
		case p.Call != nil && len(m.Calls) == 0:
			calls = append(calls, *p.Call)
		default:
			n.Parts = g.appendPart(n.Parts, p)
		}
	}
	if len(n.Parts)+len(calls) == 0 {
		return parent
	}
	seq := g.add("", n)
	for _, c := range calls {
		g.addCall(seq, &c)
	}
	return seq
}

// addCall adds a call, with its result if the record has it.
func (g *geminiBuilder) addCall(seq int, c *geminiCall) {
	if c.Name == "" {
		g.skipped.add(emptyCalls, 1)
		return
	}
	g.call(seq, llm.Part{ID: c.ID, Name: c.Name, Input: compact(c.Args)})
	if len(c.Result) == 0 || c.ID == "" {
		return
	}
	var text string
	var files []llm.Part
	for _, p := range g.parts(c.Result) {
		if p.Answer == nil {
			parts := g.appendPart(nil, p)
			more, rest := splitText(parts)
			text, files = join(text, more), append(files, rest...)
			continue
		}
		more, rest := g.response(p)
		text, files = join(text, more), append(files, rest...)
	}
	failed := c.Status != "success" && c.Status != ""
	g.result(c.ID, c.Time.Time, llm.Part{Text: text, Failed: failed}, files, store.Outcome{Diff: c.Display.Diff})
}

// addResult adds a result in a message of its own, unless its call has one: most stand with
// their call as well.
func (g *geminiBuilder) addResult(p geminiPart, m *geminiMessage) {
	if c := g.calls[p.Answer.ID]; c != nil && c.parts != nil {
		return
	}
	text, files := g.response(p)
	g.result(p.Answer.ID, m.Time.Time, llm.Part{Text: text}, files, store.Outcome{})
}

// response returns the text of a result, which is its output, its error, or all of it as JSON,
// and its files.
func (g *geminiBuilder) response(p geminiPart) (text string, files []llm.Part) {
	var r struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	_ = decode(p.Answer.Response, &r)
	if text = cmp.Or(r.Output, r.Error); text == "" {
		text = string(p.Answer.Response)
	}
	for _, more := range g.parts(p.Answer.Parts) {
		files = g.appendPart(files, more)
	}
	return strings.ToValidUTF8(text, "\ufffd"), files
}
