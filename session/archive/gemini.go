package archive

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/lazy"
)

// A geminiImporter reads sessions of Gemini CLI, ~/.gemini/tmp/PROJECT/chats/session-*.json
// and, since 2026, .jsonl.
//
// The older form is one object with all messages. The newer one is a journal: a line about
// the session, a message a line, again whenever it changes, {"$set": …} with changed fields
// of the session or with all messages anew, and {"$rewindTo": ID}, which removes that
// message and those after it. The removed messages become a branch.
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
	Tokens counts       `json:"tokens"` // the input with what was cached, the output without thoughts
	Model  string       `json:"model"`
	Calls  []geminiCall `json:"toolCalls"`

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

// message adds a message after the head, or updates the one with its id. A message that is
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
	g := geminiBuilder{builder: newBuilder("gemini-cli", d.skipped)}
	if d.isSubagent {
		g.skip(subsessions)
		return nil
	}
	g.session = d.session
	seqs := make([]int, len(d.records)+1) // by place in records
	for i, m := range d.records {
		d.skipped.position, g.head = m.position, seqs[m.parent]
		g.message(m)
		seqs[i+1] = g.head
	}
	d.skipped.at("", 0)
	g.head = seqs[d.head]
	return g.end()
}

// A geminiBuilder builds the conversation of a session.
type geminiBuilder struct{ *builder }

// message adds a record after the head.
func (g *geminiBuilder) message(m *geminiMessage) {
	switch m.Type {
	case "user":
		g.addPrompt(m)
	case "gemini":
		g.addAnswer(m)
	case "info", "error", "warning":
		g.skip(injected)
	default:
		g.skip(badMessages)
	}
}

func (g *geminiBuilder) addPrompt(m *geminiMessage) {
	var said []block
	for _, b := range g.blocks(m.Content) {
		switch {
		case b.Answer != nil && g.calls[b.Answer.ID] != nil && g.calls[b.Answer.ID].parts != nil: // it stands with its call as well
		case b.Answer != nil:
			text, files := g.response(b)
			g.result(b.Answer.ID, m.Time.Time, llm.Part{Text: text}, files, store.Outcome{})
		case strings.HasPrefix(b.Text, "<session_context>"):
			g.skip(injected)
			g.session.Dir = cmp.Or(g.session.Dir, workspaceDirectory(b.Text))
		default:
			said = append(said, b)
		}
	}
	g.user(m.Time.Time, g.content(said...))
}

// workspaceText precedes the directory that Gemini CLI tells the model it works in.
var workspaceText = lazy.NewRegexp(`(?:Workspace Directories:\*\*|working in the directory:)[- \n\t]*([^\n]*)`)

// workspaceDirectory returns the directory that a context names.
func workspaceDirectory(context string) string {
	if m := workspaceText.FindStringSubmatch(context); m != nil {
		return directory(strings.TrimSpace(m[1]))
	}
	return ""
}

func (g *geminiBuilder) addAnswer(m *geminiMessage) {
	n := g.answer(m.Time.Time, "gemini", m.Model)
	if t := m.Tokens; t != nil {
		n.Usage = consumption{input: t["input"] + t["tool"] - t["cached"], read: t["cached"], output: t["output"] + t["thoughts"], thinking: t["thoughts"]}.usage()
	}
	for _, t := range m.Thoughts {
		g.think(join(strings.TrimSpace(t.Subject), t.Text), nil)
	}
	calls := m.Calls
	for _, b := range g.blocks(m.Content) {
		switch {
		case b.Thought && len(m.Thoughts) > 0:
		case b.Thought:
			g.think(b.Text, nil)
		case b.Call != nil && len(m.Calls) == 0:
			calls = append(calls, *b.Call)
		default:
			g.append(g.content(b)...)
		}
	}
	for _, c := range calls {
		g.addCall(&c)
	}
	g.removeEmpty()
}

// addCall adds a call, with its result if the record has it.
func (g *geminiBuilder) addCall(c *geminiCall) {
	if g.call(llm.Part{ID: c.ID, Name: c.Name, Input: compact(c.Args)}) == "" || len(c.Result) == 0 || c.ID == "" {
		return
	}
	var text string
	var files []llm.Part
	for _, b := range g.blocks(c.Result) {
		more, rest := g.response(b)
		text, files = join(text, more), append(files, rest...)
	}
	failed := c.Status != "success" && c.Status != ""
	g.result(c.ID, c.Time.Time, llm.Part{Text: text, Failed: failed}, files, store.Outcome{Diff: c.Display.Diff})
}

// response returns the text of a result, which is its output, its error, or all of it as JSON,
// and its files. A block that is no result is one by itself.
func (g *geminiBuilder) response(b block) (text string, files []llm.Part) {
	if b.Answer == nil {
		return splitText(g.content(b))
	}
	var r struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	_ = decode(b.Answer.Response, &r)
	text = cmp.Or(r.Output, r.Error, string(b.Answer.Response))
	return strings.ToValidUTF8(text, "\ufffd"), g.content(g.blocks(b.Answer.Parts)...)
}
