package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"parley/providers/llm"
	"parley/providers/wire"
)

// formEvents returns all events of a stream as name=data.
func formEvents(r io.Reader) (list []string, failed error) {
	buffered, _ := wire.Sniff(r)
	e := wire.NewEvents(buffered)
	for {
		data, err := e.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, e.Name+"="+string(data))
	}
}

// TestEvents splits streams into events, whole and byte by byte.
func TestEvents(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []string
	}{
		{"line feeds", "data: 1\n\ndata: 2\n\n", []string{"=1", "=2"}},
		{"both", "data: 1\r\n\r\ndata:2\r\n\r\n", []string{"=1", "=2"}},
		{"carriage returns", "data: 1\r\rdata: 2\r\r", []string{"=1", "=2"}},
		{"data in lines", "data: [1\ndata: ,2\ndata\ndata: ]\n\n", []string{"=[1\n,2\n\n]"}},
		{"JSON without empty lines", "data: {\"a\":1}\ndata: {\"b\":2}\r\ndata: [3]\ndata: [DONE]\n", []string{`={"a":1}`, `={"b":2}`, `=[3]`}},
		{"and with names", "event: x\ndata: {}\nevent: y\ndata: {}\ndata: []\n\ndata: {}\n", []string{"x={}", "y={}", "=[]", "={}"}},
		{"JSON in lines", "data: {\"a\":[{}\ndata: ,\ndata: {}\ndata: ]}\nevent: x\n\ndata: {\ndata: {\n\n", []string{"x={\"a\":[{}\n,\n{}\n]}", "={\n{"}},
		{"comments and other fields", ": comment\n\n\n\ndata:  1\nid: 1\nretry: 5\n\n: more\n", []string{"=1"}},
		{"a byte order mark", "\ufeffdata: 1\n\n", []string{"=1"}},
		{"empty lines first", "\r\n\n data: 1\n\n", []string{"=1"}},
		{"names", "event: x\ndata: 1\n\ndata: 2\n\nevent: y\n\ndata: 3\n\n", []string{"x=1", "=2", "=3"}},
		{"no empty line at the end", "data: 1\n\nevent: x\ndata: 2\n", []string{"=1", "x=2"}},
		{"no end of the line", "data: 1", []string{"=1"}},
		{"a name alone", "event: x\n\n", nil},
		{"empty data", "data:\n\ndata: \n\ndata: 1\n\n", []string{"=1"}},
		{"an end that is told", "data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", []string{"=1"}},
		{"comments as data", ": a\n\ndata: : b\n\ndata: 1\n\ndata::\n\nevent: x\ndata:  :c\ndata: d\n\ndata: 2\n\n", []string{"=1", "=2"}},
		{"an error in words", "event: error\ndata: oops\n\n", []string{"error=oops"}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in))} {
				got, err := formEvents(r)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("%s: %q, %v; want %q", way, got, err, test.want)
				}
			}
		})
	}
}

// TestProse: a body of plain text is returned as an error with that text, not as an interrupted
// stream.
func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"upstream connect error: reset\n":                "server: upstream connect error: reset",
		"no healthy\r\nupstream":                         "server: no healthy upstream",
		`[{"error":{"code":429,"message":"slow down"}}]`: "rate_limit: slow down",
		"<!doctype html><title>Sign in</title>x":         `invalid_request: answered with a web page (text/html) "Sign in" instead of data: the base URL may be wrong, or a login page of the network stands in between`,
		"da":                                             "EOF",
		"event":                                          "EOF",
		": words\nid: 1\nretry: 1\n":                     "EOF",
		"data: 1\n\noops\n":                              "EOF",
		"data: oops\n\ndata: 1\n\ndata: [DONE]\n\n":      "unknown: the answer is not JSON: oops",
		"data: [1\n\ndata: two\n\n":                      "unknown: the answer is not JSON: [1",
	} {
		for way, r := range map[string]io.Reader{"whole": strings.NewReader(in), "bytes": iotest.OneByteReader(strings.NewReader(in))} {
			body, _ := wire.Sniff(r)
			events := wire.NewEvents(body)
			var err error
			for err == nil {
				_, err = events.Next()
			}
			got := err.Error()
			if fault := (*llm.Error)(nil); errors.As(err, &fault) {
				got = string(fault.Fault) + ": " + fault.Message
			}
			if got != want {
				t.Errorf("%s %q: %q, want %q", way, in, got, want)
			}
		}
	}
}

