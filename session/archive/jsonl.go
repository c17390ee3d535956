package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/store"
)

const (
	format  = "parley"
	version = 1 // of the lines of JSONL; this one and older ones can be read

	typeSession = "session"
	typeMessage = "message"

	typeAnnotation = "annotation"
)

// JSONL writes all of c: a line that describes the session,
//
//	{"type":"session","format":"parley","version":1,"id":…,"title":…,…}
//
// with "masked", the number of texts in which keys were masked, unless it is 0;
// a line for each message, on all branches, in the order of Nodes:
//
//	{"type":"message","seq":1,"parent":0,"at":…,"role":"user",…,"parts":[…]}
//
// and a line for each annotation, which was shown between messages:
//
//	{"type":"annotation","n":1,"after":1,"next":2,"at":…,"kind":"notice","data":{…}}
//
// Fields are those of store.Session, store.Node, llm.Part and store.Annotation. Times are in UTC.
// A part's opaque state is written as it is; if JSON's rules of white space or
// encoding would change a byte of it, state_base64 has it instead. Text has to be
// valid UTF-8, as everywhere in parley. Several sessions may follow one another in
// a file.
func JSONL(w io.Writer, c Conversation) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	s := c.Session
	s.Created, s.Updated, s.Deleted = s.Created.UTC(), s.Updated.UTC(), s.Deleted.UTC()
	if s.Origin == ownOrigin {
		s.Origin = ""
	}
	if err := e.Encode(sessionLine{typeSession, format, version, c.MaskedTexts, s}); err != nil {
		return fmt.Errorf("write session %s: %w", s.ID, err)
	}
	for _, n := range c.Nodes {
		n.At = n.At.UTC()
		if err := e.Encode(nodeLine{Type: typeMessage, Node: n, Parts: partLines(n.Parts)}); err != nil {
			return fmt.Errorf("write message %d of session %s: %w", n.Seq, s.ID, err)
		}
	}
	for _, a := range c.Annotations {
		a.At = a.At.UTC()
		if err := e.Encode(annotationLine{typeAnnotation, a}); err != nil {
			return fmt.Errorf("write annotation %d of session %s: %w", a.N, s.ID, err)
		}
	}
	return b.Flush()
}

