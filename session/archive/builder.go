package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/store"
)

// A builder makes a conversation from the messages of another program. A message follows
// the head, which was added before it, so there are no cycles. Results are kept separately
// until the end, and then follow the messages with their calls: programs write them in any
// order, each on its own, and sometimes never.
type builder struct {
	session    store.Session
	skipped    *skippedCounts
	nodes      []store.Node     // prompts and responses; Seq is the index + 1
	head       int              // Seq of the message that the next one follows, and the last of the current branch; 0: none
	keys       map[string]int   // the program's id of a message, to its Seq
	calls      map[string]*call // latest call by the program's id
	byTool     map[string]*call // latest call by the tool's name
	localCalls []*call
	ids        map[string]bool // ids in use
	renamed    int             // numbers given to ids that were taken
}

// A call is a tool call with its result, if known.
type call struct {
	id, name string
	node     int        // Seq of its message
	answered bool       // see openCall
	parts    []llm.Part // the result and its media; nil: none yet
	outcome  store.Outcome
	at       time.Time
	position position
}

func newBuilder(origin string, n *skippedCounts) *builder {
	return &builder{
		session: store.Session{Origin: origin}, skipped: n,
		keys: map[string]int{}, calls: map[string]*call{}, byTool: map[string]*call{}, ids: map[string]bool{},
	}
}

// last returns the Seq of the message added last; 0 if there is none.
func (t *builder) last() int { return len(t.nodes) }

// node returns the message with this Seq; nil if there is none.
func (t *builder) node(seq int) *store.Node {
	if seq < 1 || seq > len(t.nodes) {
		return nil
	}
	return &t.nodes[seq-1]
}

// skip counts one thing of this kind as not imported.
func (t *builder) skip(kind string) { t.skipped.add(kind, 1) }

// follow returns the Seq of the parent with the program's id key; 0 for "". An unknown
// parent is counted, and replaced by the message added last.
func (t *builder) follow(key string) int {
	if key == "" {
		return 0
	}
	seq, ok := t.keys[key]
	if !ok {
		t.skip(orphans)
		return t.last()
	}
	return seq
}

// add adds a message after the head, and makes it the head. The result is valid until the next one is added.
func (t *builder) add(at time.Time, m llm.Message) *store.Node {
	t.nodes = append(t.nodes, store.Node{Seq: len(t.nodes) + 1, Parent: t.head, At: at, Message: m})
	t.head = len(t.nodes)
	return &t.nodes[t.head-1]
}

// user adds a message of the user, if it has parts.
func (t *builder) user(at time.Time, parts []llm.Part) {
	if len(parts) > 0 {
		t.add(at, llm.Message{Role: llm.RoleUser, Parts: parts})
	}
}

// append adds parts to the message at the head.
func (t *builder) append(parts ...llm.Part) {
	n := t.node(t.head)
	n.Parts = append(n.Parts, parts...)
}

// removeEmpty removes the message at the head and reports true, if it is the last and has no parts.
func (t *builder) removeEmpty() bool {
	if t.head != t.last() || len(t.nodes[t.head-1].Parts) > 0 {
		return false
	}
	parent := t.nodes[t.head-1].Parent
	t.nodes, t.head = t.nodes[:t.head-1], parent
	return true
}

// setEnding sets why the message at the head ended, and the cause if it was stopped ("": unknown).
func (t *builder) setEnding(reason llm.Reason, stopped bool, by string) {
	n := t.node(t.head)
	n.Reason = reason
	if stopped {
		n.Interrupted, n.InterruptedBy = true, truncateLine(by)
	}
}

// call adds a call to the message at the head, and returns its id, which is changed if
// it is a duplicate. A call without a name is skipped.
func (t *builder) call(p llm.Part) (id string) {
	if p.Name == "" {
		t.skip(emptyCalls)
		return ""
	}
	said := p.ID
	p.Kind = llm.Call
	if p.ID == "" {
		p.ID = "imported_" + strconv.Itoa(len(t.ids)+1)
	}
	for base := p.ID; t.ids[p.ID]; {
		t.renamed++
		p.ID = base + "_" + strconv.Itoa(t.renamed+1)
	}
	t.ids[p.ID] = true
	t.append(p)
	c := &call{id: p.ID, name: p.Name, node: t.head, position: t.skipped.position}
	if t.byTool[p.Name] = c; said != "" {
		t.calls[said] = c
	}
	if !p.Remote {
		t.localCalls = append(t.localCalls, c)
	}
	return p.ID
}

