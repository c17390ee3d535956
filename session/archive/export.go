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
	limits  limits
	skipped *skippedCounts
	images  zipImages // of the zip; the zero value has none
	found   []Conversation
}

func (d *exportImporter) line(data []byte) error {
	var p probe
	var g gptConversation
	var c claudeChat
	switch {
	case decode(data, &p) != nil:
		d.skipped.add(badLines, 1)
	case p.ChatMessages != nil && decode(data, &c) == nil:
		d.claude(&c)
	case p.Mapping != nil && decode(data, &g) == nil && len(g.Mapping) > 0:
		d.chatgpt(&g)
	default:
		d.skipped.add(badLines, 1)
	}
	return nil
}

func (d *exportImporter) end() []Conversation { return d.found }

// readList reads a JSON list of conversations, one at a time: one that is malformed or too
// long is skipped.
func (d *exportImporter) readList(r *bufio.Reader) error {
	if _, err := r.Discard(1); err != nil {
		return err
	}
	for number := 1; ; number++ {
		data, err := nextElement(r, d.limits.line)
		d.skipped.at("conversation", number)
		switch {
		case err == errLong:
			d.skipped.add(longLines, 1)
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

// nextElement reads an element of a JSON list and the comma after it. The last one comes
// with io.EOF; one of more than longest bytes is skipped, with errLong.
func nextElement(r *bufio.Reader, longest int) ([]byte, error) {
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

// holdsConversations reports whether the file name of an export holds conversations. Larger
// exports have several, with numbers: conversations-000.json.
func holdsConversations(name string) bool {
	number, ok := strings.CutPrefix(strings.TrimSuffix(name, ".json"), "conversations")
	return ok && strings.HasSuffix(name, ".json") && strings.Trim(number, "-0123456789") == ""
}

// errZipTooLarge reports that the content of a zip is larger than limits allow.
var errZipTooLarge = errors.New("the zip is too large")

// zip reads an export of ChatGPT or Claude from r, which must be able to seek.
func (l limits) zip(r io.Reader, n *skippedCounts) ([]Conversation, error) {
	whole, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, errors.New("a zip has to be a file")
	}
	size, err := whole.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(whole, size)
	if err != nil {
		return nil, fmt.Errorf("not a whole zip: %w", err)
	}
	left := l.unzip
	images := zipImages{limits: l, left: &left}
	var lists []*zip.File
	for _, f := range z.File {
		base := path.Base(f.Name)
		switch {
		case holdsConversations(base):
			lists = append(lists, f)
		case strings.HasPrefix(base, "file"):
			images.files = append(images.files, zipImage{base, f})
		}
	}
	slices.SortFunc(images.files, func(a, b zipImage) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(lists, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	d := exportImporter{limits: l, skipped: n, images: images}
	for _, f := range lists {
		if err := d.readFile(f, &left); err != nil {
			return d.found, fmt.Errorf("%s: %w", path.Base(f.Name), err)
		}
	}
	return d.found, nil
}

func (d *exportImporter) readFile(f *zip.File, left *int64) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	b := bufio.NewReaderSize(&sizeLimiter{in, left}, 64<<10)
	first, err := firstRune(b)
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return err
	case first != '[':
		return errors.New("not a list")
	}
	return d.readList(b)
}

// A sizeLimiter fails with errZipTooLarge once more than left bytes were read.
type sizeLimiter struct {
	io.Reader
	left *int64
}

func (m *sizeLimiter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if *m.left -= int64(n); *m.left < 0 {
		return 0, errZipTooLarge
	}
	return n, err
}

// zipImages finds the images of an export, whose names begin with the id by which a
// message refers to them.
type zipImages struct {
	limits limits
	left   *int64
	files  []zipImage // by name
}

type zipImage struct {
	name string
	file *zip.File
}

func (s *zipImages) find(id string) []byte {
	i, _ := slices.BinarySearchFunc(s.files, id, func(f zipImage, id string) int { return strings.Compare(f.name, id) })
	for ; id != "" && i < len(s.files) && strings.HasPrefix(s.files[i].name, id); i++ {
		if rest := s.files[i].name[len(id):]; rest == "" || strings.ContainsRune("-_.", rune(rest[0])) {
			return s.read(s.files[i].file)
		}
	}
	return nil
}

func (s *zipImages) read(f *zip.File) []byte {
	in, err := f.Open()
	if err != nil {
		return nil
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(&sizeLimiter{in, s.left}, s.limits.image+1))
	if err != nil || int64(len(data)) > s.limits.image {
		return nil
	}
	return data
}
