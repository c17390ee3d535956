package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// An exportImporter reads exports of ChatGPT and of Claude: conversations.json, a list of
// conversations on one line, and the zip that holds it.
type exportImporter struct {
	limits limits
	notes  *skippedCounts
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

// listing reports whether a file of an export holds conversations. Larger exports
// have several, with numbers: conversations-000.json.
func listing(name string) bool {
	number, ok := strings.CutPrefix(strings.TrimSuffix(name, ".json"), "conversations")
	return ok && strings.HasSuffix(name, ".json") && strings.Trim(number, "-0123456789") == ""
}

// errBomb reports that a zip holds more than is read of one.
var errBomb = errors.New("the zip is too large")

// zip reads an export of ChatGPT or Claude. A zip is read from its end: what cannot be
// sought in is held in memory.
func (l limits) zip(r io.Reader, b *bufio.Reader, n *skippedCounts) ([]Conversation, error) {
	at, size, err := l.sought(r, b)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(at, size)
	if err != nil {
		return nil, fmt.Errorf("not a whole zip: %w", err)
	}
	left := l.unzip
	images := zipImages{limits: l, left: &left}
	var lists []*zip.File
	for _, f := range z.File {
		base := path.Base(f.Name)
		switch {
		case listing(base):
			lists = append(lists, f)
		case strings.HasPrefix(base, "file"):
			images.files = append(images.files, zipImage{base, f})
		}
	}
	slices.SortFunc(images.files, func(a, b zipImage) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(lists, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	d := exportImporter{limits: l, notes: n, files: images.take}
	for _, f := range lists {
		if err := d.file(f, &left); err != nil {
			return d.found, fmt.Errorf("%s: %w", path.Base(f.Name), err)
		}
	}
	return d.found, nil
}

// sought returns r as something that can be read anywhere.
func (l limits) sought(r io.Reader, b *bufio.Reader) (io.ReaderAt, int64, error) {
	if f, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	}); ok {
		if size, err := f.Seek(0, io.SeekEnd); err == nil {
			return f, size, nil
		}
	}
	data, err := io.ReadAll(io.LimitReader(b, l.zipped+1))
	if err != nil {
		return nil, 0, err
	}
	if int64(len(data)) > l.zipped {
		return nil, 0, errBomb
	}
	return bytes.NewReader(data), int64(len(data)), nil
}

func (d *exportImporter) file(f *zip.File, left *int64) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	b := bufio.NewReaderSize(&sizeLimiter{in, left}, 64<<10)
	for {
		c, err := b.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if c == '[' {
			b.UnreadByte()
			return d.list(b)
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", rune(c)) && c < 0x80 {
			return errors.New("not a list")
		}
	}
}

// A sizeLimiter ends with errBomb once more than is left came through it.
type sizeLimiter struct {
	io.Reader
	left *int64
}

func (m *sizeLimiter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if *m.left -= int64(n); *m.left < 0 {
		return 0, errBomb
	}
	return n, err
}

// zipImages holds the images of an export. Their names begin with the id under
// which a message refers to them.
type zipImages struct {
	limits limits
	left   *int64
	files  []zipImage // by name
}

type zipImage struct {
	name string
	file *zip.File
}

func (s *zipImages) take(id string) ([]byte, bool) {
	i, _ := slices.BinarySearchFunc(s.files, id, func(f zipImage, id string) int { return strings.Compare(f.name, id) })
	for ; i < len(s.files) && strings.HasPrefix(s.files[i].name, id); i++ {
		if rest := s.files[i].name[len(id):]; rest == "" || strings.ContainsRune("-_.", rune(rest[0])) {
			return s.read(s.files[i].file)
		}
	}
	return nil, false
}

func (s *zipImages) read(f *zip.File) ([]byte, bool) {
	in, err := f.Open()
	if err != nil {
		return nil, false
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(&sizeLimiter{in, s.left}, s.limits.image+1))
	return data, err == nil && len(data) > 0 && int64(len(data)) <= s.limits.image
}
