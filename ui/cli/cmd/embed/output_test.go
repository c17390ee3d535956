package embed

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmd/embed/embedding"
	"parley/ui/cli/cmd/embed/vectors"
	"parley/ui/cli/cmdutil"
)

// inputs returns texts as inputs to embed.
func inputs(texts ...string) iter.Seq2[embedding.Input, error] {
	return func(yield func(embedding.Input, error) bool) {
		for i, text := range texts {
			if !yield(embedding.Input{Line: i + 1, Text: text}, nil) {
				return
			}
		}
	}
}

func quietRun(f Options) *run {
	r := &run{Env: &ability.Env{Streams: new(cmdutil.Streams)}, Options: f}
	r.Quiet = true
	return r
}

// vectorRows returns a row for each text.
func vectorRows(texts ...string) (rows []vectors.Row) {
	for i, text := range texts {
		rows = append(rows, vectors.Row{Line: i + 1, Text: text, Vector: []float32{0, 1}})
	}
	return rows
}

// --continue-from removes an incomplete last line after lines of parley's, and leaves any other file unchanged.
func TestContinueFromKeepsOthersFiles(t *testing.T) {
	set := vectors.Space{Model: "mock/m", Dimensions: 2}
	line := func(s vectors.Space, text string) string {
		var b strings.Builder
		if err := vectors.NewWriter("jsonl", &b).Write(s, vectorRows(text)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	ours, other := line(set, "a"), line(vectors.Space{Model: "mock/n", Dimensions: 2}, "b")
	for _, test := range []struct{ name, text, want, words string }{
		{"empty", "", line(set, "a") + strings.Replace(line(set, "b"), `"line":1`, `"line":2`, 1), ""},
		{"cut", ours + ours[:20], ours + strings.Replace(line(set, "b"), `"line":1`, `"line":2`, 1), ""},
		{"one line", "all that I wrote", "", "line 1: it is no JSON line"},
		{"one line with its break", "all that I wrote\n", "", "line 1: it is no JSON line"},
		{"no whole line", ours[:20], "", "no whole line"},
		{"a last line of somebody's", ours + "mine", "", "line 2: it is no JSON line"},
		{"a last line of another model", ours + other, "", "line 2: its vectors are mixed"},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := quietRun(Options{resume: path}).newSink()
		if err == nil {
			for in, bad := range s.unknown(inputs("a", "b")) {
				if err = bad; err != nil {
					break
				}
				row := vectorRows(in.Text)
				row[0].Line = in.Line
				if err = s.write(set, row); err != nil {
					break
				}
			}
			err = s.end(err)
		}
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q", test.name, err, test.words)
		}
		want := test.want
		if test.words != "" {
			want = test.text
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s: the file is now %q, want %q", test.name, got, want)
		}
	}
}

// The text reader looks up known texts while others are written, without seeing those written meanwhile.
func TestStoreSinkReadsWhileItWrites(t *testing.T) {
	dir := t.TempDir()
	library, err := session.OpenStore(func(name string) string { return map[string]string{"HOME": dir, "XDG_DATA_HOME": dir}[name] })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = library.Close() }()
	set := vectors.Space{Model: "mock/m", Dimensions: 2}
	if _, err := vectors.Of(library).Add("notes", set, vectorRows("old")); err != nil {
		t.Fatal(err)
	}
	r := quietRun(Options{store: "notes"})
	r.library = library
	s, err := r.newSink()
	if err != nil {
		t.Fatal(err)
	}
	texts, read := make(chan string, 9), s.unknown(inputs("old", "a", "b", "c"))
	go func() {
		defer close(texts)
		for in := range read {
			texts <- in.Text
		}
	}()
	for text := range texts {
		if err := s.write(set, vectorRows(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.(*storeSink); got.has.Rows != 1 || got.rows != 4 || got.known != 1 || got.added != 3 {
		t.Errorf("%d rows, of which %d were known and %d added", got.rows, got.known, got.added)
	}
}

// A file that appears while vectors are made is not overwritten, and the vectors are not lost.
func TestWholeSinkNumbersItsName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	s, err := quietRun(Options{to: path, format: "csv"}).newSink()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = s.write(vectors.Space{Model: "mock/m", Dimensions: 2}, vectorRows("a"))
	if err = s.end(err); err != nil {
		t.Error(err)
	}
	mine, _ := os.ReadFile(path)
	saved, _ := os.ReadFile(filepath.Join(dir, "a-2.csv"))
	if left, _ := os.ReadDir(dir); string(mine) != "mine" || !strings.Contains(string(saved), "mock/m") || len(left) != 2 {
		t.Errorf("%q, saved %q, %v", mine, saved, left)
	}
}

// A file of vectors is written under the usual temporary name, so that cleaning up after killed commands removes it.
func TestEmbedWritesBesideItsName(t *testing.T) {
	t.Chdir(t.TempDir())
	r := &run{Env: &ability.Env{Streams: new(cmdutil.Streams)}, Options: Options{to: "out.csv", format: "csv"}}
	r.Quiet = true
	s, err := r.newSink()
	if err != nil {
		t.Fatal(err)
	}
	if parts, _ := filepath.Glob(".parley-*.part"); len(parts) != 1 {
		t.Errorf("%v are being written", parts)
	}
	if err := s.end(nil); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(".")
	if err != nil || len(left) != 1 || left[0].Name() != "out.csv" {
		t.Errorf("%v, %v", left, err)
	}
}
