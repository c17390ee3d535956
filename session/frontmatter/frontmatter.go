// Package frontmatter reads the front matter of Markdown files, between two lines of
// ---, and its YAML:
//
//	text ──► Split ──► head ──► Parse ──► Value (keys, lists, maps, texts)
//	              └──► body
//
// Anchors, aliases, tags and several documents are errors with their line. Parse is more lenient
// than YAML: hand-written descriptions include colons, brackets and stars that would need quotes.
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
	maxDepth = 20        // nesting of values
)

// InDirectory calls look if dir is a directory, or a link to one. If it does not exist or is a file, it
// does nothing.
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

// ReadFile reads a regular file; of one with more than most bytes, it returns most+1. The error
// has the path.
func ReadFile(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the other end of a pipe
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

// An Error reports a line that cannot be parsed.
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
	Line   int     // line of its beginning, from 1
	Text   string  // of a text; source of a list or map in brackets
	Quoted bool    // text in quotes or a block, so that "3" is not a number
	Items  []Value // of a list
	Fields []Field // of a map, in order
}

// A Field is a key of a map with its value.
type Field struct {
	Key   string
	Line  int // line of the key; Value may begin below it
	Value Value
}

// Get returns the value of a key; false if the map lacks it, or v is not a map.
func (v Value) Get(key string) (Value, bool) {
	for _, f := range v.Fields {
		if f.Key == key {
			return f.Value, true
		}
	}
	return Value{}, false
}

// Words returns the texts of a list, or the parts of a text separated by commas, or without
// commas by spaces. Spaces in parentheses do not separate: "Bash(git log:*) Read" has two words.
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

// Split splits text into its front matter and the body; without front matter head is "" and
// body is text. Line is the line on which body begins, from 1. Unterminated front matter is an
// *Error.
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