// TestDone distinguishes the two ends of a stream.
func TestDone(t *testing.T) {
	for in, want := range map[string]bool{"data: 1\n\ndata: [DONE]": true, "data: 1\n\n": false} {
		e := wire.NewEvents(bufio.NewReader(strings.NewReader(in)))
		for range 2 {
			e.Next()
		}
		if _, err := e.Next(); err != io.EOF || e.Done != want {
			t.Errorf("%q: done %t, %v; want %t", in, e.Done, err, want)
		}
	}
}

// TestBroken: an event in which the connection broke is dropped, and the connection's error is
// returned.
func TestBroken(t *testing.T) {
	broken := errors.New("broken")
	got, err := formEvents(io.MultiReader(strings.NewReader("data: 1\n\ndata: 2\n"), iotest.ErrReader(broken)))
	if err != broken || !slices.Equal(got, []string{"=1"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestOpen distinguishes JSON from events.
func TestOpen(t *testing.T) {
	for in, want := range map[string]byte{
		"": 0, " \r\n": 0, "{}": '{', "\ufeff \t\r\n{}": '{', "\n[": '[', "data: {}": 'd', ": {": ':',
	} {
		for _, body := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			r, first := wire.Sniff(body)
			if next, _ := r.ReadByte(); first != want || next != want {
				t.Errorf("%q: %q, then %q, want %q", in, first, next, want)
			}
		}
	}
}

// repeat reads as text repeated forever.
type repeat struct {
	text string
	rest string
	left int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestLong reads a line of 32 MiB, at which the SDKs' readers fail, and rejects endless data: a
// line, an event of many lines, a body in one piece.
func TestLong(t *testing.T) {
	const size = 32 << 20
	block := strings.Repeat("x", 64<<10)
	r, _ := wire.Sniff(io.MultiReader(strings.NewReader(`data: {"`), &repeat{text: block, left: size / len(block)}, strings.NewReader("\n\n")))
	if data, err := wire.NewEvents(r).Next(); err != nil || len(data) != size+2 || bytes.Count(data, []byte("x")) != size {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for name, text := range map[string]string{"a line": block, "an event": "data: " + block[:4<<10] + "\n"} {
		if _, err := formEvents(&repeat{text: text, left: 1 << 20}); err != wire.ErrTooLong || llm.FaultOf(err) != llm.Server {
			t.Errorf("%s without end: %v", name, err)
		}
	}
	if _, err := wire.ReadAll(&repeat{text: block, left: 1 << 20}); err != wire.ErrTooLong {
		t.Errorf("a body without end: %v", err)
	}
}

// FuzzEvents checks that reading ends, that it does not depend on how the network splits a stream
// or how its lines end, and that data can be written again.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: 1\n\ndata: 2\n\n", "data: 1\r\rdata: b\r\r", "\ufeff: c\r\n\r\nevent: x\r\ndata:1\r\ndata:\r\n\r\n",
		"data", "data:\ndata:[DONE]", "data: [DONE\n\ndata: ]", "event: a\nevent\ndata: x", "\r\n\r", ":", "data: a\n\n\ufeffdata: b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		want, failed := formEvents(strings.NewReader(in))
		said := fmt.Sprint(failed)
		if got, err := formEvents(iotest.OneByteReader(strings.NewReader(in))); fmt.Sprint(err) != said || !slices.Equal(got, want) {
			t.Errorf("byte by byte %q, %v; want %q, %s", got, err, want, said)
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in)
		for _, end := range []string{"\n", "\r", "\r\n"} {
			if got, err := formEvents(strings.NewReader(strings.ReplaceAll(lines, "\n", end))); fmt.Sprint(err) != said || !slices.Equal(got, want) {
				t.Errorf("lines that end in %q: %q, %v; want %q, %s", end, got, err, want, said)
			}
		}
		if strings.Contains(in, "=") {
			return // it separates names from data here
		}
		var again strings.Builder
		for _, event := range want {
			name, data, _ := strings.Cut(event, "=")
			again.WriteString("event: " + name + "\ndata: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
		}
		if got, err := formEvents(strings.NewReader(again.String())); err != nil || !slices.Equal(got, want) {
			t.Errorf("written again %q, %v; want %q", got, err, want)
		}
	})
}
