package markdown

import (
	"strings"
	"testing"
)

var signs = map[role]string{plainText: "", keyword: "k", str: "s", number: "n", comment: "c", function: "f", typeName: "t", good: "+", bad: "-"}

// marked writes runs as text with their roles in brackets: k[func] c[// x].
func marked(runs []styledRun) string {
	var b strings.Builder
	for _, r := range runs {
		if sign := signs[r.style.role]; sign != "" {
			b.WriteString(sign + "[" + r.text + "]")
			continue
		}
		b.WriteString(r.text)
	}
	return b.String()
}

func TestHighlight(t *testing.T) {
	for _, tt := range []struct{ lang, in, want string }{
		{"go", "func f(s string) int { return 0x2a } // \"x\"", `k[func] f[f](s t[string]) t[int] { k[return] n[0x2a] } c[// "x"]`},
		{"Go", `s := "a\"b" + 'c' + "open`, `s := s["a\"b"] + s['c'] + s["open]`},
		{"go", "/* a\nfunc */ func", "c[/* a]\nc[func */] k[func]"},
		{"go", "`raw\nx\\` y", "s[`raw]\ns[x\\`] y"},
		{"python", "'''a\n# b''' # c\nx#y", "s['''a]\ns[# b'''] c[# c]\nx#y"},
		{"ts", "const s = `a\n${b}`;", "k[const] s = s[`a]\ns[${b}`];"},
		{"sql", "select 1 from t -- x", "k[select] n[1] k[from] t c[-- x]"},
		{"SQL", "SELECT 'it''s'", "k[SELECT] s['it']s['s']"},
		{"bash", "echo $# \"a\nb\" # c", "k[echo] $# s[\"a]\ns[b\"] c[# c]"},
		{"c", "#include <x.h>\nint été = 1.5e3;", "k[#include] <x.h>\nt[int] été = n[1.5e3];"},
		{"rust", "fn f<'a>(x: &'a str) -> i32", "k[fn] f<'a>(x: &'a t[str]) -> t[i32]"},
		{"html", "<!-- a\nb --><p x=\"1\">", `c[<!-- a]` + "\n" + `c[b -->]<k[p] x=s["1"]>`},
		{"diff", "+a\n-b\n@@ c\n d", "+[+a]\n-[-b]\nc[@@ c]\n d"},
		{"json", `{"a": [1, true]}`, `{s["a"]: [n[1], k[true]]}`},
		{"unheard-of", `func "a" // 1`, `func "a" // 1`},
		{"", "func", "func"},
	} {
		s := newScanner(tt.lang)
		var got []string
		for line := range strings.Lines(tt.in) {
			got = append(got, marked(s.line(line)))
		}
		if got := strings.Join(got, "\n"); got != tt.want {
			t.Errorf("%s: %q\n got %s\nwant %s", tt.lang, tt.in, got, tt.want)
		}
	}
}

// Highlighting a line neither loses nor adds characters, for any line.
func FuzzHighlight(f *testing.F) {
	for i, g := range grammars {
		f.Add(uint8(i), g.words+"\n\"a\\\n'b\n`c\n/* d")
	}
	f.Fuzz(func(t *testing.T, which uint8, code string) {
		lang, _, _ := strings.Cut(grammars[int(which)%len(grammars)].names, " ")
		s := newScanner(lang)
		for line := range strings.Lines(code) {
			if len(line) > longLine+len("\r\n") {
				continue // its tabs all have the same width
			}
			var b strings.Builder
			for _, r := range s.line(line) {
				b.WriteString(r.text)
			}
			if want := printable(line); b.String() != want {
				t.Fatalf("%s: got %q, want %q", lang, b.String(), want)
			}
		}
	})
}

func TestEveryLanguageHasOneGrammar(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range grammars {
		for name := range strings.FieldsSeq(g.names) {
			if seen[name] || name != strings.ToLower(name) {
				t.Errorf("%s is not one lower-case name in one row", name)
			}
			seen[name] = true
		}
	}
}

func TestScanner(t *testing.T) {
	for _, tt := range []struct{ file, in, want string }{
		{"main.go", "func f() // x", "k[func] f[f]() c[// x]"},
		{"main.go", `fmt.Println("a", []string{}, MaxInt, x)`, `fmt.f[Println](s["a"], []t[string]{}, MaxInt, x)`},
		{"lib.rs", "let v: Vec<u8> = vec!(1);", "k[let] v: t[Vec]<t[u8]> = f[vec]!(n[1]);"},
		{"a.py", "class Foo(Bar): MAX = int(x)", "k[class] f[Foo](t[Bar]): MAX = t[int](x)"},
		{"a.sql", "SELECT count(id), INTEGER", "k[SELECT] f[count](id), t[INTEGER]"},
		{"a.sh", "run(x) Foo", "run(x) Foo"},
		{"a/b/Main.GO", "return 1", "k[return] n[1]"},
		{"deploy/Dockerfile", "FROM x", "k[FROM] x"},
		{".env", "# x", "c[# x]"},
		{"script.unheard-of", `func "a" // 1`, `func "a" // 1`},
		{"fix.diff", "+a", "+a"},
		{"", "func", "func"},
		{"dir.go/file", "func", "func"},
		{"main.go", "", ""},
	} {
		var b strings.Builder
		for _, token := range NewScanner(tt.file).Line(tt.in) {
			sign := [...]string{"", "c", "k", "s", "n", "f", "t"}[token.Class]
			if sign == "" {
				b.WriteString(token.Text)
				continue
			}
			b.WriteString(sign + "[" + token.Text + "]")
		}
		if b.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.file, b.String(), tt.want)
		}
	}
}
