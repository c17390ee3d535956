package vectors

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Space is a set of comparable vectors: only vectors of the same Space can be compared.
type Space struct {
	Model      string // "provider/model"
	Dimensions int
	Task       string // purpose of the vectors; "" for none in particular
}

// Differs describes the difference between the spaces; "" if they are equal.
func (s Space) Differs(other Space) string {
	switch {
	case s.Model != other.Model:
		return fmt.Sprintf("the model %s, not %s", s.Model, other.Model)
	case s.Dimensions != other.Dimensions:
		return fmt.Sprintf("%d dimensions, not %d", s.Dimensions, other.Dimensions)
	case s.Task != other.Task:
		return fmt.Sprintf("the task %q, not %q", s.Task, other.Task)
	}
	return ""
}

// A Row is a text with its vector.
type Row struct {
	File   string // file of the text; "" for arguments and standard input
	Line   int    // line number, from 1
	Text   string
	Vector []float32
}

// Formats lists the file formats.
var Formats = []string{"json", "jsonl", "npy", "csv"}

// A Writer writes vectors to a file. Write flushes: its rows are in the file when it returns.
type Writer interface {
	Write(s Space, rows []Row) error
	// Close completes the file, which may have no rows.
	Close() error
}

// NewWriter returns a Writer for a format: one of Formats, or "texts" for JSON lines without vectors. For npy, w
// is a new file.
func NewWriter(format string, w io.Writer) Writer {
	b := bufio.NewWriterSize(w, 1<<18)
	switch format {
	case "json":
		return &jsonWriter{w: b}
	case "csv":
		return &csvWriter{w: b}
	case "npy":
		n := &numPy{w: b, file: w.(io.WriterAt)}
		_, _ = n.w.Write(n.head()) // it is buffered
		return n
	case "texts":
		return &linesWriter{w: b, bare: true}
	}
	return &linesWriter{w: b}
}

// A linesWriter writes JSON lines. Each line names its space, so that lines of several files can be distinguished.
type linesWriter struct {
	w    *bufio.Writer
	line []byte
	bare bool // without the vectors
}

func (l *linesWriter) Write(s Space, rows []Row) error {
	for _, r := range rows {
		l.line = append(l.line[:0], '{')
		l.line = appendPlace(l.line, r)
		l.line = appendSet(append(l.line, ','), s)
		if !l.bare {
			l.line = appendVector(append(l.line, `,"embedding":`...), r.Vector)
		}
		l.line = append(l.line, "}\n"...)
		if _, err := l.w.Write(l.line); err != nil {
			return err
		}
	}
	return l.w.Flush()
}

func (l *linesWriter) Close() error { return l.w.Flush() }

func appendPlace(b []byte, r Row) []byte {
	if r.File != "" {
		b = append(appendString(append(b, `"file":`...), r.File), ',')
	}
	b = strconv.AppendInt(append(b, `"line":`...), int64(r.Line), 10)
	return appendString(append(b, `,"text":`...), r.Text)
}

func appendSet(b []byte, s Space) []byte {
	b = appendString(append(b, `"model":`...), s.Model)
	b = strconv.AppendInt(append(b, `,"dimensions":`...), int64(s.Dimensions), 10)
	return appendString(append(b, `,"task":`...), s.Task)
}

// appendString appends s as JSON. Characters that terminals interpret or hide are escaped; decoding restores them.
func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(`""`) // strings always encode
	}
	for _, r := range string(text) {
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// appendVector appends v with enough digits to restore each float32 exactly.
func appendVector(b []byte, v []float32) []byte {
	b = append(b, '[')
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, x)
	}
	return append(b, ']')
}

func appendNumber(b []byte, x float32) []byte { return strconv.AppendFloat(b, float64(x), 'g', -1, 32) }

// A jsonWriter writes a single object.
type jsonWriter struct {
	w    *bufio.Writer
	rows int
}

func (j *jsonWriter) Write(s Space, rows []Row) error {
	for _, r := range rows {
		var b []byte
		if j.rows == 0 {
			b = append(appendSet(append(b, '{'), s), `,"embeddings":[`...)
		} else {
			b = append(b, ',')
		}
		j.rows++
		b = appendPlace(append(b, "\n{"...), r)
		b = append(appendVector(append(b, `,"embedding":`...), r.Vector), '}')
		if _, err := j.w.Write(b); err != nil {
			return err
		}
	}
	return j.w.Flush()
}

func (j *jsonWriter) Close() error {
	end := "\n]}\n"
	if j.rows == 0 {
		end = `{"embeddings":[]}` + "\n"
	}
	if _, err := j.w.WriteString(end); err != nil {
		return err
	}
	return j.w.Flush()
}

// A csvWriter writes a table with one column per dimension.
type csvWriter struct {
	w     *bufio.Writer
	begun bool
}

func (c *csvWriter) Write(s Space, rows []Row) error {
	var table [][]string
	if !c.begun {
		head := []string{"file", "line", "text", "model", "task"}
		for i := range s.Dimensions {
			head = append(head, fmt.Sprintf("v%d", i+1))
		}
		table, c.begun = append(table, head), true
	}
	for _, r := range rows {
		record := []string{r.File, strconv.Itoa(r.Line), r.Text, s.Model, s.Task}
		for _, x := range r.Vector {
			record = append(record, string(appendNumber(nil, x)))
		}
		table = append(table, record)
	}
	return csv.NewWriter(c.w).WriteAll(table)
}

func (c *csvWriter) Close() error { return c.w.Flush() }

// numPyHead is the length of the header of a NumPy file in bytes; NumPy wants a multiple of 64.
const numPyHead = 128

// A numPy writes the format of numpy.save, version 1.0: one array of float32 with a row for each vector. The number of
// rows is written at the end.
type numPy struct {
	w                *bufio.Writer
	file             io.WriterAt
	rows, dimensions int
}

func (n *numPy) Write(s Space, rows []Row) error {
	n.dimensions = s.Dimensions
	for _, r := range rows {
		n.rows++
		if _, err := n.w.Write(toBytes(r.Vector)); err != nil {
			return err
		}
	}
	return n.w.Flush()
}

// head returns the header for the rows so far.
func (n *numPy) head() []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), numPyHead-10, 0)
	b = fmt.Appendf(b, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n.rows, n.dimensions)
	for len(b) < numPyHead-1 {
		b = append(b, ' ')
	}
	return append(b, '\n')
}

func (n *numPy) Close() error {
	if err := n.w.Flush(); err != nil {
		return err
	}
	_, err := n.file.WriteAt(n.head(), 0)
	return err
}

// isFinite reports whether v contains neither NaN nor infinities.
func isFinite(v []float32) bool {
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return false
		}
	}
	return true
}
