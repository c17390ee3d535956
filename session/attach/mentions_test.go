package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/providers/llm"
)

func TestMentions(t *testing.T) {
	files := []string{"main.go", "dir/file.go", "my file.txt", "it's", "/etc/hosts", "../up.go", "a(1).txt", "Makefile", ".env", "@types/node", "src", "x.go:12", "日本.txt", "v1.0", `back\slash`}
	tests := []struct {
		name, text string
		want       []string // as in the text
	}{
		{"alone", "@main.go", []string{"@main.go"}},
		{"in a sentence", "explain @dir/file.go to me", []string{"@dir/file.go"}},
		{"two", "@main.go and\n@Makefile", []string{"@main.go", "@Makefile"}},
		{"twice", "@main.go @main.go", []string{"@main.go", "@main.go"}},
		{"full stop", "see @main.go.", []string{"@main.go"}},
		{"much punctuation", "(what of @main.go?!)...", []string{"@main.go"}},
		{"comma", "@main.go, @Makefile", []string{"@main.go", "@Makefile"}},
		{"no space behind the comma", "@main.go,@Makefile", []string{"@main.go", "@Makefile"}},
		{"line number", "@main.go:12", []string{"@main.go"}},
		{"line and column", "@main.go:12:3", []string{"@main.go"}},
		{"a name with a colon", "@x.go:12", []string{"@x.go:12"}},
		{"possessive", "@main.go's tests", []string{"@main.go"}},
		{"in backticks", "`@main.go`", []string{"@main.go"}},
		{"in parentheses", "(@main.go)", []string{"@main.go"}},
		{"parentheses in the name", "@a(1).txt", []string{"@a(1).txt"}},
		{"quotes", `@"my file.txt" here`, []string{`@"my file.txt"`}},
		{"single quotes", `@'my file.txt'`, []string{`@'my file.txt'`}},
		{"quotes within quotes", `@"it's"`, []string{`@"it's"`}},
		{"quotes not needed", `@"main.go".`, []string{`@"main.go"`}},
		{"a backslash", `@my\ file.txt here`, []string{`@my\ file.txt`}},
		{"and what may follow", `(@my\ file.txt:12), @my\ file.txt's and @my\ file.txt.`, []string{`@my\ file.txt`, `@my\ file.txt`, `@my\ file.txt`}},
		{"backslashes before other signs", `@a\(1\).txt @it\'s`, []string{`@a\(1\).txt`, `@it\'s`}},
		{"a backslash in the name", `@back\slash`, []string{`@back\slash`}},
		{"an escaped one", `@back\\slash`, []string{`@back\\slash`}},
		{"the name before it", `@main.go\ and`, []string{"@main.go"}},
		{"absolute", "@/etc/hosts", []string{"@/etc/hosts"}},
		{"above", "@../up.go", []string{"@../up.go"}},
		{"hidden", "@.env", []string{"@.env"}},
		{"an @ in the name", "@@types/node", []string{"@@types/node"}},
		{"a directory, if it counts", "@src", []string{"@src"}},
		{"dots in the name", "@v1.0.", []string{"@v1.0"}},
		{"words without spaces around", "看@main.go是什么，请说", []string{"@main.go"}},
		{"letters of another script", "@日本.txt。", []string{"@日本.txt"}},

		{"nothing", "", nil},
		{"an @ alone", "@ main.go @", nil},
		{"mail", "me@main.go and a.b@Makefile", nil},
		{"mail with a number", "me1@main.go", nil},
		{"a handle", "ask @someone", nil},
		{"a decorator", "@app.route('/')", nil},
		{"in a url", "https://example.com/@main.go", nil},
		{"part of a name", "@main.gopher", nil},
		{"a beginning is not the file", "@main.go.bak", nil},
		{"open quote", `@"main.go`, nil},
		{"quote over two lines", "@\"main\n.go\"", nil},
		{"empty quotes", `@""`, nil},
		{"escaped, not there", `@no\ file.txt`, nil},
		{"an escaped backslash before a space", `@my\\ file.txt`, nil},
		{"an escaped end of line", "@my\\\nfile.txt", nil},
		{"quoted, not there", `@"none"`, nil},
		{"longer than any path", "@" + strings.Repeat("a", maxPath+1), nil},
	}
	for _, tt := range tests {
		var got []string
		for _, m := range Mentions(tt.text, func(path string) bool { return slices.Contains(files, path) }) {
			got = append(got, tt.text[m.Start:m.End])
			if !slices.Contains(files, m.Path) {
				t.Errorf("%s: path %q", tt.name, m.Path)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: Mentions(%q) = %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestMentionRange(t *testing.T) {
	text := `see @"a b" now`
	want := []Mention{{Start: 4, End: 10, Path: "a b"}}
	if got := Mentions(text, func(path string) bool { return path == "a b" }); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// disk returns an open for Expand.
func disk(files map[string]error) (open func(string) (Attachment, error), opened *[]string) {
	opened = new([]string)
	return func(path string) (Attachment, error) {
		err, ok := files[path]
		if !ok {
			err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
		}
		if err != nil {
			return Attachment{}, err
		}
		*opened = append(*opened, path)
		it := Attachment{Part: llm.Part{Kind: llm.Media, Name: path}}
		if strings.HasSuffix(path, ".png") {
			it.Note = "downscaled"
		}
		return it, nil
	}, opened
}

// one returns a function for ExpandMentions that finds what open does.
func one(open func(string) (Attachment, error)) func(string) ([]llm.Part, string, error) {
	return func(path string) ([]llm.Part, string, error) {
		it, err := open(path)
		return []llm.Part{it.Part}, it.Note, err
	}
}

func TestExpand(t *testing.T) {
	files := map[string]error{
		"a.go": nil, "./a.go": nil, "b.png": nil,
		"src":      fmt.Errorf("src is a folder, %w: attach the files in it", ErrNotRegular),
		"secret":   &fs.PathError{Op: "open", Path: "secret", Err: syscall.EACCES},
		"a.go/x":   &fs.PathError{Op: "open", Path: "a.go/x", Err: syscall.ENOTDIR},
		"huge.bin": errors.New("huge.bin is too large"),
	}
	tests := []struct {
		name, text string
		want       []string // names of the files
		notes      []string
		err        string
	}{
		{"none", "hello", nil, nil, ""},
		{"one", "explain @a.go.", []string{"a.go"}, nil, ""},
		{"each once", "@a.go @b.png @a.go @./a.go", []string{"a.go", "b.png"}, []string{"b.png: downscaled"}, ""},
		{"a handle", "thanks @someone @a.go/x", nil, nil, ""},
		{"a directory", "look into @src please", nil, []string{"src is a folder, not a regular file: attach the files in it"}, ""},
		{"one that cannot be attached", "@a.go @huge.bin @b.png", nil, nil, "huge.bin is too large"},
		{"one that may not be read", "@secret", nil, nil, "open secret: permission denied"},
	}
	for _, tt := range tests {
		open, opened := disk(files)
		parts, notes, err := ExpandMentions(tt.text, one(open))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err || parts != nil {
				t.Errorf("%s: got %v, %d parts, want %s", tt.name, err, len(parts), tt.err)
			}
			continue
		}
		if err != nil || !slices.Equal(*opened, tt.want) || !slices.Equal(notes, tt.notes) {
			t.Errorf("%s: opened %q, notes %q, %v; want %q, %q", tt.name, *opened, notes, err, tt.want, tt.notes)
		}
		if len(parts) != len(tt.want) {
			t.Errorf("%s: got %+v, want the files", tt.name, parts)
		}
	}
	if parts, _, err := ExpandMentions(" \n", nil); len(parts) != 0 || err != nil {
		t.Errorf("a blank prompt: %+v, %v", parts, err)
	}
}

// Expand and File together, on disk: what no name can be is no mention.
func TestExpandFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(path string) (Attachment, error) { return FromFile(filepath.Join(dir, path), Limits{}) }
	text := "@a.txt @none @a.txt/b @" + strings.Repeat("n", 3000) + " @a\x00b"
	parts, notes, err := ExpandMentions(text, one(open))
	if err != nil || len(parts) != 1 || len(notes) != 0 || !strings.Contains(parts[0].Text, "\nhello\n") {
		t.Errorf("got %+v, %q, %v", parts, notes, err)
	}
}

// Mentions are ranges of the text, in order, that begin with an @ and hold their
// path; the text around them is none of theirs.
func FuzzMentions(f *testing.F) {
	for _, seed := range []string{"@main.go", `see @"a b", me@x.y (@c.d's)`, "@", "@@", `@"`, "@'\n'", "看@a是", "\xff@\xff", "@a,@b;@c"} {
		f.Add(seed, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, most uint8) {
		exists := func(path string) bool {
			if path == "" || len(path) > maxPath {
				t.Errorf("asked for a path of %d bytes", len(path))
			}
			return len(path) <= int(most)
		}
		rest, end := "", 0
		for _, m := range Mentions(text, exists) {
			if m.Start < end || m.End <= m.Start || m.End > len(text) {
				t.Fatalf("range %+v behind %d of %d bytes", m, end, len(text))
			}
			typed := text[m.Start:m.End]
			if bare := strings.Trim(typed[1:], `"'`); typed[0] != '@' || typed[1:] != m.Path && bare != strings.Trim(m.Path, `"'`) || !exists(m.Path) {
				t.Errorf("%q is not a mention of %q", typed, m.Path)
			}
			rest += text[end:m.Start] + typed
			end = m.End
		}
		if rest+text[end:] != text {
			t.Errorf("%q became %q", text, rest+text[end:])
		}
		parts, _, err := ExpandMentions(text, one(func(path string) (Attachment, error) {
			if exists(path) {
				return Attachment{}, nil
			}
			return Attachment{}, fs.ErrNotExist
		}))
		if err != nil || len(parts) == 0 && rest != "" {
			t.Errorf("Expand(%q) = %+v, %v", text, parts, err)
		}
	})
}

// TestSplitMessageCost: many texts are not copied for each of them.
func TestSplitMessageCost(t *testing.T) {
	parts := []llm.Part{{Kind: llm.Text, Text: "a"}, {Kind: llm.Media, Name: "b"}}
	for range 1999 {
		parts = append(parts, llm.Part{Kind: llm.Text, Text: "a"})
	}
	message := llm.Message{Role: llm.RoleUser, Parts: parts}
	text, attached := SplitMessage(message)
	if want := strings.TrimSuffix(strings.Repeat("a\n\n", 2000), "\n\n"); text != want || len(attached) != 1 {
		t.Errorf("got %d bytes and %d attached, want %d and 1", len(text), len(attached), len(want))
	}
	if n := testing.AllocsPerRun(10, func() { SplitMessage(message) }); n > 50 {
		t.Errorf("%v allocations", n)
	}
}
