package cmdutil

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
)

// Text in another encoding on standard input is converted to UTF-8, with a notice. Binary input is not changed.
func TestEncodings(t *testing.T) {
	const told = "Standard input converted from "
	tests := []struct{ name, input, want, told string }{
		{"UTF-8", "naïve\n", "naïve\n", ""},
		{"UTF-16, little end first", "\xff\xfen\x00a\x00\xef\x00", "naï", told + "UTF-16 to UTF-8"},
		{"UTF-16, big end first", "\xfe\xff\x00n\x00a\x00\xef", "naï", told + "UTF-16 to UTF-8"},
		{"UTF-16 without a mark", "h\x00e\x00l\x00l\x00o\x00\n\x00", "hello\n", told + "UTF-16 to UTF-8"},
		{"UTF-16 without a mark, big end first", "\x00h\x00e\x00l\x00l\x00o", "hello", told + "UTF-16 to UTF-8"},
		{"UTF-8 that head -c cut", "naïve, o\xc3", "naïve, o\uFFFD", told + "invalid UTF-8 to UTF-8"},
		{"Latin-1", "na\xefve, or not", "naïve, or not", told + "Windows-1252 to UTF-8"},
		{"an image", "\x89PNG\r\n\x1a\n\x00", "\x89PNG\r\n\x1a\n\x00", ""},
		{"bytes", "\x00\x01\x02\x03\xff\xfe", "\x00\x01\x02\x03\xff\xfe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "input")
			if err := os.WriteFile(path, []byte(tt.input), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			notice := ""
			got, err := ReadStdin(f, false, func(text string) { notice += text })
			if err != nil || string(got) != tt.want || notice != tt.told {
				t.Errorf("got %q, told %q, %v; want %q, told %q", got, notice, err, tt.want, tt.told)
			}
		})
	}
}

// Writers of an input are searched only while it is silent, because the search reads the open files of all processes.
// An input that some process may still write to is waited for.
func TestInputWriter(t *testing.T) {
	const gaveUp = "nothing on standard input for 2s, and no other program of this pipeline writes to it: continuing without"
	tests := []struct {
		name    string
		bounded bool
		after   time.Duration // time until the input is written
		writer  int           // number of the search that finds a writer
		asked   bool
		want    string
		told    string
	}{
		{"written at once", true, 0, 0, false, "diff", ""},
		{"written soon", true, inputSilence - 1, 0, false, "diff", ""},
		{"written by a slow program", true, time.Hour, math.MaxInt, true, "diff", "waiting for standard input"},
		{"written by whom nobody knows", true, time.Second, 0, true, "diff", ""},
		{"left open", true, time.Hour, 0, true, "", gaveUp},
		{"left open, and for a moment by a program that starts", true, time.Hour, 1, true, "", "waiting for standard input" + gaveUp},
		{"the prompt itself", false, time.Hour, 0, false, "diff", "waiting for standard input"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				written := make(chan struct{})
				go func() {
					time.Sleep(tt.after)
					io.WriteString(w, "diff")
					w.Close()
					close(written)
				}()
				asked, told, writers := false, "", tt.writer
				got, err := readInput(r, tt.bounded, func() bool {
					asked = true
					writers--
					return writers >= 0
				}, func(text string) { told += text })
				if err != nil || string(got) != tt.want || asked != tt.asked || told != strings.Replace(tt.told, "2s", inputTimeout.String(), 1) {
					t.Errorf("got %q, %v, told %q, looked for a writer: %t", got, err, told, asked)
				}
				r.Close()
				<-written
			})
		})
	}
}

func TestPrompt(t *testing.T) {
	tests := []struct {
		name  string
		words []string
		stdin string
		want  []llm.Part
	}{
		{"words", []string{"explain", "this"}, "", []llm.Part{{Kind: llm.Text, Text: "explain this"}}},
		{"standard input alone stays as it is", nil, "  a\nb\n", []llm.Part{{Kind: llm.Text, Text: "  a\nb\n"}}},
		{"both", []string{"explain"}, "a\n", []llm.Part{{Kind: llm.Text, Text: "explain\n\n<stdin>\na\n</stdin>"}}},
		{"binary is an attachment", []string{"what"}, "\x89PNG\r\n\x1a\n\x00", []llm.Part{
			{Kind: llm.Media, Name: "stdin", MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n\x00")}, {Kind: llm.Text, Text: "what"}}},
		{"nothing", nil, "", nil},
		{"white space", nil, " \n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Prompt(tt.words, []byte(tt.stdin))
			if len(got) != len(tt.want) {
				t.Fatalf("got %+v, want %+v", got, tt.want)
			}
			for i := range got {
				g, w := got[i], tt.want[i]
				if g.Kind != w.Kind || g.Text != w.Text || g.MIME != w.MIME || g.Name != w.Name || !bytes.Equal(g.Data, w.Data) {
					t.Errorf("part %d: got %+v, want %+v", i, g, w)
				}
			}
		})
	}
}
