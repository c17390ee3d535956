package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"parley/session/transfer"
)

// limits bound the reading of a file, in bytes unless said otherwise.
type limits struct {
	line  int   // longest line, or conversation of a list
	lead  int   // number of lines to look at before giving up on a file
	unzip int64 // the unpacked content of a zip, in all
	image int64 // one image of a zip

	database int64 // a database, or its log
	files    int   // number of files in one directory
}

var standard = limits{line: 64 << 20, lead: 1000, unzip: 1 << 30, image: 32 << 20, database: 8 << 30, files: 1_000_000}

// conversations returns the conversations in r that have messages or a title. The content of r tells
// which program wrote it; name is that of the file, for the id of a session of Claude Code, or "".
//
// The ids of the sessions are unique among them; an imported session keeps the id its program gave
// it, so that a second import can be recognized.
//
// If there is no conversation, the error is ErrNoConversation, or names the part that was too long. If r fails
// midway, the conversations read until then come with the error.
func (l limits) conversations(r io.Reader, name string, n *skippedCounts) ([]Conversation, error) {
	b := bufio.NewReaderSize(r, 16<<10)
	found, err := l.open(r, b, name, n)
	found = slices.DeleteFunc(found, func(c Conversation) bool { return len(c.Nodes) == 0 && c.Session.Title == "" })
	unique(found)
	if err == nil && len(found) == 0 {
		err = transfer.ErrNoConversation
		if n.kinds[longLines] != nil {
			err = fmt.Errorf("a line or conversation in it is too long, above %d MB: export it in parts", l.line>>20)
		}
	}
	return found, err
}

// open reads a file. Its first bytes tell its kind: a zip, a list, or lines. B reads from r.
func (l limits) open(r io.Reader, b *bufio.Reader, name string, n *skippedCounts) ([]Conversation, error) {
	head, _ := b.Peek(4)
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")) {
		return l.zip(r, n)
	}
	first, err := firstRune(b)
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	case first == '[':
		d := exportImporter{limits: l, skipped: n}
		err := d.readList(b)
		return d.found, err
	}
	return l.lines(b, name, n)
}

// firstRune returns the next rune, which stays unread, after white space, NULs and byte order marks.
func firstRune(b *bufio.Reader) (rune, error) {
	for {
		r, _, err := b.ReadRune()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n\x00\ufeff", r) {
			return r, b.UnreadRune()
		}
	}
}

// An importer reads the lines of one format: line for each, then end. An error of line ends
// the import.
type importer interface {
	line(data []byte) error
	end() []Conversation
}

// lines reads a file of lines, in the format of the first line that belongs to one.
func (l limits) lines(b *bufio.Reader, name string, n *skippedCounts) ([]Conversation, error) {
	var d importer
	type numbered struct {
		number int
		data   []byte
	}
	var unread []numbered // the first lines, of no format: the importer decides about them
	size := 0
	in := lineReader{r: b, longest: l.line}
	var failed error
	for number := 1; failed == nil; number++ {
		data, err := in.next()
		n.at("line", number)
		if err == errLong {
			n.add(longLines, 1)
			continue
		}
		if err != nil && err != io.EOF {
			failed = err
		}
		switch {
		case len(data) == 0:
		case d != nil:
			failed = cmp.Or(d.line(data), failed)
		default:
			unread = append(unread, numbered{number, bytes.Clone(data)})
			size += len(data)
			if d = formatOf(data, l, name, n); d != nil {
				for _, u := range unread {
					n.at("line", u.number)
					failed = cmp.Or(d.line(u.data), failed)
				}
			} else if len(unread) == 1 && string(data) == "{" {
				// One conversation over many lines.
				return l.object(b, n)
			} else if len(unread) >= l.lead || size > l.line {
				return nil, transfer.ErrNoConversation
			}
		}
		if err == io.EOF {
			break
		}
	}
	if d == nil {
		return nil, failed
	}
	n.at("", 0)
	return d.end(), failed
}

