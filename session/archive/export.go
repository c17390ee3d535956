package archive

import (
	"bufio"
	"bytes"
	"io"
)

// An exportImporter reads exports of ChatGPT and of Claude: conversations.json, a list of
// conversations on one line, and the zip that holds it.
type exportImporter struct {
	limits limits
	notes  *skipped
	files  func(id string) (data []byte, ok bool) // of the zip; nil: there is none
	found  []Conversation
}

func (d *exportImporter) line(data []byte) error {
	var p probe
	var g gptConversation
	var c claudeChat
	switch {
	case decode(data, &p) != nil:
		d.notes.add(badLines, 1)
	case p.Said != nil && decode(data, &c) == nil:
		d.claude(&c)
	case p.Mapping != nil && decode(data, &g) == nil && len(g.Mapping) > 0:
		d.chatgpt(&g)
	default:
		d.notes.add(badLines, 1)
	}
	return nil
}

func (d *exportImporter) end() []Conversation { return d.found }

// list takes a list of conversations, one at a time: what is wrong with one, or
// too long, does not concern the next.
func (d *exportImporter) list(r *bufio.Reader) error {
	if _, err := r.Discard(1); err != nil {
		return err
	}
	for number := 1; ; number++ {
		data, err := element(r, d.limits.line)
		d.notes.at("conversation", number)
		switch {
		case err == errLong:
			d.notes.add(longLines, 1)
			continue
		case err != nil && err != io.EOF:
			return err
		}
		if data = bytes.TrimSpace(data); len(data) > 0 {
			if err := d.line(data); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// element reads up to the comma behind an element of a JSON list, or to the end
// of the list, which comes with io.EOF.
func element(r *bufio.Reader, longest int) ([]byte, error) {
	var data []byte
	depth, quoted, escaped, long := 0, false, false, false
	for {
		c, err := r.ReadByte()
		if err != nil {
			return data, err
		}
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			if long {
				return nil, errLong
			}
			if c == ']' {
				return data, io.EOF
			}
			return data, nil
		case c == '}', c == ']':
			depth--
		}
		if long = long || len(data) == longest; !long {
			data = append(data, c)
		}
	}
}
