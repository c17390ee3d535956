package embed

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
)

// maxText is the greatest size of a text in bytes: longer texts are refused before anything is sent.
const maxText = 8 << 20

// A textReader reads the texts to embed, one at a time.
type textReader struct {
	args  []string // texts; nil reads the lines of files
	files []string // "-" is standard input

	blank      atomic.Int64 // skipped lines
	read, size atomic.Int64 // bytes of files; size is 0 if unknown
}

// A textError reports a text that cannot be embedded. No part of it was sent.
type textError struct {
	embedding.Input
	why string
}

func (e *textError) Error() string { return e.Place() + ": " + e.why }

func newTextReader(args, files []string) *textReader {
	r := &textReader{args: args, files: files}
	size := int64(len(strings.Join(args, "")))
	for _, path := range files {
		var info os.FileInfo
		var err error
		if path == "-" {
			info, err = os.Stdin.Stat()
		} else {
			info, err = os.Stat(path)
		}
		if err != nil || !info.Mode().IsRegular() {
			return r
		}
		size += info.Size()
	}
	r.size.Store(size)
	return r
}

// share returns how much of the input has been read, from 0 to 1; 0 if unknown.
func (r *textReader) share() float64 {
	if size := r.size.Load(); size > 0 {
		return min(1, float64(r.read.Load())/float64(size))
	}
	return 0
}

// texts yields the texts that are not blank. It ends with its first error.
func (r *textReader) texts() iter.Seq2[embedding.Input, error] {
	return func(yield func(embedding.Input, error) bool) {
		for i, text := range r.args {
			r.read.Add(int64(len(text)))
			if !r.hand(embedding.Input{Line: i + 1, Text: text}, yield) {
				return
			}
		}
		for _, path := range r.files {
			if !r.lines(path, yield) {
				return
			}
		}
	}
}

// hand yields a text, or an error if it is too long or not UTF-8. It skips blank texts.
func (r *textReader) hand(in embedding.Input, yield func(embedding.Input, error) bool) bool {
	why := ""
	switch {
	case strings.TrimSpace(in.Text) == "":
		r.blank.Add(1)
		return true
	case len(in.Text) > maxText:
		why = fmt.Sprintf("the text has more than %d MB: split it", maxText>>20)
	case !utf8.ValidString(in.Text) || strings.IndexByte(in.Text, 0) >= 0:
		why = "this is no text in UTF-8"
	default:
		return yield(in, nil)
	}
	yield(embedding.Input{}, &textError{in, why})
	return false
}

// lines yields the lines of a file.
func (r *textReader) lines(path string, yield func(embedding.Input, error) bool) bool {
	in, name := io.Reader(os.Stdin), ""
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			yield(embedding.Input{}, cmdutil.Usagef("--file %w", err))
			return false
		}
		defer func() { _ = f.Close() }()
		in, name = f, path
	}
	buffered := bufio.NewReaderSize(in, 1<<16)
	for n := 1; ; n++ {
		line, err := vectors.ReadLine(buffered, maxText+1) // of one that is too long, enough to see that
		r.read.Add(int64(len(line)))
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			yield(embedding.Input{}, fmt.Errorf("%s: %w", path, err))
			return false
		}
		if err == io.EOF && len(line) == 0 {
			return true
		}
		line = bytes.TrimRight(line, "\r\n")
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if !r.hand(embedding.Input{File: name, Line: n, Text: string(line)}, yield) {
			return false
		}
		if err == io.EOF {
			return true
		}
	}
}
