package fuzzy_test

import (
	"slices"
	"strings"
	"testing"

	"parley/ui/fuzzy"
)

var titles = []string{"openai/gpt-6-luna", "openai/gpt-6.1-sol", "gemini/gemini-3.5-flash", "openai/gpt-4o-mini"}

// Words match in any order, a letter counts more at the beginning of a word, and
// all signs between words match each other.
func TestIndexFindsTitlesByWords(t *testing.T) {
	x := fuzzy.New(len(titles), func(i int) (title, also string) { return titles[i], "vision" })
	for query, want := range map[string]string{
		"gpt 6.1": "openai/gpt-6.1-sol",
		"6_1":     "openai/gpt-6.1-sol",
		"flash g": "gemini/gemini-3.5-flash",
		"4o":      "openai/gpt-4o-mini",
		"luna":    "openai/gpt-6-luna",
	} {
		hits := x.Find(nil, fuzzy.Parse(query), func(int) bool { return true })
		if len(hits) == 0 || titles[hits[0].Item] != want {
			t.Errorf("%q found %v, want %s first", query, hits, want)
		}
	}
	if hits := x.Find(nil, fuzzy.Parse("zebra"), func(int) bool { return true }); len(hits) > 0 {
		t.Errorf("zebra found %v", hits)
	}
	if hits := x.Find(nil, fuzzy.Parse("vision"), func(i int) bool { return i < 2 }); len(hits) != 2 {
		t.Errorf("what else is said of items found %v", hits)
	}
	if got := x.Marks(3, titles[3], fuzzy.Parse("4o")); !slices.Equal(got, []int{11, 12}) {
		t.Errorf("4o marks %v", got)
	}
}

// An exact name comes before a prefix, a prefix before a part, and a part before letters.
func TestPathRanks(t *testing.T) {
	score := func(path string, base int32, query string) uint64 {
		p := fuzzy.Path{Lower: path, Base: base}
		s, ok := p.Match(query)
		if !ok {
			t.Fatalf("%q does not match %q", query, path)
		}
		return s
	}
	ranked := []uint64{score("a/go.mod", 2, "go.mod"), score("a/go.mod.bak", 2, "go.mod"), score("a/my-go.mod", 2, "go.mod"), score("go.mod/x", 7, "go.mod"), score("a/gxo.mod", 2, "go.mod")}
	if ranked[3] > ranked[2] { // a path with this prefix comes before a name that contains it
		t.Error("a directory of this name comes after a name that holds it")
	}
	if !(ranked[0] < ranked[1] && ranked[1] < ranked[2] && ranked[2] < ranked[4]) {
		t.Errorf("scores %v do not rise", ranked)
	}
	p := fuzzy.Path{Lower: "a/go.mod", Base: 2}
	if _, ok := p.Match("xyz"); ok {
		t.Error("xyz matches")
	}
}

func TestNamed(t *testing.T) {
	commands := [][]string{{"model", "m"}, {"mode"}, {"quit", "exit"}}
	for typed, want := range map[string]int{"m": 0, "MODE": 1, "ex": 2, "mod": -1, "": -1, "x": -1} {
		if at, among := fuzzy.Named(typed, commands); at != want || typed == "mod" && len(among) != 2 {
			t.Errorf("%q names %d among %v, want %d", typed, at, among, want)
		}
	}
}

// A word as long as the title, or as long as words may be, is found; longer ones are not.
func TestLongWords(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	long := strings.Repeat(letters, 3)
	titles := []string{"abc", long}
	x := fuzzy.New(len(titles), func(i int) (title, also string) { return titles[i], "" })
	for query, want := range map[string]int{"abc": 2, "abcd": 1, long[:64]: 1, long[:65]: 0} {
		if hits := x.Find(nil, fuzzy.Parse(query), func(int) bool { return true }); len(hits) != want {
			t.Errorf("%q: got %d hits, want %d", query, len(hits), want)
		}
	}
}
