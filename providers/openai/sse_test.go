package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEvents splits streams into events, at once and byte by byte.
func TestEvents(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"data: a\r\n\r\ndata:b\r\n\r\n", []string{"a", "b"}},
		{"data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"data: a\ndata: b\ndata\n\n", []string{"a\nb\n"}},
		{": comment\n\n\n\ndata:  a\nid: 1\n\n: more\n", []string{" a"}},
		{"data: a", []string{"a"}},
		{"data: a\n", []string{"a"}},
		{"event: x\n\n", nil},
		{"data:\n\n", []string{""}},
		{"", nil},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(test.in), "bytes": iotest.OneByteReader(strings.NewReader(test.in))} {
			e := events{r: bufio.NewReader(r)}
			var got []string
			for {
				data, err := e.next()
				if err != nil {
					break
				}
				got = append(got, string(data))
			}
			if strings.Join(got, "|") != strings.Join(test.want, "|") || len(got) != len(test.want) {
				t.Errorf("%q (%s): %q, want %q", test.in, name, got, test.want)
			}
		}
	}
}

// TestLongLine reads a line of 32 MiB, at which the SDK's own reader gives up,
// and refuses one without end.
func TestLongLine(t *testing.T) {
	const size = 32 << 20
	line := io.MultiReader(strings.NewReader("data: "), &repeat{text: strings.Repeat("x", 64<<10), left: size >> 16}, strings.NewReader("\n\n"))
	e := events{r: bufio.NewReaderSize(line, 16<<10)}
	data, err := e.next()
	if err != nil || len(data) != size || bytes.Count(data, []byte("x")) != size {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	e = events{r: bufio.NewReaderSize(&repeat{text: strings.Repeat("x", 64<<10), left: 1 << 20}, 16<<10)}
	if _, err := e.next(); !errors.Is(err, errTooLong) {
		t.Errorf("a line without end: %v", err)
	}
}