// object reads one conversation over many lines; the first, "{", is read already.
func (l limits) object(b *bufio.Reader, n *skippedCounts) ([]Conversation, error) {
	n.at("", 0)
	data, err := io.ReadAll(io.LimitReader(b, int64(l.line)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > l.line {
		n.add(longLines, 1)
		return nil, nil
	}
	data = append([]byte{'{'}, data...)
	d := formatOf(data, l, "", n)
	if d == nil {
		return nil, transfer.ErrNoConversation
	}
	if err := d.line(data); err != nil {
		return nil, err
	}
	return d.end(), nil
}

// A probe holds the fields of a line that tell formats apart.
type probe struct {
	Type         string          `json:"type"`
	Format       string          `json:"format"`
	Payload      json.RawMessage `json:"payload"`
	Record       string          `json:"record_type"`
	ID           string          `json:"id"`
	Timestamp    string          `json:"timestamp"`
	Role         string          `json:"role"`
	UUID         string          `json:"uuid"`
	Session      string          `json:"sessionId"`
	Leaf         string          `json:"leafUuid"`
	Mapping      json.RawMessage `json:"mapping"`
	Project      string          `json:"projectHash"`
	ChatMessages json.RawMessage `json:"chat_messages"`
	Set          json.RawMessage `json:"$set"`
	System       json.RawMessage `json:"systemPayload"`
	Message      struct {
		Parts json.RawMessage `json:"parts"`
	} `json:"message"`
	Chat           json.RawMessage `json:"chat"` // Open WebUI
	ConversationID string          `json:"conversationId"`
	Exported       json.RawMessage `json:"exportAt"` // LibreChat
}

// isWebChat reports whether the line is a conversation of Open WebUI or LibreChat.
func (p *probe) isWebChat() bool {
	return len(p.Chat) > 0 && p.Chat[0] == '{' || p.ConversationID != "" && p.Exported != nil
}

// formatOf returns an importer for the format a line belongs to, nil if it is of none.
func formatOf(data []byte, l limits, name string, n *skippedCounts) importer {
	var p probe
	if decode(data, &p) != nil {
		return nil
	}
	switch {
	case p.Type == typeSession && p.Format == format:
		return &jsonlImporter{skipped: n}
	case len(p.Mapping) > 0 && p.Mapping[0] == '{', len(p.ChatMessages) > 0 && p.ChatMessages[0] == '[', p.isWebChat():
		return &exportImporter{limits: l, skipped: n}
	case p.Type == typeSession && p.ID != "" && p.Timestamp != "":
		return &piImporter{newBuilder("pi", n)}
	case p.Session != "" && p.Project != "", len(p.Set) > 0 && p.Set[0] == '{':
		return newGemini(n)
	case p.UUID != "" && len(p.System)+len(p.Message.Parts) > 0:
		return &qwenImporter{geminiBuilder: geminiBuilder{newBuilder("qwen-code", n)}}
	case p.UUID != "", p.Leaf != "", p.Session != "" && p.Type != "":
		return newClaude(name, n)
	case len(p.Payload) > 0 && slices.Contains(codexLines, p.Type), p.Record == "state",
		p.Type == "" && p.ID != "" && p.Timestamp != "", slices.Contains(codexItems, p.Type) && p.Role+p.ID != "":
		return newCodex(n)
	}
	return nil
}

// decode reads data into v. A field of an unexpected type is skipped and is no error: the
// rest may be enough.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		return nil
	}
	return err
}

// errLong reports that a line or element was longer than the limit; it has been skipped.
var errLong = errors.New("line too long")

// A lineReader reads lines up to a length.
type lineReader struct {
	r       *bufio.Reader
	longest int
	buf     []byte
}

