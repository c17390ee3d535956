// Package frontmatter reads the front matter of Markdown files, which stands between two
// lines of ---, and its YAML:
//
//	text ──► Split ──► head ──► Parse ──► Value (keys, lists, maps, texts)
//	              └──► body
//
// Anchors, aliases, tags and several documents are errors with their line. Parse is lenient where
// YAML is not: hand-written descriptions have colons, brackets and stars that would need quotes.
package frontmatter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Bounds of front matter.
const (
	maxHead  = 256 << 10 // bytes
	maxDepth = 20        // values in one another
)

// InDirectory calls look if there is a folder dir, or a link to one. Where nothing or a file has its name,
// there is nothing to look at.
func InDirectory(dir string, look func() error) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	return look()
}

// ReadFile reads a regular file, of one with more than most bytes one byte more. The error has the
// path.
func ReadFile(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not wait for its other end
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	data := make([]byte, min(info.Size(), int64(most)+1))
	n, err := f.ReadAt(data, 0)
	if n == len(data) {
		err = nil
	}
	return data[:n], err
}

// An Error says in which line something cannot be read.
type Error struct {
	Line int // from 1
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Line, e.Text) }

// Kind is the kind of a Value.
type Kind int

// The kinds.
const (
	Text Kind = iota
	List
	Map
)

// A Value is the value of a key.
type Value struct {
	Kind   Kind
	Line   int     // where it begins, from 1
	Text   string  // of a text; of a list or a map in brackets its source
	Quoted bool    // a text in quotes or a block: "3" is no number
	Items  []Value // of a list
	Fields []Field // of a map, in order
}

// A Field is a key of a map with its value.
type Field struct {
	Key   string
	Line  int // of the key; Value may begin below it
	Value Value
}

// Get returns the value of a key; false if the map has none, or v is no map.
func (v Value) Get(key string) (Value, bool) {
	for _, f := range v.Fields {
		if f.Key == key {
			return f.Value, true
		}
	}
	return Value{}, false
}

// Words returns the texts of a list, or the parts of a text between commas; without commas, those
// between spaces. Spaces in parentheses separate nothing: "Bash(git log:*) Read" are two.
func (v Value) Words() []string {
	var words []string
	if v.Kind == List {
		for _, item := range v.Items {
			if item.Text != "" {
				words = append(words, item.Text)
			}
		}
		return words
	}
	comma, depth, from := strings.Contains(v.Text, ","), 0, 0
	add := func(to int) {
		if word := strings.TrimSpace(v.Text[from:to]); word != "" {
			words = append(words, word)
		}
		from = to + 1
	}
	for i, c := range v.Text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && (c == ',' || !comma && (c == ' ' || c == '\n' || c == '\t')):
			add(i)
		}
	}
	if from < len(v.Text) {
		add(len(v.Text))
	}
	return words
}

// Split divides text into its front matter and the rest; without any head is "" and body is
// text. Line is that on which body begins, from 1. Front matter that does not end is an *Error.
func Split(text string) (head, body string, line int, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, more := strings.Cut(text, "\n")
	if !more || strings.TrimRight(first, " \t\r") != "---" {
		return "", text, 1, nil
	}
	at, line := 0, 2
	for l := range strings.Lines(rest) {
		if t := strings.TrimRight(l, " \t\r\n"); t == "---" || t == "..." {
			return rest[:at], rest[at+len(l):], line + 1, nil
		}
		at += len(l)
		line++
	}
	return "", text, 1, &Error{1, "the front matter does not end: a line of --- is missing"}
}
