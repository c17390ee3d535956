package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// An exportImporter reads exports of ChatGPT and of Claude: conversations.json, a list of
// conversations on one line, and the zip or folder that holds it. It also reads those of Open WebUI and LibreChat.
type exportImporter struct {
	limits  limits
	skipped *skippedCounts
	images  exportImages
	found   []Conversation
}

func (d *exportImporter) line(data []byte) error {
	var p probe
	var g gptConversation
	var c claudeChat
	var w webChat
	switch {
	case decode(data, &p) != nil:
		d.skipped.add(badLines, 1)
	case p.ChatMessages != nil && decode(data, &c) == nil:
		d.claude(&c)
	case p.Mapping != nil && decode(data, &g) == nil && len(g.Mapping) > 0:
		d.chatgpt(&g)
	case p.isWebChat() && decode(data, &w) == nil:
		d.web(&w)
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

// errExportTooLarge reports that the content of an export is larger than limits allow.
var errExportTooLarge = errors.New("the export is too large")

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
	return l.export(z, n)
}

// export reads an unpacked export of ChatGPT or Claude.
func (l limits) export(files fs.FS, n *skippedCounts) ([]Conversation, error) {
	left := l.unzip
	d := exportImporter{limits: l, skipped: n, images: exportImages{limits: l, left: &left, files: files}}
	var lists []string
	err := fs.WalkDir(files, ".", func(name string, f fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil || !f.Type().IsRegular():
		case holdsConversations(base):
			lists = append(lists, name)
		case strings.HasPrefix(base, "file"):
			d.images.names = append(d.images.names, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(d.images.names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	slices.Sort(lists)
	for _, name := range lists {
		if err := d.readFile(name, &left); err != nil {
			return d.found, fmt.Errorf("%s: %w", path.Base(name), err)
		}
	}
	return d.found, nil
}

func (d *exportImporter) readFile(name string, left *int64) error {
	in, err := d.images.files.Open(name)
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

// A sizeLimiter fails with errExportTooLarge once more than left bytes were read.
type sizeLimiter struct {
	io.Reader
	left *int64
}

func (m *sizeLimiter) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if *m.left -= int64(n); *m.left < 0 {
		return 0, errExportTooLarge
	}
	return n, err
}

// exportImages finds the images of an export, whose names begin with the id by which a
// message refers to them. The zero value has none.
type exportImages struct {
	limits limits
	left   *int64
	files  fs.FS
	names  []string // by their last element
}

func (s *exportImages) find(id string) []byte {
	i, _ := slices.BinarySearchFunc(s.names, id, func(name, id string) int { return strings.Compare(path.Base(name), id) })
	for ; id != "" && i < len(s.names); i++ {
		rest, ok := strings.CutPrefix(path.Base(s.names[i]), id)
		if !ok {
			break
		}
		if rest == "" || strings.ContainsRune("-_.", rune(rest[0])) {
			return s.read(s.names[i])
		}
	}
	return nil
}

func (s *exportImages) read(name string) []byte {
	in, err := s.files.Open(name)
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