// next returns a line without white space and NULs around it, good until the
// next call. The last one comes with io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if long = long || len(l.buf)+len(piece) > l.longest; !long {
			l.buf = append(l.buf, piece...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case long && (err == nil || err == io.EOF):
			return nil, errLong // at the end, the next call says so
		}
		return bytes.Trim(l.buf, " \t\r\n\x00"), err
	}
}

// unique changes the ids of sessions that share one with an earlier session.
func unique(list []Conversation) {
	seen := map[string]int{}
	for i := range list {
		id := list[i].Session.ID
		for seen[id] > 0 {
			seen[id]++
			id = fmt.Sprintf("%s-%d", id, seen[id])
		}
		seen[id] = 1
		list[i].Session.ID = id
	}
}

// A Notice counts things of one kind that could not be imported.
type Notice = transfer.Notice

// skippedCounts counts things that could not be imported, by kind.
type skippedCounts struct {
	kinds    map[string]*Notice
	position position
}

// A position is one in a file. The zero value is the file as a whole.
type position struct {
	unit string // "line", "conversation", …, which n counts; with n 0 a name, such as "message x"
	n    int    // from 1
}

func (p position) String() string {
	if p.n > 0 {
		return fmt.Sprintf("%s %d", p.unit, p.n)
	}
	return p.unit
}

func newSkipped() *skippedCounts { return &skippedCounts{kinds: map[string]*Notice{}} }

// at sets the position of the next count, see position.
func (n *skippedCounts) at(unit string, number int) { n.position = position{unit, number} }

// The kinds of things that are counted, in the words of their notices.
const (
	badLines       = "malformed lines skipped"
	longLines      = "lines or conversations skipped: too long"
	unknownLines   = "lines of unknown types skipped"
	manyParts      = "messages skipped: more than 100,000 parts"
	badMessages    = "invalid messages skipped"
	orphans        = "messages attached to the one before: their parent is missing"
	badAnnotations = "notices skipped: invalid, or too many"
	ownSettings    = "personas and settings skipped: choose them again with /persona and /set"
	opinions       = "opinions of other models skipped: get them again with /ask"
	badHeads       = "conversations that continue from their last message: the selected one is missing"
	strayResults   = "results skipped that answer no call"
	unanswered     = "calls without a result: may or may not have run"
	unknownBlocks  = "parts of unknown types skipped"
	noFiles        = "images and files skipped: not in the file"
	subagents      = "messages of subagents skipped"
	injected       = "messages skipped: added by the program itself"
	subsessions    = "conversations of subagents skipped"
	failedAnswers  = "answers skipped: empty, because they failed"
	emptyCalls     = "calls skipped: without a name"
	systemPrompts  = "system prompts skipped: not part of a conversation"
	schemas        = "schemas of answers skipped"
	newerTurns     = "turns skipped: in a form this parley does not read yet"
	badRows        = "rows or files skipped: invalid, or too long"
)

// decode reads data into v, as the function decode does. If it fails, it counts one of the kind what.
func (n *skippedCounts) decode(data []byte, v any, what string) bool {
	if decode(data, v) != nil {
		n.add(what, 1)
		return false
	}
	return true
}

func (n *skippedCounts) add(what string, count int) {
	if count <= 0 {
		return
	}
	if n.kinds[what] == nil {
		n.kinds[what] = &Notice{Kind: what, First: n.position.String()}
	}
	n.kinds[what].Count += count
}

// merge adds the counts of other.
func (n *skippedCounts) merge(other *skippedCounts) {
	for what, o := range other.kinds {
		n.add(what, o.Count)
		if have := n.kinds[what]; have.Count == o.Count {
			have.First = o.First
		}
	}
}

// list returns the notices, sorted by kind.
func (n *skippedCounts) list() []Notice {
	var out []Notice
	for _, notice := range slices.SortedFunc(maps.Values(n.kinds), func(a, b *Notice) int { return strings.Compare(a.Kind, b.Kind) }) {
		out = append(out, *notice)
	}
	return out
}
