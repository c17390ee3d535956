package fuzzy_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"parley/ui/fuzzy"
)

// bestScore returns the best score of word in title, of all ways to find its letters in order; -1 if there is none.
func bestScore(title, word []rune, also string) int {
	separators := func(r rune) bool { return strings.ContainsRune("-._/:@ ", r) }
	folded := func(r rune) rune {
		if separators(r) {
			return ' '
		}
		return unicode.ToLower(r)
	}
	bonus := func(i int) int {
		before := '/'
		if i > 0 {
			before = title[i-1]
		}
		switch r := title[i]; {
		case separators(r):
			return 0
		case before == '/':
			return 10
		case separators(before) || before == '(':
			return 8
		case unicode.IsDigit(r) != unicode.IsDigit(before), unicode.IsUpper(r) && unicode.IsLower(before):
			return 6
		}
		return 0
	}
	var rest func(letter, last, score int) int
	rest = func(letter, last, score int) int {
		if letter == len(word) {
			switch {
			case last == len(title)-1:
				score += 6
			case separators(title[last+1]):
				score += 3
			}
			return score
		}
		best := -1
		for i := last + 1; i < len(title); i++ {
			if folded(title[i]) != folded(word[letter]) {
				continue
			}
			add := 16
			switch skipped := i - last - 1; {
			case letter == 0:
				add += bonus(i)
			case skipped == 0:
				add += 8
			default:
				add += bonus(i) - 3 - (skipped - 1)
			}
			best = max(best, rest(letter+1, i, score+add))
		}
		return best
	}
	best := rest(0, -1, 0)
	if best < 18*len(word)-2 {
		best = -1
	}
	if strings.Contains(also, strings.ToLower(string(word))) {
		best = max(best, 18*len(word))
	}
	return best
}

