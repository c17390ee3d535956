package tools

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// A glob finds exactly the files that its pattern matches, although it enters only folders that can hold some.
func TestGlobFindsWhatThePatternMatches(t *testing.T) {
	files := map[string]string{}
	for _, dir := range []string{"", "a/", "a/b/", "a/b/c/", "ab/", "ab/a/", "[x]/", "{a}/b/"} {
		for _, name := range []string{"a.go", "b.txt", "abc"} {
			files[dir+name] = ""
		}
	}
	f := open(t, files)
	parts := []string{"a", "b", "*", "**", "?", "a*", "*b", "{a,ab}", "{a/b,ab}", "{a/**,ab}", "[ab]", `\[x\]`, "[^a]", "*.go", "*.{go,txt}", "a**", "{a,b/c}", "{a/{b,c},ab}/*", "a{,b}"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		pattern := strings.Join(slices.Collect(func(yield func(string) bool) {
			for range 1 + random.IntN(4) {
				yield(parts[random.IntN(len(parts))])
			}
		}), "/")
		var want []string
		for file := range files {
			if doublestar.MatchUnvalidated(pattern, file) {
				want = append(want, file)
			}
		}
		var got []string
		if text := f.must("glob", "pattern", pattern); !strings.HasPrefix(text, "[no files") {
			got = strings.Split(text, "\n")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

// Of many files, the newest are shown, the newest first.
func TestGlobShowsTheNewest(t *testing.T) {
	const n = 20 * maxMatches
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%02d/%04d", i%7, i)] = ""
	}
	f := open(t, files)
	for i := range n { // each fourth file is as old as the first
		age := time.Duration(i) * time.Minute
		if i%4 == 0 {
			age = n * time.Minute
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(f.at(fmt.Sprintf("d%02d/%04d", i%7, i)), when, when); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(f.must("glob", "pattern", "**"), "\n")
	for i, line := range lines[:maxMatches] {
		if want := fmt.Sprintf("%04d", i/3*4+i%3+1); !strings.HasSuffix(line, want) {
			t.Fatalf("line %d is %s, want %s", i, line, want)
		}
	}
	if want := []string{fmt.Sprintf("[the newest 200 of %d; narrow the pattern to see the others]", n)}; !slices.Equal(lines[maxMatches:], want) {
		t.Errorf("got %q, want %q", lines[maxMatches:], want)
	}
}

// A grep finds the lines that its expression matches, although it matches only files with a text that the
// expression needs.
func TestGrepFindsWhatTheExpressionMatches(t *testing.T) {
	lines := []string{"nosuch TEXT", "Kelvin \u212Aelvin", "\u017Ftop", "a+b", "FIXME", "todo", "xxabcabc", "func Name42() {", "äÖ straße", "", "tab\there"}
	files := map[string]string{}
	for i, line := range lines {
		files[fmt.Sprintf("%02d", i)] = "above\n" + line + "\nbelow\n"
	}
	f := open(t, files)
	for _, pattern := range []string{
		"text", "such text", "kelvin", "stop", "[a-z]+elvin", `a\+b`, "TODO|FIXME", "todo|fix(me)?", "(abc)+", "(abc){2}", "(abc){0,2}$", "abc*x?", `func \w+\d\d\(`, "Ä",
		"STRASSE|straße", "^$", "(foo|)bar|above\n", "x*", "t[ao]b?", "(?i:NAME)42", "(?i:K)elvin|(?i:ÖX?)", "a|b|c|d|e|f|g|h|i", "here$", `\bTEXT\b`, `[^\x00-\x{10FFFF}]|bc`, "[0-9]{2}", "[^a-z]{3}", "(?:[a-z]+ )*[A-Z]{4}", strings.Repeat("[a-f]?", 30) + "ca",
		"[ßé]e", "str.*e$", `\PL{2}`,
	} {
		for _, ignoreCase := range []bool{false, true} {
			expr := regexp.MustCompile("(?m)" + pattern)
			if ignoreCase {
				expr = regexp.MustCompile("(?mi)" + pattern)
			}
			for name, text := range files {
				got, _ := f.do("grep", "pattern", pattern, "ignore_case", ignoreCase, "path", name, "files_only", true)
				if want := expr.MatchString(strings.TrimSuffix(text, "\n")); (got == name) != want {
					t.Errorf("%q (ignoring case: %v) in %q: got %q, want a match: %v", pattern, ignoreCase, text, got, want)
				}
			}
		}
	}
}

// An expression for which deciding quickly would need a million states still finds its match.
func TestGrepWithManyStates(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = "ab"[random.IntN(2)]
	}
	f := open(t, map[string]string{"file": "x" + string(text) + "\nabababababababababababababx\n"})
	if got, want := f.must("grep", "pattern", "a(a|b){21}x"), ": abababababababababababababx"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
