package vectors

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"parley/tools/lazy"
)

// maxLine is the greatest length of a line in a file of vectors, in bytes: the longest text, escaped, with its vector.
const maxLine = 64 << 20

// A Line is one line of a file of vectors in JSON lines.
type Line struct {
	Space
	Row
	End int64 // offset in the file after the line break
}

// A lineJSON is the JSON of a line.
type lineJSON struct {
	File       string          `json:"file"`
	Line       int             `json:"line"`
	Text       *string         `json:"text"`
	Model      string          `json:"model"`
	Dimensions int             `json:"dimensions"`
	Task       string          `json:"task"`
	Embedding  json.RawMessage `json:"embedding"`
}

// ErrTruncated reports that the last line of a file is incomplete because writing was interrupted. It has no line
// break, and is the beginning of a line that NewWriter writes for the same Space as the lines before it.
var ErrTruncated = errors.New("the last line is not whole")

// Lines reads JSON lines written by NewWriter. It ends with the first error: ErrTruncated, or an invalid line. Lines of
// another Space than the first one are an error.
func Lines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<18)
		var end int64
		var set Space
		for n := 1; ; n++ {
			text, err := ReadLine(in, maxLine)
			if len(text) > maxLine {
				err = fmt.Errorf("a line has more than %d MB", maxLine>>20)
			}
			if err == io.EOF && len(text) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(Line{}, err)
				return
			}
			if err == io.EOF && begins(text, set) {
				yield(Line{}, ErrTruncated)
				return
			}
			end += int64(len(text))
			line, err := Line{}, errNoLine
			if text[len(text)-1] == '\n' {
				line, err = parseLine(text)
			}
			if n == 1 {
				set = line.Space
			}
			if why := set.Differs(line.Space); err == nil && why != "" {
				err = fmt.Errorf("its vectors are mixed: the first has %s", why)
			}
			if err != nil {
				yield(Line{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			line.End = end
			if !yield(line, nil) {
				return
			}
		}
	}
}

// ReadLine returns the next line with its line break. The last line may have none; the error is io.EOF then. Of a line
// of more than most bytes, it returns a longer part, with bufio.ErrBufferFull if that is not all of it.
func ReadLine(in *bufio.Reader, most int) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if line = append(line, piece...); err != bufio.ErrBufferFull || len(line) > most {
			return line, err
		}
	}
}

// errNoLine reports a line that no linesWriter writes.
var errNoLine = errors.New("it is no JSON line that parley embed writes")

// place matches a line of a linesWriter up to the end of the text.
var place = lazy.NewRegexp(`^\{("file":"([^"\\]|\\.)*",)?"line":[0-9]+,"text":"([^"\\]|\\.)*"`)

// begins reports whether piece can be the beginning of a linesWriter's line for set; the zero Space matches any.
func begins(piece []byte, set Space) bool {
	if at := place.FindIndex(piece); at != nil {
		if set == (Space{}) {
			return beginsWith(piece[at[1]:], `,"model":"`)
		}
		return beginsWith(piece[at[1]:], string(appendSet([]byte(","), set))+`,"embedding":[`)
	}
	return beginsWith(piece, `{"file":"`) || beginsWith(piece, `{"line":`)
}

// beginsWith reports whether one of piece and head is a prefix of the other.
func beginsWith(piece []byte, head string) bool {
	n := min(len(piece), len(head))
	return string(piece[:n]) == head[:n]
}

func parseLine(text []byte) (Line, error) {
	var l lineJSON
	if err := json.Unmarshal(text, &l); err != nil {
		return Line{}, errNoLine
	}
	v, ok := parseVector(l.Embedding, l.Dimensions)
	if l.Text == nil || l.Model == "" || !ok {
		return Line{}, errNoLine
	}
	return Line{Space: Space{l.Model, l.Dimensions, l.Task}, Row: Row{l.File, l.Line, *l.Text, v}}, nil
}

// parseVector parses an array of numbers.
func parseVector(text []byte, dimensions int) ([]float32, bool) {
	if len(text) < 3 || text[0] != '[' || dimensions < 1 || dimensions > len(text) {
		return nil, false
	}
	v := make([]float32, 0, dimensions)
	for number := range bytes.SplitSeq(text[1:len(text)-1], []byte(",")) {
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil || len(v) == dimensions {
			return nil, false
		}
		v = append(v, float32(x))
	}
	return v, len(v) == dimensions && isFinite(v)
}