// A sessionLine is a line of JSONL. It embeds the stored type, so that fields added there
// are written as well, as nodeLine and annotationLine do.
type sessionLine struct {
	Type    string `json:"type"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	Masked  int    `json:"masked,omitempty"`
	store.Session
}

type nodeLine struct {
	Type string `json:"type"`
	store.Node
	Parts partList `json:"parts"` // hides the field of llm.Message
}

// maxParts is how many parts a message may have.
const maxParts = 100_000

var errManyParts = errors.New("too many parts")

// A partList is read part by part, up to maxParts.
type partList []partLine

// UnmarshalJSON reads a list, or null.
func (l *partList) UnmarshalJSON(data []byte) error {
	*l = nil
	d := json.NewDecoder(bytes.NewReader(data))
	begin, err := d.Token()
	switch {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return errors.New("parts are no list")
	}
	*l = partList{}
	for d.More() {
		if len(*l) == maxParts {
			return errManyParts
		}
		var p partLine
		if err := d.Decode(&p); err != nil {
			return err
		}
		*l = append(*l, p)
	}
	return nil
}

type annotationLine struct {
	Type string `json:"type"`
	store.Annotation
}

type partLine struct {
	llm.Part
	State  json.RawMessage `json:"state,omitempty"` // hides the field of llm.Part
	Base64 []byte          `json:"state_base64,omitempty"`
}

func partLines(parts []llm.Part) []partLine {
	if parts == nil {
		return nil
	}
	out := make([]partLine, len(parts))
	for i, p := range parts {
		out[i] = partLine{Part: p}
		if verbatim(p.State) {
			out[i].State = p.State
		} else {
			out[i].Base64 = p.State
		}
	}
	return out
}

// verbatim reports whether raw stays the same, byte for byte, when it is encoded.
func verbatim(raw json.RawMessage) bool {
	var b bytes.Buffer
	return utf8.Valid(raw) && json.Compact(&b, raw) == nil && bytes.Equal(b.Bytes(), raw) && string(raw) != "null"
}

func (l *nodeLine) node() store.Node {
	n := l.Node
	n.Parts = nil
	if l.Parts != nil {
		n.Parts = make([]llm.Part, len(l.Parts))
	}
	for i, p := range l.Parts {
		n.Parts[i] = p.Part
		n.Parts[i].State = p.State
		if len(p.Base64) > 0 {
			n.Parts[i].State = p.Base64
		}
	}
	return n
}

// A jsonlImporter reads files of JSONL.
type jsonlImporter struct {
	skipped *skippedCounts
	all     []*Conversation
}

func (d *jsonlImporter) line(data []byte) error {
	var head struct {
		Type    string `json:"type"`
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if decode(data, &head) != nil {
		d.skipped.add(badLines, 1)
		return nil
	}
	switch head.Type {
	case typeSession:
		if head.Version > version {
			return fmt.Errorf("written by a newer parley: version %d, this one reads up to %d", head.Version, version)
		}
		var l sessionLine
		if json.Unmarshal(data, &l) != nil || head.Format != format {
			d.skipped.add(badLines, 1)
			return nil
		}
		if l.ID != "" && !validID(l.ID) {
			l.ID = hashedID(format, l.ID) // the file is anybody's
		}
		d.all = append(d.all, &Conversation{Session: l.Session, MaskedTexts: l.Masked, FromParley: true})
	case typeMessage:
		var l nodeLine
		switch err := json.Unmarshal(data, &l); {
		case errors.Is(err, errManyParts):
			d.skipped.add(manyParts, 1)
			return nil
		case err != nil || len(d.all) == 0:
			d.skipped.add(badLines, 1)
			return nil
		}
		c := d.all[len(d.all)-1]
		c.Nodes = append(c.Nodes, l.node())
	case typeAnnotation:
		var l annotationLine
		if len(d.all) == 0 || json.Unmarshal(data, &l) != nil {
			d.skipped.add(badLines, 1)
			return nil
		}
		c := d.all[len(d.all)-1]
		c.Annotations = append(c.Annotations, l.Annotation)
	default:
		d.skipped.add(unknownLines, 1)
	}
	return nil
}

func (d *jsonlImporter) end() []Conversation {
	var out []Conversation
	for _, c := range d.all {
		repair(c, d.skipped)
		out = append(out, *c)
	}
	return out
}

// ownOrigin is the Origin of a conversation that was imported from a file of parley's own. Files do not have it.
const ownOrigin = "parley file"

// roles holds the roles that a message may have.
var roles = []llm.Role{llm.RoleUser, llm.RoleAssistant, llm.RoleTool}

// notImported holds the kinds of annotations that are skipped, with their notices: a file does not change settings, and
// the next prompt would include an opinion.
var notImported = map[string]string{
	store.KindPersona: ownSettings, store.KindSettings: ownSettings, store.KindDirectories: ownSettings, "opinion": opinions,
}

// repair makes a tree of the messages of a file, which anybody may have written. A
// conversation as JSONL writes it stays as it is, but has an origin.
func repair(c *Conversation, n *skippedCounts) {
	c.Session.Origin = cmp.Or(c.Session.ImportedFrom(), ownOrigin)
	before := len(c.Nodes)
	seen := make(map[int]bool, before)
	c.Nodes = slices.DeleteFunc(c.Nodes, func(node store.Node) bool {
		bad := node.Seq <= 0 || seen[node.Seq] || !slices.Contains(roles, node.Role)
		seen[node.Seq] = true
		return bad
	})
	n.add(badMessages, before-len(c.Nodes))
	sort.SliceStable(c.Nodes, func(i, j int) bool { return c.Nodes[i].Seq < c.Nodes[j].Seq })
	clear(seen)
	last := 0
	for i := range c.Nodes {
		node := &c.Nodes[i]
		if node.Parent != 0 && !seen[node.Parent] { // a parent comes first, so there are no circles
			node.Parent = last
			n.add(orphans, 1)
		}
		seen[node.Seq] = true
		last = node.Seq
		if node.Usage != nil {
			*node.Usage = node.Usage.Clamped()
		}
	}
	if c.Session.Head != 0 && !seen[c.Session.Head] {
		c.Session.Head = last
		n.add(badHeads, 1)
	}
	if last > 2*len(c.Nodes)+slack {
		renumber(c)
	}
	c.Annotations = slices.DeleteFunc(c.Annotations, func(a store.Annotation) bool {
		notice, skipped := notImported[a.Kind]
		if skipped {
			n.add(notice, 1)
		}
		return skipped
	})
	before = len(c.Annotations)
	c.Annotations = store.LimitAnnotations(c.Annotations)
	n.add(badAnnotations, before-len(c.Annotations))
}

// slack is how many numbers may be missing before messages are numbered anew.
const slack = 1000

// renumber numbers messages from 1 without gaps, in their order.
func renumber(c *Conversation) {
	now := map[int]int{0: 0}
	for i := range c.Nodes {
		node := &c.Nodes[i]
		now[node.Seq] = i + 1
		node.Seq, node.Parent = i+1, now[node.Parent]
	}
	c.Session.Head = now[c.Session.Head]
	for i := range c.Annotations {
		a := &c.Annotations[i]
		after, known := now[a.After]
		if a.After, a.Next = after, now[a.Next]; !known || a.Kind == store.KindAbandoned { // it names a message by its number
			a.Kind = ""
		}
	}
}