// openCall returns the call with the program's id, or the last one of a tool if the id is unknown, whose result follows
// in the message at the head; nil if it is in another message, or has its result.
func (t *builder) openCall(id, tool string) *call {
	c := cmp.Or(t.calls[id], t.byTool[tool])
	if c == nil || c.node != t.head || c.answered {
		return nil
	}
	c.answered = true
	return c
}

// result sets the result of the call with the program's id, and returns the Seq of the
// call's message; 0 if the call is unknown or already has a result.
func (t *builder) result(id string, at time.Time, result llm.Part, media []llm.Part, o store.Outcome) (seq int) {
	c := t.calls[id]
	if c == nil || c.parts != nil {
		t.skip(strayResults)
		return 0
	}
	result.Kind, result.ID, result.Name = llm.Result, c.id, c.name
	c.parts, c.outcome, c.at = append([]llm.Part{result}, media...), o, at
	return c.node
}

// end returns the conversation, whose current branch ends with the head; nil if it is empty.
func (t *builder) end() []Conversation {
	if t.last() == 0 {
		return nil
	}
	c := Conversation{Session: t.session}
	pending := map[int][]*call{}
	for _, call := range t.localCalls {
		pending[call.node] = append(pending[call.node], call)
	}
	ends := make([]int, len(t.nodes)+1) // by Seq in t: the Seq in c of the message itself, or of its results, which its children follow
	for i, n := range t.nodes {
		n.Seq, n.Parent = len(c.Nodes)+1, ends[n.Parent]
		if n.Parts == nil {
			n.Parts = []llm.Part{}
		}
		c.Nodes = append(c.Nodes, n)
		if calls := pending[i+1]; len(calls) > 0 {
			c.Nodes = append(c.Nodes, t.results(n, calls))
		}
		ends[i+1] = len(c.Nodes)
	}
	c.Session.Head = ends[t.head]
	fillTimes(&c)
	fillSession(&c)
	return []Conversation{c}
}

// results returns the message with the results of n's calls. A call without one gets
// llm.NoResult.
func (t *builder) results(n store.Node, calls []*call) store.Node {
	m := store.Node{Seq: n.Seq + 1, Parent: n.Seq, At: n.At, Message: llm.Message{Role: llm.RoleTool}}
	for _, c := range calls {
		if c.parts == nil {
			c.parts = []llm.Part{{Kind: llm.Result, ID: c.id, Name: c.name, Text: llm.NoResult, Failed: true}}
			t.skipped.position = c.position
			t.skip(unanswered)
		}
		m.Parts = append(m.Parts, c.parts...)
		if c.at.After(m.At) {
			m.At = c.at
		}
		if c.outcome != (store.Outcome{}) {
			if m.Results == nil {
				m.Results = map[string]store.Outcome{}
			}
			m.Results[c.id] = c.outcome
		}
	}
	return m
}

// fillTimes gives each message whose time is missing or implausible that of its parent,
// and the session the times of its first and last message if it has none.
func fillTimes(c *Conversation) {
	s := &c.Session
	s.Created, s.Updated = plausibleTime(s.Created), plausibleTime(s.Updated)
	var first, last time.Time
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.At = plausibleTime(n.At); n.At.IsZero() {
			n.At = s.Created
			if n.Parent > 0 {
				n.At = c.Nodes[n.Parent-1].At
			}
		}
		if first.IsZero() || n.At.Before(first) {
			first = n.At
		}
		if n.At.After(last) {
			last = n.At
		}
	}
	if s.Created.IsZero() {
		s.Created = first
	}
	if s.Updated.IsZero() || s.Updated.Before(s.Created) {
		s.Updated = last
	}
	if s.Updated.Before(s.Created) {
		s.Updated = s.Created
	}
}

