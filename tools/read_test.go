package tools

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

// numberedLines is n lines that hold their numbers.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, content string
		offset, limit int
		want          string
		err           string
	}{
		{name: "lines", content: "a\n\nb\n", want: "     1\ta\n     2\t\n     3\tb\n"},
		{name: "no final newline", content: "a\nb", want: "     1\ta\n     2\tb\n"},
		{name: "empty", content: "", want: "[f is empty]"},
		{name: "empty, from further down", content: "", offset: 5, want: "[f is empty]"},
		{name: "a page", content: numberedLines(5), offset: 2, limit: 2,
			want: "     2\tline 2\n     3\tline 3\n[lines 2 to 3 of 5; read on with offset 4]"},
		{name: "the last page", content: numberedLines(5), offset: 4, limit: 2,
			want: "     4\tline 4\n     5\tline 5\n[lines 4 to 5, the last]"},
		{name: "behind the end", content: "a\n", offset: 2, err: "f has only 1 line"},
		{name: "CRLF", content: "a\r\nb\r\n", want: "     1\ta\n     2\tb\n[lines end with CRLF; edit and write keep that]"},
		{name: "byte order mark", content: "\uFEFFa\n", want: "     1\ta\n[the file begins with a byte order mark; edit and write keep it]"},
		{name: "not UTF-8", content: "gr\xFC\xDFe\n", want: "     1\tgr\uFFFDe\n[invalid UTF-8 is shown as \uFFFD]"},
		{name: "hidden text", content: "a\U000E0049\U000E0067b\u200Bc\n", want: "     1\tabc\n[3 invisible characters removed]"},
		{name: "a flag and a family", content: "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F 👨‍👩‍👧\n",
			want: "     1\t🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F 👨‍👩‍👧\n"},
		{name: "NUL", content: "\x7fELF\x00", err: "f is not text: application/octet-stream, 5 bytes"},
		{name: "a picture that is no PNG", content: "BM\x00\x00", err: "f is not text: image/bmp, 4 bytes"},
		{name: "UTF-16", content: "\xFF\xFEa\x00", err: "f is not text: UTF-16, 4 bytes"},
		{name: "NUL further down", content: strings.Repeat("a\n", 8<<10) + "\x00\n", offset: 8 << 10, err: "NUL bytes"},
	}
	for _, test := range tests {
		f := open(t, map[string]string{"f": test.content})
		pairs := []any{"path", "f"}
		if test.offset > 0 {
			pairs = append(pairs, "offset", test.offset)
		}
		if test.limit > 0 {
			pairs = append(pairs, "limit", test.limit)
		}
		if test.err != "" {
			f.fails("read", pairs, test.err)
			continue
		}
		if got := f.must("read", pairs...); got != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.name, got, test.want)
		}
	}
}

// Images and documents go to the model whole, recognized by their bytes.
func TestReadShows(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"a.png":   {"\x89PNG\r\n\x1a\n\x00\x00", "[a.png: image, image/png, 10 bytes]"},
		"b.txt":   {"GIF89a\x00", "[b.txt: image, image/gif, 7 bytes]"},
		"c.webp":  {"RIFF\x00\x00\x00\x00WEBPVP8 ", "[c.webp: image, image/webp, 16 bytes]"},
		"dir/d":   {"\xff\xd8\xff\xe0", "[dir/d: image, image/jpeg, 4 bytes]"},
		"e.pdf":   {"%PDF-1.7\n", "[e.pdf: file, application/pdf, 9 bytes]"},
		"big.png": {"\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 3<<20), "[big.png: image, image/png, 3.0 MiB]"},
	} {
		f := open(t, map[string]string{name: test.content})
		action, err := f.Plan(t.Context(), "read", args("path", name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out := action.Run(t.Context(), nil)
		if out.Failed || out.Text != test.want || len(out.Media) != 1 || string(out.Media[0].Data) != test.content || out.Media[0].Name != path.Base(name) {
			t.Errorf("%s: %q, %d files", name, out.Text, len(out.Media))
		}
	}
	f := open(t, map[string]string{"film.png": "\x89PNG\r\n\x1a\n", "book.pdf": "%PDF-1.7\n"})
	for name, size := range map[string]int64{"film.png": maxScan + 1, "book.pdf": maxPDF + 1} {
		if err := os.Truncate(f.at(name), size); err != nil {
			t.Fatal(err)
		}
	}
	f.fails("read", []any{"path", "film.png"}, "at most 64 MiB")
	f.fails("read", []any{"path", "book.pdf"}, "at most 14 MiB")
}

func TestReadIsCapped(t *testing.T) {
	t.Parallel()
	f := open(t, map[string]string{
		"lines": numberedLines(2500),
		"wide":  strings.Repeat(strings.Repeat("x", 1000)+"\n", 1000),
		"long":  "short\n" + strings.Repeat("ä", 100_000) + "\nend\n",
		"huge":  "text\n" + strings.Repeat("x", 8<<10),
	})
	if err := os.Truncate(f.at("huge"), maxScan+10); err != nil {
		t.Skip(err)
	}
	tests := []struct{ name, suffix string }{
		{"lines", "line 2000\n[lines 1 to 2000 of 2500; read on with offset 2001]"},
		{"wide", "[lines 1 to 260 of 1000; read on with offset 261]"},
		{"long", "ä [cut: the line has 200001 bytes]\n     3\tend\n"},
		{"huge", "[the file is larger than the 64 MiB this tool looks at; see the rest with a shell command]"},
	}
	for _, test := range tests {
		pairs := []any{"path", test.name}
		if test.name == "huge" { // what follows the first line is no text
			pairs = append(pairs, "limit", 1)
		}
		got := f.must("read", pairs...)
		if !strings.HasSuffix(got, test.suffix) {
			t.Errorf("%s: ends with %q, want %q", test.name, got[max(0, len(got)-100):], test.suffix)
		}
		if len(got) > maxPage+2*maxLine {
			t.Errorf("%s: %d bytes", test.name, len(got))
		}
	}
}

// Reading on with the offset that each page names gives every line once.
func TestPagesJoin(t *testing.T) {
	text := numberedLines(503)
	f := open(t, map[string]string{"f": text})
	var got strings.Builder
	for offset, pages := 1, 0; offset > 0; pages++ {
		if pages > 100 {
			t.Fatal("it does not end")
		}
		page := f.must("read", "path", "f", "offset", offset, "limit", 50)
		offset = 0
		for line := range strings.Lines(page) {
			if _, text, ok := strings.Cut(line, "\t"); ok {
				got.WriteString(text)
				continue
			}
			fmt.Sscanf(line[strings.LastIndex(line, " "):], "%d]", &offset)
		}
	}
	if got.String() != text {
		t.Errorf("got %d bytes, want %d", got.Len(), len(text))
	}
}

// A file of 5 GB with nothing in it answers like any other.
func TestReadSparseFile(t *testing.T) {
	f := open(t, map[string]string{"sparse": ""})
	if err := os.Truncate(f.at("sparse"), 5<<30); err != nil {
		t.Skip(err)
	}
	f.fails("read", []any{"path", "sparse"}, "is not text", "5368709120 bytes")
	f.fails("edit", []any{"path", "sparse", "old", "a", "new", "b"}, "larger than 50 MiB")
	f.fails("write", []any{"path", "sparse", "content", "b"}, "larger than 50 MiB")
}