// The score of a title is that of its best alignment with each word.
func TestIndexScores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 3000 {
		titles, also := make([]string, 4), make([]string, 4)
		for i := range titles {
			titles[i], also[i] = text("abAB12-/.(", random.IntN(12)), text("ab1", random.IntN(4))
		}
		words := []string{text("abA12-", 1+random.IntN(4)), text("ab1", 1+random.IntN(2))}[:1+random.IntN(2)]
		var want []fuzzy.Hit
		for i, title := range titles {
			sum := 0
			for _, w := range words {
				if score := bestScore([]rune(title), []rune(w), also[i]); score < 0 || sum < 0 {
					sum = -1
				} else {
					sum += score
				}
			}
			if i == 1 && sum >= 0 {
				sum -= 8
			}
			if sum > -1 || i == 1 && sum > -9 && sum < -1 {
				want = append(want, fuzzy.Hit{Item: i, Score: sum})
			}
		}
		slices.SortStableFunc(want, func(a, b fuzzy.Hit) int { return cmp.Compare(b.Score, a.Score) })
		x := fuzzy.New(len(titles), func(i int) (string, string) { return titles[i], also[i] })
		x.Penalize(1)
		if got := x.Find(nil, fuzzy.Parse(strings.Join(words, " ")), func(int) bool { return true }); !slices.Equal(got, want) {
			t.Fatalf("%q in %q with %q: got %v, want %v", words, titles, also, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, tt := range []struct {
		title, also, query string
		want               []int
	}{
		{"gemini-pro", "", "gp", []int{0, 7}},
		{"gemini-pro", "", "pro gem", []int{0, 1, 2, 7, 8, 9}},
		{"a banana ban", "", "ban", []int{9, 10, 11}}, // at the end rather than in a longer word
		{"GPT-4o", "", "4O", []int{4, 5}},
		{"été-mode", "", "mo", []int{6, 7}}, // bytes, not letters
		{"gemini", "vision", "vision", nil},
		{"vxixsxn", "vision visn", "visn", nil}, // found in the additional text, which counts more
		{"gemini", "", "xyz", nil},
	} {
		x := fuzzy.New(1, func(int) (string, string) { return tt.title, tt.also })
		if got := x.Marks(0, tt.title, fuzzy.Parse(tt.query)); !slices.Equal(got, tt.want) {
			t.Errorf("%q in %q: got %v, want %v", tt.query, tt.title, got, tt.want)
		}
	}
	x := fuzzy.New(1, func(int) (string, string) { return strings.Repeat("a", 300) + "b", "" })
	if n := x.Len(0); n != 256 {
		t.Errorf("%d letters of a long title are searched, want 256", n)
	}
	if (&fuzzy.Index{}).IsZero() == x.IsZero() {
		t.Error("an index that was built is like one that was not")
	}
}

func TestInitials(t *testing.T) {
	for _, tt := range []struct {
		title string
		marks []int
		want  bool
	}{
		{"show me a table", []int{0, 5, 10}, true},
		{"show me a table", []int{0, 1, 5, 6}, true},
		{"show me a table", []int{1, 5}, false},
		{"show me a table", []int{0, 6}, false},
		{"«show» me", []int{2, 9}, true},
		{"", nil, true},
	} {
		if got := fuzzy.Initials(tt.title, tt.marks); got != tt.want {
			t.Errorf("%q with %v: got %v, want %v", tt.title, tt.marks, got, tt.want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		text  string
		words []string
		want  []int
		all   bool
	}{
		{"Read read", []string{"read"}, []int{0, 1, 2, 3, 5, 6, 7, 8}, false},
		{"read it", []string{"ea", "read", ""}, []int{0, 1, 2, 3}, true},
		{"read it", []string{"it", "write"}, []int{5, 6}, false},
		{"ȺB b", []string{"b"}, nil, true}, // longer in lower case
		{"read", nil, nil, true},
	} {
		if got := fuzzy.Occurrences(tt.text, tt.words); !slices.Equal(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%q in %q: got %v, want %v", tt.words, tt.text, got, tt.want)
		}
		if got := fuzzy.ContainsAll(strings.TrimPrefix(tt.text, "R"), tt.words); tt.text != "Read read" && got != tt.all {
			t.Errorf("%q all in %q: got %v, want %v", tt.words, tt.text, got, tt.all)
		}
	}
}

// Each row is found before the next.
func TestPathOrder(t *testing.T) {
	for query, paths := range map[string][]string{
		"go.mod": {"go.mod", "a/go.mod", "go.mods", "b/go.mod.txt", "go.mod/x/long", "a/my-go.mod", "a/xgo.mod", "a/go.mod/x", "a/xgo.mod/x", "a/g-o.mod", "a/gxo.mod", "a/gxxo.mod", "g/o/.mod/x", "gxx/o.mod/x"},
		"ab":     {"ab", "abc", "ab/x", "x-ab", "xab", "x/ab/c", "xab/c", "a-b", "axb", "a.xb", "xaxb", "a/b/x"},
		"":       {"b", "a/b", "a/b/c"},
		"a/":     {"a/z", "a/b/c", "a/b/c/d", "b/a/c"},
	} {
		last, before := uint64(0), ""
		for _, path := range paths {
			p := fuzzy.Path{Lower: path, Base: int32(strings.LastIndexByte(path, '/') + 1), Depth: uint16(strings.Count(path, "/"))}
			score, ok := p.Match(query)
			if !ok || before != "" && score <= last {
				t.Errorf("%q: %q (%v, %x) is not after %q (%x)", query, path, ok, score, before, last)
			}
			last, before = score, path
		}
	}
}

func TestLetters(t *testing.T) {
	seen := map[uint64]rune{}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		set := fuzzy.Letters(string(r))
		if set == 0 || seen[set] != 0 || set&(set-1) != 0 {
			t.Errorf("%c has the bits %x, like %c", r, set, seen[set])
		}
		seen[set] = r
	}
	if all := fuzzy.Letters("a-z") &^ fuzzy.Letters("za-"); all != 0 || fuzzy.Letters("é") == 0 || fuzzy.Letters("az") != fuzzy.Letters("a")|fuzzy.Letters("z") {
		t.Errorf("%x", all)
	}
}