// plausibleTime returns t in UTC; zero if it is not between 2000 and 2199.
func plausibleTime(t time.Time) time.Time {
	if t.Year() < 2000 || t.Year() > 2199 {
		return time.Time{}
	}
	return t.UTC()
}

// fillSession fills in the fields of the session that describe its messages: their number,
// usage, preview, title, model, and an ID if it has none.
func fillSession(c *Conversation) {
	s := &c.Session
	s.Messages, s.Usage = len(c.Nodes), totalUsage(c.Nodes)
	said, answered := "", "" // the first thing a user said, and who answered last
	for n := range branchOf(*c) {
		if n.Model != "" {
			answered = n.Model
		}
		if n.Role != llm.RoleUser || n.Summary {
			continue
		}
		if text := truncateLine(n.Text()); text != "" {
			s.Preview = text
			if said == "" && !strings.HasPrefix(text, "<") {
				said = text
			}
		}
	}
	s.Title = cmp.Or(truncateLine(s.Title), said)
	s.Model = cmp.Or(s.Model, answered)
	if s.ID = sessionID(s.Origin, s.ID); s.ID == "" {
		s.ID = hashedID(s.Origin, s.Title, s.Created.UnixNano(), said) // the same when more messages follow
	}
}

// sessionID returns the ID of a session from its program's id: in lower case, or a hash if
// it is not valid here; "" for "".
func sessionID(origin, id string) string {
	if id == "" || validID(id) {
		return strings.ToLower(id)
	}
	return hashedID(origin, id)
}

// hashedID returns an ID derived from values.
func hashedID(values ...any) string {
	h := sha256.New()
	fmt.Fprintln(h, values...)
	return "import-" + hex.EncodeToString(h.Sum(nil)[:8])
}

func validID(id string) bool {
	return id != "" && len(id) <= 80 && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// longestLine is the length of a title or preview, in runes.
const longestLine = 120

// truncateLine returns text on one line, at most longestLine runes of it.
func truncateLine(text string) string {
	if len(text) > 8*longestLine {
		text = strings.ToValidUTF8(text[:8*longestLine], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > longestLine {
		text = string([]rune(text)[:longestLine-1]) + "…"
	}
	return text
}

// directory returns a path as a session's directory; "" if it is not absolute.
func directory(path string) string {
	windows := len(path) > 2 && path[1] == ':'
	if len(path) > 4096 || strings.ContainsRune(path, 0) || !filepath.IsAbs(path) && !strings.HasPrefix(path, "/") && !windows {
		return ""
	}
	return path
}

// model returns "provider/name"; "" if name cannot be a model's.
func model(provider, name string) string {
	bad := func(r rune) bool { return r <= ' ' || r == '<' || r == '>' || r == 0x7f || r == utf8.RuneError }
	if name == "" || len(name) > 200 || strings.ContainsFunc(provider+name, bad) {
		return ""
	}
	return provider + "/" + name
}

// A jsonTime is a time in JSON, in the forms of parseTime. Anything else is zero.
type jsonTime struct{ time.Time }

func (m *jsonTime) UnmarshalJSON(data []byte) error {
	m.Time = parseTime(strings.Trim(string(data), `"`))
	return nil
}

// splitText returns the texts of a result, joined by newlines, and its other parts.
func splitText(parts []llm.Part) (said string, media []llm.Part) {
	for _, p := range parts {
		if p.Kind == llm.Text {
			said = join(said, p.Text)
		} else {
			media = append(media, p)
		}
	}
	return said, media
}

// compact returns a JSON object without white space; {} if raw is not an
// object.
func compact(raw json.RawMessage) string {
	if object, ok := llm.Arguments(string(raw)); ok {
		return strings.ToValidUTF8(string(object), "\ufffd")
	}
	return "{}"
}

// hasOnlyFields reports whether raw is a JSON object in valid UTF-8 with no other fields.
func hasOnlyFields(raw json.RawMessage, fields ...string) bool {
	var object map[string]json.RawMessage
	if !utf8.Valid(raw) || json.Unmarshal(raw, &object) != nil {
		return false
	}
	for name := range object {
		if !slices.Contains(fields, name) {
			return false
		}
	}
	return true
}
